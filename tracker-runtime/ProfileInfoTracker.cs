using System;
using System.Diagnostics;

namespace Ilinst
{
    /// <summary>
    /// What woven code calls. This file is the fast path; whatever happens once a thread or once a call path is in
    /// <see cref="CallTrees"/>. There is no static constructor: it would run inside of the program's methods.
    /// </summary>
    public static unsafe class ProfileInfoTracker
    {
        /// <summary>This thread's tree; none before its first probe, and while the tracker itself is at work.</summary>
        [ThreadStatic]
        internal static CallTree* tree;

        /// <summary>Called when a method is entered.</summary>
        /// <param name="methodId">Which one: the key of its module (40 bits), then its row in MethodDef (24 bits).</param>
        /// <returns>What <see cref="WhenLeaving"/> wants back; zero if the call is not tracked.</returns>
        public static IntPtr WhenEntering(long methodId)
        {
            CallTree* tree = ProfileInfoTracker.tree;
            if (tree == null)
            {
                tree = CallTrees.ForThisThread();
                if (tree == null)
                {
                    return IntPtr.Zero;
                }
                ProfileInfoTracker.tree = tree;
            }
            CallNode* caller = (CallNode*)tree->Current;
            CallNode* node = (CallNode*)caller->Callees;
            if (node == null || node->MethodId != methodId)
            {
                node = CallTrees.FindOrAdd(tree, caller, methodId);
                if (node == null)
                {
                    return IntPtr.Zero;
                }
            }
            // Current comes last: a profile written by another thread just now must find the start of a call it shows.
            node->Start = Stopwatch.GetTimestamp();
            node->Calls++;
            tree->Current = (long)node;
            return (IntPtr)node;
        }

        /// <summary>Called when a method is left, however it ends.</summary>
        /// <param name="token">What <see cref="WhenEntering"/> gave for this call.</param>
        public static void WhenLeaving(IntPtr token)
        {
            CallNode* node = (CallNode*)token;
            if (node == null)
            {
                return;
            }
            long now = Stopwatch.GetTimestamp();
            CallTree* tree = (CallTree*)NodeChunk.Of(node)->Tree;
            if (tree->Current != (long)node)
            {
                LeaveSkipped(tree, node, now);
            }
            node->Total += now - node->Start;
            node->Leaves++;
            tree->Current = node->Caller;
        }

        /// <summary>Called where an exception handler begins.</summary>
        /// <param name="token">What <see cref="WhenEntering"/> gave for the call that the handler is in.</param>
        public static void WhenHandling(IntPtr token)
        {
            CallNode* node = (CallNode*)token;
            if (node == null)
            {
                return;
            }
            CallTree* tree = (CallTree*)NodeChunk.Of(node)->Tree;
            if (tree->Current != (long)node)
            {
                LeaveSkipped(tree, node, Stopwatch.GetTimestamp());
                tree->Current = (long)node;
            }
        }

        /// <summary>An exception has passed the calls above this one, and their leave probes: they end now.</summary>
        private static void LeaveSkipped(CallTree* tree, CallNode* node, long now)
        {
            CallNode* skipped = (CallNode*)tree->Current;
            while (skipped != null && skipped != node)
            {
                skipped = (CallNode*)skipped->Caller;
            }
            if (skipped == null)
            {
                return;
            }
            for (skipped = (CallNode*)tree->Current; skipped != node; skipped = (CallNode*)skipped->Caller)
            {
                skipped->Total += now - skipped->Start;
                skipped->Leaves++;
            }
        }
    }
}
