namespace Ilinst
{
    /// <summary>Appends records to the profile's chunks of names. Each is seen by readers when it is whole.</summary>
    internal static unsafe class NameRecords
    {
        /// <summary>A record: its kind, what it is about (8 bytes, or 4), more bytes, then strings.</summary>
        /// <returns>False if there is no room.</returns>
        public static bool Append(byte kind, long about, int size, byte[] bytes, params string[] strings)
        {
            long needed = 2 + size + (bytes == null ? 0 : bytes.Length);
            foreach (string text in strings)
            {
                needed += 4 + Utf8.Put(null, text, NameLayout.MaxString);
            }
            bool isWritten = false;
            // In a finally block, which Thread.Abort does not interrupt.
            try
            {
            }
            finally
            {
                Control* control = Control.OfProcess();
                if (Control.Enter(control))
                {
                    ChunkHeader* chunk = (ChunkHeader*)control->Names;
                    if (chunk == null || Arena.Used(chunk) + needed > HeaderLayout.Block)
                    {
                        chunk = (ChunkHeader*)Arena.TakeLocked(control, ChunkKind.Names, 1);
                        control->Names = chunk != null ? (long)chunk : control->Names;
                    }
                    if (chunk != null)
                    {
                        Put((byte*)chunk + System.Math.Min(Arena.Used(chunk), HeaderLayout.Block - needed), kind, about, size, bytes, strings);
                        // Behind it stays a zero: the end of the records.
                        System.Threading.Thread.MemoryBarrier();
                        chunk->Used += needed - 1;
                        isWritten = true;
                    }
                    Control.Exit(control);
                }
            }
            return isWritten;
        }

        /// <summary>Calls back for each method that has a name, and for each module that is described.</summary>
        public static void ForEach(IdVisitor method, IdVisitor module)
        {
            Arena.ForEach(delegate(ChunkHeader* chunk)
            {
                byte* end = (byte*)chunk + (chunk->Kind == ChunkKind.Names ? Arena.Used(chunk) : 0);
                for (byte* at = (byte*)chunk + ChunkLayout.Header; at < end - sizeof(long);)
                {
                    byte kind = *at++;
                    IdVisitor visit = kind == NameKind.Method ? method : kind == NameKind.Module ? module : null;
                    if (visit != null)
                    {
                        visit(*(long*)at);
                    }
                    at += kind == NameKind.Method ? 8 : kind == NameKind.ExceptionType ? 4 : kind == NameKind.Module ? 24 : 12;
                    for (int strings = kind == NameKind.Method ? 2 : kind == NameKind.Module ? 4 : 1; strings > 0 && at <= end - sizeof(int); strings--)
                    {
                        int length = *(int*)at;
                        at = length < 0 || length > end - at - sizeof(int) ? end : at + sizeof(int) + length;
                    }
                }
            });
        }

        private static void Put(byte* at, byte kind, long about, int size, byte[] bytes, string[] strings)
        {
            *at++ = kind;
            for (int i = 0; i < size; i++)
            {
                *at++ = (byte)(about >> (8 * i));
            }
            for (int i = 0; bytes != null && i < bytes.Length; i++)
            {
                *at++ = bytes[i];
            }
            foreach (string text in strings)
            {
                int length = Utf8.Put(at + 4, text, NameLayout.MaxString);
                *(int*)at = length;
                at += 4 + length;
            }
        }
    }

    /// <summary>An action on a method's id, or on a module's key.</summary>
    internal delegate void IdVisitor(long id);
}
