using System.Runtime.CompilerServices;

/// A program whose library is loaded after its first call. Each of both allocates an array, and nothing else.
static class Caller
{
    static int Main()
    {
        Array(1000);
        return FromLibrary(3000) == 3000 ? 0 : 1;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int Array(int size)
    {
        int sum = 0;
        foreach (byte each in new byte[size])
        {
            sum += each + 1;
        }
        return sum;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int FromLibrary(int size)
    {
        return Library.Array(size);
    }
}
