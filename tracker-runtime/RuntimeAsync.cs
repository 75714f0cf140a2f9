using System;

namespace Ilinst
{
    /// <summary>
    /// Methods that the runtime suspends (impl flag 0x2000): one body is kickoff and steps. Their token stays with the frame that
    /// is kept meanwhile, so it is the logical call's, and that has what it stands for on the thread that runs it.
    /// </summary>
    internal static unsafe class RuntimeAsync
    {
        private const int MostFrames = 1 << 22;
        private const int Turns = 0x7F;

        private static readonly Gate gate = new Gate();
        /// <summary>By the places in their numbers: a power of two of them.</summary>
        private static volatile Frame[] frames = new Frame[1];
        /// <summary>The places that are free; the first is never used, so that no number is zero.</summary>
        private static int[] free = new int[1];
        private static int freeCount;
        private static int taken;

        /// <summary>What a token leads to.</summary>
        private sealed class Frame
        {
            /// <summary>The number that its token was made of.</summary>
            public int Number;
            public LogicalCall Call;
            /// <summary>The token of its step on the thread that runs it.</summary>
            public IntPtr Step;
            /// <summary>The kickoff's, until it awaits.</summary>
            public IntPtr Kickoff;
        }

        public static IntPtr Start(long methodId)
        {
            IntPtr kickoff = OpenCalls.Enter(methodId);
            CallTree* tree = CallTrees.OfOpenCalls;
            CallNode* node = kickoff == IntPtr.Zero ? null : (CallNode*)tree->Current;
            if (node == null || node->MethodId != methodId || (node->Flags & (NodeFlags.Stepping | NodeFlags.Overflow)) != 0)
            {
                return kickoff;
            }
            int number = Take();
            IntPtr step = number < 0 ? IntPtr.Zero : LogicalCalls.Step(methodId);
            if (step == IntPtr.Zero)
            {
                if (number >= 0)
                {
                    Forget(number);
                }
                return kickoff;
            }
            // The runtime puts back what flowed before.
            node->Flags |= NodeFlags.FlowUndone;
            Frame frame = new Frame();
            frame.Call = LogicalCalls.Running;
            frame.Kickoff = kickoff;
            frame.Step = step;
            frame.Number = number;
            using (gate.Enter())
            {
                frames[number & MostFrames - 1] = frame;
            }
            return Tokens.OfCall(number);
        }

        /// <summary>What is awaited comes next: perhaps it is there already, perhaps this thread goes on with something else.</summary>
        public static void Suspend(IntPtr token)
        {
            Frame frame = FrameOf(token);
            if (CallTrees.OfOpenCalls == null || frame == null || frame.Step == IntPtr.Zero || frame.Call.IsSuspended)
            {
                return;
            }
            IntPtr step = frame.Step;
            IntPtr toLeave = frame.Kickoff == IntPtr.Zero ? step : frame.Kickoff;
            frame.Step = frame.Kickoff = IntPtr.Zero;
            LogicalCalls.Await(step);
            OpenCalls.LeaveTagged(toLeave);
        }

        /// <summary>It goes on, on whatever thread.</summary>
        /// <returns>What the token stands for there.</returns>
        public static IntPtr GoOn(IntPtr token)
        {
            CallTree* tree = CallTrees.OfThisThread();
            Frame frame = FrameOf(token);
            if (tree == null || frame == null)
            {
                return IntPtr.Zero;
            }
            if (frame.Call.IsSuspended)
            {
                frame.Step = LogicalCalls.GoOn(tree, frame.Call);
                frame.Call.IsSuspended = false;
            }
            return frame.Step;
        }

        /// <summary>It is complete.</summary>
        public static void Leave(IntPtr token)
        {
            CallTree* tree = CallTrees.OfOpenCalls;
            Frame frame = FrameOf(token);
            if (tree == null || frame == null)
            {
                return;
            }
            // Nothing runs behind an await that has failed, but handlers.
            bool isFaulted = frame.Call.IsSuspended || IsThrowing(tree, frame.Call);
            IntPtr step = GoOn(token);
            Forget(frame.Number);
            if (step != IntPtr.Zero && (isFaulted || frame.Kickoff == IntPtr.Zero))
            {
                LogicalCalls.Complete(step, isFaulted);
            }
            if (step != IntPtr.Zero)
            {
                OpenCalls.LeaveTagged(step);
            }
            if (frame.Kickoff != IntPtr.Zero)
            {
                OpenCalls.LeaveTagged(frame.Kickoff);
            }
        }

        /// <summary>The frame of a token, which may be any number: it is looked up, never followed. A bad one is counted.</summary>
        private static Frame FrameOf(IntPtr token)
        {
            long number = Tokens.Number(token);
            Frame[] all = frames;
            Frame frame = all[number & MostFrames - 1 & all.Length - 1];
            if (frame != null && frame.Number == number)
            {
                return frame;
            }
            CallTree* tree = CallTrees.OfOpenCalls;
            if (tree != null)
            {
                tree->BadTokens++;
            }
            return null;
        }

        /// <summary>A number of a frame that is to come, 31 bits with those that tell tokens apart: a place, and which one there.</summary>
        /// <returns>Negative if there are too many.</returns>
        private static int Take()
        {
            using (gate.Enter())
            {
                if (freeCount == 0)
                {
                    int had = frames.Length;
                    if (had == MostFrames)
                    {
                        return -1;
                    }
                    Frame[] grown = new Frame[had * 2];
                    Array.Copy(frames, grown, had);
                    free = new int[had * 2];
                    for (int place = had; place < grown.Length; place++)
                    {
                        free[freeCount++] = place;
                    }
                    frames = grown;
                }
                taken++;
                return free[--freeCount] | (taken & Turns) * MostFrames;
            }
        }

        private static void Forget(int number)
        {
            using (gate.Enter())
            {
                int place = number & MostFrames - 1;
                frames[place] = null;
                free[freeCount++] = place;
            }
        }

        /// <summary>Whether an exception was thrown in it, and nobody has caught it.</summary>
        private static bool IsThrowing(CallTree* tree, LogicalCall call)
        {
            CallNode* node = (CallNode*)tree->Throwing;
            while (node != null && node->MethodId != call.Node->MethodId)
            {
                node = (CallNode*)node->Caller;
            }
            return node != null;
        }
    }
}
