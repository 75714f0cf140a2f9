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
        /// <summary>Chunks asked of the system at a time.</summary>
        private const int ChunksPerArena = 16;
        private const int DefaultMaxNodes = 1000 * 1000;
        private const int NodesPerChunk = (NodeChunk.ChunkSize - NodeChunk.FirstNode) / NodeChunk.NodeSize;

        private static readonly object gate = new object();
        private static readonly List<IntPtr> chunks = new List<IntPtr>();
        private static readonly List<IntPtr> trees = new List<IntPtr>();
        private static readonly List<Thread> owners = new List<Thread>();
        private static long nextChunk;
        private static long arenaEnd;
        private static int nodesLeft;
        private static bool isStarted;

        /// <summary>How many nodes all call trees may have together, beside each one's first chunk.</summary>
        public static int MaxNodes;

        /// <summary>Set while this thread is in here: probes that it passes meanwhile are not tracked.</summary>
        [ThreadStatic]
        private static bool isBusy;

        /// <summary>The tree of a thread that has none yet; null while the tracker itself is at work.</summary>
        public static CallTree* ForThisThread()
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
                    if (!isStarted)
                    {
                        isStarted = true;
                        MaxNodes = Settings.MaxNodes(DefaultMaxNodes);
                        nodesLeft = MaxNodes;
                        ProfileFile.Start();
                    }
                    CallTree* tree = Adopt();
                    return tree != null ? tree : NewTree();
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

        /// <summary>The callee's node, now the first of the caller's; null if there is no room for one more.</summary>
        public static CallNode* FindOrAdd(CallTree* tree, CallNode* caller, long methodId)
        {
            CallNode* before = (CallNode*)caller->Callees;
            while (before != null && before->Next != 0)
            {
                CallNode* node = (CallNode*)before->Next;
                if (node->MethodId == methodId)
                {
                    before->Next = node->Next;
                    node->Next = caller->Callees;
                    caller->Callees = (long)node;
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
            }
            return added;
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

        /// <summary>The chunks there are now.</summary>
        public static IntPtr[] Chunks()
        {
            lock (gate)
            {
                return chunks.ToArray();
            }
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
            NodeChunk* chunk = NewChunk();
            CallTree* tree = (CallTree*)((byte*)chunk + NodeChunk.HeaderSize);
            trees.Add((IntPtr)tree);
            owners.Add(Thread.CurrentThread);
            chunk->Tree = (long)tree;
            chunk->TreeNumber = trees.Count;
            tree->Threads = 1;
            Use(tree, chunk);
            CallNode* root = NewNode(tree);
            root->Start = Stopwatch.GetTimestamp();
            tree->Root = (long)root;
            tree->Current = (long)root;
            return tree;
        }

        private static CallNode* NewNode(CallTree* tree)
        {
            if (tree->Free == tree->End && !Extend(tree))
            {
                return null;
            }
            CallNode* node = (CallNode*)tree->Free;
            tree->Free += NodeChunk.NodeSize;
            NodeChunk.Of(node)->Used += NodeChunk.NodeSize;
            return node;
        }

        /// <summary>Gives a tree one more chunk; if it cannot, the call that needs it is counted as lost.</summary>
        private static bool Extend(CallTree* tree)
        {
            if (isBusy)
            {
                return false;
            }
            // Asked without the lock first: once the limit is reached, every call on a new path comes by here.
            if (nodesLeft >= NodesPerChunk && AddChunk(tree))
            {
                return true;
            }
            tree->LostCalls++;
            return false;
        }

        /// <summary>Adds a chunk to a tree, unless it would pass the limit on nodes or there is no memory.</summary>
        private static bool AddChunk(CallTree* tree)
        {
            isBusy = true;
            try
            {
                lock (gate)
                {
                    if (nodesLeft < NodesPerChunk)
                    {
                        return false;
                    }
                    NodeChunk* chunk = NewChunk();
                    nodesLeft -= NodesPerChunk;
                    chunk->Tree = (long)tree;
                    chunk->TreeNumber = ((NodeChunk*)((byte*)tree - NodeChunk.HeaderSize))->TreeNumber;
                    Use(tree, chunk);
                    return true;
                }
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

        private static void Use(CallTree* tree, NodeChunk* chunk)
        {
            tree->Free = (long)chunk + NodeChunk.FirstNode;
            tree->End = (long)chunk + NodeChunk.ChunkSize;
        }

        private static NodeChunk* NewChunk()
        {
            if (nextChunk == arenaEnd)
            {
                // One chunk more than is used, since the first one has to be brought to a multiple of its size.
                long address = (long)Marshal.AllocHGlobal((ChunksPerArena + 1) * NodeChunk.ChunkSize);
                nextChunk = (address + NodeChunk.ChunkSize - 1) & ~(long)(NodeChunk.ChunkSize - 1);
                arenaEnd = nextChunk + ChunksPerArena * NodeChunk.ChunkSize;
            }
            NodeChunk* chunk = (NodeChunk*)nextChunk;
            nextChunk += NodeChunk.ChunkSize;
            long* words = (long*)chunk;
            for (int i = 0; i < NodeChunk.ChunkSize / sizeof(long); i++)
            {
                words[i] = 0;
            }
            chunk->KindOfChunk = NodeChunk.Kind;
            chunk->SizeInFile = NodeChunk.ChunkSize;
            chunk->Address = (long)chunk;
            chunk->Used = NodeChunk.FirstNode;
            chunks.Add((IntPtr)chunk);
            return chunk;
        }
    }
}
