using System;
using System.Collections.Concurrent;
using System.IO;
using System.Net;
using System.Net.Sockets;
using System.Threading;
using System.Threading.Tasks;

/// <summary>
/// Waits in many ways, each for another time. Lines `MEMBER calls nanoseconds` say how long; `Running` is all the rest. Calls
/// that find what they ask for, on either thread, wait for nothing.
/// </summary>
static class Program
{
    static readonly object gate = new object();
    static volatile bool isOver;

    public static void Run(string[] arguments)
    {
        All();
    }

    static void All()
    {
        // Events and locks.
        ManualResetEvent signal = new ManualResetEvent(false);
        Waits.Released("WaitHandle::WaitOne", () => signal.Set());
        signal.WaitOne();
        Work();
        AutoResetEvent[] signals = { new AutoResetEvent(false), new AutoResetEvent(false) };
        Waits.Released("WaitHandle::WaitAny", () => signals[1].Set());
        WaitHandle.WaitAny(signals);
        Work();
        Waits.Released("WaitHandle::WaitAll", () => { signals[0].Set(); signals[1].Set(); });
        WaitHandle.WaitAll(signals);
        Work();
        Waits.Held("Monitor::Enter", () => Monitor.Enter(gate), () => Monitor.Exit(gate));
        Records.Add("Monitor::Enter", 1, 0);
        lock (gate)
        {
        }
        Work();
        Waits.Held("Monitor::TryEnter", () => Monitor.Enter(gate), () => Monitor.Exit(gate));
        Records.Add("Monitor::Enter", 1, 0);
        Monitor.TryEnter(gate, Timeout.Infinite);
        Monitor.Exit(gate);
        Work();
        Monitor.Enter(gate);
        Records.Add("Monitor::Enter", 1, 0);
        Waits.Released("Monitor::Wait", () => { lock (gate) { Monitor.Pulse(gate); } });
        Records.Add("Monitor::Enter", 1, 0);
        Monitor.Wait(gate);
        Monitor.Exit(gate);
        Work();
        ReaderWriterLockSlim both = new ReaderWriterLockSlim();
        Waits.Held("ReaderWriterLockSlim::EnterReadLock", () => both.TryEnterWriteLock(0), () => both.ExitWriteLock());
        Records.Add("ReaderWriterLockSlim::TryEnterWriteLock", 1, 0);
        both.EnterReadLock();
        both.ExitReadLock();
        Work();
        Waits.Held("ReaderWriterLockSlim::EnterWriteLock", () => both.TryEnterReadLock(0), () => both.ExitReadLock());
        Records.Add("ReaderWriterLockSlim::TryEnterReadLock", 1, 0);
        both.EnterWriteLock();
        both.ExitWriteLock();
        Work();
        ManualResetEventSlim slim = new ManualResetEventSlim(false);
        Waits.Released("ManualResetEventSlim::Wait", () => slim.Set());
        slim.Wait();
        Work();
        SemaphoreSlim semaphore = new SemaphoreSlim(0);
        Waits.Released("SemaphoreSlim::Wait", () => semaphore.Release());
        semaphore.Wait();
        Work();
        CountdownEvent countdown = new CountdownEvent(1);
        Waits.Released("CountdownEvent::Wait", () => countdown.Signal());
        countdown.Wait();
        Work();
        Barrier barrier = new Barrier(2);
        Waits.Released("Barrier::SignalAndWait", () => barrier.RemoveParticipant());
        barrier.SignalAndWait();
        Work();
        Waits.Released("SpinWait::SpinUntil", () => isOver = true);
        SpinWait.SpinUntil(() => isOver);
        Work();

        // Threads and tasks.
        Thread thread = new Thread(() => signal.WaitOne());
        Records.Add("WaitHandle::WaitOne", 1, 0);
        thread.Start();
        thread.Join();
        Records.Add("Thread::Join", 1, 0);
        Waits.Passed("Thread::Sleep");
        Thread.Sleep(1);
        Work();
        TaskCompletionSource<int> first = new TaskCompletionSource<int>();
        Task task = first.Task;
        Waits.Released("Task::Wait", () => first.SetResult(1));
        task.Wait();
        Work();
        TaskCompletionSource<int> second = new TaskCompletionSource<int>();
        Waits.Released("Task::WaitAny", () => second.SetResult(1));
        Task.WaitAny(second.Task);
        Work();
        TaskCompletionSource<int> third = new TaskCompletionSource<int>();
        Waits.Released("Task`1::get_Result", () => third.SetResult(1));
        int unused = third.Task.Result;
        Work();
        TaskCompletionSource<int> fourth = new TaskCompletionSource<int>();
        task = fourth.Task;
        Waits.Released("TaskAwaiter::GetResult", () => fourth.SetResult(1));
        task.GetAwaiter().GetResult();
        Work();
        BlockingCollection<int> items = new BlockingCollection<int>(1);
        Waits.Released("BlockingCollection`1::Take", () => items.TryAdd(1));
        Records.Add("BlockingCollection`1::TryAdd", 1, 0);
        items.Take();
        items.TryAdd(2);
        Records.Add("BlockingCollection`1::TryAdd", 1, 0);
        Work();
        Waits.Released("BlockingCollection`1::Add", () => items.TryTake(out unused));
        Records.Add("BlockingCollection`1::TryTake", 1, 0);
        items.Add(3);
        Work();

        // Sockets, streams and files.
        TcpListener listener = new TcpListener(IPAddress.Loopback, 0);
        listener.Start();
        TcpClient client = new TcpClient();
        Waits.Released("TcpListener::AcceptSocket", () => client.Connect((IPEndPoint)listener.LocalEndpoint));
        Records.Add("TcpClient::Connect", 1, 0);
        Socket server = listener.AcceptSocket();
        Work();
        byte[] bytes = new byte[1];
        Socket socket = client.Client;
        Waits.Released("Socket::Receive", () => server.Send(bytes));
        Records.Add("Socket::Send", 1, 0);
        socket.Receive(bytes);
        Work();
        Stream stream = client.GetStream();
        Waits.Released("Stream::Read", () => server.Send(bytes));
        Records.Add("Socket::Send", 1, 0);
        stream.Read(bytes, 0, 1);
        Work();
        string path = Path.GetTempFileName();
        Waits.Passed("File::WriteAllText");
        File.WriteAllText(path, "text\n");
        Work();
        StreamReader reader = new StreamReader(path);
        Waits.Passed("TextReader::ReadLine");
        reader.ReadLine();
        Work();
        reader.Dispose();
        File.Delete(path);
        Waits.Passed("Console::ReadLine");
        Console.ReadLine();
        Work();
    }

    /// <summary>Waiting is not work, and work is no wait.</summary>
    static void Work()
    {
        VirtualClock.AwaitReleased();
        VirtualClock.Advance(12345);
        Records.Add("Running", 1, 12345);
    }
}
