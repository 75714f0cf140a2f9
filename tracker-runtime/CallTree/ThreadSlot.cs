using System;
using System.Runtime.CompilerServices;
using System.Threading;

namespace Ilinst
{
    /// <summary>
    /// This thread's tree, where the other trackers of the process find it too: statics are each tracker's own, and calls that
    /// lead from one plug-in to another are one tree.
    /// </summary>
    internal static unsafe class ThreadSlot
    {
        private const string Name = "Ilinst.Tracker.2";

        /// <summary>Null if none of them has made one for this thread.</summary>
        public static CallTree* Tree
        {
            get
            {
                try
                {
                    return (CallTree*)Get();
                }
                catch (Exception)
                {
                    return null;
                }
            }
            set
            {
                try
                {
                    Set((long)value);
                }
                catch (Exception)
                {
                    // Each of them has its own, then.
                }
            }
        }

        // A trimmed program may lack these: by themselves, since they fail where they are compiled.

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static long Get()
        {
            object tree = Thread.GetData(Thread.GetNamedDataSlot(Name));
            return tree is long ? (long)tree : 0;
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static void Set(long tree)
        {
            Thread.SetData(Thread.GetNamedDataSlot(Name), tree);
        }
    }
}
