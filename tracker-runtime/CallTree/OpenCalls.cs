using System;
using System.Runtime.CompilerServices;

namespace Ilinst
{
    /// <summary>
    /// The slow path of enter and leave. The open calls are those from a tree's current node up by its callers; where the top
    /// <see cref="Frame"/>'s node is reached, what it interrupted goes on. Nothing here throws.
    /// </summary>
    internal static unsafe class OpenCalls
    {
        /// <summary>Enters a call that the fast path does not: it found no node, or the thread has no tree, or does not record.</summary>
        public static IntPtr Enter(long methodId)
        {
            CallTree* stopped = Allocations.Stop();
            IntPtr token = Open(methodId);
            Allocations.Continue(stopped);
            return token;
        }

        private static IntPtr Open(long methodId)
        {
            CallTree* tree = CallTrees.OfThisThread();
            if (tree == null || Recording.IsPaused)
            {
                if (Mode.Kind == RecordingMode.Count)
                {
                    // The first of all calls, which came here before the mode was known.
                    Counters.Add(methodId);
                }
                return IntPtr.Zero;
            }
            CallNode* caller = (CallNode*)tree->Current;
            if ((long)caller == tree->Root)
            {
                // Outside of all calls it may be work that a logical call has given to another thread.
                LogicalCall call = Flow.Get() as LogicalCall;
                CallNode* below = call == null ? null : LogicalCalls.PathHere(tree, call, 0);
                if (below != null)
                {
                    CallNode* callee = CallTrees.Callee(tree, below, methodId);
                    return callee == null
                        ? Frames.EnterOverflow(tree, methodId)
                        : Frames.Enter(tree, callee, Frames.IsCall | Frames.IsDetached, 0);
                }
            }
            CallNode* node = (caller->Flags & NodeFlags.Overflow) != 0 ? null : CallTrees.Callee(tree, caller, methodId);
            if (node == null)
            {
                return Frames.EnterOverflow(tree, methodId);
            }
            if ((long)caller != tree->Root)
            {
                CallTrees.NoteTurn(caller, node);
                caller->Callees = (long)node;
                RecentCall.Put(methodId, caller, node);
            }
            node->Calls++;
            if ((node->Flags & NodeFlags.Untimed) != 0 && (node->Calls & Adaptive.CountedBetween) == 0)
            {
                Adaptive.BeginBurst(tree, node);
            }
            bool isCounted = (node->Flags & NodeFlags.Untimed) != 0;
            if (isCounted && node->Callees == 0)
            {
                return IntPtr.Zero;
            }
            // Current comes last: who reads the profile just now must find the start of a call it shows.
            if (Mode.IsTimed && !isCounted)
            {
                long now = Clock.Now();
                node->Start = now;
                Allocations.Begin(tree, node);
                if (Mode.Kind == RecordingMode.Trace)
                {
                    Events.Enter(tree, node, now);
                }
            }
            tree->Current = (long)node;
            return Tokens.Of(node);
        }

        /// <summary>Leaves a step, or what has a frame. A step has ended before, most of the time: then it is not asked when.</summary>
        public static void LeaveTagged(IntPtr token)
        {
            CallTree* tree = CallTrees.OfOpenCalls;
            if (tree == null)
            {
                return;
            }
            CallTree* stopped = Allocations.Stop();
            if (Tokens.IsCall(token))
            {
                RuntimeAsync.Leave(token);
            }
            else if (Tokens.IsFrame(token))
            {
                Frames.Leave(tree, token);
            }
            else if (Tokens.IsFirstStep(token))
            {
                LogicalCalls.LeaveFirstStep(tree, Tokens.Node(token));
            }
            else
            {
                Leave(token, Clock.Now());
            }
            Allocations.Continue(stopped);
        }

        /// <summary>Leaves a call. The token may be any number: it is compared with what is open, never followed.</summary>
        public static void Leave(IntPtr token, long now)
        {
            CallTree* tree = CallTrees.OfOpenCalls;
            if (tree == null)
            {
                return;
            }
            CallTree* stopped = Allocations.Stop();
            bool isCurrent = tree->Current == Tokens.Bits(token) && tree->Frame == 0 && tree->Current != tree->Root;
            if (isCurrent || MakeCurrent(tree, (CallNode*)Tokens.Bits(token), false, now, true))
            {
                End(tree, (CallNode*)Tokens.Bits(token), now, false);
            }
            Allocations.Continue(stopped);
        }

        /// <summary>Where a handler begins: what it is in becomes the current call again.</summary>
        public static void Handle(IntPtr token, long now, bool marks)
        {
            CallTree* stopped = Allocations.Stop();
            BeginHandler(token, now, marks);
            Allocations.Continue(stopped);
        }

        private static void BeginHandler(IntPtr token, long now, bool marks)
        {
            CallTree* tree = CallTrees.OfOpenCalls;
            if (tree == null)
            {
                return;
            }
            if (Tokens.IsCall(token))
            {
                token = RuntimeAsync.Handle(token);
            }
            if (Tokens.IsNone(token))
            {
                return;
            }
            if (Tokens.IsFrame(token))
            {
                Frames.MakeTop(tree, token, now, marks);
            }
            else
            {
                MakeCurrent(tree, Tokens.Node(token), Tokens.IsFirstStep(token), now, marks);
            }
        }

        /// <summary>
        /// Makes an open call the current one: an exception has passed those above it, and their leave probes, so they end
        /// now. A node that is none of them is counted as a bad token, and no more.
        /// </summary>
        /// <param name="mayBeOfFrame">Whether it may be open by a frame.</param>
        /// <returns>Whether it is one of them.</returns>
        public static bool MakeCurrent(CallTree* tree, CallNode* wanted, bool mayBeOfFrame, long now, bool marks)
        {
            Frame* frame = (Frame*)tree->Frame;
            CallNode* node = (CallNode*)tree->Current;
            while ((long)node != tree->Root && (node != wanted || !mayBeOfFrame && IsOf(frame, node)))
            {
                if (IsOf(frame, node))
                {
                    node = (CallNode*)frame->Previous;
                    frame = (Frame*)frame->Below;
                }
                else
                {
                    node = (CallNode*)node->Caller;
                }
            }
            if ((long)node == tree->Root)
            {
                tree->BadTokens++;
                return false;
            }
            while ((long)frame != tree->Frame || (long)node != tree->Current)
            {
                EndCurrent(tree, now, marks);
            }
            return true;
        }

        /// <summary>Ends the current call or step, which an exception has passed.</summary>
        public static void EndCurrent(CallTree* tree, long now, bool marks)
        {
            CallNode* node = (CallNode*)tree->Current;
            Frame* frame = (Frame*)tree->Frame;
            if (IsOf(frame, node))
            {
                Frames.End(tree, frame, now, marks);
            }
            else
            {
                End(tree, node, now, marks);
            }
        }

        /// <summary>Whether the call is open by a frame.</summary>
        public static bool IsOf(Frame* frame, CallNode* node)
        {
            return frame != null && frame->Node == (long)node;
        }

        /// <summary>Ends the current call, which is a node's.</summary>
        private static void End(CallTree* tree, CallNode* node, long now, bool byException)
        {
            bool isCounted = (node->Flags & NodeFlags.Untimed) != 0;
            long ticks = Mode.IsTimed && !isCounted ? Pauses.Elapsed(node->Start, now) : 0;
            if (node->Leaves == 0)
            {
                JitTime.Look(tree);
            }
            long thrown = Thrown.End(tree, node);
            Allocations.End(tree, node, node, false);
            if (!isCounted)
            {
                Count(tree, node, ticks, ticks, now, byException, thrown);
            }
            else
            {
                if (byException || thrown != 0)
                {
                    Thrown.Count(node, thrown != 0 ? ((TreeMemory*)tree->Memory)->LastThrownType : 0);
                }
                // An exception that was seen here has led to the slow path.
                node->Stats = node->Stats != 0 ? node->Stats : node->ColdStats;
            }
            tree->Current = node->Caller;
            if (thrown != 0)
            {
                Thrown.GoOn(tree, thrown);
            }
            if (Mode.Kind == RecordingMode.Trace)
            {
                Events.Leave(tree, node, now);
            }
            if (node->Caller == tree->Root)
            {
                CallTrees.AtRest(tree, now);
            }
        }

        /// <summary>Adds a call that ends to its node.</summary>
        /// <param name="ticks">Its time, for the node.</param>
        /// <param name="elapsed">Its time from begin to end.</param>
        /// <param name="byException">Whether an exception has passed it.</param>
        /// <param name="thrown">The exception that ends it; 0 if none is known to.</param>
        public static void Count(CallTree* tree, CallNode* node, long ticks, long elapsed, long now, bool byException, long thrown)
        {
            byException |= thrown != 0;
            if ((node->Flags & NodeFlags.Async) != 0)
            {
                LogicalCalls.LeaveKickoff(tree, node, now, byException);
                byException = false;
            }
            else if (Mode.IsTimed)
            {
                Statistics.Record(tree, node, elapsed, node->Leaves, node->Total);
            }
            else if (node->Caller != tree->Root)
            {
                // For the hot path: nothing is added to them.
                node->Stats = (long)&((TreeMemory*)tree->Memory)->Sink;
            }
            if (Mode.IsTimed)
            {
                node->Total += ticks;
            }
            node->Leaves++;
            if (byException)
            {
                Thrown.Count(node, thrown != 0 ? ((TreeMemory*)tree->Memory)->LastThrownType : 0);
            }
        }
    }

    /// <summary>
    /// Woven code is given a token: the address of a node, or of a node whose call's first step this is, or of a frame, or the
    /// handle of what the runtime suspends. The low bits tell which, and are no bits of an address.
    /// </summary>
    internal static unsafe class Tokens
    {
        private const MethodImplOptions Inlined = (MethodImplOptions)256;
        private const long FirstStep = 2;
        private const long FrameBit = 1;
        private const long CallBits = FirstStep | FrameBit;
        private const long AddressMask = ~(long)(NodeLayout.Size - 1);

        /// <summary>A token as a number. Not by the operators of IntPtr, which are calls on Mono.</summary>
        [MethodImpl(Inlined)]
        public static long Bits(IntPtr token)
        {
            return (long)*(void**)&token;
        }

        [MethodImpl(Inlined)]
        public static IntPtr Of(void* bits)
        {
            return *(IntPtr*)&bits;
        }

        public static IntPtr OfFirstStep(CallNode* node)
        {
            return Of((byte*)node + FirstStep);
        }

        public static IntPtr Of(Frame* frame)
        {
            return Of((byte*)frame + FrameBit);
        }

        /// <summary>Whether it is zero: a call that is not tracked.</summary>
        [MethodImpl(Inlined)]
        public static bool IsNone(IntPtr token)
        {
            return Bits(token) == 0;
        }

        /// <summary>Whether it stands for a step, or a frame.</summary>
        [MethodImpl(Inlined)]
        public static bool IsTagged(IntPtr token)
        {
            return (Bits(token) & CallBits) != 0;
        }

        [MethodImpl(Inlined)]
        public static bool IsCall(IntPtr token)
        {
            return (Bits(token) & CallBits) == CallBits;
        }

        /// <summary>Of a number.</summary>
        public static IntPtr OfCall(int number)
        {
            return (IntPtr)(number << 2 | (int)CallBits);
        }

        /// <summary>The number that such a token was made of; another token may have any.</summary>
        public static long Number(IntPtr token)
        {
            return (long)token >> 2;
        }

        [MethodImpl(Inlined)]
        public static bool IsFrame(IntPtr token)
        {
            return (Bits(token) & FrameBit) != 0;
        }

        [MethodImpl(Inlined)]
        public static bool IsFirstStep(IntPtr token)
        {
            return (Bits(token) & ~AddressMask) == FirstStep;
        }

        public static CallNode* Node(IntPtr token)
        {
            long bits = Bits(token);
            return (CallNode*)((bits & ~AddressMask) == FirstStep ? bits & AddressMask : bits);
        }

        [MethodImpl(Inlined)]
        public static Frame* FrameOf(IntPtr token)
        {
            return (Frame*)(Bits(token) - FrameBit);
        }
    }
}
