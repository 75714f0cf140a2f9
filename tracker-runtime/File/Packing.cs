using System.Runtime.CompilerServices;

namespace Ilinst
{
    /// <summary>Packs blocks of the profile in LZ4's block format, which libraries read.</summary>
    internal static unsafe class Packing
    {
        /// <summary>The largest size of a packed block.</summary>
        public const int Most = HeaderLayout.Block + HeaderLayout.Block / 255 + 16;
        /// <summary>The number of entries of the table: the place where each hash of four bytes was seen last.</summary>
        public const int Places = 1 << HashBits;

        /// <summary>Optimized at its first call, as the program waits for the end of its profile.</summary>
        private const MethodImplOptions Fast = (MethodImplOptions)512;
        private const int HashBits = 12;
        private const int ShortestMatch = 4;
        /// <summary>The number of last bytes that must be literals, and of those in which no match may begin.</summary>
        private const int LastLiterals = 5;
        private const int LastWithoutMatch = 12;
        /// <summary>Lengths from here on go on behind the token.</summary>
        private const int Long = 15;

        /// <summary>Packs a block.</summary>
        /// <param name="block">The block: nobody writes to it meanwhile.</param>
        /// <param name="to">Has room for <see cref="Most"/> bytes.</param>
        /// <param name="places">The table.</param>
        /// <returns>The packed size.</returns>
        [MethodImpl(Fast)]
        public static int Pack(byte* block, byte* to, ushort* places)
        {
            for (int i = 0; i < Places; i++)
            {
                places[i] = 0;
            }
            byte* written = to;
            byte* literals = block;
            byte* end = block + HeaderLayout.Block;
            for (byte* at = block; at < end - LastWithoutMatch;)
            {
                uint four = *(uint*)at;
                uint hash = (four * 2654435761u) >> (32 - HashBits);
                byte* match = block + places[hash];
                places[hash] = (ushort)(at - block);
                if (match >= at || *(uint*)match != four)
                {
                    // Faster where nothing repeats.
                    at += 1 + ((at - literals) >> 6);
                    continue;
                }
                int length = LengthOf(match, at, end - LastLiterals);
                written = Write(written, literals, (int)(at - literals), (int)(at - match), length);
                at += length;
                literals = at;
            }
            return (int)(Write(written, literals, (int)(end - literals), 0, 0) - to);
        }

        [MethodImpl(Fast)]
        private static int LengthOf(byte* match, byte* at, byte* end)
        {
            byte* from = at;
            while (at + sizeof(long) <= end && *(long*)at == *(long*)match)
            {
                at += sizeof(long);
                match += sizeof(long);
            }
            while (at < end && *at == *match)
            {
                at++;
                match++;
            }
            return (int)(at - from);
        }

        /// <summary>Writes a sequence: literals, then a match; the last one of a block has none.</summary>
        /// <returns>The end of it.</returns>
        [MethodImpl(Fast)]
        private static byte* Write(byte* to, byte* literals, int count, int distance, int length)
        {
            int more = distance == 0 ? 0 : length - ShortestMatch;
            *to++ = (byte)((count < Long ? count : Long) << 4 | (more < Long ? more : Long));
            to = WriteRest(to, count);
            for (int i = 0; i < count; i++)
            {
                *to++ = literals[i];
            }
            if (distance != 0)
            {
                *to++ = (byte)distance;
                *to++ = (byte)(distance >> 8);
                to = WriteRest(to, more);
            }
            return to;
        }

        private static byte* WriteRest(byte* to, int length)
        {
            if (length >= Long)
            {
                for (length -= Long; length >= 255; length -= 255)
                {
                    *to++ = 255;
                }
                *to++ = (byte)length;
            }
            return to;
        }
    }
}
