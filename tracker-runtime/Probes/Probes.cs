using System;
using System.Runtime.CompilerServices;

namespace Ilinst
{
    /// <summary>The actions of a mode's probes. It is a structure, so that the JIT compiles each generic method that takes it once a mode.</summary>
    internal interface IProbe
    {
        bool IsTimed { get; }
        bool IsTraced { get; }
        bool CountsBytes { get; }
        long Now();
    }

    /// <summary>The hot path of each mode; all other calls go to <see cref="OpenCalls"/>.</summary>
    internal static unsafe class Probes
    {
        /// <summary>Into <see cref="ProfileInfoTracker"/>'s methods.</summary>
        private const MethodImplOptions Hot = (MethodImplOptions)256;
        private const MethodImplOptions Apart = (MethodImplOptions)512 | MethodImplOptions.NoInlining;

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

        public struct ByStopwatch : IProbe
        {
            public bool IsTimed => true;
            public bool IsTraced => false;
            public bool CountsBytes => false;

            [MethodImpl(Hot)]
            public long Now() => Clock.OfStopwatch();
        }

        public struct ByReader : IProbe
        {
            public bool IsTimed => true;
            public bool IsTraced => false;
            public bool CountsBytes => false;

            [MethodImpl(Hot)]
            public long Now() => Clock.Read();
        }

        public struct Traced : IProbe
        {
            public bool IsTimed => true;
            public bool IsTraced => true;
            public bool CountsBytes => false;

            [MethodImpl(Hot)]
            public long Now() => Clock.Now();
        }

        public struct Sampled : IProbe
        {
            public bool IsTimed => false;
            public bool IsTraced => false;
            public bool CountsBytes => false;

            [MethodImpl(Hot)]
            public long Now() => 0;
        }

        public struct Allocating : IProbe
        {
            public bool IsTimed => true;
            public bool IsTraced => false;
            public bool CountsBytes => true;

            [MethodImpl(Hot)]
            public long Now() => Clock.Now();
        }

        public struct AllocatingAndTraced : IProbe
        {
            public bool IsTimed => true;
            public bool IsTraced => true;
            public bool CountsBytes => true;

            [MethodImpl(Hot)]
            public long Now() => Clock.Now();
        }

        [MethodImpl(Apart)]
        public static IntPtr EnterApart<TProbe>(long methodId)
            where TProbe : struct, IProbe
        {
            return Enter<TProbe>(methodId);
        }

        [MethodImpl(Apart)]
        public static void LeaveApart<TProbe>(IntPtr token)
            where TProbe : struct, IProbe
        {
            Leave<TProbe>(token);
        }

        [MethodImpl(Hot)]
        public static IntPtr Enter<TProbe>(long methodId)
            where TProbe : struct, IProbe
        {
            TProbe probe = default(TProbe);
            CallTree* tree = ProfileInfoTracker.tree;
            // In a forked child, a node may lie in memory that only the parent has mapped. So the flag, 0 there, is looked at first.
            if (tree == null || *ProfileInfoTracker.recorded == 0)
            {
                return OpenCalls.Enter(methodId);
            }
            RecentCall* recent = RecentCall.Of(methodId);
            CallNode* caller = (CallNode*)tree->Current;
            CallNode* node = (CallNode*)recent->Node;
            if (recent->MethodId != methodId || recent->Caller != (long)caller)
            {
                node = (CallNode*)caller->Callees;
                if (node == null)
                {
                    return OpenCalls.Enter(methodId);
                }
                if (node->MethodId != methodId)
                {
                    // Methods that are called in turn follow each other.
                    node = probe.IsTraced ? (CallNode*)node->Next : node + node->Hop;
                    if (node->MethodId != methodId || node->Stats == 0)
                    {
                        return OpenCalls.Enter(methodId);
                    }
                    caller->Callees = (long)node;
                    RecentCall.Put(methodId, caller, node);
                }
            }
            if (probe.CountsBytes && !Allocations.Runs(tree))
            {
                return OpenCalls.Enter(methodId);
            }
            long calls = node->Calls + 1;
            node->Calls = calls;
            if (probe.IsTimed)
            {
                if ((node->Flags & NodeFlags.Untimed) == 0 || (calls & Adaptive.CountedBetween) == 0)
                {
                    return Begin<TProbe>(tree, node);
                }
                // A counted call that calls no other method needs no leave probe.
                if (node->Callees == 0)
                {
                    return default(IntPtr);
                }
            }
            tree->Current = (long)node;
            return Tokens.Of(node);
        }

        /// <summary>Begins a timed call. Apart: its locals would make the frame of each counted call larger.</summary>
        [MethodImpl(Apart)]
        private static IntPtr Begin<TProbe>(CallTree* tree, CallNode* node)
            where TProbe : struct, IProbe
        {
            TProbe probe = default(TProbe);
            if ((node->Flags & NodeFlags.Untimed) != 0)
            {
                Adaptive.BeginBurst(tree, node);
            }
            StackByte here;
            here.Value = 0;
            byte unused = ((StackByte*)((byte*)&here - StackReserve))->Value;
            if (probe.CountsBytes)
            {
                Allocations.Of(node)->Start = Allocations.Now(tree);
            }
            long now = node->Start = probe.Now();
            // Current comes last: a reader of the profile must find the start of each call that it shows.
            tree->Current = (long)node;
            if (probe.IsTraced)
            {
                Events.Enter(tree, node, now);
            }
            return Tokens.Of(node);
        }

        /// <summary>
        /// The token may be any number: it is followed where it is the current node's, and that is no root, which has no
        /// statistics.
        /// </summary>
        [MethodImpl(Hot)]
        public static void Leave<TProbe>(IntPtr token)
            where TProbe : struct, IProbe
        {
            TProbe probe = default(TProbe);
            CallTree* tree = ProfileInfoTracker.tree;
            CallNode* node = (CallNode*)Tokens.Bits(token);
            Statistics* statistics;
            if (tree == null || tree->Current != (long)node || (statistics = (Statistics*)node->Stats) == null
                || !probe.IsTimed && *ProfileInfoTracker.recorded == 0)
            {
                OpenCalls.Leave(token, Clock.Now());
                return;
            }
            long now = 0;
            if (probe.IsTimed)
            {
                if ((node->Flags & NodeFlags.Untimed) != 0)
                {
                    tree->Current = node->Caller;
                    return;
                }
                now = probe.Now();
                if (node->Start + *ProfileInfoTracker.recorded >= 0 || probe.CountsBytes && !Allocations.Runs(tree))
                {
                    OpenCalls.Leave(token, now);
                    return;
                }
            }
            long leaves = node->Leaves + 1;
            node->Leaves = leaves;
            if (probe.IsTimed)
            {
                long ticks = now - node->Start;
                node->Total += ticks;
                Statistics.Add(statistics, ticks);
            }
            if (probe.CountsBytes)
            {
                NodeBytes* bytes = Allocations.Of(node);
                bytes->Total += Allocations.Now(tree) - bytes->Start;
            }
            tree->Current = node->Caller;
            if (probe.IsTraced)
            {
                Events.Leave(tree, node, now);
            }
            if ((leaves & Adaptive.TimedBetween) == 0)
            {
                Rest(tree, node);
            }
        }

        /// <summary>Between two calls, once in a while.</summary>
        [MethodImpl(MethodImplOptions.NoInlining)]
        private static void Rest(CallTree* tree, CallNode* node)
        {
            CallTree* stopped = Allocations.Stop();
            Adaptive.Look(tree, node);
            if ((node->Leaves & Calibration.CallsBetween) == 0)
            {
                Calibration.Among(tree);
            }
            Allocations.Continue(stopped);
        }
    }
}
