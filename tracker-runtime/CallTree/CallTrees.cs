using System;
using System.Collections.Generic;
using System.Threading;

namespace Ilinst
{
    /// <summary>The trees: what happens once a thread, or once a call path. Nothing here throws.</summary>
    internal static unsafe class CallTrees
    {
        private const int DefaultMaxNodes = 1000 * 1000;
        /// <summary>In bytes. Less than the pages by which Mono guards a stack's end, which are 32 KiB.</summary>
        private const long StackReserve = 16 * 1024;
        /// <summary>How many trees a new thread looks at for one whose thread has ended.</summary>
        private const int LooksForDead = 4;
        /// <summary>How often the end asks for nodes that are being made.</summary>
        private const int MaxWaits = 200;
        /// <summary>More callees than that have an index.</summary>
        private const int MaxWalk = 8;

        private static readonly Gate gate = new Gate();
        private static readonly List<IntPtr> trees = new List<IntPtr>();
        private static readonly List<Thread> owners = new List<Thread>();
        /// <summary>The tree that is looked at next.</summary>
        private static int hand;
        private static bool isStarted;
        private static volatile bool isTracking;
        /// <summary>Whether there is no profile, and none will be.</summary>
        private static volatile bool isOff;

        /// <summary>How many nodes all call trees may have together, but for their roots.</summary>
        public static int MaxNodes;

        /// <summary>Set while this thread is in here: probes that it passes meanwhile are not tracked.</summary>
        [ThreadStatic]
        private static bool isBusy;

        /// <summary>This thread's tree, made at its first probe; null while the tracker itself is at work.</summary>
        public static CallTree* OfThisThread()
        {
            CallTree* tree = OfOpenCalls;
            if (tree == null)
            {
                tree = ForThisThread();
                Assign(tree);
            }
            return tree;
        }

        /// <summary>Makes a tree the one of this thread's probes; none if it is null.</summary>
        public static void Assign(CallTree* tree)
        {
            if (tree != null)
            {
                ProfileInfoTracker.recent = (RecentCall*)tree->Memory;
            }
            ProfileInfoTracker.tree = tree;
        }

        /// <summary>This thread's tree, if it has one by now; null while the tracker itself is at work, and in a forked child.</summary>
        public static CallTree* OfOpenCalls
        {
            get { return Recording.IsForked ? null : ProfileInfoTracker.tree; }
        }

        /// <summary>Whether the mode is chosen, and it is known whether there is a profile.</summary>
        public static bool IsStarted
        {
            get { return isTracking || isOff; }
        }

        private static CallTree* ForThisThread()
        {
            if (isBusy || isOff)
            {
                return null;
            }
            isBusy = true;
            try
            {
                if (Recording.IsForked)
                {
                    // A thread of the parent's may have the lock.
                    return null;
                }
                LookOnce();
                using (gate.Enter())
                {
                    if (!StartOnce() || Mode.Kind == RecordingMode.Count)
                    {
                        return null;
                    }
                    CallTree* tree = ThreadSlot.Tree;
                    // Of a tracker in the process that this one was forked from, it is not to be had.
                    if (tree == null || !Arena.Holds(tree))
                    {
                        tree = Adopt();
                        tree = tree != null ? tree : NewTree();
                        ThreadSlot.Tree = tree;
                    }
                    return tree;
                }
            }
            catch (Exception)
            {
                return null;
            }
            finally
            {
                isBusy = false;
            }
        }

        /// <summary>Makes the profile, unless that was tried before.</summary>
        /// <returns>Whether there is one.</returns>
        public static bool Start()
        {
            if (Recording.IsForked)
            {
                return false;
            }
            bool was = isBusy;
            isBusy = true;
            try
            {
                LookOnce();
                using (gate.Enter())
                {
                    return StartOnce();
                }
            }
            finally
            {
                isBusy = was;
            }
        }

        private static void LookOnce()
        {
            if (!isStarted)
            {
                Allocations.Look();
            }
        }

        private static bool StartOnce()
        {
            if (!isStarted)
            {
                isStarted = true;
                string wrong = Settings.Wrong();
                if (wrong != null)
                {
                    isOff = true;
                    Tell(wrong);
                    return false;
                }
                MaxNodes = Settings.MaxNodes(DefaultMaxNodes);
                Probes.StackReserve = ThisProcess.CatchesStackOverflows ? StackReserve : 0;
                Mode.Choose();
                isTracking = Recording.Start() && ProfileFile.Start();
                isOff = !isTracking;
                if (isTracking)
                {
                    Flow.Start();
                    Thrown.Start();
                    Mode.Start();
                }
            }
            return isTracking;
        }

        /// <summary>Tells whoever runs the program, once a process.</summary>
        private static void Tell(string what)
        {
            Log.Write(what);
            if (Interlocked.Exchange(ref Control.OfProcess()->HasTold, 1) == 0)
            {
                Log.WriteError(what);
            }
        }

        /// <summary>The node of a caller's callee, made if need be; null if there is no room.</summary>
        public static CallNode* Callee(CallTree* tree, CallNode* caller, long methodId)
        {
            CallNode* first = (CallNode*)caller->Callees;
            CallNode* found = caller->Index != 0 ? CalleeIndex.Find(caller, methodId) : InRing(caller, first, methodId);
            return found != null ? found : NewCallee(tree, caller, methodId);
        }

        /// <summary>Lets the fast path find this callee when it is called next behind the caller's last one.</summary>
        public static void NoteTurn(CallNode* caller, CallNode* node)
        {
            CallNode* last = (CallNode*)caller->Callees;
            long hop = node - last;
            if (last != null && Mode.Kind != RecordingMode.Trace && hop == (int)hop && last + hop == node)
            {
                last->Hop = (int)hop;
            }
        }

        private static CallNode* InRing(CallNode* caller, CallNode* first, long methodId)
        {
            CallNode* node = first;
            for (int i = 0; node != null && i <= MaxWalk; i++)
            {
                if (node->MethodId == methodId)
                {
                    return node;
                }
                node = (CallNode*)node->Next;
                if (node == first)
                {
                    return null;
                }
            }
            // A node beyond the first part of the ring may be in the rest, once.
            return node != null && CalleeIndex.Reserve(caller) ? CalleeIndex.Find(caller, methodId) : null;
        }

        private static CallNode* NewCallee(CallTree* tree, CallNode* caller, long methodId)
        {
            if ((long)caller == tree->Current)
            {
                JitTime.Look(tree);
            }
            bool isRoot = (caller->Flags & NodeFlags.Root) != 0;
            if (isBusy || (isRoot || caller->Index != 0) && !CalleeIndex.Reserve(caller))
            {
                return null;
            }
            int* left = &Control.OfProcess()->NodesLeft;
            // Overflow nodes are not limited: there are no more than methods. Looked at first: once the limit is reached,
            // every call on a new path comes by here.
            bool isLimited = (caller->Flags & NodeFlags.Overflow) == 0;
            if (isLimited && (*left <= 0 || Interlocked.Decrement(ref *left) < 0))
            {
                return null;
            }
            CallNode* added = NewNode(tree, methodId, caller, caller->Flags & NodeFlags.Overflow);
            if (added == null)
            {
                Interlocked.Increment(ref *left);
                return null;
            }
            if (caller->Index != 0)
            {
                CalleeIndex.Add(caller, added);
            }
            if (!isRoot)
            {
                CallNode* last = (CallNode*)caller->Callees;
                added->Next = last == null ? (long)added : last->Next;
                if (last == null)
                {
                    caller->Callees = (long)added;
                }
                else
                {
                    last->Next = (long)added;
                }
            }
            return added;
        }

        /// <summary>Null if there is no memory.</summary>
        public static CallNode* NewNode(CallTree* tree, long methodId, CallNode* caller, int flags)
        {
            CallNode* node = (CallNode*)Slot(tree);
            if (node != null)
            {
                node->MethodId = methodId;
                node->Caller = (long)caller;
                node->Flags = flags;
                if (Mode.Kind == RecordingMode.Trace)
                {
                    node->Number = ((TreeMemory*)tree->Memory)->Numbered++;
                }
                ProfileFile.BeforeShown(methodId);
                Show(node);
            }
            return node;
        }

        /// <summary>Room for a node, or what takes a node's place; null if there is none. Nobody sees it before <see cref="Show"/>.</summary>
        public static void* Slot(CallTree* tree)
        {
            if (tree->Free == tree->End && !AddChunk(tree))
            {
                return null;
            }
            void* slot = (void*)tree->Free;
            tree->Free += Allocations.NodeSize;
            return slot;
        }

        /// <summary>The last slot is whole.</summary>
        public static void Show(void* slot)
        {
            Thread.MemoryBarrier();
            ChunkHeader* chunk = NodeChunk.Of((CallNode*)slot);
            chunk->Used = (byte*)slot + Allocations.NodeSize - (byte*)chunk;
        }

        /// <summary>Waits until the slots that have been taken are shown, but not for ever: a thread may have ended meanwhile.</summary>
        public static void AwaitShown()
        {
            IntPtr[] all;
            using (gate.Enter())
            {
                all = trees.ToArray();
            }
            for (int i = 0, waited = 0; i < all.Length; i++)
            {
                while (IsTaken((CallTree*)all[i]) && waited++ < MaxWaits)
                {
                    Thread.Sleep(waited < MaxWaits / 2 ? 0 : 1);
                }
            }
        }

        /// <summary>Whether the last slot is not shown yet.</summary>
        private static bool IsTaken(CallTree* tree)
        {
            ChunkHeader* chunk = NodeChunk.Of((CallNode*)(tree->Free - 1));
            return (long)chunk + chunk->Used != tree->Free;
        }

        /// <summary>Runs with this thread's probes switched off.</summary>
        public static void WithoutProbes(ThreadStart action)
        {
            CallTree* tree;
            bool was = SwitchOff(out tree);
            try
            {
                action();
            }
            finally
            {
                SwitchOn(tree, was);
            }
        }

        /// <summary>Switches this thread's probes off.</summary>
        /// <param name="tree">The argument for <see cref="SwitchOn"/>, with the returned value.</param>
        public static bool SwitchOff(out CallTree* tree)
        {
            bool was = isBusy;
            tree = ProfileInfoTracker.tree;
            isBusy = true;
            ProfileInfoTracker.tree = null;
            return was;
        }

        /// <summary>... and on again, unless they were off.</summary>
        public static void SwitchOn(CallTree* tree, bool was)
        {
            ProfileInfoTracker.tree = tree;
            isBusy = was;
        }

        /// <summary>The last of a thread's open calls has ended.</summary>
        public static void AtRest(CallTree* tree, long now)
        {
            if (Sandbox.IsHere)
            {
                Sandbox.AtRest(now);
            }
            else
            {
                ThreadClock.Look(tree, now);
            }
        }

        /// <summary>Called each second by a thread of the tracker's, and at the end.</summary>
        public static void OnHousekeeping()
        {
            Calibration.Again();
            using (gate.Enter())
            {
                for (int i = 0; i < trees.Count; i++)
                {
                    ThreadNames.Write((CallTree*)trees[i], owners[i]);
                }
            }
        }

        /// <summary>Tracking pauses, or goes on. <see cref="Header.State"/> says so to all trackers of the process.</summary>
        public static void OnPause(bool isPaused)
        {
            long now = Clock.Now();
            if (isPaused == Recording.IsPaused)
            {
                return;
            }
            if (isPaused)
            {
                Pauses.Begin(now);
            }
            else
            {
                Pauses.End(now);
            }
            Counters.OnPause(isPaused);
        }

        /// <summary>The trees of threads that live.</summary>
        public static IntPtr[] OfLivingThreads()
        {
            using (gate.Enter())
            {
                List<IntPtr> living = new List<IntPtr>();
                for (int i = 0; i < trees.Count; i++)
                {
                    if (owners[i].IsAlive)
                    {
                        living.Add(trees[i]);
                    }
                }
                return living.ToArray();
            }
        }

        /// <summary>The tree of a thread that has ended: programs start many short ones. Which may be, a hand on a clock says.</summary>
        private static CallTree* Adopt()
        {
            for (int i = 0; i < LooksForDead && i < owners.Count; i++)
            {
                hand = (hand + 1) % owners.Count;
                if (!owners[hand].IsAlive)
                {
                    CallTree* tree = (CallTree*)trees[hand];
                    ThreadNames.Write(tree, owners[hand]);
                    owners[hand] = Thread.CurrentThread;
                    tree->Current = tree->Root;
                    tree->Frame = tree->EndedFrames = 0;
                    ((TreeMemory*)tree->Memory)->ThrownCount = 0;
                    // A thread may have been ended while the tracker was at work.
                    ((TreeMemory*)tree->Memory)->BytesStand = 0;
                    tree->Threads++;
                    Own(tree);
                    return tree;
                }
            }
            return null;
        }

        private static CallTree* NewTree()
        {
            ChunkHeader* chunk = (ChunkHeader*)Arena.Take(ChunkKind.Nodes, 1);
            TreeMemory* memory = (TreeMemory*)NativeMemory.Zeroed(sizeof(TreeMemory));
            if (chunk == null || memory == null)
            {
                return null;
            }
            CallTree* tree = (CallTree*)((byte*)chunk + ChunkLayout.Header);
            tree->Memory = (long)memory;
            tree->Threads = 1;
            tree->CpuTime = tree->RunDelay = -1;
            tree->Started = Clock.Now();
            Use(tree, chunk, Interlocked.Increment(ref Control.OfProcess()->Trees));
            CallNode* root = NewNode(tree, 0, null, NodeFlags.Root);
            root->Start = tree->Started;
            memory->LayerRoot[0] = (long)root;
            tree->Root = (long)root;
            tree->Current = (long)root;
            Own(tree);
            trees.Add((IntPtr)tree);
            owners.Add(Thread.CurrentThread);
            return tree;
        }

        private static void Own(CallTree* tree)
        {
            tree->ManagedThreadId = Thread.CurrentThread.ManagedThreadId;
            ThreadClock.Own(tree);
            JitTime.Own(tree);
        }

        /// <summary>Adds a chunk to a tree, unless there is no memory.</summary>
        private static bool AddChunk(CallTree* tree)
        {
            bool was = isBusy;
            isBusy = true;
            try
            {
                ChunkHeader* chunk = (ChunkHeader*)Arena.Take(ChunkKind.Nodes, 1);
                if (chunk == null)
                {
                    return false;
                }
                Use(tree, chunk, NodeChunk.Of((CallNode*)tree)->TreeNumber);
                return true;
            }
            catch (Exception)
            {
                return false;
            }
            finally
            {
                isBusy = was;
            }
        }

        private static void Use(CallTree* tree, ChunkHeader* chunk, long number)
        {
            chunk->Tree = (long)tree;
            chunk->TreeNumber = number;
            chunk->Used = NodeLayout.FirstAt;
            tree->Free = (long)chunk + NodeLayout.FirstAt;
            tree->End = (long)chunk + HeaderLayout.Block;
        }
    }
}
