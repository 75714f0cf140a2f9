using System.Collections.Generic;

namespace Ilinst
{
    /// <summary>Pauses, and marks: what each node had at a moment, so that a reader can tell what came before from what came after.</summary>
    internal static unsafe class Phases
    {
        /// <summary>The size of a node's details without buckets, in numbers of eight bytes.</summary>
        private const int DetailsHead = PhaseLayout.Details / sizeof(long);
        /// <summary>More calls than this are not open on one thread: what seems so is being changed just now.</summary>
        private const int MaxDepth = 1000000;

        private static readonly Gate gate = new Gate();

        /// <summary>Does what the tool wants done.</summary>
        public static void Obey(int command, string name)
        {
            switch (command)
            {
                case Command.Pause:
                    Pause();
                    break;
                case Command.Resume:
                    Resume();
                    break;
                case Command.Reset:
                    Reset();
                    break;
                case Command.Mark:
                    Mark(name);
                    break;
            }
        }

        public static void Pause()
        {
            using (gate.Enter())
            {
                Header* header = Arena.Header;
                if (header->State == 0)
                {
                    Control.OfProcess()->PausedSince = Clock.Now();
                    Header.BeginPause(header, Control.OfProcess()->PausedSince);
                    header->State = 1;
                    CallTrees.OnPause(true);
                }
            }
        }

        public static void Resume()
        {
            using (gate.Enter())
            {
                Header* header = Arena.Header;
                if (header->State != 0)
                {
                    Header.EndPause(header, Control.OfProcess()->PausedSince, Clock.Now());
                    header->State = 0;
                    CallTrees.OnPause(false);
                }
            }
        }

        /// <summary>Another tracker of the process may have paused, or resumed.</summary>
        public static void FollowOthers()
        {
            if (Arena.Header->State != 0 == Recording.IsPaused)
            {
                return;
            }
            // Or this one is about to say so to itself: it has the gate until it has.
            using (gate.Enter())
            {
                CallTrees.OnPause(Arena.Header->State != 0);
            }
        }

        /// <summary>A new phase of this name begins.</summary>
        public static void Mark(string name)
        {
            Add(name, PhaseKind.Mark);
        }

        /// <summary>Discards the counts so far.</summary>
        public static void Reset()
        {
            Add("", PhaseKind.Reset);
        }

        private static void Add(string name, int what)
        {
            using (gate.Enter())
            {
                long now = Clock.Now();
                int count = 0;
                Arena.ForEach(delegate(ChunkHeader* chunk) { count += Slots(chunk); });
                long entriesAt = ChunkLayout.Header + (4 + Utf8.Length(name) + 7) / 8 * 8;
                long size = entriesAt + (long)count * EntrySize;
                byte* phase = Arena.Take(ChunkKind.Phase, (int)((size + HeaderLayout.Block - 1) / HeaderLayout.Block));
                if (phase == null)
                {
                    return;
                }
                *(int*)(phase + ChunkLayout.Header) = Utf8.Put(phase + ChunkLayout.Header + 4, name, int.MaxValue);
                Dictionary<long, Open> open = new Dictionary<long, Open>();
                Arena.ForEach(delegate(ChunkHeader* chunk) { FindOpen(chunk, now, open); });
                long* entry = (long*)(phase + entriesAt);
                long* end = entry + (long)count * EntrySize / sizeof(long);
                // Nodes that were added since it was counted have no calls before this phase.
                Arena.ForEach(delegate(ChunkHeader* chunk) { entry = WriteEntries(chunk, entry, end, open); });
                ChunkHeader* details = null;
                Arena.ForEach(delegate(ChunkHeader* chunk) { details = WriteDetails(chunk, phase, details); });
                ChunkHeader* header = (ChunkHeader*)phase;
                header->Own = now;
                *(int*)(phase + PhaseLayout.KindAt) = what;
                *(int*)(phase + PhaseLayout.CountAt) = (int)((entry - (long*)(phase + entriesAt)) * sizeof(long) / EntrySize);
                System.Threading.Thread.MemoryBarrier();
                header->Used = (byte*)entry - phase;
            }
        }

        private static int EntrySize
        {
            get { return Allocations.AreCounted ? PhaseLayout.EntryWithBytes : PhaseLayout.Entry; }
        }

        private static CallNode* NodeAt(ChunkHeader* chunk, int index)
        {
            return (CallNode*)((byte*)chunk + NodeLayout.FirstAt + (long)index * Allocations.NodeSize);
        }

        private static int Slots(ChunkHeader* chunk)
        {
            long used = Arena.Used(chunk);
            return chunk->Kind == ChunkKind.Nodes && used > NodeLayout.FirstAt ? (int)(used - NodeLayout.FirstAt) / Allocations.NodeSize
                : chunk->Kind == ChunkKind.Counters ? (int)(used - ChunkLayout.Header) / CounterLayout.Size : 0;
        }

        private static long* WriteEntries(ChunkHeader* chunk, long* entry, long* end, Dictionary<long, Open> open)
        {
            int slots = Slots(chunk);
            for (int i = 0; i < slots && entry < end; i++)
            {
                if (chunk->Kind == ChunkKind.Counters)
                {
                    long* counter = (long*)((byte*)chunk + ChunkLayout.Header) + 2 * i;
                    entry[0] = counter[0];
                    entry[1] = counter[1];
                    entry += counter[0] != 0 ? 4 : 0;
                    continue;
                }
                CallNode* node = NodeAt(chunk, i);
                if ((node->Flags & NodeChunk.NoNode) == 0 && node->MethodId != 0)
                {
                    Open more;
                    open.TryGetValue((long)node, out more);
                    entry[0] = (long)node;
                    entry[1] = node->Calls;
                    entry[2] = node->Total + more.Time;
                    entry[3] = node->Detached + more.Detached;
                    if (Allocations.AreCounted)
                    {
                        entry[4] = Allocations.Of(node)->Total + more.Bytes;
                        entry[5] = Allocations.Of(node)->Detached + more.DetachedBytes;
                    }
                    entry += EntrySize / sizeof(long);
                }
            }
            return entry;
        }

        /// <summary>Copies the details of a chunk's nodes into a phase's chunk of details, or the next one.</summary>
        /// <returns>The last of them; null if there is none.</returns>
        private static ChunkHeader* WriteDetails(ChunkHeader* chunk, byte* phase, ChunkHeader* details)
        {
            int slots = chunk->Kind == ChunkKind.Nodes ? Slots(chunk) : 0;
            for (int i = 0; i < slots; i++)
            {
                CallNode* node = NodeAt(chunk, i);
                Statistics* statistics = Statistics.Of((CallTree*)chunk->Tree, node);
                FewCalls* few = (node->Flags & NodeFlags.HasFewCalls) != 0 ? (FewCalls*)node->ColdStats : null;
                bool isSampled = Mode.Kind == RecordingMode.Sampled;
                if ((node->Flags & NodeChunk.NoNode) != 0 || node->MethodId == 0
                    || statistics == null && few == null && node->Async == 0 && node->Exceptions == 0 && !isSampled)
                {
                    continue;
                }
                const int Most = (DetailsHead + StatisticsLayout.Buckets) * sizeof(long);
                if (details == null || Arena.Used(details) + Most > HeaderLayout.Block)
                {
                    details = (ChunkHeader*)Arena.Take(ChunkKind.PhaseDetails, 1);
                    if (details == null)
                    {
                        return null;
                    }
                    details->Tree = (long)phase;
                }
                long* at = (long*)((byte*)details + System.Math.Min(Arena.Used(details), HeaderLayout.Block - Most));
                at[0] = (long)node;
                at[1] = node->Exceptions;
                at[2] = node->Cpu;
                at[3] = isSampled ? node->Start : 0;
                if (node->Async != 0)
                {
                    AsyncRecord* record = (AsyncRecord*)node->Async;
                    at[4] = record->Latency;
                    at[5] = record->Completed;
                    at[6] = record->Faulted;
                    at[7] = record->Steps;
                }
                long* next = at + DetailsHead;
                for (int bucket = 0; bucket < StatisticsLayout.Buckets && statistics != null; bucket++)
                {
                    if (statistics->Calls[bucket] != 0)
                    {
                        *next++ = (long)statistics->Calls[bucket] << 32 | (long)bucket;
                    }
                }
                // The thread may add calls, or need more room, meanwhile.
                for (long call = 0, calls = few != null ? System.Math.Min(few->Count, FewCallsLayout.Most) : 0; call < calls; call++)
                {
                    *next++ = 1L << 32 | (long)Statistics.BucketOf(few->Times[call]);
                }
                at[8] = next - at - DetailsHead;
                details->Used = (byte*)next - (byte*)details;
            }
            return details;
        }

        /// <summary>The time that open calls have taken so far.</summary>
        private static void FindOpen(ChunkHeader* chunk, long now, Dictionary<long, Open> open)
        {
            CallTree* tree = (CallTree*)((byte*)chunk + ChunkLayout.Header);
            if (chunk->Kind != ChunkKind.Nodes || chunk->Tree != (long)tree)
            {
                return;
            }
            CallNode* node = (CallNode*)tree->Current;
            long* frame = (long*)tree->Frame;
            for (int i = 0; i < MaxDepth && node != null; i++)
            {
                bool isStep = frame != null && frame[1] == (long)node;
                long previous = isStep ? frame[2] : 0;
                // A step that goes on inside of other calls is no time of theirs.
                bool isDetached = isStep && previous != (long)node && previous != node->Caller;
                Open more;
                open.TryGetValue((long)node, out more);
                long time = node->Caller == 0 && !isStep ? 0 : Pauses.Elapsed(isStep ? frame[3] : node->Start, now);
                more.Time += time;
                more.Detached += isDetached ? time : 0;
                if (Allocations.AreCounted)
                {
                    // The runtime tells a thread's bytes only to the thread: those since its last probe are not known here.
                    void* begun = isStep ? (void*)frame : node;
                    long bytes = node->Caller == 0 && !isStep ? 0 : tree->Bytes - Allocations.Of(begun)->Start;
                    more.Bytes += bytes;
                    more.DetachedBytes += isDetached ? bytes : 0;
                }
                open[(long)node] = more;
                node = (CallNode*)(isStep ? previous : node->Caller);
                frame = isStep ? (long*)frame[4] : frame;
            }
        }

        private struct Open
        {
            public long Time;
            public long Detached;
            public long Bytes;
            public long DetachedBytes;
        }
    }
}
