namespace Ilinst
{
    /// <summary>What the tracker did, for whom `ILINST_LOG` names a file: the program's own output stays its own.</summary>
    internal static unsafe class Log
    {
        public static void Write(string line)
        {
        }
    }
}
