using System;
using System.Diagnostics;
using System.Threading.Tasks;

// Hears the spans of its own calls, and says which ended in which, if there is a source of them.
static class App
{
    static async Task<int> Main()
    {
        using (ActivityListener listener = new ActivityListener())
        {
            listener.ShouldListenTo = source => source.Name == "Ilinst";
            listener.Sample = (ref ActivityCreationOptions<ActivityContext> options) => ActivitySamplingResult.AllData;
            listener.ActivityStopped = span =>
                Console.WriteLine("#" + span.OperationName + " in " + (span.Parent == null ? "nothing" : span.Parent.OperationName)
                    + " " + span.Status + span.StatusDescription);
            ActivitySource.AddActivityListener(listener);
            int sum = Shop.Outer(3) + await Shop.Later(2);
            try
            {
                await Shop.Fails();
            }
            catch (InvalidOperationException)
            {
                sum++;
            }
            Console.WriteLine(sum);
            return sum;
        }
    }
}

static class Shop
{
    public static int Outer(int count)
    {
        int sum = 0;
        for (int i = 0; i < count; i++)
        {
            sum += Inner(i);
        }
        return sum;
    }

    static int Inner(int number)
    {
        return number.GetHashCode() + 1;
    }

    public static async Task<int> Later(int number)
    {
        await Task.Delay(1);
        return Inner(number);
    }

    public static async Task Fails()
    {
        await Task.Delay(1);
        throw new InvalidOperationException();
    }
}
