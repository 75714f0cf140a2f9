using System;
using System.Collections.Generic;
using System.Threading;
using System.Threading.Tasks;

/// <summary>
/// All kinds of methods, and between them some that nothing calls: a trimmer takes these away, and the rows behind them get other
/// numbers. rewritten.rs has how often each is called.
/// </summary>
namespace Shop
{
    interface IShape
    {
        int Area(int n);
    }

    sealed class Square : IShape
    {
        public int UnusedFirst(int n)
        {
            return Work.Spin(n) + Work.Spin(n + 1);
        }

        int IShape.Area(int n)
        {
            return Work.Spin(n) + n;
        }

        public int Side
        {
            get
            {
                int side = 0;
                for (int i = 0; i < 3; i++) side += i;
                return side;
            }
            set
            {
                for (int i = 0; i < value; i++) Work.Sum += i;
            }
        }
    }

    class Box<T>
    {
        public class Lid
        {
            public int UnusedTurn(int n)
            {
                return Work.Spin(n) * 2;
            }

            public int Turn(int n)
            {
                return Work.Spin(n) + Work.Spin(1);
            }
        }

        public int UnusedCount(int n)
        {
            return Work.Spin(n) * 3;
        }

        public static TOut Map<TOut>(T item, Func<T, TOut> by)
        {
            return by(item);
        }
    }

    static class Work
    {
        public static int Sum;

        public static int UnusedFirst(int n)
        {
            return Spin(n) + 5;
        }

        public static int Spin(int n)
        {
            int found = 0;
            for (int i = 0; i < n; i++) found ^= i;
            return found;
        }

        public static int Renamed(int n)
        {
            int found = 0;
            for (int i = 0; i < n; i++) found += i * i;
            return found;
        }

        public static async Task<int> UnusedSteps(int n)
        {
            await Task.Yield();
            return Spin(n);
        }

        public static int Over(int n)
        {
            int found = 0;
            for (int i = 0; i < n; i++) found += i;
            return found;
        }

        public static int Over(string text)
        {
            int found = 0;
            foreach (char each in text) found += each;
            return found;
        }

        public static IEnumerable<int> Items(int n)
        {
            for (int i = 0; i < n; i++) yield return i;
        }

        public static async Task<int> Steps(int n)
        {
            int sum = 0;
            for (int i = 0; i < n; i++) sum += await Step(i);
            return sum;
        }

        public static async Task<int> Step(int n)
        {
            await Task.Yield();
            return n;
        }
    }

    static class Program
    {
        static void Main()
        {
            IShape shape = new Square();
            for (int i = 0; i < 6; i++) Work.Sum += shape.Area(i);
            Square square = (Square)shape;
            for (int i = 0; i < 2; i++) square.Side = square.Side + i;
            var lid = new Box<string>.Lid();
            for (int i = 0; i < 4; i++) Work.Sum += lid.Turn(i);
            for (int i = 0; i < 5; i++)
            {
                Work.Sum += Box<int>.Map(i, n =>
                {
                    int found = 0;
                    for (int k = 0; k < n; k++) found += k;
                    return found;
                });
            }
            for (int i = 0; i < 7; i++) Work.Sum += Work.Renamed(i);
            for (int i = 0; i < 3; i++) Work.Sum += Work.Over(i) + Work.Over("ab") + Work.Over("c");
            foreach (int item in Work.Items(8)) Work.Sum += item;
            Task<int> steps = Work.Steps(9);
            ((Task)steps).Wait();
            Thread.Sleep(1);
            Thread thread = new Thread(Other);
            thread.Start();
            thread.Join();
#if LIBRARY
            for (int i = 0; i < 5; i++) Lib.Numbers.Sum(i);
#endif
            Console.WriteLine("done");
        }

        static void Other()
        {
            for (int i = 0; i < 2; i++) Thread.Sleep(i);
        }
    }
}
