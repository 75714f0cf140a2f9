using System.Collections.Generic;

namespace Ilinst
{
    /// <summary>The methods that the profile mentions: what is new since the last look costs, what isn't does not.</summary>
    internal sealed unsafe class MethodIds
    {
        private readonly Dictionary<long, bool> known = new Dictionary<long, bool>();
        /// <summary>By a chunk's address: up to where it was looked through.</summary>
        private readonly Dictionary<long, long> seen = new Dictionary<long, long>();
        private List<long> found;

        /// <summary>Those that were not there the last time, and have no name from another tracker of the process.</summary>
        public List<long> New()
        {
            if (found == null)
            {
                NameRecords.ForEach(delegate(long id) { known[id] = true; }, delegate { });
            }
            found = new List<long>();
            Arena.ForEach(LookThrough);
            return found;
        }

        private void LookThrough(ChunkHeader* chunk)
        {
            if (chunk->Kind == ChunkHeader.Nodes)
            {
                long at;
                if (!seen.TryGetValue((long)chunk, out at))
                {
                    at = NodeChunk.FirstNode;
                }
                for (; at + NodeChunk.NodeSize <= chunk->Used; at += NodeChunk.NodeSize)
                {
                    CallNode* node = (CallNode*)((byte*)chunk + at);
                    if ((node->Flags & NodeChunk.NoNode) == 0)
                    {
                        if (node->MethodId == 0 && (node->Flags & NodeFlags.Root) == 0)
                        {
                            // It is being made.
                            break;
                        }
                        Add(node->MethodId);
                    }
                }
                seen[(long)chunk] = at;
            }
            else if (chunk->Kind == ChunkHeader.Counters)
            {
                long* end = (long*)((byte*)chunk + chunk->Used);
                for (long* slot = (long*)((byte*)chunk + Arena.ChunkHeaderSize); slot < end; slot += 2)
                {
                    Add(*slot);
                }
            }
        }

        private void Add(long id)
        {
            if (id != 0 && !known.ContainsKey(id))
            {
                known[id] = true;
                found.Add(id);
            }
        }
    }
}
