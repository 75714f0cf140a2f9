using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.Runtime.CompilerServices;
using System.Threading.Tasks;

/// <summary>
/// Async methods of kinds that came later. Lines `NAME calls microseconds` say how often each was called, and how long it took
/// from its start to its completion, all calls together.
/// </summary>
static class AsyncNewer
{
    static readonly List<string> record = new List<string>();

    static async Task Main()
    {
        await Timed("Value", 3, async () =>
        {
            for (int i = 0; i < 3; i++)
            {
                await Value(i);
            }
        });
        await Timed("Own", 2, async () =>
        {
            await Own();
            await Own();
        });
        // Called for each item, and once to find that there are no more.
        await Timed("Items", 6, async () =>
        {
            int sum = 0;
            await foreach (int item in Items())
            {
                sum += item;
            }
            if (sum != 10)
            {
                throw new InvalidOperationException();
            }
        });
        foreach (string line in record)
        {
            Console.WriteLine(line);
        }
    }

    static async Task Timed(string name, int calls, Func<Task> call)
    {
        long start = Stopwatch.GetTimestamp();
        await call();
        record.Add(name + " " + calls + " " + (long)((Stopwatch.GetTimestamp() - start) * 1e6 / Stopwatch.Frequency));
    }

    static async ValueTask<int> Value(int value)
    {
        await Task.Delay(40);
        return Step(value);
    }

    static async OwnTask Own()
    {
        await Task.Delay(50);
        Step(1);
    }

    static async IAsyncEnumerable<int> Items()
    {
        for (int i = 0; i < 5; i++)
        {
            await Task.Delay(20);
            Step(i);
            yield return i;
        }
    }

    static int Step(int seed)
    {
        int value = seed;
        for (int i = 0; i < 10; i++)
        {
            value = value * 31 + i;
        }
        return value;
    }
}

/// <summary>A task type of one's own.</summary>
[AsyncMethodBuilder(typeof(OwnBuilder))]
sealed class OwnTask
{
    public readonly TaskCompletionSource<int> Source = new TaskCompletionSource<int>();

    public TaskAwaiter<int> GetAwaiter()
    {
        return Source.Task.GetAwaiter();
    }
}

sealed class OwnBuilder
{
    readonly OwnTask task = new OwnTask();

    public OwnTask Task
    {
        get { return task; }
    }

    public static OwnBuilder Create()
    {
        return new OwnBuilder();
    }

    public void Start<TMachine>(ref TMachine machine) where TMachine : IAsyncStateMachine
    {
        machine.MoveNext();
    }

    public void SetStateMachine(IAsyncStateMachine machine)
    {
    }

    public void SetResult()
    {
        task.Source.SetResult(0);
    }

    public void SetException(Exception exception)
    {
        task.Source.SetException(exception);
    }

    public void AwaitOnCompleted<TAwaiter, TMachine>(ref TAwaiter awaiter, ref TMachine machine)
        where TAwaiter : INotifyCompletion
        where TMachine : IAsyncStateMachine
    {
        IAsyncStateMachine boxed = machine;
        awaiter.OnCompleted(boxed.MoveNext);
    }

    public void AwaitUnsafeOnCompleted<TAwaiter, TMachine>(ref TAwaiter awaiter, ref TMachine machine)
        where TAwaiter : ICriticalNotifyCompletion
        where TMachine : IAsyncStateMachine
    {
        IAsyncStateMachine boxed = machine;
        awaiter.OnCompleted(boxed.MoveNext);
    }
}
