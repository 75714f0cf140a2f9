using System;

public static class Hooks
{
    public static void Enter(string fullName, object instance)
    {
        Tell("enter", fullName, instance);
    }

    public static void Leave(string fullName, object instance)
    {
        Tell("leave", fullName, instance);
    }

    public static void Handle(string fullName, object instance, Exception exception)
    {
        Tell("handle", fullName, instance);
    }

    static void Tell(string what, string fullName, object instance)
    {
        Console.WriteLine(what + " " + fullName + " " + (instance ?? "null"));
    }
}
