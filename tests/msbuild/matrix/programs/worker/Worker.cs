namespace Jobs;

public class Inbox
{
    int next;

    public int? Take()
    {
        if (next == 5) return null;
        return next++;
    }
}

public class Worker(Inbox inbox, IHostApplicationLifetime lifetime) : BackgroundService
{
    protected override async Task ExecuteAsync(CancellationToken stoppingToken)
    {
        int sum = 0;
        while (inbox.Take() is int job)
        {
            sum += Square(job);
            await Task.Delay(1, stoppingToken);
        }
        Console.WriteLine($"sum {sum}");
        lifetime.StopApplication();
    }

    static int Square(int job)
    {
        int square = 0;
        for (int i = 0; i < job; i++) square += job;
        return square;
    }
}
