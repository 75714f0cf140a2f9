using System;
using System.Runtime.InteropServices;
using Ilinst;

/// <summary>
/// A caller that calls many others in turn, as woven code would. Prints `callees figure figure ...`: ns of CPU time a call.
/// </summary>
static unsafe class FanOut
{
    const int Turns = 5;
    const int ThreadCpu = 3;
    const int Calls = 400000;
    const long Key = 0x123456789AL << 24;

    static void Main(string[] arguments)
    {
        for (int i = 0; i < arguments.Length; i++)
        {
            int callees = int.Parse(arguments[i]);
            IntPtr caller = ProfileInfoTracker.WhenEntering(Key | (long)(0x700000 + i));
            string figures = arguments[i];
            for (int warm = 0; warm < 3; warm++)
            {
                Round(callees, Math.Max(callees, Calls / 4));
                System.Threading.Thread.Sleep(100);
            }
            for (int turn = 0; turn < Turns; turn++)
            {
                int calls = Math.Max(callees, Calls);
                long start = Now();
                Round(callees, calls);
                figures += " " + ((double)(Now() - start) / calls).ToString("R");
            }
            ProfileInfoTracker.WhenLeaving(caller);
            Console.WriteLine(figures);
        }
    }

    static void Round(int callees, int calls)
    {
        int row = 1;
        for (int i = 0; i < calls; i++)
        {
            ProfileInfoTracker.WhenLeaving(ProfileInfoTracker.WhenEntering(Key | (long)row));
            row = row == callees ? 1 : row + 1;
        }
    }

    static long Now()
    {
        long* time = stackalloc long[2];
        clock_gettime(ThreadCpu, time);
        return time[0] * 1000000000 + time[1];
    }

    [DllImport("libc")]
    static extern int clock_gettime(int clock, long* time);
}
