using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.IO;

namespace Ilinst
{
    /// <summary>The profile from the first probe to the end (see docs/profile-format.md).</summary>
    internal static unsafe class ProfileFile
    {
        private const ulong Magic = 0x0A0D464F52504C49; // ILPROF CR LF

        private static readonly object gate = new object();
        private static readonly MethodIds ids = new MethodIds();
        private static readonly NameWriter names = new NameWriter();
        private static bool isEnded;

        /// <summary>Called at the first probe: makes the file, and waits for the end.</summary>
        /// <returns>Whether there is anything to write to.</returns>
        public static bool Start()
        {
            Control* control = Control.OfProcess();
            if (!Control.Enter(control))
            {
                return false;
            }
            if (control->Header == 0)
            {
                Make(control);
            }
            control->Trackers++;
            Control.Exit(control);
            if (control->Header == 0)
            {
                return false;
            }
            AppDomain domain = AppDomain.CurrentDomain;
            domain.UnhandledException += delegate(object sender, UnhandledExceptionEventArgs e)
            {
                End(Header.UnhandledException);
                MonoConsole.ReportAsIfUnhandled(domain, e);
            };
            domain.ProcessExit += delegate { End(Header.CleanExit); };
            domain.DomainUnload += delegate { End(Header.CleanExit); };
            return true;
        }

        private static void Make(Control* control)
        {
            try
            {
                OutputFile.Start();
                control->File = -1;
                if (!Settings.WritesAtEnd)
                {
                    string path;
                    control->File = OutputFile.Create(out path);
                    Utf8.Put(control->Path, path, 4095);
                }
            }
            catch (Exception)
            {
                // No file then, but memory.
            }
            if (Arena.Start(control))
            {
                Fill((Header*)control->Header, control->File == -1 ? Header.InMemory : 0);
            }
        }

        private static void Fill(Header* header, int flags)
        {
            header->Version = Header.FormatVersion;
            header->Flags = flags;
            header->ProcessId = ThisProcess.Id();
            header->PointerSize = IntPtr.Size;
            header->HeaderSize = Header.Size;
            header->TicksPerSecond = Stopwatch.Frequency;
            header->StartTicks = header->LastTicks = Stopwatch.GetTimestamp();
            header->StartTime = DateTime.UtcNow.Ticks;
            header->MaxNodes = CallTrees.MaxNodes;
            header->CpuTime = -1;
            Header.WriteStrings(header, ThisProcess.ProgramName(), ThisProcess.RuntimeName(), ThisProcess.ProgramPath());
            header->Magic = Magic;
        }

        /// <summary>Brings names and times up to date.</summary>
        public static void Update()
        {
            lock (gate)
            {
                try
                {
                    names.Write(ids.New());
                }
                catch (Exception)
                {
                    // Fewer names, then.
                }
                Arena.Header->LastTicks = Stopwatch.GetTimestamp();
            }
        }

        /// <summary>The end, as far as it can be seen; whatever goes wrong stays here.</summary>
        private static void End(int flag)
        {
            try
            {
                CallTrees.WithoutProbes(delegate
                {
                    lock (gate)
                    {
                        EndNow(flag);
                    }
                });
            }
            catch (Exception)
            {
                // The program must end as it would without us.
            }
        }

        private static void EndNow(int flag)
        {
            Update();
            Header* header = Arena.Header;
            // A program that ends by an exception may still come by the other way out.
            header->Flags |= ((header->Flags & Header.UnhandledException) != 0 ? 0 : flag) | Header.NamesComplete;
            Control* control = Control.OfProcess();
            bool isLast = !isEnded && System.Threading.Interlocked.Decrement(ref control->Trackers) == 0;
            isEnded = true;
            if (control->File == -1)
            {
                OutputFile.WriteAtEnd(WriteTo);
            }
            else if (isLast && flag == Header.CleanExit)
            {
                Arena.Close(control);
            }
        }

        /// <summary>All of it, as it is now.</summary>
        private static bool WriteTo(long file)
        {
            long at = Header.Size;
            bool isWhole = MappedFile.Write(file, (byte*)Arena.Header, 0, Header.Size);
            Arena.ForEach(delegate(ChunkHeader* chunk)
            {
                isWhole = isWhole && MappedFile.Write(file, (byte*)chunk, at, chunk->SizeInFile);
                at += chunk->SizeInFile;
            });
            return isWhole;
        }
    }
}
