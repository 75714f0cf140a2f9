using System;

namespace Ilinst
{
    /// <summary>Appends records to the profile's chunks of names. Each is seen by readers when it is whole.</summary>
    internal static unsafe class NameRecords
    {
        public const byte Method = 2;
        public const byte ExceptionType = 3;
        public const byte Module = 4;
        public const byte Thread = 5;

        private const int MaxString = 4096;

        private static readonly object gate = new object();
        private static ChunkHeader* chunk;

        /// <summary>A record: its kind, what it is about (8 bytes, or 4), more bytes, then strings.</summary>
        /// <returns>False if there is no room.</returns>
        public static bool Append(byte kind, long about, int size, byte[] bytes, params string[] strings)
        {
            long needed = 2 + size + (bytes == null ? 0 : bytes.Length);
            foreach (string text in strings)
            {
                needed += 4 + Math.Min(Utf8.Length(text), MaxString);
            }
            lock (gate)
            {
                if (chunk == null || chunk->Used + needed > chunk->SizeInFile)
                {
                    ChunkHeader* next = (ChunkHeader*)Arena.Take(ChunkHeader.Names, 1);
                    if (next == null)
                    {
                        return false;
                    }
                    chunk = next;
                }
                byte* at = (byte*)chunk + chunk->Used;
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
                    int length = Utf8.Put(at + 4, text, MaxString);
                    *(int*)at = length;
                    at += 4 + length;
                }
                // Behind it stays a zero: the end of the records.
                System.Threading.Thread.MemoryBarrier();
                chunk->Used = at - (byte*)chunk;
            }
            return true;
        }
    }
}
