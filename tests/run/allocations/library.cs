using System.Runtime.CompilerServices;

/// The library of caller.cs.
public static class Library
{
    [MethodImpl(MethodImplOptions.NoInlining)]
    public static int Array(int size)
    {
        int sum = 0;
        foreach (byte each in new byte[size])
        {
            sum += each + 1;
        }
        return sum;
    }
}
