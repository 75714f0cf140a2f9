namespace Ilinst
{
    /// <summary>Text as bytes, by hand: an Encoding asks the library for more than a trimmed program has.</summary>
    internal static unsafe class Utf8
    {
        /// <summary>How many bytes a text takes.</summary>
        public static int Length(string text)
        {
            return Put(null, text, int.MaxValue);
        }

        /// <summary>Writes a text, or as many whole characters of it as there is room for.</summary>
        /// <returns>How many bytes it took.</returns>
        public static int Put(byte* to, string text, int room)
        {
            int at = 0;
            for (int i = 0; i < text.Length; i++)
            {
                int code = text[i];
                bool isPair = code >= 0xD800 && code < 0xDC00 && i + 1 < text.Length && text[i + 1] >= 0xDC00 && text[i + 1] < 0xE000;
                if (isPair)
                {
                    code = 0x10000 + ((code - 0xD800) << 10) + (text[++i] - 0xDC00);
                }
                else if (code >= 0xD800 && code < 0xE000)
                {
                    code = 0xFFFD;
                }
                int size = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
                if (at > room - size)
                {
                    break;
                }
                if (to != null)
                {
                    PutOne(to + at, code, size);
                }
                at += size;
            }
            return at;
        }

        /// <summary>Writes a number that is not negative, which the library does by a culture.</summary>
        /// <returns>Where it ends.</returns>
        public static byte* PutNumber(byte* to, int number)
        {
            to = number < 10 ? to : PutNumber(to, number / 10);
            *to = (byte)('0' + number % 10);
            return to + 1;
        }

        /// <summary>The text up to a zero byte.</summary>
        public static string Text(byte* from, int length)
        {
            string text = "";
            for (int i = 0; i < length && from[i] != 0;)
            {
                int first = from[i++];
                int more = first < 0xC0 ? 0 : first < 0xE0 ? 1 : first < 0xF0 ? 2 : 3;
                int code = more == 0 ? first : first & (0x3F >> more);
                for (; more > 0 && i < length && from[i] >> 6 == 2; more--)
                {
                    code = code << 6 | (from[i++] & 0x3F);
                }
                text += code < 0x10000 ? new string((char)code, 1)
                    : new string((char)(0xD800 + ((code - 0x10000) >> 10)), 1) + new string((char)(0xDC00 + (code & 0x3FF)), 1);
            }
            return text;
        }

        private static void PutOne(byte* to, int code, int size)
        {
            for (int i = size - 1; i > 0; i--)
            {
                to[i] = (byte)(0x80 | (code & 0x3F));
                code >>= 6;
            }
            to[0] = (byte)(size == 1 ? code : (0xF00 >> size) & 0xFF | code);
        }
    }
}
