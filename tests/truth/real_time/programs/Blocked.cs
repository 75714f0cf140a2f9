using System;
using System.Collections.Concurrent;
using System.Diagnostics;
using System.Net;
using System.Net.Sockets;
using System.Threading;
using System.Threading.Tasks;

/// <summary>
/// Waits for another thread in many ways. Lines `MEMBER nanoseconds` say how long each took, by the clock.
/// </summary>
static class Blocked
{
    const int Milliseconds = 60;
    static readonly object gate = new object();
    static volatile bool isHeld;

    static void Main()
    {
        Thread holder = new Thread(() =>
        {
            lock (gate)
            {
                isHeld = true;
                Spin();
            }
        });
        holder.Start();
        while (!isHeld)
        {
        }
        Timed("Monitor::Enter", Contend);

        ManualResetEvent signal = new ManualResetEvent(false);
        Later(() => signal.Set());
        Timed("WaitHandle::WaitOne", () => signal.WaitOne());

        SemaphoreSlim semaphore = new SemaphoreSlim(0);
        Later(() => semaphore.Release());
        Timed("SemaphoreSlim::Wait", () => semaphore.Wait());

        TaskCompletionSource<int> source = new TaskCompletionSource<int>();
        Later(() => source.SetResult(1));
        Timed("Task::Wait", () => ((Task)source.Task).Wait());

        TaskCompletionSource<int> other = new TaskCompletionSource<int>();
        Later(() => other.SetResult(1));
        Timed("TaskAwaiter::GetResult", () => ((Task)other.Task).GetAwaiter().GetResult());

        BlockingCollection<int> items = new BlockingCollection<int>();
        Later(() => items.Add(1));
        Timed("BlockingCollection`1::Take", () => items.Take());

        TcpListener listener = new TcpListener(IPAddress.Loopback, 0);
        listener.Start();
        TcpClient client = new TcpClient();
        client.Connect((IPEndPoint)listener.LocalEndpoint);
        Socket server = listener.AcceptSocket();
        byte[] one = new byte[1];
        Later(() => server.Send(new byte[1]));
        Timed("Socket::Receive", () => client.Client.Receive(one));
        Later(() => server.Send(new byte[1]));
        Timed("Stream::Read", () => client.GetStream().Read(one, 0, 1));
        holder.Join();
    }

    static void Contend()
    {
        lock (gate)
        {
        }
    }

    static void Timed(string member, Action wait)
    {
        long start = Stopwatch.GetTimestamp();
        wait();
        Console.WriteLine(member + " " + (long)((Stopwatch.GetTimestamp() - start) * 1e9 / Stopwatch.Frequency));
    }

    static void Later(Action action)
    {
        new Thread(() =>
        {
            Spin();
            action();
        }).Start();
    }

    /// <summary>Not by waiting: that would be in the profile.</summary>
    static void Spin()
    {
        Stopwatch watch = Stopwatch.StartNew();
        while (watch.ElapsedMilliseconds < Milliseconds)
        {
        }
    }
}
