namespace Ilinst
{
    /// <summary>Writes a copy of the profile to a file: the header, then its blocks, packed.</summary>
    internal unsafe class CopyWriter
    {
        private readonly long file;
        /// <summary>A block, room for it when it is packed, and the table for that; null where blocks are not packed.</summary>
        private readonly byte[] memory;
        private long size = HeaderLayout.Block;
        private bool isWhole;

        public CopyWriter(long file)
        {
            this.file = file;
            // In a browser, code takes many times as long, and the copy is in memory.
            memory = Sandbox.IsHere ? null : new byte[HeaderLayout.Block + sizeof(int) + Packing.Most + Packing.Places * sizeof(ushort)];
            isWhole = MappedFile.Write(file, (byte*)Arena.Header, 0, HeaderLayout.Block);
        }

        /// <summary>Adds all blocks of a chunk.</summary>
        public void Add(ChunkHeader* chunk)
        {
            for (int i = 0; i < chunk->SizeInFile && isWhole; i += HeaderLayout.Block)
            {
                isWhole = memory == null ? Write((byte*)chunk + i, HeaderLayout.Block) : WritePacked((byte*)chunk + i);
            }
        }

        /// <summary>Ends the file, with further flags.</summary>
        /// <returns>Whether all was written.</returns>
        public bool End(int flags)
        {
            flags |= Arena.Header->Flags;
            if (memory != null)
            {
                int none = 0;
                isWhole = isWhole && Write((byte*)&none, sizeof(int));
                flags |= HeaderFlags.Packed;
            }
            return isWhole && MappedFile.Write(file, (byte*)&flags, HeaderLayout.FlagsAt, sizeof(int));
        }

        private bool WritePacked(byte* block)
        {
            fixed (byte* copy = memory)
            {
                // Other threads may still write to the block.
                for (int i = 0; i < HeaderLayout.Block; i += sizeof(long))
                {
                    *(long*)(copy + i) = *(long*)(block + i);
                }
                byte* packed = copy + HeaderLayout.Block;
                ushort* places = (ushort*)(packed + sizeof(int) + Packing.Most);
                *(int*)packed = Packing.Pack(copy, packed + sizeof(int), places);
                return Write(packed, sizeof(int) + *(int*)packed);
            }
        }

        private bool Write(byte* bytes, int count)
        {
            size += count;
            return MappedFile.Write(file, bytes, size - count, count);
        }
    }
}
