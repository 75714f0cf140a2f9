// Gives the tracker tokens that are of no open call: numbers, addresses beside that of a node, tokens of calls that have
// ended, and those of another thread. None is followed, and each is counted.
using System;
using System.Threading;

#if PROBES
/// <summary>In a library that is not woven: what refers to the tracker is taken for woven.</summary>
public static class Probes
{
    public static long Enter(long method) { return (long)Ilinst.ProfileInfoTracker.WhenEntering(method); }

    public static void Leave(long token) { Ilinst.ProfileInfoTracker.WhenLeaving((IntPtr)token); }

    public static void Handle(long token) { Ilinst.ProfileInfoTracker.WhenHandling((IntPtr)token); }
}
#else
class Tokens
{
    static void Give(long token)
    {
        Probes.Leave(token);
        Probes.Handle(token);
    }

    static void GiveBoxed(object token)
    {
        Give((long)token);
    }

    static void Main()
    {
        foreach (long number in new long[] { 1, 8, 64, 0x1234, 0x7FFF0000, 0x123456789000, long.MaxValue, long.MinValue, -1, -64 })
        {
            Give(number);
        }
        long open = Probes.Enter(7);
        // A chunk of nodes is 64 KiB: its header, its tree, the tree's root, 128 bytes for each node.
        long chunk = open & ~0xFFFFL;
        foreach (long address in new long[] { open + 1, open - 8, open + 128, open + 0x10000, chunk, chunk + 64, chunk + 256 })
        {
            Give(address);
        }
        Thread thread = new Thread(GiveBoxed);
        thread.Start(open);
        thread.Join();
        // Calls that are not tracked have this token.
        Probes.Leave(0);
        // An open call's: it ends here, and no other ends with it.
        Probes.Handle(open);
        Probes.Leave(open);
        Give(open);
        // The first node behind the root is Main's: left here, so that what the woven code leaves then is no open call.
        Probes.Leave(chunk + 384);
        // Now the root is the current node.
        Probes.Leave(chunk + 256);
        Console.WriteLine("done");
    }
}
#endif
