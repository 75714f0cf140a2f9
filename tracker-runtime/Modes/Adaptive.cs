using System;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Ilinst
{
    /// <summary>
    /// Call paths whose own time per call is less than twice the time of their probes. The cost of probes varies between places by a
    /// quarter or more. No correction can tell it from the time of such calls. They are only counted, and their time is part of their
    /// caller's. A path is judged by the thread that it belongs to, when one of its calls has ended.
    /// </summary>
    internal static unsafe class Adaptive
    {
        /// <summary>The number of timed calls between two looks at a path, less one; a power of two, less one.</summary>
        public const long TimedBetween = 0xFF;
        /// <summary>The same of counted calls: then some are timed, to see whether the path became slower.</summary>
        public const long CountedBetween = 0x3FFF;
        /// <summary>As <see cref="TimedBetween"/>, between two judgements.</summary>
        private const long JudgedBetween = 0x3FF;
        /// <summary>The limit, as a multiple of the cost of a call's probes.</summary>
        private const double LimitInProbes = 2;
        /// <summary>A path is timed again if it takes this many times the limit: the two must not alternate.</summary>
        private const double TimedAgainFrom = 2;
        /// <summary>
        /// The sum of judgements that changes a path. Each lies between -1 and 1: the distance from the limit, as a part of it (for a
        /// counted path, from <see cref="TimedAgainFrom"/> limits). So an interruption alone changes nothing, and a path near the limit
        /// changes only after many judgements.
        /// </summary>
        private const double Enough = 1.2;
        /// <summary>The least sum for a timed path: one that was slow for long, and is short now, is counted after some judgements.</summary>
        private const double LeastSum = -2;
        /// <summary>A path with more callees is not judged: they would all have to be added up.</summary>
        private const int MaxCallees = 256;

        /// <summary>In ticks: the own time of a call below which a path is counted. 0: none is. Negative: by <see cref="LimitInProbes"/>.</summary>
        private static double limit;

        public static void Start()
        {
            long nanoseconds = Settings.CountBelow(-1);
            // The bytes of a call that is only counted would be its caller's.
            limit = Mode.Kind != RecordingMode.Exact || Allocations.AreCounted ? 0 : nanoseconds < 0 ? -1 : nanoseconds * 1e-9 * Clock.Frequency;
        }

        /// <summary>A call has ended, with which a multiple of <see cref="TimedBetween"/> + 1 were timed.</summary>
        public static void Look(CallTree* tree, CallNode* node)
        {
            bool isBurst = (node->Flags & NodeFlags.Counted) != 0;
            if (limit == 0 || !isBurst && (node->Leaves & JudgedBetween) != 0 || !MayBeCounted(node))
            {
                return;
            }
            Judgement* last = JudgementOf(tree, node);
            Measured now;
            if (last == null || !Measure(tree, node, out now))
            {
                node->Flags |= isBurst ? NodeFlags.Untimed : 0;
                return;
            }
            Measured before = last->Measured;
            last->Measured = now;
            // The first calls compile and load.
            if (before.Leaves == 0)
            {
                return;
            }
            double atLimit = (now.Leaves - before.Leaves) * Limit(tree);
            // Probes cost nothing by the clock of some tests.
            double inLimits = atLimit > 0 ? OwnTicks(before, now) / atLimit : double.MaxValue;
            double change = isBurst ? inLimits / TimedAgainFrom - 1 : 1 - inLimits;
            double sum = last->ForChange + Math.Max(-1, Math.Min(change, 1));
            last->ForChange = Math.Max(sum, isBurst ? 0 : LeastSum);
            if (sum < Enough)
            {
                // A burst continues while the sum is above 0.
                node->Flags |= isBurst && sum <= 0 ? NodeFlags.Untimed : 0;
                return;
            }
            last->ForChange = 0;
            if (isBurst)
            {
                TimeAgain(tree, node);
                return;
            }
            last->Self = node->Total - TicksBelow(tree, node);
            last->Detached = node->Detached;
            last->Timed = node->Leaves;
            last->OutsideBefore = now.Outside;
            last->InsideBefore = now.Inside;
            node->Flags |= NodeFlags.Counted | NodeFlags.Untimed;
        }

        /// <summary>Some of the path's calls are timed from now on, until <see cref="Look"/>.</summary>
        [MethodImpl(MethodImplOptions.NoInlining)]
        public static void BeginBurst(CallTree* tree, CallNode* node)
        {
            Judgement* last = JudgementOf(tree, node);
            Measured now;
            if (last != null && Measure(tree, node, out now))
            {
                last->Measured = now;
                node->Flags &= ~NodeFlags.Untimed;
            }
        }

        /// <summary>
        /// The path's calls are timed from now on. Its own time and its timed calls so far are those from before it was counted: the
        /// rest was its caller's.
        /// </summary>
        public static void TimeAgain(CallTree* tree, CallNode* node)
        {
            Judgement* last = JudgementOf(tree, node);
            node->Total = TicksBelow(tree, node) + (last == null ? 0 : last->Self);
            node->Detached = last == null ? 0 : last->Detached;
            node->Leaves = last == null ? 0 : last->Timed;
            node->Flags = node->Flags & ~(NodeFlags.Counted | NodeFlags.Untimed) | NodeFlags.WasCounted;
            if (last != null)
            {
                last->ForChange = 0;
                // The next judgements start from the time that is left.
                Measure(tree, node, out last->Measured);
            }
        }

        private static double Limit(CallTree* tree)
        {
            Header* header = Arena.Header;
            return limit >= 0 ? limit : LimitInProbes * (header->CostInside + header->CostOutside) * ThreadClock.Stretch(tree);
        }

        /// <summary>
        /// A thread's first methods have no caller that their time could be part of. Waiting time is told apart from running time.
        /// Nodes with time that is none of their callers' are left to the slow path.
        /// </summary>
        private static bool MayBeCounted(CallNode* node)
        {
            const int Roots = NodeFlags.Root | NodeFlags.LayerRoot | NodeFlags.Overflow;
            return node->Detached <= 0 && node->Stats != 0 && (node->Flags & NodeFlags.Async) == 0
                && (((CallNode*)node->Caller)->Flags & Roots) == 0 && !MethodIds.Waits(node->MethodId);
        }

        /// <summary>Measures all timed calls of a path, without callees and the compiler, but with probes.</summary>
        /// <returns>False if it has too many callees.</returns>
        private static bool Measure(CallTree* tree, CallNode* node, out Measured measured)
        {
            int left = MaxCallees;
            Sum below = Below(tree, node, 0, ref left);
            measured = new Measured();
            measured.Leaves = node->Leaves;
            measured.Ticks = node->Total - below.Ticks;
            measured.Outside = below.Outside;
            measured.Inside = below.Inside;
            return left >= 0;
        }

        /// <summary>
        /// The ticks of a path's own calls between two moments, without probes. The cost of a probe becomes known better during the run:
        /// so only the probes in between are subtracted, and not the difference of two sums with different costs. Half of the cost of
        /// the callees' probes stays: it is not known precisely, and a path with timed callees that are short themselves is judged once
        /// they are counted.
        /// </summary>
        private static double OwnTicks(Measured before, Measured now)
        {
            Header* header = Arena.Header;
            // A callee that is timed again has fewer timed calls than before.
            double outside = Math.Max(now.Outside - before.Outside, 0);
            double inside = Math.Max(now.Inside - before.Inside, 0);
            return now.Ticks - before.Ticks - header->CostInside * (now.Leaves - before.Leaves)
                - (header->CostOutside * outside + header->CostInside * inside) / 2;
        }

        /// <summary>The ticks below a path, however many callees it has.</summary>
        private static long TicksBelow(CallTree* tree, CallNode* node)
        {
            int left = int.MaxValue;
            return Below(tree, node, 0, ref left).Ticks;
        }

        /// <summary>
        /// Adds up the time of a path's callees and of the compiler, and the number of probes that timed the callees. A counted callee has the
        /// time of its own callees, and its own time from before it was counted: so the sum does not change when it is counted, or timed
        /// again. Only probes since it was counted lie in the caller's own time: earlier ones were subtracted with the callee's ticks. The
        /// cost of counting stays in the caller's time: it is small against the probes that time the caller.
        /// </summary>
        private static Sum Below(CallTree* tree, CallNode* node, int depth, ref int left)
        {
            Sum sum = new Sum();
            sum.Ticks = JitTime.Below(tree, node);
            CallNode* first = (CallNode*)node->Callees;
            for (CallNode* callee = first; callee != null; callee = callee->Next == (long)first ? null : (CallNode*)callee->Next)
            {
                if (--left < 0)
                {
                    return sum;
                }
                if ((callee->Flags & NodeFlags.Counted) == 0)
                {
                    sum.Ticks += callee->Total - callee->Detached;
                    sum.Outside += callee->Leaves;
                    continue;
                }
                Sum below = depth < MaxCallees ? Below(tree, callee, depth + 1, ref left) : new Sum();
                Judgement* last = JudgementOf(tree, callee);
                Judgement then = last == null ? new Judgement() : *last;
                sum.Ticks += below.Ticks + then.Self - then.Detached;
                sum.Outside += below.Outside - then.OutsideBefore + callee->Leaves;
                sum.Inside += below.Inside - then.InsideBefore + callee->Leaves - then.Timed;
            }
            return sum;
        }

        /// <summary>Null if there is no memory.</summary>
        private static Judgement* JudgementOf(CallTree* tree, CallNode* node)
        {
            NodeIndex** index = (NodeIndex**)&((TreeMemory*)tree->Memory)->Judgements;
            Judgement* found = (Judgement*)NodeIndex.Find(*index, (long)node);
            if (found == null && NodeIndex.Reserve(index))
            {
                found = (Judgement*)NativeMemory.Zeroed(sizeof(Judgement));
                if (found != null)
                {
                    NodeIndex.Put(*index, (long)node, (CallNode*)found);
                }
            }
            return found;
        }

        /// <summary>The ticks below a path, and the number of probes in them: those outside of the callees' ticks, and those inside.</summary>
        private struct Sum
        {
            public long Ticks;
            public long Outside;
            public long Inside;
        }

        /// <summary>The timed calls of a path, and the ticks of their own, with their probes and with some of the callees'.</summary>
        [StructLayout(LayoutKind.Sequential)]
        private struct Measured
        {
            public long Leaves;
            public long Ticks;
            public long Outside;
            public long Inside;
        }

        /// <summary>A path at its last judgement.</summary>
        [StructLayout(LayoutKind.Sequential)]
        private struct Judgement
        {
            public Measured Measured;
            /// <summary>The path's own ticks when it began to be counted.</summary>
            public long Self;
            /// <summary>The number of its timed calls then.</summary>
            public long Timed;
            /// <summary>The part of the path's ticks that was none of its caller's then.</summary>
            public long Detached;
            /// <summary>The number of probes below it then, as in <see cref="Measured"/>.</summary>
            public long OutsideBefore;
            public long InsideBefore;
            /// <summary>The sum of judgements for a change, less those against it: see <see cref="Enough"/>.</summary>
            public double ForChange;
        }
    }
}
