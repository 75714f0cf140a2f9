using System;
using System.Collections.Generic;
using System.Diagnostics.CodeAnalysis;
using System.Reflection;
using System.Runtime.CompilerServices;
using System.Threading;

namespace Ilinst
{
    /// <summary>How objects of a type are written.</summary>
    internal sealed class CapturedType
    {
        public const int Object = 0;
        public const int Value = 1;
        public const int Plain = 2;
        public const int Text = 3;
        public const int Enum = 4;
        public const int Array = 5;
        public const int TypeItself = 6;

        public int Kind;
        /// <summary>The first byte of its values, or of an enum's.</summary>
        public byte Element;
        /// <summary>Of its description in the profile.</summary>
        public int Number;
        /// <summary>The same with ToString for its fields; 0 if there is none yet.</summary>
        public int TextNumber;
        public Type Type;
        /// <summary>Null if the program was published without what reads them.</summary>
        public FieldInfo[] Fields;
        /// <summary>How many levels deeper each is shown than other fields: an array's elements, and what these have.</summary>
        public int[] Deeper;
        /// <summary>Whether it is an array of addresses.</summary>
        public bool HasPointers;
    }

    /// <summary>Types and methods that captured calls refer to, described in the profile.</summary>
    internal static unsafe class CapturedTypes
    {
        private const int MaxFields = 16;
        private const int MaxRecord = 32 * 1024;
        private const int MethodDefTable = 0x06000000;
        private const BindingFlags OwnFields =
            BindingFlags.Instance | BindingFlags.Public | BindingFlags.NonPublic | BindingFlags.DeclaredOnly;

        private static readonly Gate gate = new Gate();
        private static readonly Dictionary<Type, CapturedType> types = new Dictionary<Type, CapturedType>();
        private static readonly Dictionary<Type, int> typeNumbers = new Dictionary<Type, int>();
        private static readonly Dictionary<Type, int> spanNumbers = new Dictionary<Type, int>();
        private static readonly Dictionary<Type, int> readOnlySpanNumbers = new Dictionary<Type, int>();
        private static readonly Dictionary<long, int> signatures = new Dictionary<long, int>();
        /// <summary>By the module's key; null if no mark has them.</summary>
        private static readonly Dictionary<long, MethodDescriptions> descriptions = new Dictionary<long, MethodDescriptions>();

        /// <summary>The number of a method's description, which is made if need be; 0 if there is no room, or no mark has it.</summary>
        public static int Signature(long methodId)
        {
            CallTree* tree;
            bool was = CallTrees.SwitchOff(out tree);
            try
            {
                MethodDescriptions descriptions = OfModule(MethodIds.ModuleKey(methodId));
                using (gate.Enter())
                {
                    int number;
                    if (!signatures.TryGetValue(methodId, out number))
                    {
                        number = descriptions == null ? 0 : Describe(methodId, descriptions);
                        signatures[methodId] = number;
                    }
                    return number;
                }
            }
            catch (Exception)
            {
                return 0;
            }
            finally
            {
                CallTrees.SwitchOn(tree, was);
            }
        }

        /// <summary>The program's code may run while assemblies are looked through: no gate is held then.</summary>
        private static MethodDescriptions OfModule(long key)
        {
            MethodDescriptions found;
            using (gate.Enter())
            {
                if (descriptions.TryGetValue(key, out found))
                {
                    return found;
                }
            }
            found = MethodDescriptions.OfModule(key);
            using (gate.Enter())
            {
                descriptions[key] = found;
            }
            return found;
        }

        private static int Describe(long methodId, MethodDescriptions descriptions)
        {
            int row = MethodIds.Row(methodId);
            Description record = new Description(DescriptionKind.Signature);
            record.PutInt64(methodId);
            record.PutInt32(MethodDefTable | row);
            return descriptions.Copy(row, record) ? record.Append() : 0;
        }

        /// <summary>How objects of a type are written. Probes are off.</summary>
        public static CapturedType Of(Type type)
        {
            using (gate.Enter())
            {
                CapturedType known;
                if (!types.TryGetValue(type, out known))
                {
                    known = Find(type);
                    types[type] = known;
                }
                return known;
            }
        }

        private static CapturedType Find(Type type)
        {
            CapturedType found = new CapturedType();
            found.Element = CapturedValues.ElementOf(type);
            if ((object)type == typeof(string))
            {
                found.Kind = CapturedType.Text;
                return found;
            }
            if (found.Element != 0)
            {
                found.Kind = CapturedType.Plain;
                return found;
            }
            if (type.IsEnum)
            {
                found.Kind = CapturedType.Enum;
                found.Element = CapturedValues.ElementOf(Enum.GetUnderlyingType(type));
                found.Number = DescribeEnum(type);
                return found;
            }
            // The program's own types of types have its code.
            if ((object)type == typeof(object).GetType())
            {
                found.Kind = CapturedType.TypeItself;
                return found;
            }
            found.Type = type;
            found.Kind = type.IsArray ? CapturedType.Array : type.IsValueType ? CapturedType.Value : CapturedType.Object;
            found.HasPointers = type.IsArray && type.GetElementType().IsPointer;
            if (!type.IsArray)
            {
                found.Fields = TryFields(type);
            }
            Description record = Begin(type, TypeShape.Fields);
            int count = found.Fields == null ? 0 : found.Fields.Length;
            record.PutInt32(count);
            found.Deeper = new int[count];
            for (int i = 0; i < count; i++)
            {
                string name = NameOf(found.Fields[i]);
                found.Deeper[i] = LevelsDeeper(type, name);
                record.PutText(name);
            }
            found.Number = record.Append();
            return found;
        }

        private static int LevelsDeeper(Type type, string field)
        {
            switch (NameWriter.FullName(type))
            {
                case "System.Collections.Generic.List`1":
                    return field == "_items" ? 1 : 0;
                case "System.Collections.Generic.Dictionary`2":
                    return field == "_entries" || field == "entries" ? 2 : 0;
                case "System.Numerics.BigInteger":
                    return field == "_bits" ? 1 : 0;
                default:
                    return 0;
            }
        }

        /// <summary>The number of a type's description, which has no fields.</summary>
        public static int TypeNumber(Type type)
        {
            using (gate.Enter())
            {
                int number;
                if (!typeNumbers.TryGetValue(type, out number))
                {
                    Description record = Begin(type, TypeShape.Fields);
                    record.PutInt32(0);
                    number = record.Append();
                    typeNumbers[type] = number;
                }
                return number;
            }
        }

        /// <summary>The number of a span's description, by the type of its elements.</summary>
        public static int SpanNumber(Type element, bool isReadOnly)
        {
            Dictionary<Type, int> numbers = isReadOnly ? readOnlySpanNumbers : spanNumbers;
            using (gate.Enter())
            {
                int number;
                if (!numbers.TryGetValue(element, out number))
                {
                    Description record = new Description(DescriptionKind.Type);
                    record.PutByte(TypeShape.Fields);
                    record.PutText((isReadOnly ? "System.ReadOnlySpan<" : "System.Span<") + TryNameOf(element) + ">");
                    record.PutInt32(2);
                    record.PutText("_length");
                    record.PutText("elements");
                    number = record.Append();
                    numbers[element] = number;
                }
                return number;
            }
        }

        /// <summary>The number of a description whose one field is ToString.</summary>
        public static int TextNumber(CapturedType type)
        {
            using (gate.Enter())
            {
                if (type.TextNumber == 0)
                {
                    Description record = Begin(type.Type, TypeShape.Fields);
                    record.PutInt32(1);
                    record.PutText("ToString()");
                    type.TextNumber = record.Append();
                }
                return type.TextNumber;
            }
        }

        private static Description Begin(Type type, byte shape)
        {
            Description record = new Description(DescriptionKind.Type);
            record.PutByte(shape);
            record.PutText(TryNameOf(type));
            return record;
        }

        private static string TryNameOf(Type type)
        {
            try
            {
                return TypeNames.Of(type);
            }
            catch (Exception)
            {
                // The program was published without what tells it.
                return "?";
            }
        }

        private static int DescribeEnum(Type type)
        {
            List<string> names = new List<string>();
            List<long> values = new List<long>();
            bool isFlags = false;
            try
            {
                isFlags = AddMembers(type, names, values);
            }
            catch (Exception)
            {
                // Its values are shown as numbers.
            }
            Description record = Begin(type, isFlags ? TypeShape.Flags : TypeShape.Enum);
            record.PutInt32(names.Count);
            for (int i = 0; i < names.Count; i++)
            {
                record.PutInt64(values[i]);
                record.PutText(names[i]);
            }
            return record.Append();
        }

        /// <summary>By itself, as all that may have been trimmed away: it is missed where it is compiled.</summary>
        [MethodImpl(MethodImplOptions.NoInlining)]
        private static bool AddMembers(Type type, List<string> names, List<long> values)
        {
            string[] all = Enum.GetNames(type);
            Array numbers = Enum.GetValues(type);
            int size = 0;
            for (int i = 0; i < all.Length && size < MaxRecord; i++)
            {
                names.Add(all[i]);
                values.Add(Number(numbers.GetValue(i), CapturedValues.ElementOf(Enum.GetUnderlyingType(type))));
                size += 12 + Utf8.Length(all[i]);
            }
            return type.IsDefined(typeof(FlagsAttribute), false);
        }

        private static long Number(object value, byte element)
        {
            switch (element)
            {
                case ValueKind.Boolean:
                    return (bool)value ? 1 : 0;
                case ValueKind.Char:
                    return (char)value;
                case ValueKind.SByte:
                    return (sbyte)value;
                case ValueKind.Byte:
                    return (byte)value;
                case ValueKind.Int16:
                    return (short)value;
                case ValueKind.UInt16:
                    return (ushort)value;
                case ValueKind.Int32:
                    return (int)value;
                case ValueKind.UInt32:
                    return (uint)value;
                case ValueKind.Int64:
                    return (long)value;
                default:
                    return (long)(ulong)value;
            }
        }

        private static FieldInfo[] TryFields(Type type)
        {
            try
            {
                return FieldsOf(type);
            }
            catch (Exception)
            {
                return null;
            }
        }

        /// <summary>An object's fields, those of its base classes behind its own.</summary>
        [MethodImpl(MethodImplOptions.NoInlining)]
        [UnconditionalSuppressMessage("Trimming", "IL2070")]
        private static FieldInfo[] FieldsOf(Type type)
        {
            List<FieldInfo> fields = new List<FieldInfo>();
            for (Type of = type; of != null && fields.Count < MaxFields; of = of.BaseType)
            {
                foreach (FieldInfo field in of.GetFields(OwnFields))
                {
                    if (fields.Count < MaxFields)
                    {
                        fields.Add(field);
                    }
                }
            }
            return fields.ToArray();
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static string NameOf(FieldInfo field)
        {
            return field.Name;
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        public static object FieldOf(object value, FieldInfo field)
        {
            return field.GetValue(value);
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        public static long AddressOf(object pointer)
        {
            return (long)Pointer.Unbox(pointer);
        }
    }

    /// <summary>A record of a description.</summary>
    internal unsafe sealed class Description
    {
        
        private readonly byte kind;
        private byte[] bytes = new byte[256];
        private int size = CallLayout.DescriptionHeader;

        public Description(byte kind)
        {
            this.kind = kind;
        }

        public void PutByte(byte value)
        {
            Reserve(1);
            bytes[size++] = value;
        }

        public void PutInt32(int value)
        {
            for (int i = 0; i < 4; i++)
            {
                PutByte((byte)(value >> (8 * i)));
            }
        }

        public void PutInt64(long value)
        {
            PutInt32((int)value);
            PutInt32((int)(value >> 32));
        }

        public void PutText(string text)
        {
            int length = Utf8.Put(null, text, NameLayout.MaxString);
            PutInt32(length);
            Reserve(length);
            if (length > 0)
            {
                fixed (byte* to = &bytes[size])
                {
                    Utf8.Put(to, text, length);
                }
            }
            size += length;
        }

        private void Reserve(int more)
        {
            if (size + more > bytes.Length)
            {
                byte[] larger = new byte[2 * (size + more)];
                for (int i = 0; i < size; i++)
                {
                    larger[i] = bytes[i];
                }
                bytes = larger;
            }
        }

        /// <summary>Writes it into the profile.</summary>
        /// <returns>The number by which calls refer to it; 0 if there is no room.</returns>
        public int Append()
        {
            int number = 0;
            // In a finally block, which Thread.Abort does not interrupt.
            try
            {
            }
            finally
            {
                Control* control = Control.OfProcess();
                if (size <= HeaderLayout.Block - ChunkLayout.Header && Control.Enter(control))
                {
                    ChunkHeader* chunk = (ChunkHeader*)control->Descriptions;
                    if (chunk == null || Arena.Used(chunk) + size > HeaderLayout.Block)
                    {
                        chunk = (ChunkHeader*)Arena.TakeLocked(control, ChunkKind.Descriptions, 1);
                        control->Descriptions = chunk != null ? (long)chunk : control->Descriptions;
                    }
                    if (chunk != null)
                    {
                        number = ++control->Described;
                        Write((byte*)chunk + Math.Min(Arena.Used(chunk), HeaderLayout.Block - size), number);
                        Thread.MemoryBarrier();
                        chunk->Used += size;
                    }
                    Control.Exit(control);
                }
            }
            return number;
        }

        private void Write(byte* to, int number)
        {
            for (int i = CallLayout.DescriptionHeader; i < size; i++)
            {
                to[i] = bytes[i];
            }
            *(int*)to = kind;
            *(int*)(to + 4) = size;
            *(int*)(to + 8) = number;
        }
    }

    /// <summary>Types as C# writes them.</summary>
    internal static class TypeNames
    {
        [MethodImpl(MethodImplOptions.NoInlining)]
        public static string Of(Type type)
        {
            if (type.IsArray)
            {
                string dimensions = "";
                // The outermost come first.
                for (; type.IsArray; type = type.GetElementType())
                {
                    dimensions += "[" + new string(',', type.GetArrayRank() - 1) + "]";
                }
                return Of(type) + dimensions;
            }
            if (type.IsPointer)
            {
                return Of(type.GetElementType()) + "*";
            }
            string keyword = Keyword(type);
            return keyword != null ? keyword : type.IsGenericType ? OfGeneric(type) : Plain(type.FullName);
        }

        private static string OfGeneric(Type type)
        {
            Type[] arguments = type.GetGenericArguments();
            Type definition = type.GetGenericTypeDefinition();
            if ((object)definition == typeof(Nullable<>))
            {
                return Of(arguments[0]) + "?";
            }
            string text = "";
            int next = 0;
            foreach (string level in definition.FullName.Split('+'))
            {
                int mark = level.IndexOf('`');
                text += (text.Length > 0 ? "." : "") + (mark < 0 ? level : level.Substring(0, mark));
                int end = next + (mark < 0 ? 0 : Digits(level, mark + 1));
                for (int i = next; i < end && i < arguments.Length; i++)
                {
                    text += (i == next ? "<" : ", ") + Of(arguments[i]);
                }
                text += end > next ? ">" : "";
                next = end;
            }
            return text;
        }

        private static int Digits(string text, int from)
        {
            int number = 0;
            for (int i = from; i < text.Length && text[i] >= '0' && text[i] <= '9'; i++)
            {
                number = 10 * number + (text[i] - '0');
            }
            return number;
        }

        private static string Plain(string name)
        {
            return name == null ? "?" : name.Replace('+', '.');
        }

        private static string Keyword(Type type)
        {
            object of = type;
            return of == typeof(object) ? "object"
                : of == typeof(string) ? "string"
                : of == typeof(int) ? "int"
                : of == typeof(long) ? "long"
                : of == typeof(bool) ? "bool"
                : of == typeof(double) ? "double"
                : of == typeof(float) ? "float"
                : of == typeof(char) ? "char"
                : of == typeof(byte) ? "byte"
                : of == typeof(sbyte) ? "sbyte"
                : of == typeof(short) ? "short"
                : of == typeof(ushort) ? "ushort"
                : of == typeof(uint) ? "uint"
                : of == typeof(ulong) ? "ulong"
                : of == typeof(void) ? "void"
                : null;
        }
    }
}
