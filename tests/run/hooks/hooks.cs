using System;
using System.Text;

/// <summary>Lines of hooks begin with #, so that they can be told from the program's own.</summary>
public static class Said
{
    public static void Line(params object[] words)
    {
        StringBuilder text = new StringBuilder("#");
        foreach (object word in words)
        {
            text.Append(' ').Append(Text(word));
        }
        Console.WriteLine(text.ToString());
    }

    private static string Text(object word)
    {
        object[] several = word as object[];
        if (several != null)
        {
            return "(" + string.Join(", ", Array.ConvertAll(several, Text)) + ")";
        }
        bool isShown = word == null || word is string || word is int || word is long || word is decimal || word.GetType().IsEnum;
        // Runtimes derive their own from it.
        bool isTask = word is System.Threading.Tasks.Task;
        return isShown ? (word ?? "null").ToString() : isTask ? "a Task" : "a " + word.GetType().Name;
    }
}

public static class ProfileInfoTracker
{
    private static int s_open;

    public static void WhenEnteringMethod()
    {
        Said.Line("enter", ++s_open);
    }

    public static void WhenLeavingMethod()
    {
        Said.Line("leave", --s_open);
    }
}

namespace Shapes
{
    public static class Id
    {
        public static long Enter(ulong id)
        {
            return (long)(id & 0xFFFFFF);
        }

        public static void Leave(long entered)
        {
            Said.Line("left", entered);
        }
    }

    public static class Names
    {
        public static void Enter(string fullName, RuntimeMethodHandle method)
        {
            Said.Line(fullName, method.Value != IntPtr.Zero);
        }
    }

    public static class Arguments
    {
        public static void Enter(object instance, object[] arguments)
        {
            Said.Line(instance, arguments);
        }

        public static void Leave(object instance, object[] arguments, string fullName)
        {
            Said.Line(fullName, instance, arguments);
        }
    }

    public static class ByName
    {
        public static void Enter(int arg_x, object arg_held, string arg_text, double arg_amount)
        {
            Said.Line(arg_x, arg_held, arg_text, (int)arg_amount);
        }
    }

    public struct Span
    {
        public string Name;
        public object Instance;
        public long Number;

        public class Kept
        {
            public string Name;
        }
    }

    public static class Struct
    {
        private static long s_number;

        public static Span Enter(string fullName, object instance)
        {
            return new Span { Name = fullName, Instance = instance, Number = ++s_number };
        }

        public static void Leave(Span span, object returnValue)
        {
            Said.Line(span.Number, span.Name, span.Instance, "returns", returnValue);
        }
    }

    public static class Class
    {
        public static Span.Kept Enter(string fullName)
        {
            return new Span.Kept { Name = fullName };
        }

        public static void Leave(Span.Kept kept)
        {
            Said.Line(kept.Name);
        }

        public static void Handle(Span.Kept kept, Exception exception, object instance)
        {
            Said.Line(kept.Name, "caught", exception.GetType().Name, instance);
        }
    }

    public static class Any
    {
        public static void Leave<T>(T returnValue, string fullName)
        {
            Said.Line(fullName, returnValue, typeof(T).Name);
        }
    }

    public static class Changed
    {
        public static void Leave<T>(ref T returnValue, object arg_x)
        {
            if (typeof(T) == typeof(int))
            {
                returnValue = (T)(object)((int)(object)returnValue + 1000);
            }
        }

        public static void Handle(object exception)
        {
            Said.Line("caught", exception.GetType().Name);
        }
    }

    public static class Wrong
    {
        public static void Unknown(string name)
        {
        }

        public static int Returns()
        {
            return 0;
        }

        public static void Generic<T, U>(ref T returnValue)
        {
        }

        public static void Late(object returnValue)
        {
        }

        public static void Twice()
        {
        }

        public static void Twice(ulong id)
        {
        }

        internal static void Hidden()
        {
        }

        public static void Varying(__arglist)
        {
        }
    }

    public class Of<T>
    {
        public static void Enter()
        {
        }
    }
}
