using System;
using System.Reflection;
using System.Runtime.CompilerServices;

namespace Ilinst
{
    /// <summary>
    /// The time that a thread spends in the JIT compiler. It is no time of the method that runs: it goes to a node of its own below that
    /// method. The runtime is asked when a call path begins, and when its first call ends, as most methods are compiled then.
    /// </summary>
    internal static unsafe class JitTime
    {
        private delegate TimeSpan Reader(bool ofThisThread);

        /// <summary>Null where the runtime does not tell, and where the clock is not of real time.</summary>
        private static Reader read;
        /// <summary>Ticks of the tracker's clock in one of a TimeSpan.</summary>
        private static double scale;

        /// <summary>The clock is chosen.</summary>
        public static void Start()
        {
            if (!Mode.IsTimed || Clock.Kind == ClockKind.Program)
            {
                return;
            }
            try
            {
                scale = (double)Clock.Frequency / TimeSpan.TicksPerSecond;
                Reader found = Find();
                if (found != null && Ticks(found) >= 0)
                {
                    read = found;
                }
            }
            catch (Exception)
            {
                // Compile time stays in the time of methods.
            }
        }

        /// <summary>.NET has it since 6.</summary>
        [MethodImpl(MethodImplOptions.NoInlining)]
        private static Reader Find()
        {
            Type type = Type.GetType("System.Runtime.JitInfo");
            MethodInfo method = type == null ? null : type.GetMethod("GetCompilationTime");
            return method == null ? null : (Reader)Delegates.Of(typeof(Reader), null, method);
        }

        /// <summary>Apart: a trimmed program may lack what this takes.</summary>
        [MethodImpl(MethodImplOptions.NoInlining)]
        private static long Ticks(Reader read)
        {
            return read(true).Ticks;
        }

        /// <summary>A thread begins to use a tree: an earlier thread's time is not its own.</summary>
        public static void Own(CallTree* tree)
        {
            if (read != null)
            {
                TreeMemory* memory = (TreeMemory*)tree->Memory;
                memory->JitTime = Ticks(read);
                memory->JitLooked = Clock.Now();
            }
        }

        /// <summary>
        /// Adds the time since the last look to the current call. A part that cannot lie within this call stays in its method's time.
        /// </summary>
        public static void Look(CallTree* tree)
        {
            TreeMemory* memory = (TreeMemory*)tree->Memory;
            // The trees of calibrations have no owner, and no room.
            if (read == null || memory->JitLooked == 0)
            {
                return;
            }
            CallNode* node = (CallNode*)tree->Current;
            long total = Ticks(read);
            long compiled = total - memory->JitTime;
            long since = memory->JitLooked;
            long now = Clock.Now();
            memory->JitTime = total;
            memory->JitLooked = now;
            if (compiled <= 0 || (node->Flags & (NodeFlags.Root | NodeFlags.Overflow)) != 0)
            {
                return;
            }
            Frame* frame = (Frame*)tree->Frame;
            long start = OpenCalls.IsOf(frame, node) ? frame->Start : (node->Flags & NodeFlags.Untimed) != 0 ? since : node->Start;
            long most = Pauses.Elapsed(start > since ? start : since, now);
            CallNode* jit = NodeBelow(tree, node);
            if (jit != null)
            {
                long ticks = (long)(compiled * scale);
                jit->Total += ticks < most ? ticks : most;
            }
        }

        /// <summary>The ticks below a node.</summary>
        public static long Below(CallTree* tree, CallNode* node)
        {
            CallNode* jit = NodeIndex.Find((NodeIndex*)((TreeMemory*)tree->Memory)->JitNodes, (long)node);
            return jit == null ? 0 : jit->Total;
        }

        /// <summary>
        /// It is none of the caller's callees: the fast path of a method that calls no other one asks for those. Null if there is no room.
        /// </summary>
        private static CallNode* NodeBelow(CallTree* tree, CallNode* caller)
        {
            NodeIndex** index = (NodeIndex**)&((TreeMemory*)tree->Memory)->JitNodes;
            CallNode* found = NodeIndex.Find(*index, (long)caller);
            if (found == null && Control.OfProcess()->NodesLeft > 0 && NodeIndex.Reserve(index))
            {
                found = CallTrees.NewNode(tree, NodeLayout.JitId, caller, 0);
                if (found != null)
                {
                    NodeIndex.Put(*index, (long)caller, found);
                }
            }
            return found;
        }
    }
}
