using System;
using System.Diagnostics;
using System.IO;
using System.Runtime.InteropServices;
using System.Text;

namespace Ilinst
{
    /// <summary>Writes the profile when the program ends (see docs/profile-format.md).</summary>
    internal static unsafe class ProfileFile
    {
        private const int HeaderSize = 4096;
        private const int FormatVersion = 1;
        private const int CleanExit = 1;
        private const int UnhandledException = 2;
        private const int StopwatchClock = 0;
        private const int NamesChunkKind = 2;
        private const int StringsOffset = 128;
        private const int MaxString = 1500;

        private static readonly object gate = new object();
        private static long startTicks;
        private static DateTime startTime;
        private static int flags;

        /// <summary>Called at the first probe: notes the time, and waits for the end.</summary>
        public static void Start()
        {
            startTicks = Stopwatch.GetTimestamp();
            startTime = DateTime.UtcNow;
            OutputFile.Start();
            AppDomain domain = AppDomain.CurrentDomain;
            domain.UnhandledException += delegate(object sender, UnhandledExceptionEventArgs e)
            {
                Write(UnhandledException);
                MonoConsole.ReportAsIfUnhandled(domain, e);
            };
            domain.ProcessExit += delegate { Write(CleanExit); };
            domain.DomainUnload += delegate { Write(CleanExit); };
        }

        /// <summary>Writes the profile as it is now; whatever goes wrong stays here.</summary>
        private static void Write(int flag)
        {
            try
            {
                CallTrees.WithoutProbes(delegate
                {
                    lock (gate)
                    {
                        // A program that ends by an exception may still come by the other way out.
                        flags |= (flags & UnhandledException) != 0 ? 0 : flag;
                        OutputFile.Write(WriteTo);
                    }
                });
            }
            catch (Exception)
            {
                // The program must end as it would without us.
            }
        }

        private static void WriteTo(Stream file)
        {
            long endTicks = Stopwatch.GetTimestamp();
            IntPtr[] chunks = CallTrees.Chunks();
            byte[] header = Header(endTicks);
            file.Write(header, 0, header.Length);
            foreach (IntPtr chunk in chunks)
            {
                byte[] bytes = CopyOf((NodeChunk*)chunk);
                file.Write(bytes, 0, bytes.Length);
            }
            byte[] names = NamesChunk(chunks);
            file.Write(names, 0, names.Length);
        }

        private static byte[] Header(long endTicks)
        {
            MemoryStream stream = new MemoryStream();
            BinaryWriter writer = new BinaryWriter(stream);
            writer.Write(new byte[] { (byte)'I', (byte)'L', (byte)'P', (byte)'R', (byte)'O', (byte)'F', 13, 10 });
            writer.Write(FormatVersion);
            writer.Write(flags);
            writer.Write(ThisProcess.Id());
            writer.Write(IntPtr.Size);
            writer.Write(StopwatchClock);
            writer.Write(HeaderSize);
            writer.Write(Stopwatch.Frequency);
            writer.Write(startTicks);
            writer.Write(endTicks);
            writer.Write(startTime.Ticks);
            writer.Write(CallTrees.MaxNodes);
            writer.Seek(StringsOffset, SeekOrigin.Begin);
            NameWriter.WriteString(writer, Cut(ThisProcess.ProgramName()));
            NameWriter.WriteString(writer, Cut(ThisProcess.RuntimeName()));
            stream.SetLength(HeaderSize);
            return stream.ToArray();
        }

        private static string Cut(string text)
        {
            return text.Length > MaxString / 3 ? text.Substring(0, MaxString / 3) : text;
        }

        /// <summary>The part of a chunk that is in use; other threads may go on meanwhile.</summary>
        private static byte[] CopyOf(NodeChunk* chunk)
        {
            byte[] bytes = new byte[(int)chunk->Used];
            Marshal.Copy((IntPtr)chunk, bytes, 0, bytes.Length);
            fixed (byte* start = bytes)
            {
                NodeChunk* copy = (NodeChunk*)start;
                copy->SizeInFile = bytes.Length;
                copy->Used = bytes.Length;
            }
            return bytes;
        }

        private static byte[] NamesChunk(IntPtr[] chunks)
        {
            MemoryStream stream = new MemoryStream();
            BinaryWriter writer = new BinaryWriter(stream, Encoding.UTF8);
            writer.Write(NamesChunkKind);
            writer.Write(0);
            stream.SetLength(NodeChunk.HeaderSize);
            stream.Position = NodeChunk.HeaderSize;
            new NameWriter(writer, MethodIds(chunks)).WriteModules();
            writer.Write((byte)0);
            while (stream.Length % NodeChunk.HeaderSize != 0)
            {
                writer.Write((byte)0);
                writer.Flush();
            }
            writer.Seek(4, SeekOrigin.Begin);
            writer.Write((int)stream.Length);
            writer.Flush();
            return stream.ToArray();
        }

        /// <summary>All methods that the trees mention, in order.</summary>
        private static long[] MethodIds(IntPtr[] chunks)
        {
            System.Collections.Generic.Dictionary<long, bool> ids = new System.Collections.Generic.Dictionary<long, bool>();
            foreach (IntPtr address in chunks)
            {
                NodeChunk* chunk = (NodeChunk*)address;
                byte* end = (byte*)chunk + chunk->Used;
                for (byte* node = (byte*)chunk + NodeChunk.FirstNode; node < end; node += NodeChunk.NodeSize)
                {
                    ids[((CallNode*)node)->MethodId] = true;
                }
            }
            long[] sorted = new long[ids.Count];
            ids.Keys.CopyTo(sorted, 0);
            Array.Sort(sorted);
            return sorted;
        }
    }
}
