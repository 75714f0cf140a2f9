// The assembly with the strong name.
public static class Signed
{
    public static int Square(int number) { return number * number; }
}
