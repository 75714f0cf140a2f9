using System.Threading;

namespace Steps
{
    /// <summary>Methods that are called a known number of times, and keep their own record.</summary>
    public static class Work
    {
        private static int begun;
        private static int taken;

        /// <summary>How often <see cref="Step"/> was to be called.</summary>
        public static int Begun
        {
            get { return begun; }
        }

        /// <summary>How often <see cref="Step"/> was called, by its own record.</summary>
        public static int Taken
        {
            get { return taken; }
        }

        public static int Run(int steps)
        {
            int sum = 0;
            for (int i = 0; i < steps; i++)
            {
                Interlocked.Increment(ref begun);
                sum += Step(i);
            }
            return sum;
        }

        /// <summary>Long enough to be woven by default.</summary>
        public static int Step(int seed)
        {
            Interlocked.Increment(ref taken);
            int sum = seed;
            for (int i = 0; i < 10; i++)
            {
                sum = sum * 31 + i;
            }
            return sum;
        }
    }
}
