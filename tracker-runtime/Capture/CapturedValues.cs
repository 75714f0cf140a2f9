using System;
using System.Runtime.CompilerServices;

namespace Ilinst
{
    /// <summary>Values as docs/profile-format.md has them. No code of the program's is called for them.</summary>
    internal static unsafe class CapturedValues
    {
        private const int MaxUnits = 256;
        private const int MaxElements = 4;
        private const int NoSpan = -1;

        /// <summary>
        /// A value of any type; of numbers there is no object. No type is generic: one could not be embedded among others' methods.
        /// </summary>
        public static void Put<T>(CapturedCalls* calls, T value)
        {
            if (typeof(T) == typeof(int))
            {
                PutNumber(calls, ValueKind.Int32, __refvalue(__makeref(value), int), 4);
            }
            else if (typeof(T) == typeof(long))
            {
                PutNumber(calls, ValueKind.Int64, __refvalue(__makeref(value), long), 8);
            }
            else if (typeof(T) == typeof(bool))
            {
                PutNumber(calls, ValueKind.Boolean, __refvalue(__makeref(value), bool) ? 1 : 0, 1);
            }
            else if (typeof(T) == typeof(double))
            {
                double number = __refvalue(__makeref(value), double);
                PutNumber(calls, ValueKind.Double, *(long*)&number, 8);
            }
            else if (typeof(T) == typeof(float))
            {
                float number = __refvalue(__makeref(value), float);
                PutNumber(calls, ValueKind.Single, *(int*)&number, 4);
            }
            else if (typeof(T) == typeof(char))
            {
                PutNumber(calls, ValueKind.Char, __refvalue(__makeref(value), char), 2);
            }
            else if (typeof(T) == typeof(byte))
            {
                PutNumber(calls, ValueKind.Byte, __refvalue(__makeref(value), byte), 1);
            }
            else if (typeof(T) == typeof(sbyte))
            {
                PutNumber(calls, ValueKind.SByte, __refvalue(__makeref(value), sbyte), 1);
            }
            else if (typeof(T) == typeof(short))
            {
                PutNumber(calls, ValueKind.Int16, __refvalue(__makeref(value), short), 2);
            }
            else if (typeof(T) == typeof(ushort))
            {
                PutNumber(calls, ValueKind.UInt16, __refvalue(__makeref(value), ushort), 2);
            }
            else if (typeof(T) == typeof(uint))
            {
                PutNumber(calls, ValueKind.UInt32, __refvalue(__makeref(value), uint), 4);
            }
            else if (typeof(T) == typeof(ulong))
            {
                PutNumber(calls, ValueKind.UInt64, (long)__refvalue(__makeref(value), ulong), 8);
            }
            else if (typeof(T) == typeof(IntPtr))
            {
                PutNumber(calls, ValueKind.IntPtr, (long)__refvalue(__makeref(value), IntPtr), 8);
            }
            else if (typeof(T) == typeof(UIntPtr))
            {
                PutNumber(calls, ValueKind.UIntPtr, (long)(ulong)__refvalue(__makeref(value), UIntPtr), 8);
            }
            else
            {
                Put(calls, (object)value);
            }
        }

        /// <summary>How many elements of a span are shown, or units of its text.</summary>
        public static int Shown(bool isText, int length)
        {
            return Math.Min(length, isText ? MaxUnits : MaxElements);
        }

        /// <summary>An object, or null. Its fields are looked for in a type's description: then no probe is tracked.</summary>
        public static void Put(CapturedCalls* calls, object value)
        {
            Put(calls, value, NoSpan, false);
        }

        /// <summary>A span, by its length and an array of the first elements.</summary>
        public static void PutSpan(CapturedCalls* calls, int length, Array elements, bool isReadOnly)
        {
            Put(calls, elements, length, isReadOnly);
        }

        private static void Put(CapturedCalls* calls, object value, int length, bool isReadOnly)
        {
            long at = calls->At;
            bool isWhole = false;
            CallTree* tree;
            bool was = CallTrees.SwitchOff(out tree);
            try
            {
                isWhole = length == NoSpan
                    ? TryPut(calls, value, 1)
                    : TryPutSpan(calls, length, (Array)value, isReadOnly);
                if (!isWhole)
                {
                    calls->At = at;
                    calls->PutUnread(UnreadReason.NoRoom);
                }
            }
            catch (Exception)
            {
                calls->At = at;
                calls->PutUnread(UnreadReason.UnknownLayout);
            }
            finally
            {
                CallTrees.SwitchOn(tree, was);
            }
        }

        public static void PutPointer(CapturedCalls* calls, ulong address)
        {
            PutNumber(calls, ValueKind.Pointer, (long)address, 8);
        }

        private static void PutNumber(CapturedCalls* calls, byte kind, long value, int size)
        {
            if (!TryPutNumber(calls, kind, value, size))
            {
                calls->PutUnread(UnreadReason.NoRoom);
            }
        }

        private static bool TryPutNumber(CapturedCalls* calls, byte kind, long value, int size)
        {
            byte* to = calls->Room(1 + size);
            if (to == null)
            {
                return false;
            }
            *to++ = kind;
            for (int i = 0; i < size; i++)
            {
                *to++ = (byte)(value >> (8 * i));
            }
            return true;
        }

        // Each by itself what a program may have been published without: it is missed where it is compiled.

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static bool TryPutDateTime(CapturedCalls* calls, object value)
        {
            DateTime time = (DateTime)value;
            return TryPutNumber(calls, ValueKind.DateTime, time.Ticks | (long)time.Kind << 62, 8);
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static bool TryPutTimeSpan(CapturedCalls* calls, object value)
        {
            return TryPutNumber(calls, ValueKind.TimeSpan, ((TimeSpan)value).Ticks, 8);
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static bool TryPutDecimal(CapturedCalls* calls, object value)
        {
            int[] parts = decimal.GetBits((decimal)value);
            byte* to = calls->Room(17);
            if (to != null)
            {
                *to = ValueKind.Decimal;
                for (int i = 0; i < 4; i++)
                {
                    *(int*)(to + 1 + 4 * i) = parts[i];
                }
            }
            return to != null;
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static bool TryPutGuid(CapturedCalls* calls, object value)
        {
            byte* to = calls->Room(17);
            if (to != null)
            {
                *to = ValueKind.Guid;
                *(Guid*)(to + 1) = (Guid)value;
            }
            return to != null;
        }

        private static bool TryPutText(CapturedCalls* calls, string value)
        {
            int shown = Math.Min(value.Length, MaxUnits);
            byte* to = RoomForText(calls, value.Length, shown);
            for (int i = 0; to != null && i < shown; i++)
            {
                *(char*)(to + 2 * i) = value[i];
            }
            return to != null;
        }

        /// <summary>Where the first units of a text go; null if there is no room.</summary>
        private static byte* RoomForText(CapturedCalls* calls, int length, int shown)
        {
            byte* to = calls->Room(7 + 2 * shown);
            if (to == null)
            {
                return null;
            }
            *to = ValueKind.String;
            *(int*)(to + 1) = length;
            *(short*)(to + 5) = (short)shown;
            return to + 7;
        }

        private static bool TryPutSpan(CapturedCalls* calls, int length, Array elements, bool isReadOnly)
        {
            // A cast may take numbers for characters.
            return (object)elements.GetType() == typeof(char[])
                ? TryPutUnits(calls, length, (char[])elements)
                : TryPutElements(calls, length, elements, isReadOnly);
        }

        private static bool TryPutUnits(CapturedCalls* calls, int length, char[] units)
        {
            byte* to = RoomForText(calls, length, units.Length);
            for (int i = 0; to != null && i < units.Length; i++)
            {
                *(char*)(to + 2 * i) = units[i];
            }
            return to != null;
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static bool TryPutElements(CapturedCalls* calls, int length, Array elements, bool isReadOnly)
        {
            Type type = elements.GetType();
            byte* to = calls->Room(6);
            if (to == null)
            {
                return false;
            }
            *to = ValueKind.Struct;
            *(int*)(to + 1) = CapturedTypes.SpanNumber(type.GetElementType(), isReadOnly);
            to[5] = 2;
            if (!TryPutNumber(calls, ValueKind.Int32, length, 4))
            {
                return false;
            }
            to = calls->Room(11);
            if (to == null)
            {
                return false;
            }
            *to = ValueKind.Array;
            *(int*)(to + 1) = CapturedTypes.Of(type).Number;
            to[5] = 1;
            *(int*)(to + 6) = length;
            to[10] = (byte)elements.Length;
            for (int i = 0; i < elements.Length; i++)
            {
                if (!TryPut(calls, elements.GetValue(i), 0))
                {
                    return false;
                }
            }
            return true;
        }

        private static bool TryPut(CapturedCalls* calls, object value, int depth)
        {
            if (value == null)
            {
                return TryPutNumber(calls, ValueKind.Null, 0, 0);
            }
            CapturedType type = CapturedTypes.Of(value.GetType());
            switch (type.Kind)
            {
                case CapturedType.Text:
                    return TryPutText(calls, (string)value);
                case CapturedType.Plain:
                    return TryPutPlain(calls, type.Element, value);
                case CapturedType.Enum:
                    byte* to = calls->Room(5);
                    if (to == null)
                    {
                        return false;
                    }
                    *to = ValueKind.Enum;
                    *(int*)(to + 1) = type.Number;
                    return TryPutPlain(calls, type.Element, value);
                case CapturedType.Array:
                    return TryPutArray(calls, type, (Array)value, depth);
                case CapturedType.Value:
                    if (calls->HasTexts && depth > 0)
                    {
                        return TryPutHead(calls, ValueKind.Struct, type, 0, 5, true) && TryPutOwnText(calls, value);
                    }
                    return TryPutHead(calls, ValueKind.Struct, type, 0, 5, false) && TryPutFields(calls, type, value, depth);
                case CapturedType.TypeItself:
                    return TryPutNumber(calls, ValueKind.Type, CapturedTypes.TypeNumber((Type)value), 4);
                default:
                    if (calls->HasTexts && depth > 0)
                    {
                        return TryPutHead(calls, ValueKind.Object, type, Which(value), 13, true) && TryPutOwnText(calls, value);
                    }
                    return TryPutHead(calls, ValueKind.Object, type, Which(value), 13, false)
                        && TryPutFields(calls, type, value, depth);
            }
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static int Which(object value)
        {
            return RuntimeHelpers.GetHashCode(value);
        }

        /// <summary>The result of an object's ToString, as its only field.</summary>
        private static bool TryPutOwnText(CapturedCalls* calls, object value)
        {
            byte* count = calls->Room(1);
            if (count == null)
            {
                return false;
            }
            *count = 1;
            string text;
            try
            {
                text = value.ToString();
            }
            catch (Exception)
            {
                calls->PutUnread(UnreadReason.Thrown);
                return true;
            }
            return text == null ? TryPutNumber(calls, ValueKind.Null, 0, 0) : TryPutText(calls, text);
        }

        private static bool TryPutHead(CapturedCalls* calls, byte kind, CapturedType type, long which, int size, bool isText)
        {
            byte* to = calls->Room(size);
            if (to == null)
            {
                return false;
            }
            *to = kind;
            *(int*)(to + 1) = isText ? CapturedTypes.TextNumber(type) : type.Number;
            if (size > 5)
            {
                *(long*)(to + 5) = which;
            }
            return true;
        }

        private static bool TryPutFields(CapturedCalls* calls, CapturedType type, object value, int depth)
        {
            byte* count = calls->Room(1);
            if (count == null)
            {
                return false;
            }
            *count = depth > 0 && type.Fields != null ? (byte)type.Fields.Length : CallLayout.NotShown;
            for (int i = 0; depth > 0 && type.Fields != null && i < type.Fields.Length; i++)
            {
                if (!TryPut(calls, CapturedTypes.FieldOf(value, type.Fields[i]), depth - 1 + type.Deeper[i]))
                {
                    return false;
                }
            }
            return true;
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static bool TryPutArray(CapturedCalls* calls, CapturedType type, Array array, int depth)
        {
            int rank = array.Rank;
            byte* to = calls->Room(7 + 4 * rank);
            if (to == null)
            {
                return false;
            }
            *to = ValueKind.Array;
            *(int*)(to + 1) = type.Number;
            to[5] = (byte)rank;
            for (int i = 0; i < rank; i++)
            {
                *(int*)(to + 6 + 4 * i) = array.GetLength(i);
            }
            // No object is an address.
            int shown = depth > 0 && !type.HasPointers ? Math.Min(array.Length, MaxElements) : 0;
            to[6 + 4 * rank] = (byte)shown;
            int[] at = new int[rank];
            for (int i = 0; i < shown; i++)
            {
                for (int dimension = rank - 1, rest = i; dimension >= 0; dimension--)
                {
                    int length = array.GetLength(dimension);
                    at[dimension] = array.GetLowerBound(dimension) + rest % length;
                    rest /= length;
                }
                if (!TryPut(calls, array.GetValue(at), depth - 1))
                {
                    return false;
                }
            }
            return true;
        }

        private static bool TryPutPlain(CapturedCalls* calls, byte element, object value)
        {
            switch (element)
            {
                case ValueKind.Boolean:
                    return TryPutNumber(calls, element, (bool)value ? 1 : 0, 1);
                case ValueKind.Char:
                    return TryPutNumber(calls, element, (char)value, 2);
                case ValueKind.SByte:
                    return TryPutNumber(calls, element, (sbyte)value, 1);
                case ValueKind.Byte:
                    return TryPutNumber(calls, element, (byte)value, 1);
                case ValueKind.Int16:
                    return TryPutNumber(calls, element, (short)value, 2);
                case ValueKind.UInt16:
                    return TryPutNumber(calls, element, (ushort)value, 2);
                case ValueKind.Int32:
                    return TryPutNumber(calls, element, (int)value, 4);
                case ValueKind.UInt32:
                    return TryPutNumber(calls, element, (uint)value, 4);
                case ValueKind.Int64:
                    return TryPutNumber(calls, element, (long)value, 8);
                case ValueKind.UInt64:
                    return TryPutNumber(calls, element, (long)(ulong)value, 8);
                case ValueKind.Single:
                    float single = (float)value;
                    return TryPutNumber(calls, element, *(int*)&single, 4);
                case ValueKind.Double:
                    double number = (double)value;
                    return TryPutNumber(calls, element, *(long*)&number, 8);
                case ValueKind.IntPtr:
                    return TryPutNumber(calls, element, (long)(IntPtr)value, 8);
                case ValueKind.UIntPtr:
                    return TryPutNumber(calls, element, (long)(ulong)(UIntPtr)value, 8);
                case ValueKind.Pointer:
                    return TryPutNumber(calls, element, CapturedTypes.AddressOf(value), 8);
                case ValueKind.DateTime:
                    return TryPutDateTime(calls, value);
                case ValueKind.TimeSpan:
                    return TryPutTimeSpan(calls, value);
                case ValueKind.Decimal:
                    return TryPutDecimal(calls, value);
                default:
                    return TryPutGuid(calls, value);
            }
        }

        private static byte NamedElement(string name)
        {
            return name == "System.DateTime" ? ValueKind.DateTime
                : name == "System.TimeSpan" ? ValueKind.TimeSpan
                : name == "System.Decimal" ? ValueKind.Decimal
                : name == "System.Guid" ? ValueKind.Guid
                : name == "System.Reflection.Pointer" ? ValueKind.Pointer
                : (byte)0;
        }

        /// <summary>The kind of a type's values that are written without a description; 0 of others.</summary>
        public static byte ElementOf(Type type)
        {
            object of = type;
            return of == typeof(bool) ? ValueKind.Boolean
                : of == typeof(char) ? ValueKind.Char
                : of == typeof(sbyte) ? ValueKind.SByte
                : of == typeof(byte) ? ValueKind.Byte
                : of == typeof(short) ? ValueKind.Int16
                : of == typeof(ushort) ? ValueKind.UInt16
                : of == typeof(int) ? ValueKind.Int32
                : of == typeof(uint) ? ValueKind.UInt32
                : of == typeof(long) ? ValueKind.Int64
                : of == typeof(ulong) ? ValueKind.UInt64
                : of == typeof(float) ? ValueKind.Single
                : of == typeof(double) ? ValueKind.Double
                : of == typeof(IntPtr) ? ValueKind.IntPtr
                : of == typeof(UIntPtr) ? ValueKind.UIntPtr
                : NamedElement(type.FullName);
        }
    }
}
