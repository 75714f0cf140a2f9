using System;
using System.Collections.Generic;
using System.Diagnostics.CodeAnalysis;
using System.Reflection;
using System.Runtime.CompilerServices;
using System.Threading;

namespace Ilinst
{
    /// <summary>
    /// How the tracker hears of the end: of the process, of its AppDomain, of the load contexts in it. What it holds on to must
    /// be given back when its own context ends, or that would never be collected.
    /// </summary>
    internal static class Lifetime
    {
        private const BindingFlags Static = BindingFlags.Static | BindingFlags.Public;

        private static readonly Gate gate = new Gate();
        private static readonly List<ThreadStart> undos = new List<ThreadStart>();
        private static readonly List<WeakReference> contexts = new List<WeakReference>();
        private static Type contextType;
        private static Delegate onUnloading;

        /// <summary>Whether this tracker lives in a context that can be collected, which only it may keep.</summary>
        private static bool isCollectible;

        /// <summary>Called once, at the first probe.</summary>
        public static void Start()
        {
            AppDomain domain = AppDomain.CurrentDomain;
            UnhandledExceptionEventHandler onUnhandled = delegate(object sender, UnhandledExceptionEventArgs e)
            {
                ProfileFile.End(HeaderFlags.UnhandledException);
                MonoConsole.ReportAsIfUnhandled(domain, e);
            };
            EventHandler onEnd = delegate { ProfileFile.End(HeaderFlags.CleanExit); };
            EventHandler onUnload = delegate { ProfileFile.End(0); };
            domain.UnhandledException += onUnhandled;
            domain.ProcessExit += onEnd;
            domain.DomainUnload += onUnload;
            OnEnd(delegate
            {
                domain.UnhandledException -= onUnhandled;
                domain.ProcessExit -= onEnd;
                domain.DomainUnload -= onUnload;
            });
            if (ThisProcess.IsCore)
            {
                try
                {
                    WatchContexts(domain);
                }
                catch (Exception)
                {
                    // Names of what is unloaded may be missing, then.
                }
            }
        }

        /// <summary>Has something done when this tracker's context is unloaded: it is to be held by nobody then.</summary>
        public static void OnEnd(ThreadStart undo)
        {
            using (gate.Enter())
            {
                undos.Add(undo);
            }
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        [UnconditionalSuppressMessage("Trimming", "IL2026")]
        [UnconditionalSuppressMessage("Trimming", "IL2080")]
        private static void WatchContexts(AppDomain domain)
        {
            contextType = typeof(object).Assembly.GetType("System.Runtime.Loader.AssemblyLoadContext");
            EventInfo unloading = contextType == null ? null : contextType.GetEvent("Unloading");
            if (unloading == null || contextType.GetProperty("IsCollectible") == null)
            {
                return;
            }
            MethodInfo handler = typeof(Lifetime).GetMethod("OnUnloading", BindingFlags.Static | BindingFlags.NonPublic);
            onUnloading = Delegates.Of(unloading.EventHandlerType, null, handler);
            isCollectible = Watch(typeof(Lifetime).Assembly);
            if (isCollectible)
            {
                return;
            }
            AssemblyLoadEventHandler onLoad = delegate(object sender, AssemblyLoadEventArgs e)
            {
                try
                {
                    Watch(LoadedBy(e));
                }
                catch (Exception)
                {
                    // As above.
                }
            };
            domain.AssemblyLoad += onLoad;
            OnEnd(delegate { domain.AssemblyLoad -= onLoad; });
            foreach (Assembly assembly in domain.GetAssemblies())
            {
                Watch(assembly);
            }
        }

        /// <summary>A trimmed program may lack the property: this method fails then, and not its caller.</summary>
        [MethodImpl(MethodImplOptions.NoInlining)]
        private static Assembly LoadedBy(AssemblyLoadEventArgs e)
        {
            return e.LoadedAssembly;
        }

        /// <summary>Hears when the context of an assembly is unloaded, if it can be collected.</summary>
        [UnconditionalSuppressMessage("Trimming", "IL2080")]
        private static bool Watch(Assembly assembly)
        {
            object context = contextType.GetMethod("GetLoadContext", Static).Invoke(null, new object[] { assembly });
            if (context == null || !(bool)contextType.GetProperty("IsCollectible").GetValue(context, null))
            {
                return false;
            }
            using (gate.Enter())
            {
                foreach (WeakReference known in contexts)
                {
                    if (known.Target == context)
                    {
                        return true;
                    }
                }
                contexts.RemoveAll(IsGone);
                contexts.Add(new WeakReference(context));
            }
            contextType.GetEvent("Unloading").AddEventHandler(context, onUnloading);
            return true;
        }

        private static bool IsGone(WeakReference reference)
        {
            return reference.Target == null;
        }

        private static void OnUnloading(object context)
        {
            if (!isCollectible)
            {
                // The names of what it holds, while they can be had.
                ProfileFile.UpdateNames();
                return;
            }
            ProfileFile.End(0);
            using (gate.Enter())
            {
                foreach (ThreadStart undo in undos)
                {
                    try
                    {
                        undo();
                    }
                    catch (Exception)
                    {
                        // The others all the same.
                    }
                }
                undos.Clear();
            }
        }
    }
}
