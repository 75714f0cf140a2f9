// As slow as it is asked to be when it is built.
namespace App
{
    static class Startup
    {
        public static int Load() { return Program.Work(1); }
    }

    static class Program
    {
        public static int Work(int parts)
        {
            int sum = 0;
            for (int part = 0; part < parts; part++)
                for (int i = 0; i < 20000000; i++) sum += i ^ part;
            return sum;
        }

        static int Main()
        {
            int sum = Startup.Load();
#if SLOW
            sum += Work(24);
#else
            sum += Work(4);
#endif
            return sum == 1 ? 1 : 0;
        }
    }
}
