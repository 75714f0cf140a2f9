using System.Runtime.InteropServices;

namespace Ilinst
{
    /// <summary>
    /// The times of a node's first few calls, in a slot like a node's. <see cref="Statistics"/> take four times the room.
    /// </summary>
    [StructLayout(LayoutKind.Explicit, Size = NodeLayout.Size)]
    internal unsafe struct FewCalls
    {
        /// <summary>Ticks of the first call, at the same place as <see cref="Statistics.First"/>.</summary>
        [FieldOffset(FewCallsLayout.FirstAt)] public long First;
        /// <summary>The number of times. In a slot that is not in use, the next such slot.</summary>
        [FieldOffset(FewCallsLayout.CountAt)] public long Count;
        /// <summary>Ticks of each other call.</summary>
        [FieldOffset(FewCallsLayout.TimesAt)] public fixed long Times[FewCallsLayout.Most];
        /// <summary>At the place of <see cref="CallNode.Flags"/>.</summary>
        [FieldOffset(NodeLayout.FlagsAt)] public int Flags;

        /// <summary>Adds a node's second call.</summary>
        /// <returns>Whether there is room.</returns>
        public static bool Begin(CallTree* tree, CallNode* node, long ticks, long first)
        {
            FewCalls* few = (FewCalls*)tree->FreeFewCalls;
            if (few != null)
            {
                tree->FreeFewCalls = few->Count;
            }
            else
            {
                few = (FewCalls*)CallTrees.Slot(tree);
                if (few == null)
                {
                    return false;
                }
                few->Flags = NodeFlags.FewCalls;
                CallTrees.Show(few);
            }
            few->First = first;
            few->Times[0] = ticks;
            few->Count = 1;
            node->Flags |= NodeFlags.HasFewCalls;
            node->ColdStats = (long)few;
            return true;
        }

        /// <summary>Adds another call.</summary>
        /// <returns>False if the node has no such slot, or it is full.</returns>
        public static bool Record(CallNode* node, long ticks)
        {
            FewCalls* few = (FewCalls*)node->ColdStats;
            if ((node->Flags & NodeFlags.HasFewCalls) == 0 || few->Count == FewCallsLayout.Most)
            {
                return false;
            }
            few->Times[few->Count] = ticks;
            few->Count++;
            return true;
        }

        /// <summary>The slot may become another node's.</summary>
        public static void Free(CallTree* tree, FewCalls* few)
        {
            if (few != null)
            {
                few->Count = tree->FreeFewCalls;
                tree->FreeFewCalls = (long)few;
            }
        }
    }
}
