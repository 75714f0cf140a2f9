using System;

namespace Ilinst
{
    /// <summary>
    /// The profile of this process, for the program itself. None of it throws; where nothing is tracked, none of it does anything.
    /// </summary>
    public static unsafe class Profile
    {
        /// <summary>Stops tracking: calls are neither counted nor timed until <see cref="Resume"/>.</summary>
        public static void Pause()
        {
            CallTree* stopped = Allocations.Stop();
            Do(Phases.Pause);
            Allocations.Continue(stopped);
        }

        /// <summary>Goes on tracking.</summary>
        public static void Resume()
        {
            CallTree* stopped = Allocations.Stop();
            Do(Phases.Resume);
            Allocations.Continue(stopped);
        }

        /// <summary>Begins a phase: `ilinst report --phase NAME` shows what happened in it alone.</summary>
        /// <param name="name">Its name; several phases may have the same.</param>
        public static void Mark(string name)
        {
            CallTree* stopped = Allocations.Stop();
            Begin(name == null ? "" : name);
            Allocations.Continue(stopped);
        }

        /// <summary>Apart: what the delegate needs is allocated before.</summary>
        private static void Begin(string phase)
        {
            Do(delegate { Phases.Mark(phase); });
        }

        /// <summary>Drops what was counted so far.</summary>
        public static void Reset()
        {
            CallTree* stopped = Allocations.Stop();
            Do(Phases.Reset);
            Allocations.Continue(stopped);
        }

        /// <summary>Writes the profile as it is now to a file of its own, beside the one that goes on.</summary>
        /// <returns>The file's path; null if it could not be written.</returns>
        public static string Snapshot()
        {
            return Snapshot(null);
        }

        /// <summary>Writes the profile as it is now to a file that is not there yet.</summary>
        /// <param name="path">Its path; null for one beside the profile.</param>
        /// <returns>The file's path; null if it could not be written.</returns>
        public static string Snapshot(string path)
        {
            CallTree* stopped = Allocations.Stop();
            string written = Write(path);
            Allocations.Continue(stopped);
            return written;
        }

        private static string Write(string path)
        {
            string written = null;
            Do(delegate { written = ProfileFile.Snapshot(path); });
            return written;
        }

        private static void Do(System.Threading.ThreadStart action)
        {
            try
            {
                if (CallTrees.Start())
                {
                    CallTrees.WithoutProbes(action);
                }
            }
            catch (Exception)
            {
                // The program goes on as it would without us.
            }
        }
    }
}
