using System;
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
                    object tree = Thread.GetData(Thread.GetNamedDataSlot(Name));
                    return tree is long ? (CallTree*)(long)tree : null;
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
                    Thread.SetData(Thread.GetNamedDataSlot(Name), (long)value);
                }
                catch (Exception)
                {
                    // Each of them has its own, then.
                }
            }
        }
    }
}
