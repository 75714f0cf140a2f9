using System;
using System.Runtime.CompilerServices;

namespace Ilinst
{
    /// <summary>
    /// ILINST_CLOCK=program: a clock of the program's own, in nanoseconds, for tests and for simulated time. The program puts it
    /// into the data of its AppDomain before the first probe. It has nothing to do with the processor's time: so neither the
    /// cost of probes nor CPU times are measured.
    /// </summary>
    internal static class ProgramClock
    {
        private const string Name = "Ilinst.Clock";
        private const long TicksPerSecond = 1000 * 1000 * 1000;

        /// <summary>Makes it the clock.</summary>
        /// <returns>Why it cannot be; null if it is.</returns>
        public static string Start()
        {
            try
            {
                return Take();
            }
            catch (Exception e)
            {
                return e.GetType().FullName;
            }
        }

        /// <summary>Apart: a trimmed program may lack what this takes.</summary>
        [MethodImpl(MethodImplOptions.NoInlining)]
        private static string Take()
        {
            Converter<object, long> clock = AppDomain.CurrentDomain.GetData(Name) as Converter<object, long>;
            if (clock == null)
            {
                return "the AppDomain has no Converter<object, long> as " + Name;
            }
            Clock.Use(ClockKind.Program, delegate { return clock(null); }, TicksPerSecond);
            return null;
        }
    }
}
