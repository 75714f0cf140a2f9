using System;
using System.Diagnostics;
using System.Reflection;
using System.Threading.Tasks;

[assembly: AssemblyTitle("Ilinst.Activity")]
[assembly: AssemblyVersion("1.0.0.0")]

namespace Ilinst
{
    /// <summary>
    /// The preset <c>activity</c>: each call is a span of the ActivitySource "Ilinst", which OpenTelemetry and any other
    /// ActivityListener hears. The span of a method that returns a task ends with the task. Without a listener there is none.
    /// </summary>
    public static class ActivityHooks
    {
        private static readonly ActivitySource s_source = new ActivitySource("Ilinst", "1.0.0");
        private static readonly Action<Task, object> s_end = End;

        /// <summary>A method is called.</summary>
        public static Activity Enter(string fullName)
        {
            return s_source.HasListeners() ? s_source.StartActivity(fullName) : null;
        }

        /// <summary>It returns, or is left by an exception.</summary>
        public static void Leave(Activity activity, object returnValue)
        {
            if (activity == null)
            {
                return;
            }
            Task task = returnValue as Task;
            if (task == null || task.IsCompleted)
            {
                End(task, activity);
                return;
            }
            // The caller goes on, and is in its own span.
            Activity.Current = activity.Parent;
            task.ContinueWith(s_end, activity, TaskContinuationOptions.ExecuteSynchronously);
        }

        private static void End(Task task, object activity)
        {
            Activity span = (Activity)activity;
            if (task != null && task.IsFaulted)
            {
                span.SetStatus(ActivityStatusCode.Error, task.Exception.InnerException.GetType().FullName);
            }
            span.Stop();
        }
    }
}
