using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.IO;
using System.Reflection;
using System.Runtime.CompilerServices;
using System.Text;
using System.Threading;

[assembly: AssemblyTitle("Ilinst.Coverage")]
[assembly: AssemblyVersion("1.0.0.0")]

namespace Ilinst
{
    /// <summary>
    /// The preset <c>coverage</c>: how often each woven method was called. At the end of the program they are in
    /// <c>PROGRAM-PID.coverage.tsv</c> in the folder it was started in, or the file that ILINST_COVERAGE names: calls, a tab, the method.
    /// Methods that it lacks were not called; the manifest beside the woven file has all. A browser tells nothing of the end: there the
    /// file, which is <c>/PROGRAM.coverage.tsv</c> then, is written twice a second.
    /// </summary>
    public static class Coverage
    {
        private const int RowBits = 24;
        private const int ChunkBits = 12;
        private const int Period = 500; // ms
        /// <summary>PlatformID.Other, which .NET says of a browser.</summary>
        private const int Other = 7;

        private static readonly object s_lock = new object();
        private static readonly List<CoveredModule> s_modules = Start();
        private static volatile CoveredModule s_last;
        private static object s_timer;

        /// <summary>A method is called.</summary>
        public static void Hit(ulong id, string fullName)
        {
            ulong key = id >> RowBits;
            CoveredModule module = s_last;
            if (module == null || module.Key != key)
            {
                module = Find(key);
            }
            int row = (int)(id & ((1 << RowBits) - 1));
            Chunk chunk = module.Chunks[row >> ChunkBits];
            if (chunk == null)
            {
                chunk = module.Add(row >> ChunkBits);
            }
            row &= (1 << ChunkBits) - 1;
            chunk.Names[row] = fullName;
            Interlocked.Increment(ref chunk.Calls[row]);
        }

        private static CoveredModule Find(ulong key)
        {
            lock (s_lock)
            {
                CoveredModule module = s_modules.Find(delegate(CoveredModule known) { return known.Key == key; });
                if (module == null)
                {
                    module = new CoveredModule(key);
                    s_modules.Add(module);
                }
                s_last = module;
                return module;
            }
        }

        private static List<CoveredModule> Start()
        {
            AppDomain domain = AppDomain.CurrentDomain;
            domain.ProcessExit += Write;
            domain.DomainUnload += Write;
            if (IsInBrowser)
            {
                s_timer = new Timer(delegate { Write(null, null); }, null, Period, Period);
            }
            return new List<CoveredModule>();
        }

        private static bool IsInBrowser
        {
            get { return (int)Environment.OSVersion.Platform == Other; }
        }

        /// <summary>
        /// Writes the file as it is now: for programs that end in a way that nobody is told of. What goes wrong here is nothing to
        /// the program.
        /// </summary>
        public static void Write()
        {
            Write(null, null);
        }

        private static void Write(object sender, EventArgs arguments)
        {
            try
            {
                string path = Environment.GetEnvironmentVariable("ILINST_COVERAGE");
                if (string.IsNullOrEmpty(path))
                {
                    string program = AppDomain.CurrentDomain.FriendlyName;
                    path = IsInBrowser ? "/" + program + ".coverage.tsv" : program + "-" + ProcessId() + ".coverage.tsv";
                }
                List<string> lines = new List<string>();
                lock (s_lock)
                {
                    s_modules.ForEach(delegate(CoveredModule module) { module.AddLines(lines); });
                }
                lines.Sort(string.CompareOrdinal);
                File.WriteAllLines(path, lines.ToArray(), new UTF8Encoding(false));
            }
            catch (Exception)
            {
            }
        }

        /// <summary>Apart: a browser has no processes.</summary>
        [MethodImpl(MethodImplOptions.NoInlining)]
        private static int ProcessId()
        {
            return Process.GetCurrentProcess().Id;
        }

        private sealed class Chunk
        {
            internal readonly int[] Calls = new int[1 << ChunkBits];
            internal readonly string[] Names = new string[1 << ChunkBits];
        }

        private sealed class CoveredModule
        {
            internal readonly ulong Key;
            internal readonly Chunk[] Chunks = new Chunk[1 << (RowBits - ChunkBits)];

            internal CoveredModule(ulong key)
            {
                Key = key;
            }

            internal Chunk Add(int place)
            {
                Interlocked.CompareExchange(ref Chunks[place], new Chunk(), null);
                return Chunks[place];
            }

            internal void AddLines(List<string> lines)
            {
                foreach (Chunk chunk in Chunks)
                {
                    for (int row = 0; chunk != null && row < chunk.Names.Length; row++)
                    {
                        if (chunk.Names[row] != null)
                        {
                            lines.Add(chunk.Calls[row].ToString(System.Globalization.CultureInfo.InvariantCulture) + "\t" + chunk.Names[row]);
                        }
                    }
                }
            }
        }
    }
}
