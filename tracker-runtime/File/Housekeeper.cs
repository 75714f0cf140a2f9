using System;
using System.Runtime.CompilerServices;
using System.Threading;

namespace Ilinst
{
    /// <summary>
    /// A background thread that keeps the file's header true while the program runs, writes the names of what was called since
    /// the last look, and obeys the commands in the file. Without it (in the browser, with ILINST_WRITE=end) that is done at
    /// the end, and when <see cref="Profile"/> is asked.
    /// </summary>
    internal static unsafe class Housekeeper
    {
        private const int Period = 100; // ms
        private const int PeriodsInASecond = 10;
        /// <summary>The first looks come sooner: names of short runs, should they be killed.</summary>
        private const int FirstPeriod = 10; // ms

        private static readonly ManualResetEvent stop = new ManualResetEvent(false);
        private static Thread thread;

        public static void Start()
        {
            try
            {
                StartThread();
                Lifetime.OnEnd(Stop);
            }
            catch (Exception)
            {
                // No threads here.
                Log.Write("no thread for names and commands");
            }
        }

        /// <summary>Ends the thread, if there is one, and waits until it has.</summary>
        public static void Stop()
        {
            try
            {
                StopThread();
            }
            catch (Exception)
            {
                // It was not started, or its methods are trimmed away: it ends with the process.
            }
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static void StopThread()
        {
            if (thread != null)
            {
                stop.Set();
                thread.Join(1000);
            }
        }

        private static void StartThread()
        {
            thread = new Thread(Run, 256 * 1024);
            StartInBackground(thread);
        }

        /// <summary>Starts a thread of the tracker's, which nothing of the program's flows to.</summary>
        public static void StartInBackground(Thread thread)
        {
            thread.IsBackground = true;
            try
            {
                StartWithoutFlow(thread);
            }
            catch (Exception)
            {
                thread.Start();
            }
        }

        /// <summary>Else the thread holds what flows in the program's context for ever. A trimmed program may lack what this takes.</summary>
        [MethodImpl(MethodImplOptions.NoInlining)]
        private static void StartWithoutFlow(Thread thread)
        {
            if (ExecutionContext.IsFlowSuppressed())
            {
                thread.Start();
                return;
            }
            AsyncFlowControl flow = ExecutionContext.SuppressFlow();
            try
            {
                thread.Start();
            }
            finally
            {
                flow.Undo();
            }
        }

        private static void Run()
        {
            CallTrees.WithoutProbes(delegate
            {
                for (int i = 1; !IsStopped(i < PeriodsInASecond ? FirstPeriod * i : Period); i++)
                {
                    try
                    {
                        Look(i % PeriodsInASecond == 0);
                    }
                    catch (Exception)
                    {
                        // Next time, perhaps.
                    }
                }
            });
        }

        /// <summary>
        /// Does what the tool wants done, once. A tool that gives up takes the command back, and then looks whether it was begun:
        /// so one of the two sees the other.
        /// </summary>
        private static void Obey(Header* header)
        {
            int sequence = header->CommandSequence;
            if (sequence == header->AcknowledgedSequence)
            {
                return;
            }
            Interlocked.Exchange(ref header->BegunSequence, sequence);
            if (header->CommandSequence != sequence)
            {
                // The next look finds what there is now.
                header->BegunSequence = header->AcknowledgedSequence;
                return;
            }
            Phases.Obey(header->Command, Header.CommandName(header));
            header->AcknowledgedSequence = sequence;
        }

        /// <summary>Waits for some time, or until it is to end.</summary>
        private static bool IsStopped(int period)
        {
            try
            {
                return Wait(period);
            }
            catch (MissingMethodException)
            {
                Thread.Sleep(period);
                return false;
            }
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static bool Wait(int period)
        {
            return stop.WaitOne(period, false);
        }

        private static void Look(bool isSecond)
        {
            Control* control = Control.OfProcess();
            Header* header = Arena.Header;
            if (Interlocked.CompareExchange(ref control->IsHousekeeping, 1, 0) == 0)
            {
                try
                {
                    header->LastTicks = Clock.Now();
                    header->Heartbeats++;
                    Obey(header);
                    if (isSecond)
                    {
                        CpuTime.Update();
                    }
                }
                finally
                {
                    control->IsHousekeeping = 0;
                }
            }
            Phases.FollowOthers();
            ProfileFile.UpdateNames();
            if (isSecond)
            {
                CallTrees.OnHousekeeping();
            }
        }
    }
}
