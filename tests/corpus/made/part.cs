// A module of an assembly of several.
public static class Part
{
    public static string Name(int number) { return "part " + Twice(number); }
    static int Twice(int number) { return number * 2; }
}
