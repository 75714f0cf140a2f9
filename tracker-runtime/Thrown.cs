using System;
using System.Collections.Generic;
using System.Diagnostics.CodeAnalysis;
using System.Reflection;
using System.Runtime.CompilerServices;

namespace Ilinst
{
    /// <summary>Notes where exceptions are thrown, and of which type: AppDomain.FirstChanceException, where the runtime has it.</summary>
    internal static unsafe class Thrown
    {
        /// <summary>More types than that are not told apart.</summary>
        private const int MaxTypes = 1000;

        private static readonly Gate gate = new Gate();
        private static readonly Dictionary<string, int> numbers = new Dictionary<string, int>();
        private static MethodInfo exceptionOf;

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
                MethodInfo note = typeof(Thrown).GetMethod("Note", BindingFlags.NonPublic | BindingFlags.Static);
                object[] handler = new object[] { Delegates.Of(handlerType, null, note) };
                AppDomain domain = AppDomain.CurrentDomain;
                add.Invoke(domain, handler);
                Lifetime.OnEnd(delegate { remove.Invoke(domain, handler); });
            }
        }

        /// <summary>A handler begins: what the exception has passed was left by it.</summary>
        public static void Catch(IntPtr token, long now)
        {
            CallTree* tree = CallTrees.OfOpenCalls;
            if (tree == null)
            {
                return;
            }
            CallNode* node = (CallNode*)tree->Throwing;
            tree->Throwing = 0;
            OpenCalls.Handle(token, now, node == null);
            CallNode* catcher = (CallNode*)tree->Current;
            CallNode* up = node;
            while (up != null && up != catcher)
            {
                up = (CallNode*)up->Caller;
            }
            for (; up != null && node != catcher; node = (CallNode*)node->Caller)
            {
                node->Exceptions++;
                node->ExceptionType = (int)tree->ThrowingType;
            }
        }

        private static void Note(object sender, EventArgs e)
        {
            CallTree* tree = CallTrees.OfOpenCalls;
            if (tree == null || tree->Current == tree->Root)
            {
                return;
            }
            tree->Throwing = tree->Current;
            tree->ThrowingType = 0;
            CallTrees.WithoutProbes(delegate
            {
                try
                {
                    tree->ThrowingType = Number(TypeOf(e));
                }
                catch (Exception)
                {
                    // Its type is not seen.
                }
            });
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
                    NameRecords.Append(NameRecords.ExceptionType, number, 4, null, type);
                }
                return number;
            }
        }
    }
}
