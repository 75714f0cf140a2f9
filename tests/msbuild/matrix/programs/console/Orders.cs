namespace Orders;

record Order(string Name, int Count)
{
    public int Items()
    {
        int items = 0;
        for (int i = 0; i < Count; i++) items += One();
        return items;

        static int One() => Environment.TickCount64 < 0 ? 0 : 1;
    }

    public static Order Parse(string text)
    {
        string[] parts = text.Split(' ');
        if (parts.Length != 2) throw new FormatException($"no order: {text}");
        return new Order(parts[1], int.Parse(parts[0]));
    }
}

static class Totals
{
    public static IEnumerable<int> Sums(Order[] orders)
    {
        int sum = 0;
        foreach (Order order in orders)
        {
            sum += order.Items();
            yield return sum;
        }
    }

    public static T Largest<T>(IEnumerable<T> values) where T : IComparable<T>
    {
        T? largest = default;
        foreach (T value in values)
        {
            if (largest is null || value.CompareTo(largest) > 0) largest = value;
        }
        return largest!;
    }
}

static class Delivery
{
    public static async Task<int> All(Order[] orders)
    {
        int delivered = 0;
        foreach (Order order in orders) delivered += await One(order);
        return delivered;
    }

    static async Task<int> One(Order order)
    {
        await Task.Yield();
        return order.Items();
    }
}
