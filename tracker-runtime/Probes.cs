using System;
using System.Diagnostics;
using System.Runtime.CompilerServices;

namespace Ilinst
{
    /// <summary>The hot path of each mode; whatever is not the same as the last time is in <see cref="OpenCalls"/>.</summary>
    internal static unsafe class Probes
    {
        /// <summary>Into <see cref="ProfileInfoTracker"/>'s methods.</summary>
        private const MethodImplOptions Hot = (MethodImplOptions)256;
        private const MethodImplOptions Apart = (MethodImplOptions)512;

        /// <summary>
        /// How many bytes of stack a method needs to be entered. Mono's programs can catch a stack overflow, but not one in
        /// native code, such as that which reads the clock: so it has to come before.
        /// </summary>
        public static long StackReserve;

        /// <summary>Volatile, or reading it for nothing could be left out.</summary>
        private struct StackByte
        {
            public volatile byte Value;
        }

        [MethodImpl(Hot)]
        public static IntPtr Enter(long methodId)
        {
            StackByte here;
            here.Value = 0;
            byte unused = ((StackByte*)((byte*)&here - StackReserve))->Value;
            CallTree* tree = ProfileInfoTracker.tree;
            CallNode* node;
            if (tree == null || (node = (CallNode*)((CallNode*)tree->Current)->Callees) == null || node->MethodId != methodId
                || ProfileInfoTracker.isPaused)
            {
                return OpenCalls.Enter(methodId);
            }
            // Current comes last: who reads the profile just now must find the start of a call it shows.
            node->Calls++;
            node->Start = Stopwatch.GetTimestamp();
            tree->Current = (long)node;
            return (IntPtr)node;
        }

        /// <summary>
        /// The token may be any number: it is followed where it is the current node's, and that is no root, which has no
        /// statistics.
        /// </summary>
        [MethodImpl(Hot)]
        public static void Leave(IntPtr token)
        {
            long now = Stopwatch.GetTimestamp();
            CallTree* tree = ProfileInfoTracker.tree;
            CallNode* node = (CallNode*)token;
            Statistics* statistics;
            if (tree == null || tree->Current != (long)node || (statistics = (Statistics*)node->Stats) == null
                || node->Start < ProfileInfoTracker.lastPause)
            {
                OpenCalls.Leave(token, now);
                return;
            }
            long ticks = now - node->Start;
            node->Total += ticks;
            node->Leaves++;
            Statistics.Add(statistics, ticks);
            tree->Current = node->Caller;
        }

        /// <summary>By whichever clock, and with events.</summary>
        [MethodImpl(Apart)]
        public static IntPtr EnterTimed(long methodId)
        {
            StackByte here;
            here.Value = 0;
            byte unused = ((StackByte*)((byte*)&here - StackReserve))->Value;
            CallTree* tree = ProfileInfoTracker.tree;
            CallNode* node;
            if (tree == null || (node = (CallNode*)((CallNode*)tree->Current)->Callees) == null || node->MethodId != methodId
                || ProfileInfoTracker.isPaused)
            {
                return OpenCalls.Enter(methodId);
            }
            node->Calls++;
            long now = Clock.Now();
            node->Start = now;
            tree->Current = (long)node;
            if (Mode.Kind == Mode.Trace)
            {
                Events.Enter(tree, node, now);
            }
            return (IntPtr)node;
        }

        [MethodImpl(Apart)]
        public static void LeaveTimed(IntPtr token)
        {
            long now = Clock.Now();
            CallTree* tree = ProfileInfoTracker.tree;
            CallNode* node = (CallNode*)token;
            Statistics* statistics;
            if (tree == null || tree->Current != (long)node || (statistics = (Statistics*)node->Stats) == null
                || node->Start < ProfileInfoTracker.lastPause)
            {
                OpenCalls.Leave(token, now);
                return;
            }
            long ticks = now - node->Start;
            node->Total += ticks;
            node->Leaves++;
            Statistics.Add(statistics, ticks);
            tree->Current = node->Caller;
            if (Mode.Kind == Mode.Trace)
            {
                Events.Leave(tree, node, now);
            }
        }

        /// <summary>No clock is read, and no stack needed for it.</summary>
        [MethodImpl(Hot)]
        public static IntPtr EnterSampled(long methodId)
        {
            CallTree* tree = ProfileInfoTracker.tree;
            CallNode* node;
            if (tree == null || (node = (CallNode*)((CallNode*)tree->Current)->Callees) == null || node->MethodId != methodId
                || ProfileInfoTracker.isPaused)
            {
                return OpenCalls.Enter(methodId);
            }
            node->Calls++;
            tree->Current = (long)node;
            return (IntPtr)node;
        }

        [MethodImpl(Hot)]
        public static void LeaveSampled(IntPtr token)
        {
            CallTree* tree = ProfileInfoTracker.tree;
            CallNode* node = (CallNode*)token;
            if (tree == null || tree->Current != (long)node || node->Stats == 0)
            {
                OpenCalls.Leave(token, Clock.Now());
                return;
            }
            node->Leaves++;
            tree->Current = node->Caller;
        }
    }
}
