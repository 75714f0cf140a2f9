using System;
using System.Runtime.CompilerServices;

namespace Ilinst
{
    /// <summary>
    /// The methods that woven code calls. There is no static constructor: it would run inside of the program's methods.
    /// </summary>
    public static unsafe class ProfileInfoTracker
    {
        /// <summary>This thread's tree; none before its first probe, and while the tracker itself is at work.</summary>
        [ThreadStatic]
        internal static CallTree* tree;

        /// <summary>The first <see cref="RecentCall"/> of this thread, if it has a tree.</summary>
        [ThreadStatic]
        internal static RecentCall* recent;

        /// <summary>
        /// Where it is said whether calls are recorded: 0 if not, in a pause, or in a forked child (see <see cref="Recording"/>). Else
        /// -2^63 less the end of the last pause, or less 0 before the first: the sum with the start of a call is below zero, unless
        /// there was a pause since. There before a thread has a tree.
        /// </summary>
        internal static long* recorded;

        /// <summary>The probes that are used: one of the constants of <see cref="Mode"/>. No constant: this is compiled before it is known.</summary>
        internal static int probe;

        /// <summary>
        /// Not by tiers: what is measured at the start would be the time of code that was not optimized. Nor is it inlined: that
        /// makes the frames of all methods larger, and so recursion less deep.
        /// </summary>
        private const MethodImplOptions Hot = (MethodImplOptions)512 | MethodImplOptions.NoInlining;

        /// <summary>Called when a method is entered.</summary>
        /// <param name="methodId">The id of the method: the key of its module (40 bits), two flags, and its row in MethodDef (22 bits).</param>
        /// <returns>The token for <see cref="WhenLeaving"/>; zero if the call is not tracked.</returns>
        [MethodImpl(Hot)]
        public static IntPtr WhenEntering(long methodId)
        {
            int probe = ProfileInfoTracker.probe;
            if (probe == Mode.ByReader)
            {
                return Probes.Enter<Probes.ByReader>(methodId);
            }
            if (probe == Mode.Counting)
            {
                Counters.Add(methodId);
                return default(IntPtr);
            }
            if (probe == Mode.Sampling)
            {
                return Probes.Enter<Probes.Sampled>(methodId);
            }
            return probe == Mode.ByStopwatch ? Probes.EnterApart<Probes.ByStopwatch>(methodId)
                : probe == Mode.Tracing ? Probes.EnterApart<Probes.Traced>(methodId)
                : probe == Mode.Allocating ? Probes.EnterApart<Probes.Allocating>(methodId)
                : Probes.EnterApart<Probes.AllocatingAndTraced>(methodId);
        }

        /// <summary>
        /// Called when a method is left, however it ends. For most calls that are only counted, this is all. By this operator the
        /// inlined check makes the program's frames no larger on Mono, unlike by <see cref="Tokens.IsNone"/>.
        /// </summary>
        /// <param name="token">The token of this call, from <see cref="WhenEntering"/> or <see cref="WhenStepping"/>.</param>
        [MethodImpl((MethodImplOptions)256)]
        public static void WhenLeaving(IntPtr token)
        {
            if (token != IntPtr.Zero)
            {
                Leave(token);
            }
        }

        [MethodImpl(Hot)]
        private static void Leave(IntPtr token)
        {
            int probe = ProfileInfoTracker.probe;
            if (Tokens.IsTagged(token))
            {
                OpenCalls.LeaveTagged(token);
            }
            else if (probe == Mode.ByReader)
            {
                Probes.Leave<Probes.ByReader>(token);
            }
            else if (probe == Mode.Sampling)
            {
                Probes.Leave<Probes.Sampled>(token);
            }
            else if (probe == Mode.ByStopwatch)
            {
                Probes.LeaveApart<Probes.ByStopwatch>(token);
            }
            else if (probe == Mode.Tracing)
            {
                Probes.LeaveApart<Probes.Traced>(token);
            }
            else if (probe == Mode.Allocating)
            {
                Probes.LeaveApart<Probes.Allocating>(token);
            }
            else
            {
                Probes.LeaveApart<Probes.AllocatingAndTraced>(token);
            }
        }

        /// <summary>Called where a finally or fault handler begins.</summary>
        /// <param name="token">The token of the call that the handler is in.</param>
        public static void WhenHandling(IntPtr token)
        {
            CallTree* tree = ProfileInfoTracker.tree;
            if (!Tokens.IsNone(token) && tree != null && tree->Current != Tokens.Bits(token))
            {
                OpenCalls.Handle(token, Clock.Now(), true);
            }
        }

        /// <summary>Called where a catch handler, or that of a filter, begins.</summary>
        /// <param name="token">The token of the call that the handler is in.</param>
        public static void WhenCatching(IntPtr token)
        {
            if (!Tokens.IsNone(token))
            {
                Thrown.Catch(token, Clock.Now());
            }
        }

        /// <summary>Called when a module counts its first line.</summary>
        /// <param name="moduleKey">The key of the module.</param>
        /// <param name="count">The number of its counters.</param>
        /// <returns>Their address for <see cref="WhenPassing"/>; zero if there is no memory.</returns>
        public static IntPtr WhenCounting(long moduleKey, int count)
        {
            return Tokens.Of(Lines.Open(moduleKey, count));
        }

        /// <summary>Called before each statement whose line is counted: an increment in the caller's own code.</summary>
        /// <param name="counters">
        /// The address from <see cref="WhenCounting"/>; zero also where that calls back into the program, or threads wait for each other.
        /// </param>
        /// <param name="number">The number of the counter.</param>
        [MethodImpl((MethodImplOptions)256)]
        public static void WhenPassing(IntPtr counters, int number)
        {
            long* first = (long*)Tokens.Bits(counters);
            if (first != null)
            {
                first[number]++;
            }
        }

        /// <summary>Called when a method that the runtime suspends is entered, in place of <see cref="WhenEntering"/>.</summary>
        /// <param name="methodId">The id of the method.</param>
        /// <returns>The token for the other probes.</returns>
        public static IntPtr WhenStarting(long methodId)
        {
            return probe == Mode.Counting || Recording.IsPaused ? WhenEntering(methodId) : RuntimeAsync.Start(methodId);
        }

        /// <summary>Called before such a method awaits.</summary>
        /// <param name="token">The token from <see cref="WhenStarting"/>.</param>
        public static void WhenSuspending(IntPtr token)
        {
            if (Tokens.IsCall(token))
            {
                RuntimeAsync.Suspend(token);
            }
        }

        /// <summary>Called before such a method calls what it awaits at once, in place of <see cref="WhenSuspending"/>.</summary>
        /// <param name="token">The token from <see cref="WhenStarting"/>.</param>
        public static void WhenCallingAwaited(IntPtr token)
        {
            if (Tokens.IsCall(token))
            {
                RuntimeAsync.Await(token);
            }
        }

        /// <summary>Called behind it.</summary>
        /// <param name="token">The token from <see cref="WhenStarting"/>.</param>
        public static void WhenContinuing(IntPtr token)
        {
            if (Tokens.IsCall(token))
            {
                RuntimeAsync.GoOn(token);
            }
        }

        /// <summary>Called when a step of an async method begins: by its state machine, in place of <see cref="WhenEntering"/>.</summary>
        /// <param name="methodId">The method that a person wrote.</param>
        /// <returns>The token for the other probes.</returns>
        public static IntPtr WhenStepping(long methodId)
        {
            return probe == Mode.Counting || Recording.IsPaused ? IntPtr.Zero : LogicalCalls.Step(methodId);
        }

        /// <summary>Called before a step hands over what is to go on when the awaited is done.</summary>
        /// <param name="token">The token from <see cref="WhenStepping"/>.</param>
        public static void WhenAwaiting(IntPtr token)
        {
            if (!Tokens.IsNone(token))
            {
                LogicalCalls.Await(token);
            }
        }

        /// <summary>Called before an async method's result is set, which runs what waits for it.</summary>
        /// <param name="token">The token from <see cref="WhenStepping"/>.</param>
        public static void WhenCompleting(IntPtr token)
        {
            if (!Tokens.IsNone(token))
            {
                LogicalCalls.Complete(token, false);
            }
        }

        /// <summary>Called before an async method's exception is set.</summary>
        /// <param name="token">The token from <see cref="WhenStepping"/>.</param>
        public static void WhenFaulting(IntPtr token)
        {
            if (!Tokens.IsNone(token))
            {
                LogicalCalls.Complete(token, true);
            }
        }
    }
}
