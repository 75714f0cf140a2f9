namespace Ilinst
{
    /// <summary>Reads the arrays of a module's mark. Behind their end all bytes are 0.</summary>
    internal sealed unsafe class MarkReader
    {
        private readonly byte[] bytes;

        public MarkReader(byte[] bytes)
        {
            this.bytes = bytes;
        }

        /// <summary>The text at a position.</summary>
        public string Text(int at)
        {
            int length = Number(ref at);
            fixed (byte* text = bytes)
            {
                return Utf8.Text(text + at, length > bytes.Length - at ? bytes.Length - at : length);
            }
        }

        /// <summary>Where a text is; the position is behind it then.</summary>
        public int Skip(ref int at)
        {
            int start = at;
            long end = Number(ref at) + (long)at;
            at = end > bytes.Length ? bytes.Length : (int)end;
            return start;
        }

        /// <summary>A compressed number (ECMA-335 II.23.2).</summary>
        public int Number(ref int at)
        {
            int first = Byte(ref at);
            if (first < 0x80)
            {
                return first;
            }
            if (first < 0xC0)
            {
                return (first & 0x3F) << 8 | Byte(ref at);
            }
            return ((first & 0x1F) << 24) | Byte(ref at) << 16 | Byte(ref at) << 8 | Byte(ref at);
        }

        /// <summary>A number of four bytes.</summary>
        public int Int32(ref int at)
        {
            return Byte(ref at) | Byte(ref at) << 8 | Byte(ref at) << 16 | Byte(ref at) << 24;
        }

        private int Byte(ref int at)
        {
            return at < bytes.Length ? bytes[at++] : 0;
        }
    }
}
