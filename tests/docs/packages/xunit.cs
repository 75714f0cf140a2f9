using System;

namespace Xunit
{
    /// <summary>Stands for xunit, which is on no feed here: what the guides' tests need of it.</summary>
    [AttributeUsage(AttributeTargets.Method)]
    public sealed class FactAttribute : Attribute
    {
    }

    public static class Assert
    {
        public static void Equal(decimal expected, decimal actual)
        {
            if (expected != actual)
            {
                throw new Exception("expected " + expected + ", actual " + actual);
            }
        }
    }
}
