namespace Checks;

public static class Sums
{
    public static int To(int count)
    {
        int sum = 0;
        for (int i = 1; i <= count; i++) sum += i;
        return sum;
    }
}
