using System;
using System.Runtime.InteropServices;

/// <summary>Lets no file of its process grow from here on, calls along more paths than a profile's first piece has room for, and ends.</summary>
static class Limits
{
    const int FileSize = 1; // RLIMIT_FSIZE

    [DllImport("libc")]
    static extern int getrlimit(int resource, [In, Out] IntPtr[] limits);

    [DllImport("libc")]
    static extern int setrlimit(int resource, IntPtr[] limits);

    static int Main(string[] arguments)
    {
        Branch(0);
        IntPtr[] limits = new IntPtr[2];
        bool isSet = getrlimit(FileSize, limits) == 0;
        limits[0] = (IntPtr)long.Parse(arguments[0]);
        isSet &= setrlimit(FileSize, limits) == 0;
        Branch(13);
        return isSet ? 9 : 1;
    }

    static void Branch(int depth)
    {
        if (depth > 0)
        {
            Left(depth - 1);
            Right(depth - 1);
        }
    }

    static void Left(int depth)
    {
        Branch(depth);
    }

    static void Right(int depth)
    {
        Branch(depth);
    }
}
