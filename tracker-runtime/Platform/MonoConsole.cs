using System;
using System.IO;
using System.Reflection;
using System.Runtime.CompilerServices;
using System.Text;

namespace Ilinst
{
    /// <summary>
    /// Mono prints an exception that ends the program only if nobody handles AppDomain.UnhandledException. We do, and
    /// the program must print what it would print without us.
    /// </summary>
    internal static class MonoConsole
    {
        public static void ReportAsIfUnhandled(AppDomain domain, UnhandledExceptionEventArgs e)
        {
            try
            {
                if (ThisProcess.IsMono && IsOnlyHandler(domain))
                {
                    Report(e);
                }
            }
            catch (Exception)
            {
                // Less is printed then; the program ends as it would.
            }
        }

        /// <summary>By itself: what it refers to is looked for where it is compiled, and .NET Core's programs may lack it.</summary>
        [MethodImpl(MethodImplOptions.NoInlining)]
        private static void Report(UnhandledExceptionEventArgs e)
        {
            // Like Mono itself, past whatever the program has made of Console.Error.
            byte[] text = Encoding.UTF8.GetBytes("\nUnhandled Exception:\n" + e.ExceptionObject + "\n");
            using (Stream errors = Console.OpenStandardError())
            {
                errors.Write(text, 0, text.Length);
            }
        }

        /// <summary>Whether the program itself has no handler: if it has, Mono prints nothing either.</summary>
        private static bool IsOnlyHandler(AppDomain domain)
        {
            FieldInfo field = typeof(AppDomain).GetField("UnhandledException", BindingFlags.Instance | BindingFlags.NonPublic);
            Delegate handlers = field == null ? null : (Delegate)field.GetValue(domain);
            return handlers != null && handlers.GetInvocationList().Length == 1;
        }
    }
}
