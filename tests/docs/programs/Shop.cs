using System;
using System.Collections.Generic;
using System.Linq;
using System.Threading;
using System.Threading.Tasks;

namespace Shop
{
    /// <summary>The program of the guides: it takes orders, looks up prices, adds up, and prints one line.</summary>
    static class Program
    {
        static async Task Main()
        {
            Order[] orders = Order.ParseAll(500);
            Prices prices = new Prices();
            decimal total = 0;
            for (int day = 0; day < 20; day++)
            {
                total += orders.Sum(order => order.Total(prices));
            }
            Thread worker = new Thread(() => Archive.Pack(orders));
            worker.Start();
            int sent = await Mail.SendAll(orders.Take(5));
            worker.Join();
            Console.WriteLine("total " + total + ", " + sent + " sent");
        }
    }

    sealed class Order
    {
        public int Number { get; private set; }
        public List<Line> Lines { get; } = new List<Line>();

        public static Order[] ParseAll(int count)
        {
            return Enumerable.Range(1, count).Select(number => Parse(number + " tea 3, cup 2, spoon 1")).ToArray();
        }

        public static Order Parse(string text)
        {
            int space = text.IndexOf(' ');
            Order order = new Order { Number = int.Parse(text.Substring(0, space)) };
            foreach (string part in text.Substring(space + 1).Split(','))
            {
                string[] words = part.Trim().Split(' ');
                order.Lines.Add(new Line(words[0], int.Parse(words[1])));
            }
            return order;
        }

        public decimal Total(Prices prices)
        {
            decimal total = 0;
            foreach (Line line in Lines)
            {
                total += line.Count * prices.Find(line.Article);
            }
            return total;
        }
    }

    sealed class Line
    {
        public Line(string article, int count)
        {
            Article = article;
            Count = count;
        }

        public string Article { get; }
        public int Count { get; }
    }

    sealed class Prices
    {
        readonly List<KeyValuePair<string, decimal>> list = new List<KeyValuePair<string, decimal>>();

        public Prices()
        {
            for (int i = 0; i < 400; i++)
            {
                list.Add(new KeyValuePair<string, decimal>("article " + i, i));
            }
            list.Add(new KeyValuePair<string, decimal>("tea", 4));
            list.Add(new KeyValuePair<string, decimal>("cup", 6));
            list.Add(new KeyValuePair<string, decimal>("spoon", 3));
        }

        /// <summary>Takes the time: it looks at one after another.</summary>
        public decimal Find(string article)
        {
            foreach (KeyValuePair<string, decimal> price in list)
            {
                if (string.Equals(price.Key, article, StringComparison.OrdinalIgnoreCase))
                {
                    return price.Value;
                }
            }
            throw new KeyNotFoundException(article);
        }
    }

    static class Archive
    {
        public static int Pack(Order[] orders)
        {
            int sum = 0;
            foreach (Order order in orders)
            {
                sum = Add(sum, order.Number);
            }
            return sum;
        }

        static int Add(int sum, int number)
        {
            for (int i = 0; i < 1000; i++)
            {
                sum = sum * 31 + (number ^ i);
            }
            return sum;
        }
    }

    static class Mail
    {
        public static async Task<int> SendAll(IEnumerable<Order> orders)
        {
            int sent = 0;
            foreach (Order order in orders)
            {
                await Send(order);
                sent++;
            }
            return sent;
        }

        static async Task Send(Order order)
        {
            await Task.Delay(5);
            order.Lines.Reverse();
        }
    }
}
