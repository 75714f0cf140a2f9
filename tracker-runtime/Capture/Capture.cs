using System;
using System.Runtime.CompilerServices;

namespace Ilinst
{
    /// <summary>
    /// Woven code passes the values of its calls here, where it is told to: a first call names the method, then comes one for
    /// each value in their order, then <see cref="End"/>. The time of all that is no call's time.
    /// </summary>
    public static unsafe class Capture
    {
        /// <summary>A call begins.</summary>
        /// <param name="methodId">The id of the method.</param>
        /// <param name="what">The values that follow.</param>
        /// <returns>The number for the other probes; zero if the call is not kept.</returns>
        [MethodImpl(MethodImplOptions.NoInlining)]
        public static long Enter(long methodId, int what)
        {
            CallTree* stopped = Allocations.Stop();
            long number = Begin(methodId, what);
            Allocations.Continue(stopped);
            return number;
        }

        private static long Begin(long methodId, int what)
        {
            CapturedCalls* calls = CapturedCalls.OfThisThread();
            if (calls == null || Recording.IsPaused)
            {
                return 0;
            }
            long now = calls->Began = Clock.Now();
            int signature = calls->Signature(methodId);
            if (signature == 0 || !calls->Push(signature))
            {
                calls->Lose();
                return 0;
            }
            if (calls->Begin(CallRecordKind.Enter, what, signature, calls->Numbered, now) && what == 0)
            {
                End();
            }
            return calls->Numbered;
        }

        /// <summary>A value of any type that is no reference.</summary>
        [MethodImpl(MethodImplOptions.NoInlining)]
        public static void Value<T>(T value)
        {
            CapturedCalls* calls = CapturedCalls.OfThisThread();
            if (calls != null && calls->At != 0)
            {
                CallTree* stopped = Allocations.Stop();
                CapturedValues.Put<T>(calls, value);
                Allocations.Continue(stopped);
            }
        }

        /// <summary>The value that a by-reference argument refers to.</summary>
        [MethodImpl(MethodImplOptions.NoInlining)]
        public static void Reference<T>(ref T value)
        {
            T copy;
            try
            {
                copy = value;
            }
            catch (NullReferenceException)
            {
                Unread(UnreadReason.NotFound);
                return;
            }
            Value(copy);
        }

        /// <summary>An object, or null.</summary>
        [MethodImpl(MethodImplOptions.NoInlining)]
        public static void Object(object value)
        {
            CapturedCalls* calls = CapturedCalls.OfThisThread();
            if (calls != null && calls->At != 0)
            {
                CallTree* stopped = Allocations.Stop();
                CapturedValues.Put(calls, value);
                Allocations.Continue(stopped);
            }
        }

        /// <summary>How many elements of a span to copy: no more than are shown.</summary>
        /// <param name="isNull">Whether the span is at a null pointer: nothing is read there.</param>
        /// <param name="length">The length of the span.</param>
        [MethodImpl(MethodImplOptions.NoInlining)]
        public static int Shown<T>(bool isNull, int length)
        {
            CapturedCalls* calls = isNull ? null : CapturedCalls.OfThisThread();
            return calls == null || calls->At == 0 ? 0 : CapturedValues.Shown(typeof(T) == typeof(char), length);
        }

        /// <summary>A span.</summary>
        /// <param name="length">Its length.</param>
        /// <param name="elements">A copy of the first elements: an array of exactly their type.</param>
        /// <param name="isReadOnly">Whether it is a read-only one.</param>
        [MethodImpl(MethodImplOptions.NoInlining)]
        public static void Span(int length, object elements, bool isReadOnly)
        {
            CapturedCalls* calls = CapturedCalls.OfThisThread();
            if (calls != null && calls->At != 0)
            {
                CallTree* stopped = Allocations.Stop();
                CapturedValues.PutSpan(calls, length, (Array)elements, isReadOnly);
                Allocations.Continue(stopped);
            }
        }

        /// <summary>An address.</summary>
        [MethodImpl(MethodImplOptions.NoInlining)]
        public static void Pointer(ulong address)
        {
            CapturedCalls* calls = CapturedCalls.OfThisThread();
            if (calls != null && calls->At != 0)
            {
                CapturedValues.PutPointer(calls, address);
            }
        }

        /// <summary>There is a value that is not read.</summary>
        /// <param name="reason">Why.</param>
        [MethodImpl(MethodImplOptions.NoInlining)]
        public static void Unread(int reason)
        {
            CapturedCalls* calls = CapturedCalls.OfThisThread();
            if (calls != null && calls->At != 0)
            {
                calls->PutUnread(reason);
            }
        }

        /// <summary>The record is whole.</summary>
        [MethodImpl(MethodImplOptions.NoInlining)]
        public static void End()
        {
            CapturedCalls* calls = CapturedCalls.OfThisThread();
            if (calls != null && calls->At != 0)
            {
                calls->Finish();
            }
        }

        /// <summary>Called in a finally block: an exception has left the method, unless <see cref="Returning"/> follows.</summary>
        /// <param name="number">The number from <see cref="Enter"/>.</param>
        [MethodImpl(MethodImplOptions.NoInlining)]
        public static void Left(long number)
        {
            Leave(number, CallEnd.Exception, true);
        }

        /// <summary>Called before a call that takes the method's place.</summary>
        /// <param name="number">The number from <see cref="Enter"/>.</param>
        [MethodImpl(MethodImplOptions.NoInlining)]
        public static void TailCalling(long number)
        {
            Leave(number, CallEnd.TailCall, true);
        }

        /// <summary>Called where a method returns.</summary>
        /// <param name="number">The number from <see cref="Enter"/>.</param>
        /// <param name="what">The values that follow.</param>
        [MethodImpl(MethodImplOptions.NoInlining)]
        public static void Returning(long number, int what)
        {
            Leave(number, CallEnd.Returned | what, what == 0);
        }

        private static void Leave(long number, int what, bool isWhole)
        {
            CallTree* stopped = Allocations.Stop();
            EndCall(number, what, isWhole);
            Allocations.Continue(stopped);
        }

        private static void EndCall(long number, int what, bool isWhole)
        {
            CapturedCalls* calls = number == 0 ? null : CapturedCalls.OfThisThread();
            if (calls == null)
            {
                return;
            }
            long now = calls->Began = Clock.Now();
            int signature = calls->TakeBack(number, ref now);
            signature = signature != 0 ? signature : calls->Pop(number, now);
            if (signature != 0 && calls->Begin(CallRecordKind.Leave, what, signature, number, now) && isWhole)
            {
                End();
            }
        }

        /// <summary>
        /// Called in a filter around the method's body: an exception leaves it, unless something else does before. Nothing has
        /// been left yet. Of an overflow of the stack nothing is kept: there is no room.
        /// </summary>
        /// <param name="exception">The exception that was thrown.</param>
        /// <param name="number">The number from <see cref="Enter"/>.</param>
        [MethodImpl(MethodImplOptions.NoInlining)]
        public static void Passing(object exception, long number)
        {
            if (number == 0 || exception is StackOverflowException)
            {
                return;
            }
            CapturedCalls* calls = CapturedCalls.OfThisThread();
            int signature = calls == null ? 0 : calls->SignatureOf(number);
            if (signature != 0)
            {
                CallTree* stopped = Allocations.Stop();
                PutException(calls, CallRecordKind.Pass, exception, signature, number, calls->Began = Clock.Now());
                Allocations.Continue(stopped);
            }
        }

        /// <summary>Called where a catch handler begins.</summary>
        /// <param name="exception">The exception that was thrown.</param>
        /// <param name="number">The number from <see cref="Enter"/>.</param>
        [MethodImpl(MethodImplOptions.NoInlining)]
        public static void Catching(object exception, long number)
        {
            CapturedCalls* calls = number == 0 ? null : CapturedCalls.OfThisThread();
            if (calls == null)
            {
                return;
            }
            long now = calls->Began = Clock.Now();
            int signature = calls->Uncover(number, now);
            if (signature != 0)
            {
                CallTree* stopped = Allocations.Stop();
                PutException(calls, CallRecordKind.Catch, exception, signature, number, now);
                Allocations.Continue(stopped);
            }
        }

        private static void PutException(CapturedCalls* calls, byte kind, object exception, int signature, long number, long now)
        {
            if (calls->Begin(kind, 0, signature, number, now))
            {
                CapturedValues.Put(calls, exception);
                End();
            }
        }
    }
}
