using System;
using System.Collections.Generic;
using System.Linq;
using System.Reflection;
using System.Runtime.CompilerServices;
using System.Threading;
using System.Threading.Tasks;

namespace Orders
{
    /// <summary>An await on this always suspends, and goes on upon a thread of its own.</summary>
    public struct NewThread : INotifyCompletion
    {
        public NewThread GetAwaiter()
        {
            Count.Here(MethodBase.GetCurrentMethod());
            return this;
        }

        public bool IsCompleted
        {
            get
            {
                Count.Here(MethodBase.GetCurrentMethod());
                return false;
            }
        }

        public void OnCompleted(Action continuation)
        {
            Count.Here(MethodBase.GetCurrentMethod());
            new Thread(() =>
            {
                Count.Here(MethodBase.GetCurrentMethod());
                continuation();
            }).Start();
        }

        public void GetResult()
        {
            Count.Here(MethodBase.GetCurrentMethod());
        }
    }

    static class Program
    {
        static int Main()
        {
            Count.Here(MethodBase.GetCurrentMethod());
            Order order = new Order(new Line("tea", 4, 3), new Discounted("cup", 12, 2, 25), new Line("spoon", 3));
            PrintOrder(order);
            Query(order);
            Caches();
            Exceptions(order);
            Console.WriteLine("async: " + Ship(order, 3).GetAwaiter().GetResult());
            Threads();
            Shapes(order);
            Count.Write();
            return 3;
        }

        static void PrintOrder(Order order)
        {
            Count.Here(MethodBase.GetCurrentMethod());
            EventHandler report = delegate(object sender, EventArgs e)
            {
                Count.Here(MethodBase.GetCurrentMethod());
                Console.WriteLine("changed: " + ((Order)sender).Describe());
            };
            order.Changed += report;
            order.Status = Status.Paid;
            order.Changed -= report;
            order.Status = Status.Shipped;
            // The method that makes an iterator has none of the person's code in it: whoever calls it counts it.
            Count.Of(typeof(Order), "GetEnumerator");
            foreach (Line line in order)
            {
                Console.WriteLine(line.Describe() + " = " + line.Total);
            }
            // An auto property's accessor has no room for a count of its own.
            Count.Of(typeof(Entity), "get_Id");
            Console.WriteLine("id " + (order.Id - 100));
            order.QuantityOf(0) += 5;
            Console.WriteLine("tea: " + order["tea"].Quantity);
        }

        static void Query(Order order)
        {
            Count.Here(MethodBase.GetCurrentMethod());
            int least = 5;
            IEnumerable<string> dear = order.Where(line =>
            {
                Count.Here(MethodBase.GetCurrentMethod());
                return line.Price.Amount >= least;
            }).OrderBy(line =>
            {
                Count.Here(MethodBase.GetCurrentMethod());
                return line.Product;
            }).Select(line =>
            {
                Count.Here(MethodBase.GetCurrentMethod());
                return line.Product + "!";
            });
            Count.Of(typeof(Order), "GetEnumerator");
            Console.WriteLine(string.Join(", ", dear));
            Count.Of(typeof(Order), "GetEnumerator");
            Money sum = order.Select(line =>
            {
                Count.Here(MethodBase.GetCurrentMethod());
                return line.Total;
            }).Aggregate((one, other) =>
            {
                Count.Here(MethodBase.GetCurrentMethod());
                return one + other;
            });
            Console.WriteLine("sum " + sum + ", as decimal " + ((decimal)sum > 20m) + ", equal " + ((IEquatable<Money>)sum).Equals(sum));
            Line found;
            Console.WriteLine(order.TryFind(line =>
            {
                Count.Here(MethodBase.GetCurrentMethod());
                return line.Quantity == least - 3;
            }, out found) + " " + found.Product);
            Count.Of(typeof(Program), "Primes");
            Console.WriteLine(string.Join(" ", Primes().TakeWhile(prime =>
            {
                Count.Here(MethodBase.GetCurrentMethod());
                return prime < 30;
            })));
        }

        static IEnumerable<int> Primes()
        {
            Count.Here(MethodBase.GetCurrentMethod());
            for (int candidate = 2; ; candidate++)
            {
                bool isPrime = true;
                for (int divisor = 2; divisor * divisor <= candidate; divisor++)
                {
                    if (candidate % divisor == 0)
                    {
                        isPrime = false;
                        break;
                    }
                }
                if (isPrime)
                {
                    yield return candidate;
                    Count.Here(MethodBase.GetCurrentMethod());
                }
            }
        }

        static void Caches()
        {
            Count.Here(MethodBase.GetCurrentMethod());
            Cache<string, int> lengths = new Cache<string, int>();
            Cache<int, string> texts = new Cache<int, string>();
            foreach (string word in new[] { "tea", "cup", "spoon", "tea" })
            {
                int length = lengths.Get(word, text =>
                {
                    Count.Here(MethodBase.GetCurrentMethod());
                    return text.Length;
                });
                texts.Get(length, number =>
                {
                    Count.Here(MethodBase.GetCurrentMethod());
                    return new string('*', number);
                });
            }
            Console.WriteLine(lengths.Largest() + " " + texts.Largest());
        }

        static void Exceptions(Order order)
        {
            Count.Here(MethodBase.GetCurrentMethod());
            for (int depth = 0; depth < 4; depth++)
            {
                try
                {
                    Console.WriteLine("reserved " + Reserve(order, depth));
                }
                catch (OutOfStock e) when (IsTea(e))
                {
                    Console.WriteLine("caught " + e.Message + " at " + depth);
                }
                catch (InvalidOperationException e)
                {
                    Console.WriteLine("caught " + e.GetType().Name + " around " + e.InnerException.GetType().Name);
                }
                finally
                {
                    Console.WriteLine("done " + depth);
                }
            }
            try
            {
                Forever(0);
            }
            catch (OverflowException)
            {
                Console.WriteLine("forever ended");
            }
        }

        static bool IsTea(Exception e)
        {
            Count.Here(MethodBase.GetCurrentMethod());
            return e.Message.EndsWith("tea");
        }

        static int Reserve(Order order, int depth)
        {
            Count.Here(MethodBase.GetCurrentMethod());
            try
            {
                if (depth == 0)
                {
                    throw new OutOfStock("tea");
                }
                if (depth == 3)
                {
                    return order["bread"].Quantity;
                }
                return 1 + Reserve(order, depth - 1);
            }
            catch (KeyNotFoundException e)
            {
                throw new InvalidOperationException("no such line", e);
            }
            catch (OutOfStock)
            {
                if (depth == 2)
                {
                    return -1;
                }
                throw;
            }
            finally
            {
                Trace(depth);
            }
        }

        static void Trace(int depth)
        {
            Count.Here(MethodBase.GetCurrentMethod());
            Console.WriteLine("left " + depth);
        }

        /// <summary>It has no way out but an exception.</summary>
        static void Forever(int start)
        {
            Count.Here(MethodBase.GetCurrentMethod());
            while (true)
            {
                start = checked(start + 100000000);
            }
        }

        static async Task<string> Ship(Order order, int parcels)
        {
            Count.Of(typeof(Program), "Ship");
            Count.Here(MethodBase.GetCurrentMethod());
            int sent = 0;
            for (int parcel = 0; parcel < parcels; parcel++)
            {
                await new NewThread();
                Count.Here(MethodBase.GetCurrentMethod());
                // This one has its result at once: no step of its own.
                sent += await Task.FromResult(parcel);
                try
                {
                    if (parcel == 1)
                    {
                        throw new OutOfStock("string");
                    }
                }
                catch (OutOfStock e)
                {
                    await new NewThread();
                    Count.Here(MethodBase.GetCurrentMethod());
                    Console.WriteLine("caught in async: " + e.Message);
                }
            }
            order.Status = Status.Returned;
            return sent + " " + order.Status;
        }

        static void Threads()
        {
            Count.Here(MethodBase.GetCurrentMethod());
            int[] results = new int[4];
            Thread[] threads = new Thread[results.Length];
            for (int i = 0; i < threads.Length; i++)
            {
                int mine = i;
                threads[i] = new Thread(() =>
                {
                    Count.Here(MethodBase.GetCurrentMethod());
                    results[mine] = Fibonacci(10 + mine);
                });
                threads[i].Start();
            }
            foreach (Thread thread in threads)
            {
                thread.Join();
            }
            Task<int> task = Task.Run(() =>
            {
                Count.Here(MethodBase.GetCurrentMethod());
                return Fibonacci(8);
            });
            Console.WriteLine("threads " + string.Join(" ", results) + " task " + task.Result);
        }

        static int Fibonacci(int number)
        {
            Count.Here(MethodBase.GetCurrentMethod());
            return number < 2 ? number : Fibonacci(number - 1) + Fibonacci(number - 2);
        }

        static void Shapes(Order order)
        {
            Count.Here(MethodBase.GetCurrentMethod());
            Console.WriteLine(Rate(1) + Rate(4) + Rate(-7) + " " + Code("cup") + Code("spoon") + Code("fork") + Code("tea"));
            Console.WriteLine("stack " + SumOnStack(10));
            using (new Scope("outer"))
            {
                using (new Scope("inner"))
                {
                    int local = Triple(7);
                    Console.WriteLine("local " + local);
                }
            }
            Console.WriteLine("goto " + Collatz(27));

            int Triple(int value)
            {
                Count.Here(MethodBase.GetCurrentMethod());
                return value * 3 + (order == null ? 1 : 0);
            }
        }

        /// <summary>Several ways out, and a switch with a table.</summary>
        static string Rate(int number)
        {
            Count.Here(MethodBase.GetCurrentMethod());
            switch (number)
            {
                case 0: return "zero";
                case 1: return "one";
                case 2: return "two";
                case 3: return "three";
                case 4: return "four";
            }
            if (number < 0)
            {
                return "less";
            }
            return "more";
        }

        /// <summary>A switch over strings.</summary>
        static int Code(string product)
        {
            Count.Here(MethodBase.GetCurrentMethod());
            switch (product)
            {
                case "tea": return 1;
                case "cup": return 2;
                case "spoon": return 3;
                case "bread": return 4;
                case "milk": return 5;
                case "sugar": return 6;
                case "plate": return 7;
                default: return 0;
            }
        }

        static unsafe int SumOnStack(int count)
        {
            Count.Here(MethodBase.GetCurrentMethod());
            int* numbers = stackalloc int[count];
            for (int i = 0; i < count; i++)
            {
                numbers[i] = i * i;
            }
            int sum = 0;
            for (int i = 0; i < count; i++)
            {
                sum += numbers[i];
            }
            return sum;
        }

        static int Collatz(long number)
        {
            Count.Here(MethodBase.GetCurrentMethod());
            int steps = 0;
        again:
            if (number == 1)
            {
                return steps;
            }
            number = number % 2 == 0 ? number / 2 : number * 3 + 1;
            steps++;
            goto again;
        }
    }

    public sealed class Scope : IDisposable
    {
        private readonly string name;

        public Scope(string name)
        {
            Count.Here(MethodBase.GetCurrentMethod());
            this.name = name;
            Console.WriteLine("begin " + name);
        }

        public void Dispose()
        {
            Count.Here(MethodBase.GetCurrentMethod());
            Console.WriteLine("end " + name);
        }
    }
}
