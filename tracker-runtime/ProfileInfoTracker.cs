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

        /// <summary>
        /// How many bytes of stack a method needs to be entered. Mono's programs can catch a stack overflow, but not one in
        /// native code, such as that which reads the clock: so it has to come before.
        /// </summary>
        internal static long stackReserve;

        /// <summary>Volatile, or reading it for nothing could be left out.</summary>
        private struct StackByte
        {
            public volatile byte Value;
        }

        /// <summary>Called when a method is entered.</summary>
        /// <param name="methodId">Which one: the key of its module (40 bits), then its row in MethodDef (24 bits).</param>
        /// <returns>What <see cref="WhenLeaving"/> wants back; zero if the call is not tracked.</returns>
        public static IntPtr WhenEntering(long methodId)
        {
            StackByte here;
            here.Value = 0;
            byte unused = ((StackByte*)((byte*)&here - stackReserve))->Value;
            CallTree* tree = ProfileInfoTracker.tree;
            CallNode* node;
            if (tree == null || (node = (CallNode*)((CallNode*)tree->Current)->Callees) == null || node->MethodId != methodId)
            {
                node = CallTrees.FindOrAdd(methodId);
                if (node == null)
                {
                    return IntPtr.Zero;
                }
                tree = ProfileInfoTracker.tree;
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
            // It may be any number: it is followed where it is the current node's, and that node has a caller to go back to.
            CallNode* node = (CallNode*)token;
            if (node == null)
            {
                return;
            }
            long now = Stopwatch.GetTimestamp();
            CallTree* tree = ProfileInfoTracker.tree;
            if (tree == null || tree->Current != (long)node || node->Caller == 0)
            {
                CallTrees.Leave(node, now);
                return;
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
            CallTree* tree = ProfileInfoTracker.tree;
            if (node != null && tree != null && tree->Current != (long)node)
            {
                CallTrees.EndSkipped(tree, node, Stopwatch.GetTimestamp());
            }
        }

        /// <summary>Called where a catch handler, or that of a filter, begins.</summary>
        /// <param name="token">What was given for the call that the handler is in.</param>
        public static void WhenCatching(IntPtr token)
        {
            WhenHandling(token);
        }

        /// <summary>Called when a step of an async method begins: by its state machine, in place of <see cref="WhenEntering"/>.</summary>
        /// <param name="methodId">The method that a person wrote.</param>
        /// <returns>What the others want back.</returns>
        public static IntPtr WhenStepping(long methodId)
        {
            return WhenEntering(methodId);
        }

        /// <summary>Called before a step hands over what is to go on when the awaited is done.</summary>
        /// <param name="token">What <see cref="WhenStepping"/> gave.</param>
        public static void WhenAwaiting(IntPtr token)
        {
        }

        /// <summary>Called before an async method's result is set, which runs what waits for it.</summary>
        /// <param name="token">What <see cref="WhenStepping"/> gave.</param>
        public static void WhenCompleting(IntPtr token)
        {
        }

        /// <summary>Called before an async method's exception is set.</summary>
        /// <param name="token">What <see cref="WhenStepping"/> gave.</param>
        public static void WhenFaulting(IntPtr token)
        {
        }
    }
}
