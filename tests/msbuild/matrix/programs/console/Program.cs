using Orders;

Order[] orders = [new Order("tea", 2), new Order("milk", 1), new Order("cake", 4)];
Console.WriteLine($"items {orders.Sum(order => order.Items())}");
Console.WriteLine($"sums {string.Join(' ', Totals.Sums(orders))}");
Console.WriteLine($"delivered {await Delivery.All(orders)}");
Console.WriteLine($"largest {Totals.Largest(orders.Select(order => order.Items()))}");
try
{
    Order.Parse("tea");
}
catch (FormatException exception)
{
    Console.WriteLine(exception.Message);
}
return 3;
