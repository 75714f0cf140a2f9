// An assembly without one, which refers to the one that has it.
public static class Plain
{
    public static int Sum(int[] numbers)
    {
        int sum = 0;
        foreach (int number in numbers) sum += Signed.Square(number);
        return sum;
    }
}
