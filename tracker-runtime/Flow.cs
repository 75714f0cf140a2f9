using System;
using System.Runtime.CompilerServices;

namespace Ilinst
{
    /// <summary>
    /// A value that flows with the ExecutionContext: an AsyncLocal of object, found by reflection as .NET Framework has it only
    /// since 4.6. Where there is none, nothing flows.
    /// </summary>
    internal static class Flow
    {
        private delegate object Getter();
        private delegate void Setter(object value);

        private static Getter getter;
        private static Setter setter;

        public static void Start()
        {
            try
            {
                Bind();
            }
            catch (Exception)
            {
                Log.Write("nothing flows with the program's async calls");
            }
        }

        /// <summary>By itself: what of it is trimmed away is missed where it is compiled.</summary>
        [MethodImpl(MethodImplOptions.NoInlining)]
        private static void Bind()
        {
            Type open = Type.GetType("System.Threading.AsyncLocal`1");
            if (open != null)
            {
                Type type = open.MakeGenericType(typeof(object));
                object local = Activator.CreateInstance(type);
                setter = (Setter)Delegates.Of(typeof(Setter), local, type.GetMethod("set_Value"));
                getter = (Getter)Delegates.Of(typeof(Getter), local, type.GetMethod("get_Value"));
            }
        }

        public static object Get()
        {
            return getter == null ? null : getter();
        }

        public static void Set(object value)
        {
            if (getter != null)
            {
                setter(value);
            }
        }
    }
}
