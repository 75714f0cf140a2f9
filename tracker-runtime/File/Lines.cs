using System;
using System.Reflection;
using System.Runtime.InteropServices;
using System.Threading;

namespace Ilinst
{
    /// <summary>
    /// The counters of lines. Each module has a chunk of the profile, with the table that its mark has of their places. So they are in
    /// the file however the program ends.
    /// </summary>
    internal static unsafe class Lines
    {
        /// <summary>Makes a module's counters. Nothing here throws: it is called where a type of the program is initialized.</summary>
        /// <returns>
        /// The first of them. They are in memory that nobody reads if there is no profile, and null if there is no memory either.
        /// </returns>
        public static long* Open(long moduleKey, int count)
        {
            long* counters = null;
            try
            {
                CallTrees.WithoutProbes(delegate { counters = InProfile(moduleKey, count); });
            }
            catch (Exception)
            {
                // The program goes on without.
            }
            return counters != null ? counters : (long*)NativeMemory.Zeroed((long)count * LineLayout.Counter);
        }

        private static long* InProfile(long moduleKey, int count)
        {
            if (!CallTrees.Start())
            {
                return null;
            }
            byte[] table = TableOf(moduleKey);
            if (table == null)
            {
                Log.Write("lines are not counted: a module has lost its mark");
                return null;
            }
            long size = ChunkLayout.Header + (long)count * LineLayout.Counter + table.Length;
            byte* chunk = Arena.Take(ChunkKind.Lines, (int)((size + HeaderLayout.Block - 1) / HeaderLayout.Block));
            if (chunk == null)
            {
                Log.Write("lines are not counted: there is no memory");
                return null;
            }
            if (Sandbox.IsHere)
            {
                Sandbox.WriteRegularly();
            }
            Marshal.Copy(table, 0, (IntPtr)(chunk + size - table.Length), table.Length);
            *(int*)(chunk + LineLayout.CountersAt) = count;
            *(int*)(chunk + LineLayout.TableSizeAt) = table.Length;
            // A reader takes it for empty until now.
            Thread.MemoryBarrier();
            ((ChunkHeader*)chunk)->Used = size;
            return (long*)(chunk + ChunkLayout.Header);
        }

        /// <summary>The table in a module's mark; null if no loaded assembly has it.</summary>
        private static byte[] TableOf(long moduleKey)
        {
            Assembly[] assemblies = AppDomain.CurrentDomain.GetAssemblies();
            // The module was loaded not long ago.
            for (int i = assemblies.Length - 1; i >= 0; i--)
            {
                foreach (WovenAttribute mark in NameWriter.MarksOf(assemblies[i]))
                {
                    if (mark.ModuleKey == moduleKey && mark.Lines != null)
                    {
                        return mark.Lines;
                    }
                }
            }
            return null;
        }
    }
}
