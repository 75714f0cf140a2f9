using System;
using System.Collections.Generic;
using System.Diagnostics.CodeAnalysis;
using System.Reflection;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Ilinst
{
    /// <summary>
    /// The calls that exceptions end, and the types of these. AppDomain.FirstChanceException tells where an exception is thrown,
    /// Marshal.GetExceptionPointers whether a call is left because of it: code that has no probes may have caught it.
    /// A finally block may throw and catch others meanwhile, so several are in flight, the latest last.
    /// </summary>
    internal static unsafe class Thrown
    {
        private delegate IntPtr Asker();

        /// <summary>More types than that are not told apart.</summary>
        private const int MaxTypes = 1000;

        private static readonly Gate gate = new Gate();
        private static readonly Dictionary<string, int> numbers = new Dictionary<string, int>();
        private static MethodInfo exceptionOf;
        /// <summary>Gives the same number while an exception is in flight, and another for each of those that are at a time.</summary>
        private static Asker ask;

        public static void Start()
        {
            try
            {
                Bind();
            }
            catch (Exception)
            {
                Log.Write("exceptions are seen only by the calls that they skip");
            }
            try
            {
                BindAsker();
            }
            catch (Exception)
            {
                // They are seen where they are caught, if code with probes does that.
            }
        }

        /// <summary>By itself: what of it is trimmed away is missed where it is compiled.</summary>
        [MethodImpl(MethodImplOptions.NoInlining)]
        [UnconditionalSuppressMessage("Trimming", "IL2065")]
        private static void Bind()
        {
            // Not the event itself: a trimmed program may have but its methods.
            MethodInfo add = typeof(AppDomain).GetMethod("add_FirstChanceException");
            MethodInfo remove = typeof(AppDomain).GetMethod("remove_FirstChanceException");
            if (add != null && remove != null)
            {
                Type handlerType = add.GetParameters()[0].ParameterType;
                exceptionOf = handlerType.GetGenericArguments()[0].GetMethod("get_Exception");
                MethodInfo note = typeof(Thrown).GetMethod("OnThrown", BindingFlags.NonPublic | BindingFlags.Static);
                object[] handler = new object[] { Delegates.Of(handlerType, null, note) };
                AppDomain domain = AppDomain.CurrentDomain;
                add.Invoke(domain, handler);
                Lifetime.OnEnd(delegate { remove.Invoke(domain, handler); });
            }
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static void BindAsker()
        {
            MethodInfo method = typeof(Marshal).GetMethod("GetExceptionPointers");
            if (method != null)
            {
                Asker found = (Asker)Delegates.Of(typeof(Asker), null, method);
                // Mono has the method, which throws.
                found();
                ask = found;
            }
        }

        /// <summary>A handler begins: what the exception has passed was left by it.</summary>
        public static void Catch(IntPtr token, long now)
        {
            CallTree* stopped = Allocations.Stop();
            BeginCatch(token, now);
            Allocations.Continue(stopped);
        }

        private static void BeginCatch(IntPtr token, long now)
        {
            CallTree* tree = CallTrees.OfOpenCalls;
            if (tree == null)
            {
                return;
            }
            TreeMemory* memory = (TreeMemory*)tree->Memory;
            CallNode* thrower = ask == null && memory->ThrownCount > 0 ? (CallNode*)memory->ThrownNode[--memory->ThrownCount] : null;
            OpenCalls.Handle(token, now, thrower == null);
            if (Tokens.IsCall(token))
            {
                RuntimeAsync.Catch(token);
            }
            CallNode* catcher = (CallNode*)tree->Current;
            if (ask != null)
            {
                Take(memory, catcher);
                return;
            }
            CallNode* up = thrower;
            while (up != null && up != catcher)
            {
                up = (CallNode*)up->Caller;
            }
            for (; up != null && thrower != catcher; thrower = (CallNode*)thrower->Caller)
            {
                Count(thrower, memory->ThrownType[memory->ThrownCount]);
            }
        }

        /// <summary>Whether an exception is about to end a node's open call, which is the current one.</summary>
        public static bool IsLeaving(CallTree* tree, CallNode* node)
        {
            TreeMemory* memory = (TreeMemory*)tree->Memory;
            long by = memory->ThrownCount == 0 || ask == null ? 0 : (long)ask();
            for (int i = memory->ThrownCount - 1; by != 0 && i >= 0 && memory->ThrownNode[i] == (long)node; i--)
            {
                if (memory->ThrownBy[i] == by)
                {
                    return true;
                }
            }
            return false;
        }

        /// <summary>A node's call ends: no exception leaves it any more.</summary>
        /// <returns>The argument for <see cref="GoOn"/>, for the exception that ends it; 0 if none does.</returns>
        public static long End(CallTree* tree, CallNode* node)
        {
            TreeMemory* memory = (TreeMemory*)tree->Memory;
            return memory->ThrownCount == 0 || ask == null ? 0 : Take(memory, node);
        }

        /// <summary>An exception has ended a call, and leaves the one that is the current one now.</summary>
        public static void GoOn(CallTree* tree, long by)
        {
            if (tree->Current != tree->Root)
            {
                Push(tree, by, ((TreeMemory*)tree->Memory)->LastThrownType);
            }
        }

        /// <summary>Counts an exception that has ended a call.</summary>
        /// <param name="type">Its type's number; 0 if it is not known.</param>
        public static void Count(CallNode* node, int type)
        {
            node->Exceptions++;
            node->ExceptionType = type != 0 ? type : node->ExceptionType;
        }

        /// <summary>Takes all exceptions away that would leave a node's call next: one is in flight, the others were caught.</summary>
        private static long Take(TreeMemory* memory, CallNode* node)
        {
            long found = 0;
            long by = (long)ask();
            while (memory->ThrownCount > 0 && memory->ThrownNode[memory->ThrownCount - 1] == (long)node)
            {
                int top = --memory->ThrownCount;
                if (by != 0 && memory->ThrownBy[top] == by)
                {
                    found = by;
                    memory->LastThrownType = memory->ThrownType[top];
                }
            }
            return found;
        }

        private static void Push(CallTree* tree, long by, int type)
        {
            TreeMemory* memory = (TreeMemory*)tree->Memory;
            if (memory->ThrownCount == TreeMemory.MostThrown)
            {
                // Code without probes has caught the oldest, most likely.
                memory->ThrownCount--;
                for (int i = 0; i < memory->ThrownCount; i++)
                {
                    memory->ThrownNode[i] = memory->ThrownNode[i + 1];
                    memory->ThrownBy[i] = memory->ThrownBy[i + 1];
                    memory->ThrownType[i] = memory->ThrownType[i + 1];
                }
            }
            int top = memory->ThrownCount++;
            memory->ThrownNode[top] = tree->Current;
            memory->ThrownBy[top] = by;
            memory->ThrownType[top] = type;
            Statistics.LeaveSlowly((CallNode*)tree->Current);
        }

        private static void OnThrown(object sender, EventArgs e)
        {
            CallTree* tree = CallTrees.OfOpenCalls;
            if (tree == null)
            {
                return;
            }
            CallTree* stopped = Allocations.Stop();
            Note(tree, e);
            Allocations.Continue(stopped);
        }

        private static void Note(CallTree* tree, EventArgs e)
        {
            int type = 0;
            long by = 0;
            CallTrees.WithoutProbes(delegate
            {
                try
                {
                    by = ask == null ? 0 : (long)ask();
                    type = Number(TypeOf(e));
                }
                catch (Exception)
                {
                    // Its type is not seen.
                }
            });
            ((TreeMemory*)tree->Memory)->LastThrownType = type;
            if (tree->Current != tree->Root)
            {
                Push(tree, by, type);
            }
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        private static string TypeOf(EventArgs e)
        {
            return exceptionOf.Invoke(e, null).GetType().FullName;
        }

        private static int Number(string type)
        {
            using (gate.Enter())
            {
                int number;
                if (!numbers.TryGetValue(type, out number) && numbers.Count < MaxTypes)
                {
                    number = numbers.Count + 1;
                    numbers[type] = number;
                    NameRecords.Append(NameKind.ExceptionType, number, 4, null, type);
                }
                return number;
            }
        }
    }
}
