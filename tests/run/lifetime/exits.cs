using System;
using System.Threading;

/// <summary>Ends while its threads are in, or wait for, the tracker.</summary>
static class Exits
{
    static void Main()
    {
        for (int i = 0; i < 4; i++)
        {
            Thread thread = new Thread(Ask);
            thread.IsBackground = true;
            thread.Start();
        }
        Thread.Sleep(100);
        Environment.Exit(9);
    }

    static void Ask()
    {
        for (;;)
        {
            Ilinst.Profile.Pause();
            Ilinst.Profile.Resume();
        }
    }
}
