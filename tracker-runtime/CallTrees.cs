using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.Runtime.InteropServices;
using System.Threading;

namespace Ilinst
{
    /// <summary>The slow path: what happens once a thread or once a call path. Nothing here throws.</summary>
    internal static unsafe class CallTrees
    {
        private const int DefaultMaxNodes = 1000 * 1000;
        /// <summary>In bytes. Less than the pages by which Mono guards a stack's end, which are 32 KiB.</summary>
        private const long StackReserve = 16 * 1024;

        private static readonly object gate = new object();
        private static readonly List<IntPtr> trees = new List<IntPtr>();
        private static readonly List<Thread> owners = new List<Thread>();
        private static int nodesLeft;
        private static bool isStarted;
        private static bool isTracking;

        /// <summary>How many nodes all call trees may have together, but for their roots.</summary>
        public static int MaxNodes;

        /// <summary>Set while this thread is in here: probes that it passes meanwhile are not tracked.</summary>
        [ThreadStatic]
        private static bool isBusy;

        /// <summary>The tree of a thread that has none yet; null while the tracker itself is at work.</summary>
        private static CallTree* ForThisThread()
        {
            if (isBusy)
            {
                return null;
            }
            isBusy = true;
            try
            {
                lock (gate)
                {
                    if (!StartOnce())
                    {
                        return null;
                    }
                    CallTree* tree = ThreadSlot.Tree;
                    if (tree == null)
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
            bool was = isBusy;
            isBusy = true;
            try
            {
                lock (gate)
                {
                    return StartOnce();
                }
            }
            finally
            {
                isBusy = was;
            }
        }

        private static bool StartOnce()
        {
            if (!isStarted)
            {
                isStarted = true;
                MaxNodes = Settings.MaxNodes(DefaultMaxNodes);
                nodesLeft = MaxNodes;
                ProfileInfoTracker.stackReserve = ThisProcess.CatchesStackOverflows ? StackReserve : 0;
                isTracking = ProfileFile.Start();
            }
            return isTracking;
        }

        /// <summary>The node of what the current one calls, now the first of its callees; null if the call is not tracked.</summary>
        public static CallNode* FindOrAdd(long methodId)
        {
            CallTree* tree = ProfileInfoTracker.tree;
            if (tree == null)
            {
                tree = ForThisThread();
                if (tree == null)
                {
                    return null;
                }
                ProfileInfoTracker.tree = tree;
            }
            CallNode* caller = (CallNode*)tree->Current;
            CallNode* before = null;
            for (CallNode* node = (CallNode*)caller->Callees; node != null; node = (CallNode*)node->Next)
            {
                if (node->MethodId == methodId)
                {
                    if (before != null)
                    {
                        before->Next = node->Next;
                        node->Next = caller->Callees;
                        caller->Callees = (long)node;
                    }
                    return node;
                }
                before = node;
            }
            CallNode* added = NewNode(tree);
            if (added != null)
            {
                added->MethodId = methodId;
                added->Caller = (long)caller;
                added->Next = caller->Callees;
                caller->Callees = (long)added;
                if (ProfileFile.IsEnded)
                {
                    ProfileFile.UpdateAfterEnd();
                }
            }
            return added;
        }

        /// <summary>Leaves a call that is not the current one.</summary>
        public static void Leave(CallNode* token, long now)
        {
            CallTree* tree = ProfileInfoTracker.tree;
            if (tree != null && EndSkipped(tree, token, now))
            {
                token->Total += now - token->Start;
                token->Leaves++;
                tree->Current = token->Caller;
            }
        }

        /// <summary>
        /// Makes an open call the current one: an exception has passed those above it, and their leave probes, so they end
        /// now. A token is compared with the open calls of this thread; one that is none of them is counted, and no more.
        /// </summary>
        /// <returns>Whether it is one of them.</returns>
        public static bool EndSkipped(CallTree* tree, CallNode* token, long now)
        {
            CallNode* root = (CallNode*)tree->Root;
            CallNode* open = (CallNode*)tree->Current;
            while (open != token && open != root)
            {
                open = (CallNode*)open->Caller;
            }
            if (open == root)
            {
                tree->BadTokens++;
                return false;
            }
            for (CallNode* skipped = (CallNode*)tree->Current; skipped != token; skipped = (CallNode*)skipped->Caller)
            {
                skipped->Total += now - skipped->Start;
                skipped->Leaves++;
            }
            tree->Current = (long)token;
            return true;
        }

        /// <summary>Runs with this thread's probes switched off.</summary>
        public static void WithoutProbes(ThreadStart action)
        {
            bool was = isBusy;
            CallTree* tree = ProfileInfoTracker.tree;
            isBusy = true;
            ProfileInfoTracker.tree = null;
            try
            {
                action();
            }
            finally
            {
                ProfileInfoTracker.tree = tree;
                isBusy = was;
            }
        }

        /// <summary>Called each second by a thread of the tracker's, and at the end.</summary>
        public static void OnHousekeeping()
        {
        }

        /// <summary>Tracking pauses, or goes on. <see cref="Header.State"/> says so to all trackers of the process.</summary>
        public static void OnPause(bool isPaused)
        {
        }

        /// <summary>The tree of a thread that has ended: programs start many short ones.</summary>
        private static CallTree* Adopt()
        {
            for (int i = 0; i < owners.Count; i++)
            {
                if (!owners[i].IsAlive)
                {
                    owners[i] = Thread.CurrentThread;
                    CallTree* tree = (CallTree*)trees[i];
                    tree->Current = tree->Root;
                    tree->Threads++;
                    return tree;
                }
            }
            return null;
        }

        private static CallTree* NewTree()
        {
            ChunkHeader* chunk = (ChunkHeader*)Arena.Take(ChunkHeader.Nodes, 1);
            if (chunk == null)
            {
                return null;
            }
            CallTree* tree = (CallTree*)((byte*)chunk + Arena.ChunkHeaderSize);
            trees.Add((IntPtr)tree);
            owners.Add(Thread.CurrentThread);
            tree->Threads = 1;
            tree->CpuTime = -1;
            tree->Started = Stopwatch.GetTimestamp();
            tree->ManagedThreadId = Thread.CurrentThread.ManagedThreadId;
            Use(tree, chunk, Interlocked.Increment(ref Control.OfProcess()->Trees));
            CallNode* root = TakeNode(tree);
            root->Start = tree->Started;
            root->Flags = NodeChunk.Root;
            tree->Root = (long)root;
            tree->Current = (long)root;
            return tree;
        }

        /// <summary>One more node within the limit; the call that needs it is counted as lost if it cannot be had.</summary>
        private static CallNode* NewNode(CallTree* tree)
        {
            if (isBusy)
            {
                return null;
            }
            // Looked at first: once the limit is reached, every call on a new path comes by here.
            if (nodesLeft > 0 && Interlocked.Decrement(ref nodesLeft) >= 0)
            {
                if (tree->Free != tree->End || AddChunk(tree))
                {
                    return TakeNode(tree);
                }
                Interlocked.Increment(ref nodesLeft);
            }
            tree->LostCalls++;
            return null;
        }

        private static CallNode* TakeNode(CallTree* tree)
        {
            CallNode* node = (CallNode*)tree->Free;
            tree->Free += NodeChunk.NodeSize;
            NodeChunk.Of(node)->Used += NodeChunk.NodeSize;
            return node;
        }

        /// <summary>Adds a chunk to a tree, unless there is no memory.</summary>
        private static bool AddChunk(CallTree* tree)
        {
            isBusy = true;
            try
            {
                ChunkHeader* chunk = (ChunkHeader*)Arena.Take(ChunkHeader.Nodes, 1);
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
                isBusy = false;
            }
        }

        private static void Use(CallTree* tree, ChunkHeader* chunk, long number)
        {
            chunk->Tree = (long)tree;
            chunk->TreeNumber = number;
            chunk->Used = NodeChunk.FirstNode;
            tree->Free = (long)chunk + NodeChunk.FirstNode;
            tree->End = (long)chunk + Arena.BlockSize;
        }
    }
}
