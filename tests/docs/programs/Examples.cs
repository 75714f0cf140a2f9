using System;
using System.Threading;

namespace Shop
{
    /// <summary>The program that examples of help name: it ends, or, told to wait, works for a line that it reads.</summary>
    static class Program
    {
        static void Main(string[] arguments)
        {
            bool waits = Array.IndexOf(arguments, "wait") >= 0;
            if (Array.IndexOf(arguments, "--password") >= 0) throw new ArgumentException("a password is no argument");
            if (waits) Console.WriteLine("ready");
            do
            {
                Work(10);
            }
            while (waits && Console.ReadLine() != null);
        }

        static void Work(int rounds)
        {
            for (int round = 0; round < rounds; round++)
            {
                Order order = Order.Load(round);
                Orders.Queue.Add(order.Total(1) + order.Name.Length);
            }
            Thread.Sleep(1);
        }
    }

    public class Order
    {
        int count;

        public string Name { get { return "order " + count; } }

        public static Order Load(int count)
        {
            Order order = new Order();
            for (int i = 0; i < count; i++) order.count++;
            return order;
        }

        public int Total(int price)
        {
            int total = 0;
            for (int i = 0; i < count; i++) total += price;
            return total;
        }
    }
}

namespace Shop.Orders
{
    public static class Queue
    {
        static long sum;

        public static void Add(int total)
        {
            for (int i = 0; i < 3; i++) sum += total;
        }
    }
}
