using System;

namespace Ilinst
{
    /// <summary>One call of an async method, from its kickoff to its completion: it flows with the ExecutionContext.</summary>
    internal sealed unsafe class LogicalCall
    {
        /// <summary>The node of the kickoff's call.</summary>
        public CallNode* Node;
        /// <summary>The root of the layer that it is in.</summary>
        public long Root;
        /// <summary>When the kickoff was called.</summary>
        public long Start;
        /// <summary>Whether that was the node's first call.</summary>
        public bool IsFirst;
        /// <summary>Whether the next step may come: it awaits.</summary>
        public volatile bool IsSuspended;
        /// <summary>The value that flowed before, if it is to be put back.</summary>
        public object Before;
    }

    /// <summary>A step that a thread runs.</summary>
    internal sealed class RunningStep
    {
        public LogicalCall Call;
        /// <summary>The step that the thread ran before.</summary>
        public RunningStep Below;
        /// <summary>Of a method that the runtime suspends: its token, and the kickoff's, if it is the first.</summary>
        public IntPtr Token;
        public IntPtr Kickoff;
        /// <summary>... and whether it awaits what it calls: it may be suspended at any moment.</summary>
        public bool IsAwaiting;
    }

    /// <summary>Async methods. A call is one from its kickoff on, its steps run on whatever thread.</summary>
    internal static unsafe class LogicalCalls
    {
        /// <summary>How many calls may be between a kickoff and its first step, those of a builder.</summary>
        private const int CallsOfBuilder = 4;

        /// <summary>The step that this thread runs.</summary>
        [ThreadStatic]
        public static RunningStep Running;
        /// <summary>Nodes from one that is looked for on another tree up to one that is known.</summary>
        [ThreadStatic]
        private static long[] walked;
        /// <summary>How many nodes were looked at for paths, by and large: threads may add at a time.</summary>
        private static int looks;

        /// <summary>A step begins: the first of the kickoff that is the current call, or what the call that flows here goes on with.</summary>
        public static IntPtr Step(long methodId)
        {
            CallTree* stopped = Allocations.Stop();
            IntPtr result = BeginStep(methodId);
            Allocations.Continue(stopped);
            return result;
        }

        private static IntPtr BeginStep(long methodId)
        {
            CallTree* tree = CallTrees.OfThisThread();
            if (tree == null)
            {
                return IntPtr.Zero;
            }
            CallNode* current = (CallNode*)tree->Current;
            if (current->MethodId == methodId && (current->Flags & (NodeFlags.Stepping | NodeFlags.Overflow)) == 0)
            {
                long start = OpenCalls.IsOf((Frame*)tree->Frame, current) ? ((Frame*)tree->Frame)->Began : current->Start;
                return TakeFirstStep(tree, current, start) ? Tokens.OfFirstStep(current) : IntPtr.Zero;
            }
            LogicalCall call = Flow.Get() as LogicalCall;
            if (call != null && call.IsSuspended && call.Node->MethodId == methodId)
            {
                return GoOn(tree, call);
            }
            CallNode* kickoff = KickoffAbove(tree, current, methodId);
            return kickoff != null ? TakeFirstStepBelow(tree, kickoff) : StepOfUnknown(tree, methodId, call);
        }

        /// <summary>
        /// The kickoff that has been called, and whose first step has not: where the builder is woven, its methods are between.
        /// </summary>
        private static CallNode* KickoffAbove(CallTree* tree, CallNode* node, long methodId)
        {
            for (int i = 0; i < CallsOfBuilder && node->MethodId != 0 && !OpenCalls.IsOf((Frame*)tree->Frame, node); i++)
            {
                node = (CallNode*)node->Caller;
                if (node->MethodId == methodId)
                {
                    return (node->Flags & (NodeFlags.Stepping | NodeFlags.Overflow)) == 0 ? node : null;
                }
            }
            return null;
        }

        /// <summary>A step hands over what is to go on: nothing of its call is touched from then on, as another thread may run that.</summary>
        public static void Await(IntPtr token)
        {
            CallTree* stopped = Allocations.Stop();
            Suspend(token);
            Allocations.Continue(stopped);
        }

        private static void Suspend(IntPtr token)
        {
            CallTree* tree = CallTrees.OfOpenCalls;
            LogicalCall call = tree == null ? null : HandOver(tree, token);
            if (call != null)
            {
                call.IsSuspended = true;
            }
        }

        /// <summary>The step of a token is not run any more.</summary>
        /// <returns>The call that it belongs to; null if that is not known.</returns>
        public static LogicalCall HandOver(CallTree* tree, IntPtr token)
        {
            LogicalCall call = null;
            if (Tokens.IsFirstStep(token))
            {
                CallNode* node = Tokens.Node(token);
                if (MakeCurrent(tree, node, false) && (call = EndFirstStep(node)) != null)
                {
                    node->Flags |= NodeFlags.Suspended;
                }
            }
            else if (Tokens.IsFrame(token))
            {
                call = Frames.HandOver(tree, token);
            }
            return call;
        }

        /// <summary>A step completes its call. What waits for it may run before the step is left, and is not below it.</summary>
        public static void Complete(IntPtr token, bool isFaulted)
        {
            CallTree* stopped = Allocations.Stop();
            EndCall(token, isFaulted);
            Allocations.Continue(stopped);
        }

        private static void EndCall(IntPtr token, bool isFaulted)
        {
            CallTree* tree = CallTrees.OfOpenCalls;
            if (tree == null)
            {
                return;
            }
            if (Tokens.IsFirstStep(token))
            {
                CallNode* node = Tokens.Node(token);
                if (isFaulted && tree->Current == (long)node)
                {
                    node->Flags |= NodeFlags.Faulted;
                    node->ExceptionType = ((TreeMemory*)tree->Memory)->LastThrownType;
                }
            }
            else if (Tokens.IsFrame(token))
            {
                LogicalCall call;
                long now = Clock.Now();
                if (Frames.EndEarly(tree, token, now, out call) && call != null)
                {
                    CallNode* node = (CallNode*)((Frame*)tree->EndedFrames)->Node;
                    Record(tree, node, Pauses.Elapsed(call.Start, now), call.IsFirst, isFaulted);
                }
            }
        }

        /// <summary>The first step is left; its kickoff goes on.</summary>
        public static void LeaveFirstStep(CallTree* tree, CallNode* node)
        {
            if (MakeCurrent(tree, node, true))
            {
                EndFirstStep(node);
            }
        }

        /// <summary>The clock is only asked where an exception has passed calls.</summary>
        private static bool MakeCurrent(CallTree* tree, CallNode* kickoff, bool marks)
        {
            return tree->Current == (long)kickoff || OpenCalls.MakeCurrent(tree, kickoff, true, Clock.Now(), marks);
        }

        /// <summary>A kickoff is left: its call may be complete by then.</summary>
        public static void LeaveKickoff(CallTree* tree, CallNode* node, long now, bool byException)
        {
            EndFirstStep(node);
            int flags = node->Flags;
            node->Flags = flags & ~(NodeFlags.Stepping | NodeFlags.Suspended | NodeFlags.Faulted);
            if ((flags & NodeFlags.Stepping) == 0)
            {
                node->Exceptions += byException ? 1 : 0;
                return;
            }
            if ((flags & NodeFlags.Suspended) == 0)
            {
                long latency = Pauses.Elapsed(((AsyncRecord*)node->Async)->Start, now);
                Record(tree, node, latency, node->Calls == 1, byException || (flags & NodeFlags.Faulted) != 0);
            }
            if ((flags & NodeFlags.FlowUndone) == 0)
            {
                UndoFlow(node);
            }
        }

        /// <summary>The builders of .NET undo what the first step does to the context: a method has always the same one.</summary>
        private static void UndoFlow(CallNode* node)
        {
            LogicalCall call = Flow.Get() as LogicalCall;
            if (call != null && call.Node == node)
            {
                Flow.Set(call.Before);
            }
            else
            {
                node->Flags |= NodeFlags.FlowUndone;
            }
        }

        /// <summary>The step that runs ends.</summary>
        /// <returns>The call that it belongs to.</returns>
        public static LogicalCall EndRunning()
        {
            RunningStep step = Running;
            if (step == null)
            {
                return null;
            }
            Running = step.Below;
            return step.Call;
        }

        /// <summary>The first step of a node's call ends, unless it has.</summary>
        /// <returns>The call that it belongs to; null if that had ended.</returns>
        private static LogicalCall EndFirstStep(CallNode* node)
        {
            if ((node->Flags & NodeFlags.Running) == 0)
            {
                return null;
            }
            node->Flags &= ~NodeFlags.Running;
            return EndRunning();
        }

        private static bool TakeFirstStep(CallTree* tree, CallNode* node, long start)
        {
            if (node->Async == 0 && !MakeAsync(tree, node))
            {
                return false;
            }
            ((AsyncRecord*)node->Async)->Steps++;
            node->Flags |= NodeFlags.Stepping | NodeFlags.Running;
            Run(Begin(tree, node, start));
            return true;
        }

        /// <summary>The first step of a kickoff that is not the current call is like those that go on: what is between is none of it.</summary>
        private static IntPtr TakeFirstStepBelow(CallTree* tree, CallNode* node)
        {
            if (node->Async == 0 && !MakeAsync(tree, node))
            {
                return IntPtr.Zero;
            }
            // The kickoff leaves it to the step to say when the call is complete.
            node->Flags |= NodeFlags.Stepping | NodeFlags.Suspended;
            return GoOn(tree, Begin(tree, node, node->Start));
        }

        /// <summary>A logical call, which flows from now on.</summary>
        private static LogicalCall Begin(CallTree* tree, CallNode* node, long start)
        {
            LogicalCall call = new LogicalCall();
            call.Node = node;
            call.Root = ((TreeMemory*)tree->Memory)->LayerRoot[Frames.Layer(tree)];
            call.Start = Mode.IsTimed ? start : Clock.Now();
            ((AsyncRecord*)node->Async)->Start = call.Start;
            call.IsFirst = node->Calls == 1;
            call.Before = (node->Flags & NodeFlags.FlowUndone) != 0 ? null : Flow.Get();
            Flow.Set(call);
            return call;
        }

        private static void Run(LogicalCall call)
        {
            RunningStep step = new RunningStep();
            step.Call = call;
            step.Below = Running;
            Running = step;
        }

        public static IntPtr GoOn(CallTree* tree, LogicalCall call)
        {
            long layer = tree->Current == tree->Root ? 0 : Frames.Layer(tree) + 1;
            CallNode* node = PathHere(tree, call, layer);
            if (node == null)
            {
                node = Frames.OverflowNode(tree, call.Node->MethodId);
                layer = Frames.Layer(tree);
            }
            if (node == null || node->Async == 0 && !MakeAsync(tree, node))
            {
                return IntPtr.Zero;
            }
            ((AsyncRecord*)node->Async)->Steps++;
            IntPtr token = Frames.Enter(tree, node, Frames.IsDetached | Frames.IsStep, layer);
            if (!Tokens.IsNone(token))
            {
                call.IsSuspended = false;
                Run(call);
            }
            return token;
        }

        /// <summary>
        /// A step whose call does not flow here, or has no kickoff that is woven. It is not counted as a call where kickoffs are:
        /// then it is one whose flow was suppressed.
        /// </summary>
        private static IntPtr StepOfUnknown(CallTree* tree, long methodId, LogicalCall call)
        {
            CallNode* caller = (CallNode*)tree->Current;
            int kind = 0;
            // Below an open call it is the caller's: DisposeAsync of an async iterator runs a step without a kickoff.
            bool isLost = (long)caller == tree->Root;
            if (isLost && call != null)
            {
                CallNode* below = PathHere(tree, call, 0);
                caller = below != null ? below : caller;
                kind = below != null ? Frames.IsDetached : 0;
            }
            CallNode* node = (caller->Flags & NodeFlags.Overflow) != 0 ? null : CallTrees.Callee(tree, caller, methodId);
            if (node == null)
            {
                node = Frames.OverflowNode(tree, methodId);
                kind = Frames.IsDetached;
            }
            if (node == null || node->Async == 0 && !MakeAsync(tree, node))
            {
                return IntPtr.Zero;
            }
            node->Flags |= isLost ? NodeFlags.FlowLost : 0;
            ((AsyncRecord*)node->Async)->Steps++;
            return Frames.Enter(tree, node, kind, Frames.Layer(tree));
        }

        /// <summary>From now on the slow path leaves its calls.</summary>
        private static bool MakeAsync(CallTree* tree, CallNode* node)
        {
            AsyncRecord* record = (AsyncRecord*)CallTrees.Slot(tree);
            if (record == null)
            {
                return false;
            }
            record->Flags = NodeFlags.AsyncRecord;
            CallTrees.Show(record);
            node->Async = (long)record;
            node->Flags |= NodeFlags.Async;
            node->ColdStats = node->ColdStats != 0 ? node->ColdStats : node->Stats;
            node->Stats = 0;
            return true;
        }

        private static void Record(CallTree* tree, CallNode* node, long latency, bool isFirst, bool isFaulted)
        {
            AsyncRecord* record = (AsyncRecord*)node->Async;
            if (record == null)
            {
                return;
            }
            if (isFirst)
            {
                record->LatencyFirst = latency;
            }
            Statistics.Record(tree, node, latency, isFirst ? 0 : 1, record->LatencyFirst);
            record->Latency += latency;
            record->Completed++;
            if (isFaulted)
            {
                record->Faulted++;
                Thrown.Count(node, ((TreeMemory*)tree->Memory)->LastThrownType);
            }
            if (Sandbox.IsHere && ((CallNode*)node->Caller)->MethodId == 0)
            {
                Sandbox.AtCompletion(tree);
            }
        }

        /// <summary>The node of a logical call's path in this thread's tree; null if there is no room, or no such layer.</summary>
        public static CallNode* PathHere(CallTree* tree, LogicalCall call, long layer)
        {
            if (layer > TreeMemory.Layers || (call.Node->Flags & NodeFlags.Overflow) != 0)
            {
                return null;
            }
            TreeMemory* memory = (TreeMemory*)tree->Memory;
            CallNode* root = (CallNode*)memory->LayerRoot[layer];
            if (root == null)
            {
                root = CallTrees.NewNode(tree, 0, null, NodeFlags.Root | NodeFlags.LayerRoot);
                memory->LayerRoot[layer] = (long)root;
            }
            if (root == null || call.Root == (long)root)
            {
                return root == null ? null : call.Node;
            }
            return PathBelow(tree, root, call.Node, layer);
        }

        /// <summary>
        /// The node below a layer's root whose path is that of a node of another tree, or layer. The walk up ends where a path is
        /// known: each node is looked at once, and an async chain costs as much as it has calls.
        /// </summary>
        private static CallNode* PathBelow(CallTree* tree, CallNode* root, CallNode* node, long layer)
        {
            NodeIndex** paths = (NodeIndex**)&((TreeMemory*)tree->Memory)->Paths;
            CallNode* here = NodeIndex.Find(*paths, Key(node, layer));
            if (here != null)
            {
                return here == root ? null : here;
            }
            long[] callees = walked ?? (walked = new long[64]);
            int count = 0;
            for (; node->MethodId != 0 && (here = NodeIndex.Find(*paths, Key(node, layer))) == null; node = (CallNode*)node->Caller)
            {
                if (count == callees.Length)
                {
                    walked = new long[2 * count];
                    Array.Copy(callees, walked, count);
                    callees = walked;
                }
                callees[count++] = (long)node;
            }
            looks += count;
            // For what there is no room the root stands.
            bool isLost = here == root;
            here = here == null ? root : here;
            while (count > 0)
            {
                node = (CallNode*)callees[--count];
                CallNode* next = isLost ? null : CallTrees.Callee(tree, here, node->MethodId);
                isLost = next == null;
                here = isLost ? root : next;
                if (NodeIndex.Reserve(paths))
                {
                    NodeIndex.Put(*paths, Key(node, layer), here);
                }
            }
            return isLost ? null : here;
        }

        /// <summary>Nodes are at multiples of their size; there are few layers.</summary>
        private static long Key(CallNode* node, long layer)
        {
            return (long)node / NodeLayout.Size | layer << 58;
        }

        /// <summary>Writes to the log what looking for paths has cost.</summary>
        public static void Tell()
        {
            if (looks > 0)
            {
                Log.Write("looked at " + ThisProcess.Digits(looks) + " nodes for paths of async calls");
            }
        }
    }
}
