using System.Runtime.CompilerServices;
using System.Threading;

namespace Ilinst
{
    /// <summary>Mode count: how often each method is called, by no thread and no caller. The counters are the profile's.</summary>
    internal static unsafe class Counters
    {
        private const long FirstSize = 1024;
        private const ulong GoldenRatio = 0x9E3779B97F4A7C15;

        /// <summary>
        /// Pairs of method id and its counter's address; at -1 their number, a power of two, less one. Replaced when half full.
        /// </summary>
        private static long* table;
        /// <summary>The table; null while tracking is paused.</summary>
        private static long* shown;
        private static long used;
        private static Gate gate;
        private static long* free;
        private static long* end;

        public static void Start()
        {
            gate = new Gate();
            table = NewTable(FirstSize);
            OnPause(Recording.IsPaused);
        }

        [MethodImpl((MethodImplOptions)256)]
        public static void Add(long methodId)
        {
            long* pairs = shown;
            if (pairs != null)
            {
                long* pair = pairs + 2 * (FirstSlot(methodId) & pairs[-1]);
                if (pair[0] == methodId)
                {
                    Interlocked.Increment(ref *(long*)pair[1]);
                    return;
                }
            }
            AddByLook(methodId);
        }

        /// <summary>Waits until the counter that is being made is shown.</summary>
        public static void AwaitShown()
        {
            if (gate != null)
            {
                gate.Enter().Dispose();
            }
        }

        /// <summary>Hides the table from the hot path while recording is paused.</summary>
        public static void OnPause(bool isPaused)
        {
            shown = isPaused ? null : table;
        }

        private static void AddByLook(long methodId)
        {
            long* pairs = shown;
            long* counter = pairs == null ? null : Find(pairs, methodId);
            if (counter == null)
            {
                AddFirst(methodId);
            }
            else
            {
                Interlocked.Increment(ref *counter);
            }
        }

        private static void AddFirst(long methodId)
        {
            CallTrees.OfThisThread();
            if (table == null || Recording.IsPaused)
            {
                return;
            }
            using (gate.Enter())
            {
                long* counter = Find(table, methodId);
                if (counter == null)
                {
                    ProfileFile.BeforeShown(methodId);
                    counter = New(methodId);
                    if (counter == null || 2 * (used + 1) > table[-1] && !Grow())
                    {
                        return;
                    }
                    Put(table, methodId, (long)counter);
                    used++;
                }
                Interlocked.Increment(ref *counter);
            }
        }

        private static long* Find(long* pairs, long methodId)
        {
            for (long slot = FirstSlot(methodId); ; slot++)
            {
                long* pair = pairs + 2 * (slot & pairs[-1]);
                if (pair[0] == methodId || pair[0] == 0)
                {
                    return pair[0] == 0 ? null : (long*)pair[1];
                }
            }
        }

        private static long* New(long methodId)
        {
            if (free == end)
            {
                ChunkHeader* chunk = (ChunkHeader*)Arena.Take(ChunkKind.Counters, 1);
                if (chunk == null)
                {
                    return null;
                }
                free = (long*)((byte*)chunk + ChunkLayout.Header);
                end = (long*)((byte*)chunk + HeaderLayout.Block);
            }
            long* added = free;
            added[0] = methodId;
            free += 2;
            Thread.MemoryBarrier();
            NodeChunk.Of((CallNode*)added)->Used += CounterLayout.Size;
            return added + 1;
        }

        private static bool Grow()
        {
            long* larger = NewTable(2 * (table[-1] + 1));
            for (long i = 0; larger != null && i <= table[-1]; i++)
            {
                if (table[2 * i] != 0)
                {
                    Put(larger, table[2 * i], table[2 * i + 1]);
                }
            }
            // The old one stays: other threads may be looking through it.
            table = larger != null ? larger : table;
            OnPause(Recording.IsPaused);
            return larger != null;
        }

        private static long* NewTable(long size)
        {
            // No method is in it in a forked child: that one counts nothing.
            long* memory = (long*)Recording.Memory((2 * size + 2) * sizeof(long));
            if (memory == null)
            {
                return null;
            }
            memory[1] = size - 1;
            return memory + 2;
        }

        private static void Put(long* pairs, long methodId, long counter)
        {
            long slot = FirstSlot(methodId) & pairs[-1];
            while (pairs[2 * slot] != 0)
            {
                slot = (slot + 1) & pairs[-1];
            }
            pairs[2 * slot + 1] = counter;
            Thread.MemoryBarrier();
            pairs[2 * slot] = methodId;
        }

        private static long FirstSlot(long methodId)
        {
            return (long)((ulong)methodId * GoldenRatio >> 32);
        }
    }
}
