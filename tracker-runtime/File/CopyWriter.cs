namespace Ilinst
{
    /// <summary>Writes a packed copy of the profile to a file: the header, then each block as LZ4 packs it.</summary>
    internal unsafe class CopyWriter
    {
        private readonly long file;
        /// <summary>A block, the table to pack it by, and room for it when it is packed.</summary>
        private readonly byte[] memory = new byte[HeaderLayout.Block + Packing.Places * sizeof(ushort) + sizeof(int) + Packing.Most];
        private long size = HeaderLayout.Block;
        private bool isWhole;

        public CopyWriter(long file)
        {
            this.file = file;
            int flags = Arena.Header->Flags | HeaderFlags.Packed;
            isWhole = MappedFile.Write(file, (byte*)Arena.Header, 0, HeaderLayout.Block)
                && MappedFile.Write(file, (byte*)&flags, HeaderLayout.FlagsAt, sizeof(int));
        }

        /// <summary>Adds all blocks of a chunk.</summary>
        public void Add(ChunkHeader* chunk)
        {
            int count = chunk->SizeInFile;
            for (int i = 0; i < count && isWhole; i += HeaderLayout.Block)
            {
                isWhole = AddBlock((byte*)chunk + i);
            }
        }

        /// <summary>Ends the file.</summary>
        /// <returns>Whether all was written.</returns>
        public bool End()
        {
            int none = 0;
            return isWhole && Write((byte*)&none, sizeof(int));
        }

        private bool AddBlock(byte* block)
        {
            fixed (byte* copy = memory)
            {
                // Other threads may still write to the block.
                for (int i = 0; i < HeaderLayout.Block; i += sizeof(long))
                {
                    *(long*)(copy + i) = *(long*)(block + i);
                }
                ushort* places = (ushort*)(copy + HeaderLayout.Block);
                byte* packed = (byte*)(places + Packing.Places);
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
