using System.Collections.Generic;

namespace Ilinst
{
    /// <summary>
    /// The names of its methods in a module's mark. The rows that ids have are those of the module as it was woven; in one
    /// that was trimmed or otherwise rewritten since, they may be other methods'.
    /// </summary>
    internal sealed class WovenNames
    {
        private const byte Checks = 1;
        private const byte Names = 2;
        private const int CallSite = 0x800000;
        private const int CallSiteRows = 0x3FFFFF;

        private readonly byte[] bytes;
        private readonly MarkReader reader;
        /// <summary>By row, with the bit of call sites: where the type's name is, and the method's (in the lower half).</summary>
        private readonly Dictionary<int, long> places = new Dictionary<int, long>();
        private readonly int checksAt;

        /// <summary>Takes what a mark has; a damaged one has no names, and lets no name pass.</summary>
        public WovenNames(byte[] bytes)
        {
            this.bytes = bytes;
            reader = new MarkReader(bytes);
            int at = 1;
            for (int calls = reader.Int32(ref at); calls > 0 && at < bytes.Length; calls--)
            {
                int row = reader.Int32(ref at);
                int type = reader.Skip(ref at);
                places[CallSite | row] = (long)type << 32 | (uint)reader.Skip(ref at);
            }
            checksAt = bytes.Length > 0 && bytes[0] == Checks ? at : bytes.Length;
            while (bytes.Length > 0 && bytes[0] == Names && at < bytes.Length)
            {
                int type = reader.Skip(ref at);
                int row = reader.Int32(ref at);
                for (int count = reader.Int32(ref at); count > 0 && at < bytes.Length; count--, row++)
                {
                    bool isNamed = bytes[at] != 0;
                    int name = reader.Skip(ref at);
                    if (isNamed)
                    {
                        places[row] = (long)type << 32 | (uint)name;
                    }
                }
            }
        }

        /// <summary>The names of a method, by the lower bits of its id.</summary>
        public bool Find(int number, out string type, out string name)
        {
            long place;
            bool isThere = places.TryGetValue((number & CallSite) != 0 ? CallSite | (number & CallSiteRows) : number, out place);
            type = isThere ? reader.Text((int)(place >> 32)) : "";
            name = isThere ? reader.Text((int)place) : "";
            return isThere;
        }

        /// <summary>Whether the method that has the row now has the name of the one that was woven.</summary>
        public bool Fits(int number, string type, string name)
        {
            long at = checksAt + 2 * (number - 1L);
            if ((number & CallSite) != 0 || number <= 0 || at + 2 > bytes.Length)
            {
                return false;
            }
            int check = bytes[at] | bytes[at + 1] << 8;
            return check == 0 || check == Check(type, name);
        }

        /// <summary>As the weaver computes it (names/src/name_check.rs).</summary>
        private static int Check(string type, string name)
        {
            uint hash = Add(Add(Add(0x811C9DC5, type), ":"), name);
            int check = (int)((hash ^ hash >> 16) & 0xFFFF);
            return check == 0 ? 1 : check;
        }

        private static uint Add(uint hash, string text)
        {
            foreach (char unit in text)
            {
                hash = unchecked((hash ^ unit) * 0x01000193);
            }
            return hash;
        }
    }
}
