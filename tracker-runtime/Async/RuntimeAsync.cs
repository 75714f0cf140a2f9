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

        /// <summary>The call that a token leads to.</summary>
        private sealed class Frame
        {
            /// <summary>The number that its token was made of.</summary>
            public int Number;
            public LogicalCall Call;
            /// <summary>The step that began last: another thread may go on before it has been ended on its own.</summary>
            public RunningStep Step;
            /// <summary>An exception came out of an await, and no handler has caught it yet: finally blocks run meanwhile.</summary>
            public bool HasFailed;
        }

        public static IntPtr Start(long methodId)
        {
            CallTree* stopped = Allocations.Stop();
            IntPtr result = BeginCall(methodId);
            Allocations.Continue(stopped);
            return result;
        }

        private static IntPtr BeginCall(long methodId)
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
            frame.Call = LogicalCalls.Running.Call;
            frame.Number = number;
            Begin(frame, step).Kickoff = kickoff;
            using (gate.Enter())
            {
                frames[number & MostFrames - 1] = frame;
            }
            return Tokens.OfCall(number);
        }

        /// <summary>
        /// The step that has just begun is one of a frame's. It flows: that of its call would not do, as what flowed before may
        /// have come from the same call.
        /// </summary>
        private static RunningStep Begin(Frame frame, IntPtr token)
        {
            RunningStep step = LogicalCalls.Running;
            step.Token = token;
            frame.Step = step;
            Flow.Watch(step);
            return step;
        }

        /// <summary>
        /// The awaited method is called next. Where the runtime suspends it, and so this, no code of either says so:
        /// <see cref="OnFlow"/> does.
        /// </summary>
        public static void Await(IntPtr token)
        {
            Frame frame = FrameOf(token);
            RunningStep step = frame == null ? null : frame.Step;
            if (step != null && IsHere(step))
            {
                step.IsAwaiting = true;
            }
        }

        /// <summary>The awaited value comes next. It may be there already, or this thread goes on with something else.</summary>
        public static void Suspend(IntPtr token)
        {
            CallTree* stopped = Allocations.Stop();
            EndStep(token);
            Allocations.Continue(stopped);
        }

        private static void EndStep(IntPtr token)
        {
            Frame frame = FrameOf(token);
            RunningStep step = frame == null ? null : frame.Step;
            CallTree* tree = CallTrees.OfOpenCalls;
            if (tree != null && step != null && IsHere(step))
            {
                End(tree, step);
            }
        }

        /// <summary>Something else flows on this thread: a suspended method has given it back what flowed before.</summary>
        /// <param name="now">The step that flows now; null if none does.</param>
        public static void OnFlow(object now)
        {
            CallTree* stopped = Allocations.Stop();
            EndSuspended(now);
            Allocations.Continue(stopped);
        }

        private static void EndSuspended(object now)
        {
            CallTree* tree = CallTrees.OfOpenCalls;
            RunningStep step;
            while (tree != null && (step = LogicalCalls.Running) != null && step.IsAwaiting && step != now)
            {
                End(tree, step);
                if (LogicalCalls.Running == step)
                {
                    return;
                }
            }
        }

        private static void End(CallTree* tree, RunningStep step)
        {
            LogicalCalls.HandOver(tree, step.Token);
            OpenCalls.LeaveTagged(step.Kickoff == IntPtr.Zero ? step.Token : step.Kickoff);
        }

        /// <summary>It goes on, on whatever thread.</summary>
        /// <returns>The token of the node that it stands for.</returns>
        public static IntPtr GoOn(IntPtr token)
        {
            CallTree* stopped = Allocations.Stop();
            IntPtr result = BeginStep(token);
            Allocations.Continue(stopped);
            return result;
        }

        private static IntPtr BeginStep(IntPtr token)
        {
            CallTree* tree = CallTrees.OfThisThread();
            Frame frame = FrameOf(token);
            if (tree == null || frame == null)
            {
                return IntPtr.Zero;
            }
            RunningStep step = frame.Step;
            if (step != null && IsHere(step))
            {
                step.IsAwaiting = false;
                return step.Token;
            }
            IntPtr begun = LogicalCalls.GoOn(tree, frame.Call);
            return Tokens.IsNone(begun) ? begun : Begin(frame, begun).Token;
        }

        /// <summary>A handler begins: behind an await, if the probe there was skipped.</summary>
        /// <returns>The token that stands for the call on this thread.</returns>
        public static IntPtr Handle(IntPtr token)
        {
            Frame frame = Find(token);
            if (frame != null)
            {
                frame.HasFailed |= IsBehindAwait(frame.Step);
            }
            return GoOn(token);
        }

        /// <summary>A handler has caught the exception.</summary>
        public static void Catch(IntPtr token)
        {
            Frame frame = Find(token);
            if (frame != null)
            {
                frame.HasFailed = false;
            }
        }

        /// <summary>Only handlers run behind an await that has failed.</summary>
        private static bool IsBehindAwait(RunningStep step)
        {
            return step == null || step.IsAwaiting || !IsHere(step);
        }

        /// <summary>Whether this thread runs a step.</summary>
        private static bool IsHere(RunningStep step)
        {
            RunningStep own = LogicalCalls.Running;
            while (own != null && own != step)
            {
                own = own.Below;
            }
            return own != null;
        }

        /// <summary>It is complete.</summary>
        public static void Leave(IntPtr token)
        {
            Frame frame = FrameOf(token);
            if (CallTrees.OfOpenCalls == null || frame == null)
            {
                return;
            }
            bool isFaulted = frame.HasFailed || IsBehindAwait(frame.Step);
            OpenCalls.Handle(token, Clock.Now(), true);
            RunningStep step = frame.Step;
            Forget(frame.Number);
            if (step == null || !IsHere(step))
            {
                return;
            }
            CallTree* tree = CallTrees.OfOpenCalls;
            isFaulted |= Thrown.IsLeaving(tree, (CallNode*)tree->Current);
            if (isFaulted || step.Kickoff == IntPtr.Zero)
            {
                LogicalCalls.Complete(step.Token, isFaulted);
            }
            OpenCalls.LeaveTagged(step.Token);
            if (step.Kickoff != IntPtr.Zero)
            {
                OpenCalls.LeaveTagged(step.Kickoff);
            }
        }

        private static Frame Find(IntPtr token)
        {
            long number = Tokens.Number(token);
            Frame[] all = frames;
            Frame frame = all[number & MostFrames - 1 & all.Length - 1];
            return frame != null && frame.Number == number ? frame : null;
        }

        /// <summary>The frame of a token, which may be any number: it is looked up, never followed. A bad one is counted.</summary>
        private static Frame FrameOf(IntPtr token)
        {
            Frame frame = Find(token);
            if (frame != null)
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
    }
}
