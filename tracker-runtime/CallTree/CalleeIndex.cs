using System;
using System.Runtime.InteropServices;

namespace Ilinst
{
    /// <summary>
    /// Nodes by numbers: open addressing in process memory. Numbers that are neighbours are so here, in groups: methods that are
    /// called in turn lie in the same lines of the cache.
    /// </summary>
    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct NodeIndex
    {
        /// <summary>The next larger size is taken when half of it is in use.</summary>
        public const long FirstSize = 32;
        private const int GroupBits = 3;
        private const ulong GoldenRatio = 0x9E3779B97F4A7C15;

        /// <summary>How many nodes are in it.</summary>
        private long count;
        /// <summary>Its size, a power of two, less one.</summary>
        private long mask;
        /// <summary>The first of pairs: number, 0 where it is free, and node.</summary>
        private long pairs;

        /// <summary>The node of a number, or null; so there may be no index.</summary>
        public static CallNode* Find(NodeIndex* index, long number)
        {
            if (index == null)
            {
                return null;
            }
            long* pairs = &index->pairs;
            for (long slot = FirstSlot(number); ; slot++)
            {
                long* pair = pairs + 2 * (slot & index->mask);
                if (pair[0] == number)
                {
                    return (CallNode*)pair[1];
                }
                if (pair[0] == 0)
                {
                    return null;
                }
            }
        }

        /// <summary>Makes room for one more, in an index that is made if there is none.</summary>
        /// <returns>False if there is no memory.</returns>
        public static bool Reserve(NodeIndex** place)
        {
            NodeIndex* old = *place;
            if (old != null && 2 * (old->count + 1) <= old->mask + 1)
            {
                return true;
            }
            NodeIndex* index = New(old == null ? FirstSize : 2 * (old->mask + 1));
            if (index == null)
            {
                return false;
            }
            for (long i = 0; old != null && i <= old->mask; i++)
            {
                long* pair = &old->pairs + 2 * i;
                if (pair[0] != 0)
                {
                    Put(index, pair[0], (CallNode*)pair[1]);
                }
            }
            *place = index;
            Marshal.FreeHGlobal((IntPtr)old);
            return true;
        }

        /// <summary>Adds a node by a number that none has; there is room.</summary>
        public static void Put(NodeIndex* index, long number, CallNode* node)
        {
            long slot = FirstSlot(number) & index->mask;
            while ((&index->pairs)[2 * slot] != 0)
            {
                slot = (slot + 1) & index->mask;
            }
            (&index->pairs)[2 * slot] = number;
            (&index->pairs)[2 * slot + 1] = (long)node;
            index->count++;
        }

        /// <summary>An empty one; null if there is no memory.</summary>
        /// <param name="size">A power of two.</param>
        public static NodeIndex* New(long size)
        {
            NodeIndex* index = (NodeIndex*)NativeMemory.Zeroed(sizeof(NodeIndex) + 2 * sizeof(long) * size);
            if (index != null)
            {
                index->mask = size - 1;
            }
            return index;
        }

        private static long FirstSlot(long number)
        {
            ulong group = (ulong)(number >> GroupBits) * GoldenRatio >> 24;
            return (long)(group << GroupBits) | number & ((1 << GroupBits) - 1);
        }
    }

    /// <summary>Finds a callee by its method where a caller has many.</summary>
    internal static unsafe class CalleeIndex
    {
        /// <summary>The callee of this method, or null.</summary>
        public static CallNode* Find(CallNode* caller, long methodId)
        {
            return NodeIndex.Find((NodeIndex*)caller->Index, methodId);
        }

        /// <summary>Makes room for one more callee; the first time, those that the ring holds go in.</summary>
        /// <returns>False if there is no memory.</returns>
        public static bool Reserve(CallNode* caller)
        {
            if (caller->Index != 0)
            {
                return NodeIndex.Reserve((NodeIndex**)&caller->Index);
            }
            CallNode* first = (CallNode*)caller->Callees;
            long size = NodeIndex.FirstSize;
            CallNode* last = first;
            for (long i = 2; last != null && last->Next != (long)first; i++)
            {
                last = (CallNode*)last->Next;
                size = 2 * (i + 1) > size ? 2 * size : size;
            }
            NodeIndex* index = NodeIndex.New(size);
            if (index == null)
            {
                return false;
            }
            for (CallNode* node = first; node != null; node = node == last ? null : (CallNode*)node->Next)
            {
                NodeIndex.Put(index, node->MethodId, node);
            }
            caller->Index = (long)index;
            return true;
        }

        /// <summary>Adds a callee; there is room.</summary>
        public static void Add(CallNode* caller, CallNode* callee)
        {
            NodeIndex.Put((NodeIndex*)caller->Index, callee->MethodId, callee);
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
