using System;
using System.IO;

/// <summary>
/// Asks the tracker for this and that, by reflection: it refers to none before it is woven. Leaf is called 3 times, 4 times behind
/// a mark, 100 times while tracking pauses, 5 times behind that.
/// </summary>
static class Asks
{
    static int Main()
    {
        Work(3);
        Ask("Mark", "second");
        Work(4);
        Ask("Snapshot", "copy.ilprof");
        Ask("Pause");
        Work(100);
        Ask("Resume");
        Work(5);
        return 2;
    }

    static void Ask(string name, params object[] arguments)
    {
        Type profile = Type.GetType("Ilinst.Profile, Ilinst.Tracker");
        if (profile != null)
        {
            Type[] types = arguments.Length == 0 ? Type.EmptyTypes : new Type[] { typeof(string) };
            profile.GetMethod(name, types).Invoke(null, arguments);
        }
    }

    static void Work(int times)
    {
        for (int i = 0; i < times; i++)
        {
            Leaf(i);
        }
    }

    static int Leaf(int number)
    {
        return number;
    }
}
