using System;
using System.Collections.Generic;
using System.Runtime.CompilerServices;
using System.Threading.Tasks;

/// <summary>
/// Async methods of kinds that came later, and async iterators. Lines `METHOD calls latency steps own total` as those of Async.cs.
/// </summary>
static class Program
{
    public static void Run(string[] arguments)
    {
        VirtualClock.RunAsync(All);
    }

    static async Task All()
    {
        for (int i = 0; i < 3; i++)
        {
            await Value();
        }
        await Own();
        await Own();
        for (int turn = 0; turn < 2; turn++)
        {
            await foreach (int item in Items(5))
            {
                Cpu(6);
            }
        }
        // Asked for each item, and once to find that there are no more: then nothing passes.
        Done("Program::Items", 2 * (5 + 1), 2 * 5 * (4 + 15 + 3), 2 * 5 * 7, 0, 2 * 5 * 7);
        for (int turn = 0; turn < 2; turn++)
        {
            await foreach (int item in Endless())
            {
                if (item == 2)
                {
                    break;
                }
            }
        }
        // When it is left, DisposeAsync runs a step in the caller.
        Done("Program::Endless", 2 * 3, 2 * 3 * (15 + 3), 2 * (3 * 3 + 5), 0, 2 * (3 * 3 + 5));
    }

    /// <summary>Times are in milliseconds.</summary>
    static void Done(string method, int calls, int latency, int steps, int own, int total)
    {
        const long Ms = VirtualClock.Millisecond;
        Records.Add(method, calls, latency * Ms, steps * Ms, own * Ms, total * Ms);
    }

    static async ValueTask<int> Value()
    {
        await VirtualClock.Delay(40);
        Cpu(2);
        Done("Program::Value", 1, 42, 2, 0, 2);
        return 1;
    }

    static async OwnTask Own()
    {
        await VirtualClock.Delay(50);
        Cpu(1);
        Done("Program::Own", 1, 51, 1, 0, 1);
    }

    static async IAsyncEnumerable<int> Items(int count)
    {
        for (int i = 0; i < count; i++)
        {
            Cpu(4);
            await VirtualClock.Delay(15);
            Cpu(3);
            yield return i;
        }
    }

    static async IAsyncEnumerable<int> Endless()
    {
        int next = 0;
        try
        {
            while (true)
            {
                await VirtualClock.Delay(15);
                Cpu(3);
                yield return next++;
            }
        }
        finally
        {
            Cpu(5);
        }
    }

    static void Cpu(int milliseconds)
    {
        VirtualClock.Advance(milliseconds * VirtualClock.Millisecond);
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
