using System;

/// <summary>
/// An object that is finalized when the process ends, on runtimes that do so, behind those that came after it. Nothing is tracked
/// before it is there: what the tracker knows of the program's assembly is younger, and is finalized first.
/// </summary>
sealed class Finalizers
{
    static Finalizers left;

    static int Main()
    {
        left = new Finalizers();
        GC.Collect();
        GC.Collect();
        Ilinst.Profile.Resume();
        First();
        return Ilinst.Profile.Snapshot("copy") == null ? 1 : 9;
    }

    static void First()
    {
    }

    ~Finalizers()
    {
        Late();
    }

    static void Late()
    {
    }
}
