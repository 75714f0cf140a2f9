using System;
using System.Threading;

namespace Ilinst
{
    /// <summary>The profile from the first probe to the end (see docs/profile-format.md).</summary>
    internal static unsafe class ProfileFile
    {
        /// <summary>Files between these sizes are packed at the end. A smaller one stays mapped, so that it has later calls, too.</summary>
        private const long SmallestToPack = 1024 * 1024;
        private const long LargestToPack = 1024 * SmallestToPack;

        private static readonly Gate gate = new Gate();
        private static readonly MethodIds ids = new MethodIds();
        private static readonly NameWriter names = new NameWriter();

        /// <summary>Whether the end has come, as far as this tracker can see it.</summary>
        public static volatile bool IsEnded;

        /// <summary>Called at the first probe: makes the file, unless another tracker of the process has, and waits for the end.</summary>
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
            if (control->Header != 0)
            {
                Allocations.Start((Header*)control->Header);
                if (control->Trackers++ == 0)
                {
                    // The last one before was unloaded, and took this for the end.
                    ((Header*)control->Header)->Flags &= ~HeaderFlags.CleanExit;
                }
            }
            Control.Exit(control);
            if (control->Header == 0)
            {
                return false;
            }
            OutputFile.Start();
            Lifetime.Start();
            if (!Settings.WritesAtEnd)
            {
                Housekeeper.Start();
            }
            return true;
        }

        private static void Make(Control* control)
        {
            control->NodesLeft = CallTrees.MaxNodes;
            try
            {
                Log.Write("tracks " + ThisProcess.ProgramName() + " on " + ThisProcess.RuntimeName());
                bool isWantedNow = !Settings.WritesAtEnd && !Sandbox.IsHere;
                if (!isWantedNow)
                {
                    Log.Write("no file before the end");
                }
                string path;
                control->File = OutputFile.Create(isWantedNow, out path);
                OutputFile.Path = path;
            }
            catch (Exception)
            {
                // No file then, but memory.
            }
            if (Arena.Start(control))
            {
                Fill((Header*)control->Header, control->Arena[2] == -1 ? HeaderFlags.InMemory : 0);
                // Room for names, should the disk be full later.
                control->Names = (long)Arena.TakeLocked(control, ChunkKind.Names, 1);
                if (Settings.StartsPaused)
                {
                    Phases.Pause();
                }
            }
        }

        private static void Fill(Header* header, int flags)
        {
            header->Version = HeaderLayout.Version;
            // Nothing is told of the end there: each writing may be the last.
            header->Flags = (Sandbox.IsHere ? flags | HeaderFlags.Copy : flags) | Allocations.FlagsOfNew();
            header->ProcessId = ThisProcess.Id();
            header->PointerSize = IntPtr.Size;
            header->HeaderSize = HeaderLayout.Block;
            header->Clock = Clock.Kind;
            header->TicksPerSecond = Clock.Frequency;
            header->StartTicks = header->LastTicks = Clock.Now();
            header->StartTime = DateTime.UtcNow.Ticks;
            header->MaxNodes = CallTrees.MaxNodes;
            header->CpuTime = -1;
            Header.WriteStrings(header, ThisProcess.ProgramName(), ThisProcess.RuntimeName(), ThisProcess.ProgramPath());
            header->Magic = HeaderLayout.Magic;
        }

        /// <summary>Writes the names of what was called since the last time.</summary>
        public static void UpdateNames()
        {
            UpdateNames(0);
        }

        private static void UpdateNames(long next)
        {
            if (Recording.IsForked)
            {
                return;
            }
            using (gate.Enter())
            {
                try
                {
                    names.Write(ids.New(next));
                }
                catch (Exception)
                {
                    // Fewer names, then.
                }
            }
        }

        /// <summary>Writes it as it is now where it belongs; there is no mapping.</summary>
        public static void WriteNow()
        {
            try
            {
                CallTrees.WithoutProbes(delegate
                {
                    UpdateNames();
                    CallTrees.OnHousekeeping();
                    Arena.Header->LastTicks = Clock.Now();
                    OutputFile.WriteAtEnd(WriteTo);
                });
            }
            catch (Exception)
            {
                // The next time, perhaps.
            }
        }

        /// <summary>
        /// Called before the profile mentions a method. Behind the end, where other threads, finalizers and handlers of the program's
        /// go on, it has its name before: the process may be gone at any moment.
        /// </summary>
        public static void BeforeShown(long methodId)
        {
            // The method has its room by now: the thread that ends the profile sees that, or this one sees the end.
            Thread.MemoryBarrier();
            if (IsEnded && methodId != 0)
            {
                NameAfterEnd(methodId);
            }
        }

        private static void NameAfterEnd(long methodId)
        {
            try
            {
                CallTrees.WithoutProbes(delegate { UpdateNames(methodId); });
                Arena.Header->LastTicks = Clock.Now();
            }
            catch (Exception)
            {
                // The program goes on to its end.
            }
        }

        /// <summary>Writes it as it is now to a file of its own.</summary>
        /// <returns>Its path; null if it could not be written.</returns>
        public static string Snapshot(string path)
        {
            UpdateNames();
            CpuTime.Update();
            CallTrees.OnHousekeeping();
            using (gate.Enter())
            {
                Arena.Header->LastTicks = Clock.Now();
                long file = OutputFile.CreateSnapshot(ref path);
                if (file == -1)
                {
                    return null;
                }
                int flags = Arena.Header->Flags | HeaderFlags.Copy;
                bool isWhole = WriteTo(file) && MappedFile.Write(file, (byte*)&flags, HeaderLayout.FlagsAt, sizeof(int));
                MappedFile.Close(file);
                Log.Write(isWhole ? "a snapshot is " + path : "no snapshot could be written");
                return isWhole ? path : null;
            }
        }

        /// <summary>The end, as far as it can be seen; whatever goes wrong stays here.</summary>
        public static void End(int flag)
        {
            if (Recording.IsForked)
            {
                Log.Write("a forked child is not recorded");
                return;
            }
            try
            {
                CallTrees.WithoutProbes(delegate
                {
                    if (ThisProcess.IsMono && flag == HeaderFlags.CleanExit)
                    {
                        // It would be aborted, whatever it holds.
                        Housekeeper.Stop();
                    }
                    bool isFirst;
                    using (gate.Enter())
                    {
                        isFirst = !IsEnded;
                        IsEnded = true;
                    }
                    Thread.MemoryBarrier();
                    CallTrees.AwaitShown();
                    Counters.AwaitShown();
                    UpdateNames();
                    CpuTime.Update();
                    CallTrees.OnHousekeeping();
                    using (gate.Enter())
                    {
                        EndNow(flag, isFirst);
                    }
                });
            }
            catch (Exception)
            {
                // The program must end as it would without us.
            }
        }

        /// <param name="flag">0: it is the end of this tracker's context alone.</param>
        /// <param name="isFirst">Whether nothing has ended this tracker before.</param>
        private static void EndNow(int flag, bool isFirst)
        {
            Control* control = Control.OfProcess();
            Header* header = Arena.Header;
            bool isLast = isFirst && Interlocked.Decrement(ref control->Trackers) == 0;
            header->LastTicks = Clock.Now();
            if (flag == 0 && !isLast)
            {
                return;
            }
            LogicalCalls.Tell();
            Log.Write(flag == HeaderFlags.UnhandledException ? "ends by an unhandled exception" : "ends");
            // A program that ends by an exception may still come by the other way out.
            bool isUnhandled = flag == HeaderFlags.UnhandledException || (header->Flags & HeaderFlags.UnhandledException) != 0;
            header->Flags |= (isUnhandled ? HeaderFlags.UnhandledException : HeaderFlags.CleanExit) | HeaderFlags.NamesComplete;
            if ((header->Flags & HeaderFlags.InMemory) != 0)
            {
                OutputFile.WriteAtEnd(WriteTo);
            }
            else if (isLast && flag == HeaderFlags.CleanExit)
            {
                Arena.Trim(control);
                if (control->FileSize >= SmallestToPack && control->FileSize <= LargestToPack)
                {
                    OutputFile.ReplaceByCopy(Pack);
                }
            }
        }

        /// <summary>All of it, as it is now.</summary>
        private static bool WriteTo(long file)
        {
            long at = HeaderLayout.Block;
            bool isWhole = MappedFile.Write(file, (byte*)Arena.Header, 0, HeaderLayout.Block);
            Arena.ForEach(delegate(ChunkHeader* chunk)
            {
                isWhole = isWhole && MappedFile.Write(file, (byte*)chunk, at, chunk->SizeInFile);
                at += chunk->SizeInFile;
            });
            return isWhole;
        }

        /// <summary>The same, packed.</summary>
        private static bool Pack(long file)
        {
            CopyWriter copy = new CopyWriter(file);
            Arena.ForEach(copy.Add);
            return copy.End();
        }
    }
}
