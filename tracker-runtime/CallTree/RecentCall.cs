using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Ilinst
{
    /// <summary>
    /// A recent call of a method on a thread: its caller and its node. The fast path looks here first, then into the caller's ring of
    /// callees. With the ring alone, a caller that calls its callees in varying order causes branch mispredictions, and such calls
    /// cost more than is subtracted.
    /// </summary>
    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct RecentCall
    {
        /// <summary>The number of places of a thread, in 4 KiB: a power of two.</summary>
        public const int Count = 128;
        /// <summary>The size of a place in numbers of 64 bits: a power of two, too.</summary>
        public const int Size = 4;

        public long MethodId;
        public long Caller;
        public long Node;
        private readonly long unused;

        /// <summary>The place for a method's calls by this thread, which has a tree: by the low bits of its row in MethodDef.</summary>
        [MethodImpl((MethodImplOptions)256)]
        public static RecentCall* Of(long methodId)
        {
            return ProfileInfoTracker.recent + (methodId & (Count - 1));
        }

        /// <summary>Notes a call for the next one.</summary>
        public static void Put(long methodId, CallNode* caller, CallNode* node)
        {
            RecentCall* place = Of(methodId);
            place->MethodId = methodId;
            place->Caller = (long)caller;
            place->Node = (long)node;
        }
    }
}
