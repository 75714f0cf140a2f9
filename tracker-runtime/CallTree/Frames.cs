using System;

namespace Ilinst
{
    /// <summary>
    /// Open calls and steps that are not below the current node: a logical call's step that goes on, what a logical call has
    /// given to another thread, and calls for which there was no node. What they take is none of their caller's time.
    /// A frame within a frame has its nodes below a root of its own, its layer's: a node is open but once.
    /// </summary>
    internal static unsafe class Frames
    {
        /// <summary>The call that its node counts ends with it.</summary>
        public const int IsCall = 1;
        /// <summary>It is none of the time of what was the current node.</summary>
        public const int IsDetached = 2;
        /// <summary>It runs <see cref="LogicalCalls.Running"/>.</summary>
        public const int IsStep = 4;

        /// <summary>Makes a node's call, or step, the current one.</summary>
        /// <returns>The token; zero if there is no memory.</returns>
        public static IntPtr Enter(CallTree* tree, CallNode* node, int kind, long layer)
        {
            Frame* frame = (Frame*)tree->FreeFrames;
            if (frame != null)
            {
                tree->FreeFrames = frame->Below;
            }
            else
            {
                frame = (Frame*)CallTrees.Slot(tree);
                if (frame == null)
                {
                    tree->LostCalls++;
                    return IntPtr.Zero;
                }
                frame->Flags = NodeFlags.Frame;
                CallTrees.Show(frame);
            }
            if ((node->Flags & NodeFlags.Counted) != 0)
            {
                Adaptive.TimeAgain(tree, node);
            }
            frame->Node = (long)node;
            frame->Previous = tree->Current;
            frame->Below = tree->Frame;
            frame->Kind = kind;
            frame->Layer = layer;
            frame->Start = frame->Began = Mode.IsTimed ? Clock.Now() : 0;
            Allocations.Begin(tree, frame);
            if ((kind & IsCall) != 0)
            {
                node->Calls++;
            }
            if (Mode.Kind == RecordingMode.Trace)
            {
                Events.Enter(tree, node, frame->Start);
            }
            tree->Frame = (long)frame;
            tree->Current = (long)node;
            return Tokens.Of(frame);
        }

        /// <summary>A call for which there is no node.</summary>
        public static IntPtr EnterOverflow(CallTree* tree, long methodId)
        {
            CallNode* node = OverflowNode(tree, methodId);
            if (node == null)
            {
                tree->LostCalls++;
                return IntPtr.Zero;
            }
            return Enter(tree, node, IsCall | IsDetached, Layer(tree));
        }

        /// <summary>The node that stands for all calls of a method without a path; null if there is no memory.</summary>
        public static CallNode* OverflowNode(CallTree* tree, long methodId)
        {
            if (tree->OverflowRoot == 0)
            {
                tree->OverflowRoot = (long)CallTrees.NewNode(tree, 0, null, NodeFlags.Root | NodeFlags.Overflow);
            }
            return tree->OverflowRoot == 0 ? null : CallTrees.Callee(tree, (CallNode*)tree->OverflowRoot, methodId);
        }

        /// <summary>The layer that calls are in now.</summary>
        public static long Layer(CallTree* tree)
        {
            return tree->Frame == 0 ? 0 : ((Frame*)tree->Frame)->Layer;
        }

        /// <summary>Ends what a frame's token stands for, unless it has ended already.</summary>
        public static void Leave(CallTree* tree, IntPtr token)
        {
            Frame* frame = Tokens.FrameOf(token);
            if (!TakeEnded(tree, frame))
            {
                long now = Clock.Now();
                if (MakeTop(tree, token, now, true))
                {
                    End(tree, frame, now, false);
                }
            }
        }

        /// <summary>
        /// The frame's step hands over what is to go on: what is called until it is left, the awaiter's methods, is its own, but
        /// its call's next step may begin.
        /// </summary>
        /// <returns>The call that the step belongs to; null if that is not known.</returns>
        public static LogicalCall HandOver(CallTree* tree, IntPtr token)
        {
            Frame* frame = Tokens.FrameOf(token);
            bool isTop = tree->Frame == (long)frame && tree->Current == frame->Node;
            if (!isTop && !MakeTop(tree, token, Clock.Now(), false) || (frame->Kind & IsStep) == 0)
            {
                return null;
            }
            frame->Kind &= ~IsStep;
            return LogicalCalls.EndRunning();
        }

        /// <summary>Ends a step before it is left: what comes until then is not its own.</summary>
        /// <param name="call">The call that the step belonged to, if that is known.</param>
        public static bool EndEarly(CallTree* tree, IntPtr token, long now, out LogicalCall call)
        {
            Frame* frame = Tokens.FrameOf(token);
            call = null;
            if (IsEnded(tree, frame) || !MakeTop(tree, token, now, false))
            {
                return false;
            }
            call = (frame->Kind & IsStep) != 0 && LogicalCalls.Running != null ? LogicalCalls.Running.Call : null;
            End(tree, frame, now, false);
            // Kept until it is left, or another step might be given the same token.
            tree->FreeFrames = frame->Below;
            frame->Below = tree->EndedFrames;
            tree->EndedFrames = (long)frame;
            return true;
        }

        /// <summary>
        /// Ends what is open above a frame's call. A token of no open frame is counted as bad, but for that of a step that has
        /// ended.
        /// </summary>
        public static bool MakeTop(CallTree* tree, IntPtr token, long now, bool marks)
        {
            Frame* wanted = Tokens.FrameOf(token);
            Frame* frame = (Frame*)tree->Frame;
            while (frame != null && frame != wanted)
            {
                frame = (Frame*)frame->Below;
            }
            if (frame == null)
            {
                tree->BadTokens += IsEnded(tree, wanted) ? 0 : 1;
                return false;
            }
            while (tree->Frame != (long)frame || tree->Current != frame->Node)
            {
                OpenCalls.EndCurrent(tree, now, marks);
            }
            return true;
        }

        /// <summary>Ends the top frame, which is that of the current node.</summary>
        public static void End(CallTree* tree, Frame* frame, long now, bool byException)
        {
            CallNode* node = (CallNode*)frame->Node;
            CallNode* previous = (CallNode*)frame->Previous;
            Frame* below = (Frame*)frame->Below;
            long ticks = Mode.IsTimed ? Pauses.Elapsed(frame->Start, now) : 0;
            bool isDetached = (frame->Kind & IsDetached) != 0;
            bool isCall = (frame->Kind & IsCall) != 0;
            long thrown = Thrown.End(tree, node);
            if (isCall)
            {
                OpenCalls.Count(tree, node, ticks, Pauses.Elapsed(frame->Began, now), now, byException, thrown);
            }
            else
            {
                node->Total += ticks;
            }
            node->Detached += isDetached ? ticks : 0;
            Allocations.End(tree, frame, node, isDetached);
            if ((frame->Kind & IsStep) != 0)
            {
                LogicalCalls.EndRunning();
            }
            if (Mode.Kind == RecordingMode.Trace)
            {
                Events.Leave(tree, node, now);
            }
            tree->Frame = (long)below;
            tree->Current = (long)previous;
            if (isCall && thrown != 0)
            {
                Thrown.GoOn(tree, thrown);
            }
            frame->Below = tree->FreeFrames;
            tree->FreeFrames = (long)frame;
            if ((long)previous == tree->Root)
            {
                CallTrees.AtRest(tree, now);
            }
            else if (isDetached && (ticks != 0 || Allocations.AreCounted))
            {
                Interrupt(below, previous, Pauses.Elapsed(frame->Began, now), Allocations.SinceBegin(tree, frame));
            }
        }

        /// <summary>Takes ticks that were the tracker's out of the current call's time.</summary>
        public static void InterruptCurrent(CallTree* tree, long ticks)
        {
            if (Mode.IsTimed && tree->Current != tree->Root)
            {
                Interrupt((Frame*)tree->Frame, (CallNode*)tree->Current, ticks, 0);
            }
        }

        /// <summary>
        /// Takes ticks, and allocated bytes, out of an open call's. Those of its callers keep them: for them its own are as if it
        /// had them.
        /// </summary>
        private static void Interrupt(Frame* frame, CallNode* node, long ticks, long bytes)
        {
            // The time of a counted call is its caller's.
            while ((node->Flags & NodeFlags.Untimed) != 0 && !OpenCalls.IsOf(frame, node))
            {
                node = (CallNode*)node->Caller;
            }
            bool isOfFrame = OpenCalls.IsOf(frame, node);
            if (isOfFrame)
            {
                frame->Start += ticks;
            }
            else
            {
                node->Start += ticks;
            }
            bool isAttached = !isOfFrame || (frame->Kind & IsDetached) == 0;
            if (isAttached)
            {
                node->Detached -= ticks;
            }
            if (bytes != 0)
            {
                Allocations.Of(isOfFrame ? (void*)frame : node)->Start += bytes;
                Allocations.Of(node)->Detached -= isAttached ? bytes : 0;
            }
        }

        private static bool IsEnded(CallTree* tree, Frame* wanted)
        {
            Frame* frame = (Frame*)tree->EndedFrames;
            while (frame != null && frame != wanted)
            {
                frame = (Frame*)frame->Below;
            }
            return frame != null;
        }

        /// <summary>Takes a frame from those that have ended, and all behind which it is: their steps are not left any more.</summary>
        private static bool TakeEnded(CallTree* tree, Frame* wanted)
        {
            if (!IsEnded(tree, wanted))
            {
                return false;
            }
            Frame* frame;
            do
            {
                frame = (Frame*)tree->EndedFrames;
                tree->EndedFrames = frame->Below;
                frame->Below = tree->FreeFrames;
                tree->FreeFrames = (long)frame;
            }
            while (frame != wanted);
            return true;
        }
    }
}
