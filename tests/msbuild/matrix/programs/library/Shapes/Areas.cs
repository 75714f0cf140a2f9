namespace Shapes;

public static class Areas
{
    public static int Square(int side)
    {
        int area = 0;
        for (int i = 0; i < side; i++) area += Strip(side);
        return area;
    }

    static int Strip(int length)
    {
        int area = 0;
        while (area < length) area++;
        return area;
    }
}
