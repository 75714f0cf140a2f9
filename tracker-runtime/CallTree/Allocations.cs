using System;
using System.Reflection;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Ilinst
{
    /// <summary>
    /// --allocations: the bytes that a thread allocates in a node's calls. They are counted as time is, by a clock of each
    /// thread's own: <see cref="CallTree.Bytes"/>. It stands still while the tracker itself is at work, and in pauses.
    /// </summary>
    internal static unsafe class Allocations
    {
        public delegate long Counter();

        private const MethodImplOptions Inlined = (MethodImplOptions)256;
        /// <summary>As a mark has it. Another option of a mark comes first.</summary>
        private const string Option = " --allocations";

        /// <summary>The bytes that this thread has allocated so far; null if bytes are not counted.</summary>
        private static Counter count;

        /// <summary>How many slots a node takes, or what takes a node's place.</summary>
        public static int SlotsOfNode = 1;
        /// <summary>The same in bytes.</summary>
        public static int NodeSize = NodeLayout.Size;

        /// <summary>Whether bytes are counted.</summary>
        public static bool AreCounted
        {
            get { return count != null; }
        }

        /// <summary>Whether this tracker would count bytes. The tracker that makes the profile decides for the process.</summary>
        public static bool AreWanted;

        /// <summary>
        /// Looks at the variable, or else at the marks of the modules that are loaded at the first probe. No lock is taken before:
        /// to find the types of attributes, the runtime may call the program.
        /// </summary>
        public static void Look()
        {
            string setting = Settings.Allocations;
            AreWanted = setting.Length == 0 ? AreAsked() : setting == "1";
        }

        private static bool AreAsked()
        {
            foreach (Assembly assembly in AppDomain.CurrentDomain.GetAssemblies())
            {
                foreach (WovenAttribute mark in NameWriter.MarksOf(assembly))
                {
                    if (mark.Options != null && mark.Options.IndexOf(Option, StringComparison.Ordinal) >= 0)
                    {
                        return true;
                    }
                }
            }
            return false;
        }

        /// <summary>The flags of a new profile's header.</summary>
        public static int FlagsOfNew()
        {
            if (!AreWanted || Find() != null)
            {
                return AreWanted ? HeaderFlags.Allocations : 0;
            }
            Log.Write("allocations: this runtime does not count the bytes that a thread allocates; only times are recorded");
            return HeaderFlags.NoAllocations;
        }

        /// <summary>As the profile's header says, before the first tree is made: trackers of a process share their trees.</summary>
        public static void Start(Header* header)
        {
            if ((header->Flags & HeaderFlags.Allocations) != 0)
            {
                count = Find();
                SlotsOfNode = 2;
                NodeSize = SlotsOfNode * NodeLayout.Size;
            }
        }

        private static Counter Find()
        {
            try
            {
                return OfRuntime();
            }
            catch (Exception)
            {
                return null;
            }
        }

        /// <summary>.NET Core has it since 2.0, .NET Framework since 4.8. It is called once: the first call may allocate.</summary>
        [MethodImpl(MethodImplOptions.NoInlining)]
        private static Counter OfRuntime()
        {
            MethodInfo method = typeof(GC).GetMethod(
                "GetAllocatedBytesForCurrentThread", BindingFlags.Static | BindingFlags.Public | BindingFlags.NonPublic);
            if (method == null)
            {
                return null;
            }
            Counter found = (Counter)Delegates.Of(typeof(Counter), null, method);
            long before = found();
            GC.KeepAlive(new byte[64 * 1024]);
            // A runtime may have the method, and count nothing.
            return found() > before ? found : null;
        }

        /// <summary>The bytes of a node, or frame.</summary>
        [MethodImpl(Inlined)]
        public static NodeBytes* Of(void* node)
        {
            return (NodeBytes*)((byte*)node + NodeLayout.Size);
        }

        /// <summary>For the fast path: whether the clock has run since this thread's last probe.</summary>
        [MethodImpl(Inlined)]
        public static bool Runs(CallTree* tree)
        {
            return ((TreeMemory*)tree->Memory)->BytesRunSince == *ProfileInfoTracker.recorded;
        }

        /// <summary>Reads the clock, which runs.</summary>
        [MethodImpl(Inlined)]
        public static long Now(CallTree* tree)
        {
            long now = count() - ((TreeMemory*)tree->Memory)->BytesOfTracker;
            tree->Bytes = now;
            return now;
        }

        /// <summary>The tracker begins to work on this thread: the clock stops.</summary>
        /// <returns>The argument for <see cref="Continue"/>.</returns>
        public static CallTree* Stop()
        {
            if (count == null && CallTrees.IsStarted)
            {
                return null;
            }
            long bytes = count == null ? 0 : count();
            CallTree* tree = ProfileInfoTracker.tree;
            bool isNew = tree == null;
            tree = isNew ? CallTrees.OfThisThread() : tree;
            if (tree == null || count == null)
            {
                return null;
            }
            TreeMemory* memory = (TreeMemory*)tree->Memory;
            if (memory->BytesStand != 0)
            {
                return null;
            }
            memory->BytesStand = 1;
            // Where calls are open, another tracker of the process has made the tree.
            if ((!isNew || tree->Current != tree->Root) && !Recording.IsPaused && Runs(tree))
            {
                tree->Bytes = bytes - memory->BytesOfTracker;
            }
            return tree;
        }

        /// <summary>The clock continues where it stopped.</summary>
        public static void Continue(CallTree* tree)
        {
            if (tree != null)
            {
                TreeMemory* memory = (TreeMemory*)tree->Memory;
                memory->BytesStand = 0;
                memory->BytesRunSince = *ProfileInfoTracker.recorded;
                memory->BytesOfTracker = count() - tree->Bytes;
            }
        }

        /// <summary>A node's call begins, or a frame. The clock stands.</summary>
        public static void Begin(CallTree* tree, void* node)
        {
            if (count != null)
            {
                Of(node)->Start = Of(node)->Began = tree->Bytes;
            }
        }

        /// <summary>Adds what was allocated since a call began, or a frame, to its node.</summary>
        public static void End(CallTree* tree, void* begun, CallNode* node, bool isDetached)
        {
            if (count != null)
            {
                long bytes = tree->Bytes - Of(begun)->Start;
                Of(node)->Total += bytes;
                Of(node)->Detached += isDetached ? bytes : 0;
            }
        }

        /// <summary>The bytes since a frame began.</summary>
        public static long SinceBegin(CallTree* tree, Frame* frame)
        {
            return count == null ? 0 : tree->Bytes - Of(frame)->Began;
        }
    }

    /// <summary>The second slot of a node, or frame.</summary>
    [StructLayout(LayoutKind.Explicit, Size = NodeLayout.Size)]
    internal struct NodeBytes
    {
        /// <summary>The bytes when the open call, or frame, began, put off by what interrupted it.</summary>
        [FieldOffset(AllocationLayout.StartAt)] public long Start;
        /// <summary>The bytes of calls that have ended, with their callees.</summary>
        [FieldOffset(AllocationLayout.TotalAt)] public long Total;
        /// <summary>Bytes of <see cref="Total"/> that are none of the caller's, less those of the caller's that are not in it.</summary>
        [FieldOffset(AllocationLayout.DetachedAt)] public long Detached;
        /// <summary>Of a frame: the bytes when it began.</summary>
        [FieldOffset(AllocationLayout.OwnAt)] public long Began;
    }
}
