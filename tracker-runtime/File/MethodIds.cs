using System.Collections.Generic;

namespace Ilinst
{
    /// <summary>The methods that the profile mentions: what is new since the last look costs, what isn't does not.</summary>
    internal sealed unsafe class MethodIds
    {
        /// <summary>The bits of a call site's id, where the call waits for something.</summary>
        private const long WaitingSite = 3 << 22;
        private const int RowBits = 24;
        /// <summary>The bit of a call site's id.</summary>
        private const int CallSite = 1 << 23;
        /// <summary>The bit of a method whose allocated bytes are its caller's. Only the reader uses it.</summary>
        private const int BytesOfCaller = 1 << 22;

        private readonly Dictionary<long, bool> known = new Dictionary<long, bool>();
        /// <summary>By a chunk's address: up to where it was looked through.</summary>
        private readonly Dictionary<long, long> seen = new Dictionary<long, long>();
        private List<long> found;

        /// <summary>The key of the method's module: 40 bits. An id may be negative.</summary>
        public static long ModuleKey(long methodId)
        {
            return (methodId >> RowBits) & 0xFFFFFFFFFF;
        }

        /// <summary>The method's row when its module was instrumented; for a call site, the callee's with a bit above it.</summary>
        public static int Row(long methodId)
        {
            int row = (int)methodId & ((1 << RowBits) - 1);
            return (row & CallSite) != 0 ? row : row & ~BytesOfCaller;
        }

        /// <summary>Whether it is the id of a call that waits for something.</summary>
        public static bool Waits(long methodId)
        {
            return (methodId & WaitingSite) == WaitingSite;
        }

        /// <summary>
        /// Those that nobody has taken from the list, nor another tracker of the process given a name: who takes them, takes
        /// them out.
        /// </summary>
        /// <param name="next">One that is about to be mentioned, or 0.</param>
        public List<long> New(long next)
        {
            if (found == null)
            {
                NameRecords.ForEach(delegate(long id) { known[id] = true; }, delegate { });
                found = new List<long>();
            }
            Add(next);
            Arena.ForEach(LookThrough);
            return found;
        }

        private void LookThrough(ChunkHeader* chunk)
        {
            if (chunk->Kind == ChunkKind.Nodes)
            {
                long at;
                if (!seen.TryGetValue((long)chunk, out at))
                {
                    at = NodeLayout.FirstAt;
                }
                for (; at + Allocations.NodeSize <= Arena.Used(chunk); at += Allocations.NodeSize)
                {
                    CallNode* node = (CallNode*)((byte*)chunk + at);
                    if ((node->Flags & NodeChunk.NoNode) == 0)
                    {
                        // None: it is a root, or its thread was ended while it made it.
                        Add(node->MethodId);
                    }
                }
                seen[(long)chunk] = at;
            }
            else if (chunk->Kind == ChunkKind.Counters)
            {
                long* end = (long*)((byte*)chunk + Arena.Used(chunk));
                for (long* slot = (long*)((byte*)chunk + ChunkLayout.Header); slot < end; slot += 2)
                {
                    Add(*slot);
                }
            }
        }

        private void Add(long id)
        {
            if (id != 0 && id != NodeLayout.JitId && !known.ContainsKey(id))
            {
                found.Add(id);
                known[id] = true;
            }
        }
    }
}
