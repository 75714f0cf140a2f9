using System;
using System.IO;

/// <summary>
/// Refers to the tracker before it is woven, and asks it for this and that. Leaf is called 3 times, 4 times behind a mark, 100
/// times while tracking pauses, 5 times behind that.
/// </summary>
static class Asks
{
    static int Main()
    {
        Work(3);
        Ilinst.Profile.Mark("second");
        Work(4);
        Console.WriteLine(Path.GetFileName(Ilinst.Profile.Snapshot("copy.ilprof")));
        Ilinst.Profile.Pause();
        Work(100);
        Ilinst.Profile.Resume();
        Work(5);
        return 2;
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
