/// <summary>
/// By it a host loads the tracker before a program begins: where methods are woven in memory, nothing leads to its file.
/// </summary>
internal static class StartupHook
{
    /// <summary>There is nothing left to do.</summary>
    public static void Initialize()
    {
    }
}
