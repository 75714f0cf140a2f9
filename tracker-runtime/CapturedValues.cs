using System;
using System.Runtime.CompilerServices;

namespace Ilinst
{
    /// <summary>Values as docs/profile-format.md has them. No code of the program's is called for them.</summary>
    internal static unsafe class CapturedValues
    {
        private const int MaxUnits = 256;
        private const int MaxElements = 4;
        private const byte Null = 1;
        private const byte Boolean = 2;
        private const byte Char = 3;
        private const byte SByte = 4;
        private const byte Byte = 5;
        private const byte Int16 = 6;
        private const byte UInt16 = 7;
        private const byte Int32 = 8;
        private const byte UInt32 = 9;
        private const byte Int64 = 10;
        private const byte UInt64 = 11;
        private const byte Single = 12;
        private const byte Double = 13;
        private const byte Text = 14;
        private const byte PointerValue = 15;
        private const byte Structure = 17;
        private const byte Instance = 18;
        private const byte ArrayValue = 20;
        private const byte NativeInt = 24;
        private const byte NativeUInt = 25;
        private const byte EnumValue = 85;
        private const byte DateTimeValue = 128;
        private const byte DecimalValue = 129;
        private const byte GuidValue = 130;
        private const byte TimeSpanValue = 131;
        private const byte TypeValue = 132;
        private const byte NotShown = 255;

        /// <summary>
        /// A value of any type; of numbers there is no object. No type is generic: one could not be embedded among others' methods.
        /// </summary>
        public static void Put<T>(CapturedCalls* calls, T value)
        {
            if (typeof(T) == typeof(int))
            {
                PutNumber(calls, Int32, __refvalue(__makeref(value), int), 4);
            }
            else if (typeof(T) == typeof(long))
            {
                PutNumber(calls, Int64, __refvalue(__makeref(value), long), 8);
            }
            else if (typeof(T) == typeof(bool))
            {
                PutNumber(calls, Boolean, __refvalue(__makeref(value), bool) ? 1 : 0, 1);
            }
            else if (typeof(T) == typeof(double))
            {
                double number = __refvalue(__makeref(value), double);
                PutNumber(calls, Double, *(long*)&number, 8);
            }
            else if (typeof(T) == typeof(float))
            {
                float number = __refvalue(__makeref(value), float);
                PutNumber(calls, Single, *(int*)&number, 4);
            }
            else if (typeof(T) == typeof(char))
            {
                PutNumber(calls, Char, __refvalue(__makeref(value), char), 2);
            }
            else if (typeof(T) == typeof(byte))
            {
                PutNumber(calls, Byte, __refvalue(__makeref(value), byte), 1);
            }
            else if (typeof(T) == typeof(sbyte))
            {
                PutNumber(calls, SByte, __refvalue(__makeref(value), sbyte), 1);
            }
            else if (typeof(T) == typeof(short))
            {
                PutNumber(calls, Int16, __refvalue(__makeref(value), short), 2);
            }
            else if (typeof(T) == typeof(ushort))
            {
                PutNumber(calls, UInt16, __refvalue(__makeref(value), ushort), 2);
            }
            else if (typeof(T) == typeof(uint))
            {
                PutNumber(calls, UInt32, __refvalue(__makeref(value), uint), 4);
            }
            else if (typeof(T) == typeof(ulong))
            {
                PutNumber(calls, UInt64, (long)__refvalue(__makeref(value), ulong), 8);
            }
            else if (typeof(T) == typeof(IntPtr))
            {
                PutNumber(calls, NativeInt, (long)__refvalue(__makeref(value), IntPtr), 8);
            }
            else if (typeof(T) == typeof(UIntPtr))
            {
                PutNumber(calls, NativeUInt, (long)(ulong)__refvalue(__makeref(value), UIntPtr), 8);
            }
            else
            {
                Put(calls, (object)value);
            }
        }

        /// <summary>An object, or null. Its fields are looked for in a type's description: then no probe is tracked.</summary>
        public static void Put(CapturedCalls* calls, object value)
        {
            long at = calls->At;
            bool isWhole = false;
            CallTree* tree;
            bool was = CallTrees.SwitchOff(out tree);
            try
            {
                isWhole = TryPut(calls, value, 1);
                if (!isWhole)
                {
                    calls->At = at;
                    calls->PutUnread(CapturedCalls.NoRoom);
                }
            }
            catch (Exception)
            {
                calls->At = at;
                calls->PutUnread(CapturedCalls.UnknownLayout);
            }
            finally
            {
                CallTrees.SwitchOn(tree, was);
            }
        }

        public static void PutPointer(CapturedCalls* calls, ulong address)
        {
            PutNumber(calls, PointerValue, (long)address, 8);
        }

        private static void PutNumber(CapturedCalls* calls, byte kind, long value, int size)
        {
            if (!TryPutNumber(calls, kind, value, size))
            {
                calls->PutUnread(CapturedCalls.NoRoom);
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
            return TryPutNumber(calls, DateTimeValue, time.Ticks | (long)time.Kind << 62, 8);
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static bool TryPutTimeSpan(CapturedCalls* calls, object value)
        {
            return TryPutNumber(calls, TimeSpanValue, ((TimeSpan)value).Ticks, 8);
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static bool TryPutDecimal(CapturedCalls* calls, object value)
        {
            int[] parts = decimal.GetBits((decimal)value);
            byte* to = calls->Room(17);
            if (to != null)
            {
                *to = DecimalValue;
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
                *to = GuidValue;
                *(Guid*)(to + 1) = (Guid)value;
            }
            return to != null;
        }

        private static bool TryPutText(CapturedCalls* calls, string value)
        {
            int shown = value.Length < MaxUnits ? value.Length : MaxUnits;
            byte* to = calls->Room(7 + 2 * shown);
            if (to != null)
            {
                *to = Text;
                *(int*)(to + 1) = value.Length;
                *(short*)(to + 5) = (short)shown;
                for (int i = 0; i < shown; i++)
                {
                    *(char*)(to + 7 + 2 * i) = value[i];
                }
            }
            return to != null;
        }

        private static bool TryPut(CapturedCalls* calls, object value, int depth)
        {
            if (value == null)
            {
                return TryPutNumber(calls, Null, 0, 0);
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
                    *to = EnumValue;
                    *(int*)(to + 1) = type.Number;
                    return TryPutPlain(calls, type.Element, value);
                case CapturedType.Array:
                    return TryPutArray(calls, type, (Array)value, depth);
                case CapturedType.Value:
                    if (calls->HasTexts && depth > 0)
                    {
                        return TryPutHead(calls, Structure, type, 0, 5, true) && TryPutOwnText(calls, value);
                    }
                    return TryPutHead(calls, Structure, type, 0, 5, false) && TryPutFields(calls, type, value, depth);
                case CapturedType.TypeItself:
                    return TryPutNumber(calls, TypeValue, CapturedTypes.TypeNumber((Type)value), 4);
                default:
                    if (calls->HasTexts && depth > 0)
                    {
                        return TryPutHead(calls, Instance, type, Which(value), 13, true) && TryPutOwnText(calls, value);
                    }
                    return TryPutHead(calls, Instance, type, Which(value), 13, false)
                        && TryPutFields(calls, type, value, depth);
            }
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static int Which(object value)
        {
            return RuntimeHelpers.GetHashCode(value);
        }

        /// <summary>What the program says of an object, as the one field that it has then.</summary>
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
                calls->PutUnread(CapturedCalls.Thrown);
                return true;
            }
            return text == null ? TryPutNumber(calls, Null, 0, 0) : TryPutText(calls, text);
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
            *count = depth > 0 && type.Fields != null ? (byte)type.Fields.Length : NotShown;
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
            *to = ArrayValue;
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
                case Boolean:
                    return TryPutNumber(calls, element, (bool)value ? 1 : 0, 1);
                case Char:
                    return TryPutNumber(calls, element, (char)value, 2);
                case SByte:
                    return TryPutNumber(calls, element, (sbyte)value, 1);
                case Byte:
                    return TryPutNumber(calls, element, (byte)value, 1);
                case Int16:
                    return TryPutNumber(calls, element, (short)value, 2);
                case UInt16:
                    return TryPutNumber(calls, element, (ushort)value, 2);
                case Int32:
                    return TryPutNumber(calls, element, (int)value, 4);
                case UInt32:
                    return TryPutNumber(calls, element, (uint)value, 4);
                case Int64:
                    return TryPutNumber(calls, element, (long)value, 8);
                case UInt64:
                    return TryPutNumber(calls, element, (long)(ulong)value, 8);
                case Single:
                    float single = (float)value;
                    return TryPutNumber(calls, element, *(int*)&single, 4);
                case Double:
                    double number = (double)value;
                    return TryPutNumber(calls, element, *(long*)&number, 8);
                case NativeInt:
                    return TryPutNumber(calls, element, (long)(IntPtr)value, 8);
                case NativeUInt:
                    return TryPutNumber(calls, element, (long)(ulong)(UIntPtr)value, 8);
                case PointerValue:
                    return TryPutNumber(calls, element, CapturedTypes.AddressOf(value), 8);
                case DateTimeValue:
                    return TryPutDateTime(calls, value);
                case TimeSpanValue:
                    return TryPutTimeSpan(calls, value);
                case DecimalValue:
                    return TryPutDecimal(calls, value);
                default:
                    return TryPutGuid(calls, value);
            }
        }

        private static byte NamedElement(string name)
        {
            return name == "System.DateTime" ? DateTimeValue
                : name == "System.TimeSpan" ? TimeSpanValue
                : name == "System.Decimal" ? DecimalValue
                : name == "System.Guid" ? GuidValue
                : name == "System.Reflection.Pointer" ? PointerValue
                : (byte)0;
        }

        /// <summary>The kind of a type's values that are written without a description; 0 of others.</summary>
        public static byte ElementOf(Type type)
        {
            object of = type;
            return of == typeof(bool) ? Boolean
                : of == typeof(char) ? Char
                : of == typeof(sbyte) ? SByte
                : of == typeof(byte) ? Byte
                : of == typeof(short) ? Int16
                : of == typeof(ushort) ? UInt16
                : of == typeof(int) ? Int32
                : of == typeof(uint) ? UInt32
                : of == typeof(long) ? Int64
                : of == typeof(ulong) ? UInt64
                : of == typeof(float) ? Single
                : of == typeof(double) ? Double
                : of == typeof(IntPtr) ? NativeInt
                : of == typeof(UIntPtr) ? NativeUInt
                : NamedElement(type.FullName);
        }
    }
}
