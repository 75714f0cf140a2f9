using System;
using Ilinst;

/// <summary>Calls the tracker as woven code would, for as many callees in turn as its argument says, each three times.</summary>
static class FanOut
{
    const long Key = 0x123456789AL << 24;

    static void Main(string[] arguments)
    {
        int callees = int.Parse(arguments[0]);
        IntPtr caller = ProfileInfoTracker.WhenEntering(Key | 0x3FFFFF);
        for (int time = 0; time < 3; time++)
        {
            for (int row = 1; row <= callees; row++)
            {
                ProfileInfoTracker.WhenLeaving(ProfileInfoTracker.WhenEntering(Key | (long)row));
            }
        }
        ProfileInfoTracker.WhenLeaving(caller);
        Console.WriteLine("Calls " + 3 * callees);
    }
}
