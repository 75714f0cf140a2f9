using System;
using System.Runtime.InteropServices;

namespace Ilinst
{
    /// <summary>
    /// Finds a callee by its method where a caller has many: open addressing in process memory. Methods that are neighbours in
    /// their table are so here, in groups: what is called in turn lies in the same lines of the cache.
    /// </summary>
    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct CalleeIndex
    {
        /// <summary>The next larger size is taken when half of it is in use.</summary>
        private const long FirstSize = 32;
        private const int GroupBits = 3;
        private const ulong GoldenRatio = 0x9E3779B97F4A7C15;

        /// <summary>How many callees are in it.</summary>
        private long count;
        /// <summary>Its size, a power of two, less one.</summary>
        private long mask;
        /// <summary>The first of pairs: method id, 0 where it is free, and node.</summary>
        private long pairs;

        /// <summary>The callee of this method, or null.</summary>
        public static CallNode* Find(CallNode* caller, long methodId)
        {
            CalleeIndex* index = (CalleeIndex*)caller->Index;
            long* pairs = &index->pairs;
            for (long slot = FirstSlot(methodId); ; slot++)
            {
                long* pair = pairs + 2 * (slot & index->mask);
                if (pair[0] == methodId)
                {
                    return (CallNode*)pair[1];
                }
                if (pair[0] == 0)
                {
                    return null;
                }
            }
        }

        /// <summary>Makes room for one more callee; the first time, those that the ring holds go in.</summary>
        /// <returns>False if there is no memory.</returns>
        public static bool Reserve(CallNode* caller)
        {
            CalleeIndex* old = (CalleeIndex*)caller->Index;
            if (old != null && 2 * (old->count + 1) <= old->mask + 1)
            {
                return true;
            }
            CallNode* first = (CallNode*)caller->Callees;
            long size = old == null ? FirstSize : 2 * (old->mask + 1);
            CallNode* last = first;
            for (long i = 2; old == null && last != null && last->Next != (long)first; i++)
            {
                last = (CallNode*)last->Next;
                size = 2 * (i + 1) > size ? 2 * size : size;
            }
            CalleeIndex* index = New(size);
            if (index == null)
            {
                return false;
            }
            for (long i = 0; old != null && i <= old->mask; i++)
            {
                long* pair = &old->pairs + 2 * i;
                if (pair[0] != 0)
                {
                    Put(index, pair[0], pair[1]);
                }
            }
            for (CallNode* node = first; old == null && node != null; node = node == last ? null : (CallNode*)node->Next)
            {
                Put(index, node->MethodId, (long)node);
            }
            caller->Index = (long)index;
            Marshal.FreeHGlobal((IntPtr)old);
            return true;
        }

        /// <summary>Adds a callee; there is room.</summary>
        public static void Add(CallNode* caller, CallNode* callee)
        {
            Put((CalleeIndex*)caller->Index, callee->MethodId, (long)callee);
        }

        private static void Put(CalleeIndex* index, long methodId, long node)
        {
            long slot = FirstSlot(methodId) & index->mask;
            while ((&index->pairs)[2 * slot] != 0)
            {
                slot = (slot + 1) & index->mask;
            }
            (&index->pairs)[2 * slot] = methodId;
            (&index->pairs)[2 * slot + 1] = node;
            index->count++;
        }

        private static long FirstSlot(long methodId)
        {
            ulong group = (ulong)(methodId >> GroupBits) * GoldenRatio >> 24;
            return (long)(group << GroupBits) | methodId & ((1 << GroupBits) - 1);
        }

        private static CalleeIndex* New(long size)
        {
            CalleeIndex* index = (CalleeIndex*)NativeMemory.Zeroed(sizeof(CalleeIndex) + 2 * sizeof(long) * size);
            if (index != null)
            {
                index->mask = size - 1;
            }
            return index;
        }
    }

    /// <summary>Memory that is no part of the profile.</summary>
    internal static unsafe class NativeMemory
    {
        /// <summary>Null if there is none.</summary>
        public static byte* Zeroed(long size)
        {
            try
            {
                byte* memory = (byte*)Marshal.AllocHGlobal((IntPtr)size);
                long i = 0;
                for (; i <= size - sizeof(long); i += sizeof(long))
                {
                    *(long*)(memory + i) = 0;
                }
                for (; i < size; i++)
                {
                    memory[i] = 0;
                }
                return memory;
            }
            catch (Exception)
            {
                return null;
            }
        }
    }
}
