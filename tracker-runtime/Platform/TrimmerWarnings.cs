using System;

namespace System.Diagnostics.CodeAnalysis
{
    /// <summary>
    /// The trimmer and the native compiler know it by its name, and warn of nothing that it names. The tracker does without whatever
    /// they take away, so nobody has to act on such a warning.
    /// </summary>
    [AttributeUsage(AttributeTargets.Method, AllowMultiple = true)]
    internal sealed class UnconditionalSuppressMessageAttribute : Attribute
    {
        public UnconditionalSuppressMessageAttribute(string category, string checkId)
        {
        }
    }
}
