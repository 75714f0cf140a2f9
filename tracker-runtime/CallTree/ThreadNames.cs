using System;
using System.Runtime.CompilerServices;
using System.Threading;

namespace Ilinst
{
    /// <summary>The threads of a tree: their ids, and their names once they have one.</summary>
    internal static unsafe class ThreadNames
    {
        /// <summary>Of those that share a tree, one after another, the first: programs start them for as long as they run.</summary>
        private const int MaxOfTree = 256;

        /// <summary>Writes what is new of the thread that has a tree now.</summary>
        public static void Write(CallTree* tree, Thread thread)
        {
            TreeMemory* memory = (TreeMemory*)tree->Memory;
            bool isKnown = memory->KnownThread == tree->Threads;
            if (isKnown && memory->IsNamed != 0 || !isKnown && memory->KnownThreads == MaxOfTree)
            {
                return;
            }
            string name = NameOf(thread);
            if (isKnown && name.Length == 0)
            {
                return;
            }
            byte[] id = new byte[sizeof(int)];
            for (int i = 0; i < id.Length; i++)
            {
                id[i] = (byte)(tree->ManagedThreadId >> (8 * i));
            }
            long number = NodeChunk.Of((CallNode*)tree)->TreeNumber;
            if (NameRecords.Append(NameKind.Thread, number, sizeof(long), id, name))
            {
                memory->KnownThread = tree->Threads;
                memory->KnownThreads += isKnown ? 0 : 1;
                memory->IsNamed = name.Length == 0 ? 0 : 1;
            }
        }

        private static string NameOf(Thread thread)
        {
            try
            {
                string name = Name(thread);
                return name == null ? "" : name;
            }
            catch (Exception)
            {
                return "";
            }
        }

        /// <summary>By itself: where it is trimmed away, it is missed where it is compiled.</summary>
        [MethodImpl(MethodImplOptions.NoInlining)]
        private static string Name(Thread thread)
        {
            return thread.Name;
        }
    }
}
