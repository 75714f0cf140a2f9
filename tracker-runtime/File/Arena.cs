using System;
using System.Runtime.InteropServices;

namespace Ilinst
{
    /// <summary>
    /// The profile's blocks of 64 KiB, each at a multiple of that: the file itself, mapped, or memory where there is none or
    /// its disk is full. What is mapped was allocated before, so that writing to it cannot fail.
    /// </summary>
    internal static unsafe class Arena
    {
        public const int FirstSize = 256 * 1024;
        private const int LargestSize = 4 * 1024 * 1024;

        /// <summary>The profile's header; null before <see cref="ProfileFile.Start"/>.</summary>
        public static Header* Header
        {
            get { return (Header*)Control.OfProcess()->Header; }
        }

        /// <summary>Makes the first arena, whose first block is the header. The file, if there is one, is empty.</summary>
        /// <returns>Whether there is memory for it.</returns>
        public static bool Start(Control* control)
        {
            control->Header = (long)TakeBlocks(control, 1);
            return control->Header != 0;
        }

        /// <summary>
        /// A chunk of zeros behind its header, which says of which kind it is, how large, where, and that no more than the
        /// header is in use. Any thread may ask.
        /// </summary>
        /// <returns>Null if there is no memory.</returns>
        public static byte* Take(int kind, int blocks)
        {
            byte* chunk = null;
            // In a finally block, which Thread.Abort does not interrupt.
            try
            {
            }
            finally
            {
                Control* control = Control.OfProcess();
                if (Control.Enter(control))
                {
                    chunk = TakeLocked(control, kind, blocks);
                    Control.Exit(control);
                }
            }
            return chunk;
        }

        /// <summary>The same for who has entered the control block.</summary>
        public static byte* TakeLocked(Control* control, int kind, int blocks)
        {
            byte* chunk = TakeBlocks(control, blocks);
            if (chunk != null)
            {
                Describe((ChunkHeader*)chunk, kind, blocks);
            }
            return chunk;
        }

        /// <summary>Whether it is in the profile of this process.</summary>
        public static bool Holds(void* address)
        {
            Control* control = Control.OfProcess();
            for (int i = 0; i < 3 * control->Arenas; i += 3)
            {
                if ((long)address >= control->Arena[i] && (long)address - control->Arena[i] < control->Arena[i + 1])
                {
                    return true;
                }
            }
            return false;
        }

        /// <summary>Calls back for each chunk there is, in the order of the file.</summary>
        public static void ForEach(ChunkVisitor visit)
        {
            Control* control = Control.OfProcess();
            for (int i = 0; i < control->Arenas; i++)
            {
                byte* block = (byte*)control->Arena[3 * i];
                byte* end = block + control->Arena[3 * i + 1];
                byte* next = (byte*)control->NextBlock;
                // Blocks behind the next one may be cut off meanwhile.
                end = next >= block && next < end ? next : end;
                block += i == 0 ? HeaderLayout.Block : 0;
                while (block < end)
                {
                    ChunkHeader* chunk = (ChunkHeader*)block;
                    int size = chunk->SizeInFile;
                    // Others can write to the file.
                    bool isChunk = chunk->Kind != 0 && size >= HeaderLayout.Block && size % HeaderLayout.Block == 0 && size <= end - block;
                    if (isChunk)
                    {
                        visit(chunk);
                    }
                    block += isChunk ? size : HeaderLayout.Block;
                }
            }
        }

        /// <summary>How many bytes of a chunk of one block are in use; if the file says what cannot be, it is full.</summary>
        public static long Used(void* chunk)
        {
            long used = ((ChunkHeader*)chunk)->Used;
            return used < ChunkLayout.Header || used > HeaderLayout.Block ? HeaderLayout.Block : used;
        }

        /// <summary>
        /// Cuts the file behind the last block that is in use, and appends what was kept in memory, if the disk has room again. It
        /// may still grow: by what the program does behind its end.
        /// </summary>
        public static void Trim(Control* control)
        {
            if (!Control.Enter(control))
            {
                return;
            }
            if (control->IsTrimmed == 0)
            {
                control->IsTrimmed = 1;
                bool isWhole = true;
                long unused = control->ArenaEnd - control->NextBlock;
                control->ArenaEnd = control->NextBlock;
                control->Arena[3 * control->Arenas - 2] -= unused;
                if (control->Arena[3 * control->Arenas - 1] >= 0)
                {
                    // Windows cuts no file that is mapped.
                    control->FileSize -= Libc.IsThere ? unused : 0;
                    MappedFile.Cut(control->File, (byte*)control->Header, control->FileSize);
                }
                for (int i = 0; i < 3 * control->Arenas && isWhole && control->File != -1; i += 3)
                {
                    isWhole = control->Arena[i + 2] >= 0 || Append(control, (byte*)control->Arena[i], control->Arena[i + 1]);
                }
                ((Header*)control->Header)->Flags &= isWhole ? ~HeaderFlags.DiskFull : -1;
            }
            Control.Exit(control);
        }

        /// <summary>
        /// Copies a chunk of one block, which nobody writes to meanwhile, over another; if that is null, to a new one. By a write,
        /// where it is in the file: the first write to each page of a mapping costs more than to copy it.
        /// </summary>
        /// <returns>Null if there is no memory.</returns>
        public static ChunkHeader* Copy(ChunkHeader* chunk, ChunkHeader* to)
        {
            byte* copy = (byte*)to;
            try
            {
            }
            finally
            {
                Control* control = Control.OfProcess();
                if (copy == null && Control.Enter(control))
                {
                    copy = TakeBlocks(control, 1);
                    Control.Exit(control);
                }
                if (copy != null)
                {
                    chunk->Address = (long)copy;
                    if (!WriteToFile(control, chunk, copy))
                    {
                        // The kind, by which a block is in use, comes last.
                        for (long i = HeaderLayout.Block - sizeof(long); i >= 0; i -= sizeof(long))
                        {
                            *(long*)(copy + i) = *(long*)((byte*)chunk + i);
                        }
                    }
                    chunk->Address = (long)chunk;
                }
            }
            return (ChunkHeader*)copy;
        }

        /// <summary>Writes a block to where another one is in the file, if it is.</summary>
        private static bool WriteToFile(Control* control, ChunkHeader* chunk, byte* other)
        {
            for (int i = 0; i < 3 * control->Arenas && Libc.IsThere && !Sandbox.IsHere; i += 3)
            {
                long offset = (long)other - control->Arena[i];
                if (offset >= 0 && offset < control->Arena[i + 1])
                {
                    return control->Arena[i + 2] >= 0 && MappedFile.IsOurs(control->File, (byte*)control->Header)
                        && MappedFile.Write(control->File, (byte*)chunk, control->Arena[i + 2] + offset, HeaderLayout.Block);
                }
            }
            return false;
        }

        private static bool Append(Control* control, byte* arena, long size)
        {
            bool isWhole = MappedFile.IsOurs(control->File, (byte*)control->Header)
                && MappedFile.Write(control->File, arena, control->FileSize, size);
            control->FileSize += isWhole ? size : 0;
            if (!isWhole)
            {
                MappedFile.Cut(control->File, (byte*)control->Header, control->FileSize);
            }
            return isWhole;
        }

        private static byte* TakeBlocks(Control* control, int blocks)
        {
            long size = (long)blocks * HeaderLayout.Block;
            if (control->ArenaEnd - control->NextBlock < size && !Grow(control, size))
            {
                return null;
            }
            byte* taken = (byte*)control->NextBlock;
            control->NextBlock += size;
            return taken;
        }

        private static void Describe(ChunkHeader* chunk, int kind, int blocks)
        {
            chunk->SizeInFile = blocks * HeaderLayout.Block;
            chunk->Address = (long)chunk;
            chunk->Used = ChunkLayout.Header;
            System.Threading.Thread.MemoryBarrier();
            chunk->Kind = kind;
        }

        private static bool Grow(Control* control, long needed)
        {
            if (control->Arenas == Control.MaxArenas)
            {
                return false;
            }
            long size = FirstSize;
            while (size < LargestSize && size <= control->FileSize && control->IsTrimmed == 0 || size < needed)
            {
                size *= 2;
            }
            long place = -1;
            byte* arena = null;
            if (control->File != -1)
            {
                place = control->FileSize;
                arena = MappedFile.Grow(control->File, (byte*)control->Header, place, size);
                if (arena == null && size > FirstSize && needed <= FirstSize)
                {
                    size = FirstSize;
                    arena = MappedFile.Grow(control->File, (byte*)control->Header, place, size);
                }
                control->FileSize += arena != null ? size : 0;
                if (arena == null && control->IsFull++ == 0)
                {
                    ((Header*)control->Header)->Flags |= HeaderFlags.DiskFull;
                    Log.Write("the file cannot grow: what comes now is kept in memory");
                }
            }
            if (arena == null)
            {
                place = -1;
                size = needed > FirstSize ? needed : FirstSize;
                arena = Memory(size);
            }
            if (arena == null)
            {
                return false;
            }
            int index = 3 * control->Arenas;
            control->Arena[index] = (long)arena;
            control->Arena[index + 1] = size;
            control->Arena[index + 2] = place;
            // Whoever walks the arenas meanwhile stops at NextBlock in the last one.
            control->NextBlock = (long)arena;
            control->ArenaEnd = (long)arena + size;
            control->Arenas++;
            return true;
        }

        private static byte* Memory(long size)
        {
            // One block more than is used, since the first one has to be brought to a multiple of its size.
            byte* memory = NativeMemory.Zeroed(size + HeaderLayout.Block);
            return memory == null ? null : (byte*)((long)(memory + HeaderLayout.Block - 1) & ~(long)(HeaderLayout.Block - 1));
        }
    }

    /// <summary>An action on a chunk.</summary>
    internal unsafe delegate void ChunkVisitor(ChunkHeader* chunk);

    /// <summary>The header of a chunk.</summary>
    [StructLayout(LayoutKind.Explicit, Size = ChunkLayout.Header)]
    internal struct ChunkHeader
    {
        /// <summary>A <see cref="ChunkKind"/>.</summary>
        [FieldOffset(ChunkLayout.KindAt)] public int Kind;
        /// <summary>How many bytes it takes in the file: a multiple of 64 KiB.</summary>
        [FieldOffset(ChunkLayout.SizeAt)] public int SizeInFile;
        /// <summary>Where it is in memory.</summary>
        [FieldOffset(ChunkLayout.AddressAt)] public long Address;
        /// <summary>The address of the tree that it belongs to, or 0.</summary>
        [FieldOffset(ChunkLayout.TreeAt)] public long Tree;
        /// <summary>The tree's number, from 1.</summary>
        [FieldOffset(ChunkLayout.TreeNumberAt)] public long TreeNumber;
        /// <summary>How many bytes are in use, with this header.</summary>
        [FieldOffset(ChunkLayout.UsedAt)] public long Used;
        /// <summary>Its meaning depends on the kind.</summary>
        [FieldOffset(ChunkLayout.OwnAt)] public long Own;
    }
}
