using System;
using System.Runtime.CompilerServices;
using System.Threading;

namespace Ilinst
{
    /// <summary>
    /// A lock, that a thread may take again, for `using (gate.Enter())`. On Mono nobody waits for it in a monitor: if another
    /// thread calls Environment.Exit meanwhile, the two wait for each other for ever (mono/mono#10318).
    /// </summary>
    internal sealed class Gate
    {
        private const int PeriodOnMono = 1; // ms

        public Held Enter()
        {
            if (ThisProcess.IsMono)
            {
                EnterOnMono();
            }
            else
            {
                Monitor.Enter(this);
            }
            return new Held(this);
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private void EnterOnMono()
        {
            while (!Monitor.TryEnter(this))
            {
                Thread.Sleep(PeriodOnMono);
            }
        }

        /// <summary>Gives the lock back.</summary>
        public struct Held : IDisposable
        {
            private readonly Gate gate;

            public Held(Gate gate)
            {
                this.gate = gate;
            }

            public void Dispose()
            {
                Monitor.Exit(gate);
            }
        }
    }
}
