using System;
using System.Threading;

/// <summary>Ends while its threads are in, or wait for, the tracker: when each has asked it often.</summary>
static class Exits
{
    const int Times = 200;
    static readonly CountdownEvent HaveAsked = new CountdownEvent(4);

    static void Main()
    {
        for (int i = 0; i < 4; i++)
        {
            Thread thread = new Thread(Ask);
            thread.IsBackground = true;
            thread.Start();
        }
        HaveAsked.Wait();
        Environment.Exit(9);
    }

    static void Ask()
    {
        for (int times = 1; ; times++)
        {
            Ilinst.Profile.Pause();
            Ilinst.Profile.Resume();
            if (times == Times)
            {
                HaveAsked.Signal();
            }
        }
    }
}
