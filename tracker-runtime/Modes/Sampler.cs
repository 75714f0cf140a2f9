using System;
using System.Collections.Generic;
using System.Threading;

namespace Ilinst
{
    /// <summary>
    /// Mode sampled: each millisecond a thread adds the time that went by to what each other thread's current method is, as its
    /// own time, without its callees. No probe reads a clock.
    /// </summary>
    internal static unsafe class Sampler
    {
        private const int TicksBetweenLooks = 50;

        private static volatile bool isOver;
        private static readonly Dictionary<long, long> cpuTimes = new Dictionary<long, long>();

        public static void Start()
        {
            Thread thread = new Thread(Run);
            Lifetime.OnEnd(delegate
            {
                isOver = true;
                thread.Join(1000);
            });
            Housekeeper.StartInBackground(thread);
        }

        private static void Run()
        {
            CallTrees.WithoutProbes(delegate
            {
                try
                {
                    long last = Clock.Now();
                    IntPtr[] trees = CallTrees.OfLivingThreads();
                    for (int i = 0; !isOver; i++)
                    {
                        Thread.Sleep(1);
                        long now = Clock.Now();
                        if (!Recording.IsPaused)
                        {
                            foreach (IntPtr tree in trees)
                            {
                                Sample((CallTree*)tree, now - last);
                            }
                        }
                        last = now;
                        trees = i % TicksBetweenLooks == 0 || trees.Length == 0 ? CallTrees.OfLivingThreads() : trees;
                    }
                }
                catch (Exception)
                {
                    // No more samples then.
                }
            });
        }

        private static void Sample(CallTree* tree, long ticks)
        {
            CallNode* node = (CallNode*)tree->Current;
            long cpu = ThreadClock.Read(tree->CpuClock);
            long before;
            bool isKnown = cpuTimes.TryGetValue((long)tree, out before);
            cpuTimes[(long)tree] = cpu;
            if ((long)node == tree->Root)
            {
                return;
            }
            node->Total += ticks;
            node->Start++;
            // Another thread may have come to have the tree.
            node->Cpu += isKnown && cpu > before && cpu >= 0 ? cpu - before : 0;
        }
    }
}
