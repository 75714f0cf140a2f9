using System;
using System.Reflection;
using System.Runtime.CompilerServices;

namespace Ilinst
{
    /// <summary>Delegates of types, or for methods, that are known by reflection alone.</summary>
    internal static class Delegates
    {
        /// <param name="target">Null for a static method.</param>
        public static Delegate Of(Type type, object target, MethodInfo method)
        {
            try
            {
                return OfOld(type, target, method);
            }
            catch (MissingMethodException)
            {
                // .NET has it since 4.5; a trimmed program may have no other.
                MethodInfo make = typeof(MethodInfo).GetMethod("CreateDelegate", new Type[] { typeof(Type), typeof(object) });
                return (Delegate)make.Invoke(method, new object[] { type, target });
            }
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static Delegate OfOld(Type type, object target, MethodInfo method)
        {
            return Delegate.CreateDelegate(type, target, method);
        }
    }
}
