using System;
using System.Diagnostics.CodeAnalysis;
using System.Reflection;
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

        private static readonly Gate gate = new Gate();
        private static Getter getter;
        private static Setter setter;
        /// <summary>Of another such value, which tells when it changes.</summary>
        private static Getter watched;
        private static Setter watch;
        private static bool isWatched;

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

        /// <summary>
        /// Has a value flow that tells <see cref="RuntimeAsync"/> of each change: programs whose methods the runtime does not suspend
        /// have none, as changes cost more then.
        /// </summary>
        public static void Watch(object value)
        {
            if (!isWatched)
            {
                using (gate.Enter())
                {
                    try
                    {
                        if (!isWatched)
                        {
                            BindWatch();
                        }
                    }
                    catch (Exception)
                    {
                        Log.Write("methods that the runtime suspends are not seen to be");
                    }
                    isWatched = true;
                }
            }
            if (watch != null)
            {
                watch(value);
            }
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        [UnconditionalSuppressMessage("Trimming", "IL2060")]
        private static void BindWatch()
        {
            Type open = Type.GetType("System.Threading.AsyncLocal`1");
            Type openChange = Type.GetType("System.Threading.AsyncLocalValueChangedArgs`1");
            if (open != null && openChange != null)
            {
                Type type = open.MakeGenericType(typeof(object));
                Type change = openChange.MakeGenericType(typeof(object));
                MethodInfo changed = typeof(Flow).GetMethod("Changed", BindingFlags.NonPublic | BindingFlags.Static);
                Type handler = typeof(Action<>).MakeGenericType(change);
                Delegate onChange = Delegates.Of(handler, null, changed.MakeGenericMethod(change));
                object local = Activator.CreateInstance(type, new object[] { onChange });
                watched = (Getter)Delegates.Of(typeof(Getter), local, type.GetMethod("get_Value"));
                watch = (Setter)Delegates.Of(typeof(Setter), local, type.GetMethod("set_Value"));
            }
        }

        private static void Changed<T>(T change)
        {
            RuntimeAsync.OnFlow(watched());
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
