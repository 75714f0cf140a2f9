using System;

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
                Type open = Type.GetType("System.Threading.AsyncLocal`1");
                if (open == null)
                {
                    return;
                }
                Type type = open.MakeGenericType(typeof(object));
                object local = Activator.CreateInstance(type);
                setter = (Setter)Delegate.CreateDelegate(typeof(Setter), local, type.GetMethod("set_Value"));
                getter = (Getter)Delegate.CreateDelegate(typeof(Getter), local, type.GetMethod("get_Value"));
            }
            catch (Exception)
            {
                // Trimmed away.
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
