using System;
using System.IO;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Threading;

namespace Ilinst
{
    /// <summary>
    /// .NET in a browser or in Node: no system to be asked, no threads, files but in memory, and an end that nobody hears of.
    /// The profile is written again and again, whenever the program's calls have ended. Nothing here throws.
    /// </summary>
    internal static unsafe class Sandbox
    {
        /// <summary>Writing may take this part of the program's time.</summary>
        private const int PartsOfTime = 20;
        /// <summary>... and so much more, that short programs have all of it.</summary>
        private const double Allowance = 0.1; // s
        /// <summary>The delay of a profile that was not written at once.</summary>
        private const int Delay = 100; // ms
        /// <summary>How often a profile is written whose calls have no end.</summary>
        private const int Period = 500; // ms

        /// <summary>Whether this is such a place.</summary>
        public static readonly bool IsHere = Libc.IsThere && !Libc.CanBeCalled();

        // Objects, since a trimmed program may lack their types: what asks for those is compiled by itself.
        private static object open;
        private static object timer;
        private static bool isScheduled;
        private static bool hasCompleted;
        private static long lastWritten;
        private static long ticksOfWriting;
        private static long ticksOfAll;

        /// <summary>An async call has completed that none of the program's own has made: perhaps it was `Main`, and this the end.</summary>
        public static void AtCompletion(CallTree* tree)
        {
            hasCompleted = true;
            if (tree->Current == tree->Root)
            {
                AtRest(Clock.Now());
            }
        }

        /// <summary>All calls of a thread have ended.</summary>
        public static void AtRest(long now)
        {
            bool mayWrite = ticksOfAll <= Allowance * Clock.Frequency + (now - Arena.Header->StartTicks) / PartsOfTime;
            if (now - lastWritten >= PartsOfTime * ticksOfWriting || hasCompleted && mayWrite)
            {
                Write();
            }
            else if (!isScheduled)
            {
                isScheduled = true;
                try
                {
                    CallTrees.WithoutProbes(Schedule);
                }
                catch (Exception)
                {
                    // At the next call's end, then.
                }
            }
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static void Schedule()
        {
            timer = new Timer(delegate { Write(); }, null, Delay, Timeout.Infinite);
        }

        /// <summary>In mode count nothing is told of the end of calls.</summary>
        public static void WriteRegularly()
        {
            try
            {
                CallTrees.WithoutProbes(SchedulePeriod);
            }
            catch (Exception)
            {
                // Ilinst.Profile.Snapshot writes it then.
            }
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static void SchedulePeriod()
        {
            timer = new Timer(
                delegate
                {
                    if (Clock.Now() - lastWritten >= PartsOfTime * ticksOfWriting)
                    {
                        Write();
                    }
                },
                null,
                Period,
                Period);
        }

        private static void Write()
        {
            isScheduled = hasCompleted = false;
            long begin = Clock.Now();
            ProfileFile.WriteNow();
            lastWritten = Clock.Now();
            ticksOfWriting = lastWritten - begin;
            ticksOfAll += ticksOfWriting;
        }

        public static string CurrentFolder()
        {
            string folder = "";
            Try(delegate { folder = Directory.GetCurrentDirectory(); return true; });
            return folder;
        }

        public static bool Exists(string path)
        {
            return Try(delegate { return File.Exists(path) || Directory.Exists(path); });
        }

        public static bool IsFolder(string path)
        {
            return Try(delegate { return Directory.Exists(path); });
        }

        public static bool IsRegular(string path)
        {
            return Try(delegate { return File.Exists(path); });
        }

        public static bool Delete(string path)
        {
            return Try(delegate { File.Delete(path); return true; });
        }

        public static bool MakeFolder(string path)
        {
            return Try(delegate { Directory.CreateDirectory(path); return true; });
        }

        public static bool Replace(string from, string to)
        {
            return Delete(to) && Try(delegate { File.Move(from, to); return true; });
        }

        /// <summary>Makes a file where there is none: one at a time.</summary>
        public static long Create(string path)
        {
            return Try(delegate { open = new FileStream(path, FileMode.CreateNew); return true; }) ? 0 : -1;
        }

        public static void Close()
        {
            Try(delegate { ((FileStream)open).Close(); return true; });
        }

        public static bool Write(byte* bytes, long at, long count)
        {
            return Try(
                delegate
                {
                    ((FileStream)open).Position = at;
                    ((FileStream)open).Write(Copied(bytes, count), 0, (int)count);
                    return true;
                });
        }

        private static byte[] Copied(byte* bytes, long count)
        {
            byte[] copied = new byte[count];
            Marshal.Copy((IntPtr)bytes, copied, 0, copied.Length);
            return copied;
        }

        /// <summary>Writes to standard error.</summary>
        public static void WriteError(byte* bytes, int count)
        {
            Try(delegate { Console.OpenStandardError().Write(Copied(bytes, count), 0, count); return true; });
        }

        /// <summary>Adds to a file.</summary>
        public static void Append(string path, byte* bytes, int count)
        {
            Try(
                delegate
                {
                    open = new FileStream(path, FileMode.OpenOrCreate);
                    Write(bytes, ((FileStream)open).Length, count);
                    Close();
                    return true;
                });
        }

        /// <summary>Not generic: an assembly's own generic methods would be numbered anew where the tracker is embedded.</summary>
        private delegate bool Action();

        private static bool Try(Action action)
        {
            try
            {
                return action();
            }
            catch (Exception)
            {
                return false;
            }
        }
    }
}
