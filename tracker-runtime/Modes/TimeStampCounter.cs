using System;
using System.Diagnostics;
using System.Diagnostics.CodeAnalysis;
using System.Reflection.Emit;
using System.Runtime.CompilerServices;

namespace Ilinst
{
    /// <summary>ILINST_CLOCK=tsc: the counter of an x64 processor that counts evenly on all its cores, read by code of our own.</summary>
    internal static unsafe class TimeStampCounter
    {
        private const int PageSize = 4096;
        private const int CodeSize = 32;
        /// <summary>rdtsc; shl rdx, 32; or rax, rdx; ret.</summary>
        private const string ReadCode = "0F3148C1E2204809D0C3";
        /// <summary>Whether it is invariant: push rbx; mov eax, 80000007h; cpuid; pop rbx; shr edx, 8; and edx, 1; ...</summary>
        private const string IsInvariantCode = "53B8070000800FA25BC1EA0883E20189D0C3";

        private static long firstTicks;
        private static long firstOfStopwatch;

        /// <summary>Makes it the clock.</summary>
        /// <returns>Why it cannot be; null if it is.</returns>
        public static string Start()
        {
            try
            {
                byte* page = IsX64() ? ExecutablePage() : null;
                if (page == null)
                {
                    return "no x64 processor, or no executable memory";
                }
                if ((Caller(page + CodeSize)() & 1) == 0)
                {
                    return "the processor's counter is not invariant";
                }
                Clock.Reader reader = Caller(page);
                firstOfStopwatch = Stopwatch.GetTimestamp();
                firstTicks = reader();
                while (Stopwatch.GetTimestamp() - firstOfStopwatch < Stopwatch.Frequency / 500)
                {
                }
                Measure(reader);
                return null;
            }
            catch (Exception e)
            {
                return e.GetType().FullName;
            }
        }

        /// <summary>Makes it the clock, with the frequency by the stopwatch from the start to now.</summary>
        public static void Measure(Clock.Reader reader)
        {
            double seconds = (double)(Stopwatch.GetTimestamp() - firstOfStopwatch) / Stopwatch.Frequency;
            Clock.Use(ClockKind.Tsc, reader, (long)((reader() - firstTicks) / seconds));
        }

        private static bool IsX64()
        {
            string machine = !Libc.IsThere ? Environment.GetEnvironmentVariable("PROCESSOR_ARCHITECTURE")
                : Libc.IsLinux ? Libc.Machine() : "";
            return IntPtr.Size == 8 && (machine == "x86_64" || machine == "AMD64");
        }

        private static byte* ExecutablePage()
        {
            byte* page = Libc.IsThere
                ? (byte*)Libc.mmap(
                    IntPtr.Zero, (IntPtr)PageSize, Libc.ProtReadWrite, Libc.MapPrivate | Libc.MapAnonymous, -1, IntPtr.Zero)
                : (byte*)Kernel32.VirtualAlloc(IntPtr.Zero, (IntPtr)PageSize, Kernel32.CommitAndReserve, Kernel32.PageReadWrite);
            if (page == null || (IntPtr)page == Libc.MapFailed)
            {
                return null;
            }
            Put(page, ReadCode);
            Put(page + CodeSize, IsInvariantCode);
            int old;
            bool isExecutable = Libc.IsThere
                ? Libc.mprotect((IntPtr)page, (IntPtr)PageSize, Libc.ProtReadExecute) == 0
                : Kernel32.VirtualProtect((IntPtr)page, (IntPtr)PageSize, Kernel32.PageExecuteRead, out old);
            return isExecutable ? page : null;
        }

        private static void Put(byte* at, string code)
        {
            for (int i = 0; i < code.Length; i += 2)
            {
                *at++ = (byte)(Digit(code[i]) << 4 | Digit(code[i + 1]));
            }
        }

        private static int Digit(char digit)
        {
            return digit <= '9' ? digit - '0' : digit - 'A' + 10;
        }

        /// <summary>
        /// Calls machine code. The language has no calli before C# 9, so it is emitted: bound to an object, which makes a
        /// delegate's call a plain one. It is called like managed code: it touches no memory and calls nothing.
        /// </summary>
        [MethodImpl(MethodImplOptions.NoInlining)]
        [UnconditionalSuppressMessage("Trimming", "IL3050")]
        private static Clock.Reader Caller(byte* code)
        {
            Type owner = typeof(TimeStampCounter);
            DynamicMethod method = new DynamicMethod("Read", typeof(long), new Type[] { typeof(object) }, owner, true);
            ILGenerator il = method.GetILGenerator();
            il.Emit(OpCodes.Ldc_I8, (long)code);
            il.Emit(OpCodes.Conv_I);
            il.EmitCalli(OpCodes.Calli, System.Reflection.CallingConventions.Standard, typeof(long), Type.EmptyTypes, null);
            il.Emit(OpCodes.Ret);
            return (Clock.Reader)method.CreateDelegate(typeof(Clock.Reader), new object());
        }
    }
}
