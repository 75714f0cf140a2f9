using System;
using System.Runtime.InteropServices;
using System.Threading;

namespace Ilinst
{
    /// <summary>
    /// The captured calls of a tree: the open ones, and the place of its records. At the limit a thread's oldest chunk is
    /// used again.
    /// </summary>
    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct CapturedCalls
    {
        /// <summary>Of what a record is to have: <see cref="HasTexts"/>.</summary>
        private const int Texts = 256;

        /// <summary>Each value may become two bytes: for that many parameters there is room in any case.</summary>
        private const int Reserve = 512;
        private const int MaxOpen = 1 << 16;
        private const int FirstOpen = 64;
        private const int KnownSignatures = 512;

        private static long chunksLeft;
        private static int isStarted;

        /// <summary>How many calls had a number.</summary>
        public long Numbered;
        /// <summary>Where the next byte of the record goes that is being written; 0: none is.</summary>
        public long At;
        /// <summary>Whether ToString says what objects are.</summary>
        public bool HasTexts;
        /// <summary>When the tracker began with it.</summary>
        public long Began;
        private long start;
        private long end;
        private long tree;
        private long threads;
        private long chunk;
        private long oldest;
        private long chunks;
        private long lost;
        /// <summary>The last record, if it is that of a call's end.</summary>
        private long lastLeft;
        private long lastStart;
        private long lastClock;
        private int lastSignature;
        private int openCount;
        private int openRoom;
        /// <summary>Of open calls: number, signature.</summary>
        private long open;
        private fixed long knownIds[KnownSignatures];
        private fixed int knownNumbers[KnownSignatures];

        /// <summary>This thread's; null if it has no tree, or the tracker is at work.</summary>
        public static CapturedCalls* OfThisThread()
        {
            CallTree* tree = CallTrees.OfOpenCalls;
            if (tree == null)
            {
                return null;
            }
            TreeMemory* memory = (TreeMemory*)tree->Memory;
            if (memory->Captured == 0)
            {
                memory->Captured = (long)New(tree);
            }
            CapturedCalls* calls = (CapturedCalls*)memory->Captured;
            if (calls != null && calls->threads != tree->Threads)
            {
                // Another thread's.
                calls->threads = tree->Threads;
                calls->openCount = 0;
                calls->At = calls->lastLeft = 0;
            }
            return calls;
        }

        private static CapturedCalls* New(CallTree* tree)
        {
            CapturedCalls* calls = (CapturedCalls*)NativeMemory.Zeroed(sizeof(CapturedCalls));
            if (calls != null)
            {
                calls->tree = (long)tree;
                Control* control = Control.OfProcess();
                if (control->HasValues == 0)
                {
                    // Before the first value of any thread.
                    MappedFile.Narrow(control->File, (byte*)control->Header);
                    control->HasValues = 1;
                }
            }
            return calls;
        }

        /// <summary>The number of a method's description, which is made if need be; 0 if it cannot be.</summary>
        public int Signature(long methodId)
        {
            fixed (long* ids = knownIds)
            fixed (int* numbers = knownNumbers)
            {
                int slot = (int)(methodId & KnownSignatures - 1);
                if (ids[slot] != methodId || numbers[slot] == 0)
                {
                    numbers[slot] = CapturedTypes.Signature(methodId);
                    ids[slot] = methodId;
                }
                return numbers[slot];
            }
        }

        /// <summary>A call begins, whose number is <see cref="Numbered"/> then.</summary>
        public bool Push(int signature)
        {
            if (openCount == openRoom && !Grow())
            {
                return false;
            }
            long* slot = (long*)open + 2 * openCount;
            slot[0] = ++Numbered;
            slot[1] = signature;
            openCount++;
            return true;
        }

        private bool Grow()
        {
            int room = openRoom == 0 ? FirstOpen : 2 * openRoom;
            long* more = room > MaxOpen ? null : (long*)NativeMemory.Zeroed(2L * room * sizeof(long));
            if (more == null)
            {
                return false;
            }
            for (int i = 0; i < 2 * openCount; i++)
            {
                more[i] = ((long*)open)[i];
            }
            if (open != 0)
            {
                Marshal.FreeHGlobal((IntPtr)open);
            }
            open = (long)more;
            openRoom = room;
            return true;
        }

        /// <summary>The signature of a call; 0 if it is not open.</summary>
        public int SignatureOf(long number)
        {
            int place = PlaceOf(number);
            return place < 0 ? 0 : (int)((long*)open)[2 * place + 1];
        }

        /// <summary>Where among those that are open a call is; -1 if it is not.</summary>
        private int PlaceOf(long number)
        {
            long* calls = (long*)open;
            int place = openCount - 1;
            // They are in order.
            while (place >= 0 && calls[2 * place] > number)
            {
                place--;
            }
            return place >= 0 && calls[2 * place] == number ? place : -1;
        }

        /// <summary>Ends what is open above a call: an exception has left that.</summary>
        /// <returns>The call's signature; 0 if it is not open.</returns>
        public int Uncover(long number, long now)
        {
            long* calls = (long*)open;
            int place = PlaceOf(number);
            if (place < 0)
            {
                return 0;
            }
            while (openCount - 1 > place)
            {
                openCount--;
                if (Begin(CallRecordKind.Leave, CallEnd.Exception, (int)calls[2 * openCount + 1], calls[2 * openCount], now))
                {
                    Finish();
                }
            }
            return (int)calls[2 * place + 1];
        }

        /// <summary>Ends a call, and what is open above it.</summary>
        /// <returns>Its signature; 0 if it is not open.</returns>
        public int Pop(long number, long now)
        {
            int signature = Uncover(number, now);
            openCount -= signature == 0 ? 0 : 1;
            return signature;
        }

        /// <summary>Takes back what was written last, if that is how this call ended.</summary>
        /// <param name="now">When that was.</param>
        /// <returns>The call's signature; 0 if it is not.</returns>
        public int TakeBack(long number, ref long now)
        {
            if (lastLeft != number)
            {
                return 0;
            }
            lastLeft = 0;
            now = lastClock;
            ((ChunkHeader*)chunk)->Used = lastStart - chunk;
            return lastSignature;
        }

        /// <summary>Begins a record.</summary>
        /// <returns>False if there is no room for it.</returns>
        public bool Begin(byte kind, int what, int signature, long number, long now)
        {
            At = lastLeft = 0;
            HasTexts = (what & Texts) != 0;
            if ((chunk == 0 || Arena.Used((void*)chunk) + CallLayout.MaxSize > HeaderLayout.Block) && !NextChunk())
            {
                Lose();
                return false;
            }
            start = chunk + Math.Min(Arena.Used((void*)chunk), HeaderLayout.Block - CallLayout.MaxSize);
            end = start + CallLayout.MaxSize - Reserve;
            byte* at = (byte*)start;
            *(short*)(at + CallLayout.SizeAt) = 0;
            at[CallLayout.KindAt] = kind;
            at[CallLayout.FlagsAt] = (byte)what;
            *(int*)(at + CallLayout.SignatureAt) = signature;
            *(long*)(at + CallLayout.NumberAt) = number;
            *(long*)(at + CallLayout.ClockAt) = now - Arena.Header->StartTicks;
            At = start + CallLayout.Header;
            if (kind == CallRecordKind.Leave && (what & ~3) == 0)
            {
                lastLeft = number;
                lastStart = start;
                lastClock = now;
                lastSignature = signature;
            }
            return true;
        }

        /// <summary>The record is whole: who reads the file sees it from now on.</summary>
        public void Finish()
        {
            *(short*)start = (short)(At - start);
            Thread.MemoryBarrier();
            ((ChunkHeader*)chunk)->Used += At - start;
            At = 0;
            long now = Clock.Now();
            Frames.InterruptCurrent((CallTree*)tree, now - Began);
            Began = now;
        }

        /// <summary>A call is not kept.</summary>
        public void Lose()
        {
            if (chunk == 0)
            {
                lost++;
            }
            else
            {
                *(long*)(chunk + CallLayout.LostAt) += 1;
            }
        }

        /// <summary>Room for bytes of a value; null if there is none.</summary>
        public byte* Room(int size)
        {
            if (At + size > end)
            {
                return null;
            }
            At += size;
            return (byte*)(At - size);
        }

        /// <summary>Says why a value is not there: for that there is room.</summary>
        public void PutUnread(int reason)
        {
            if (At + 2 <= start + CallLayout.MaxSize)
            {
                ((byte*)At)[0] = ValueKind.Unread;
                ((byte*)At)[1] = (byte)reason;
                At += 2;
            }
        }

        private bool NextChunk()
        {
            byte* next = null;
            // Another tracker of the process may have begun with this thread.
            if (Interlocked.Exchange(ref isStarted, 1) == 0)
            {
                Interlocked.Exchange(ref chunksLeft, Settings.TraceSize() / HeaderLayout.Block);
            }
            // With one, a thread would have no past.
            if (chunks < 2 || Interlocked.Decrement(ref chunksLeft) >= 0)
            {
                next = Arena.Take(ChunkKind.Calls, 1);
            }
            if (next != null)
            {
                chunks++;
                ((ChunkHeader*)next)->TreeNumber = NodeChunk.Of((CallNode*)tree)->TreeNumber;
                ((ChunkHeader*)next)->Tree = tree;
            }
            else
            {
                next = (byte*)oldest;
                if (next == null)
                {
                    return false;
                }
                long newer = *(long*)(next + CallLayout.NewerAt);
                // Others can write to the file.
                oldest = newer % HeaderLayout.Block == 0 && Arena.Holds((void*)newer) ? newer : oldest;
                ((ChunkHeader*)next)->Used = ChunkLayout.Header;
            }
            long number = chunk == 0 ? 1 : *(long*)(chunk + CallLayout.SequenceAt) + 1;
            if (chunk == 0)
            {
                oldest = (long)next;
            }
            else if (chunk != (long)next)
            {
                *(long*)(chunk + CallLayout.NewerAt) = (long)next;
            }
            *(long*)(next + CallLayout.NewerAt) = 0;
            *(long*)(next + CallLayout.SequenceAt) = number;
            *(long*)(next + CallLayout.LostAt) = lost;
            lost = 0;
            chunk = (long)next;
            return true;
        }
    }
}
