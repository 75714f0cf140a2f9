using System.Threading;

/// <summary>Threads one after another: with a name, without, and one that takes its name at work.</summary>
static class Named
{
    static void Main()
    {
        Run("first", false);
        Run(null, false);
        Run("second", true);
        for (int i = 0; i < 20; i++)
        {
            Run("short", false);
        }
    }

    static void Run(string name, bool isLate)
    {
        Thread thread = new Thread(delegate()
        {
            Work();
            if (isLate)
            {
                Thread.CurrentThread.Name = name;
            }
        });
        if (!isLate && name != null)
        {
            thread.Name = name;
        }
        thread.Start();
        thread.Join();
    }

    static void Work()
    {
    }
}
