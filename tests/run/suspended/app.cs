using System;
using System.Threading.Tasks;

/// <summary>A struct whose methods the runtime suspends: its address does not outlive that.</summary>
struct Item
{
    public int Number;

    public override string ToString()
    {
        return "item " + Number;
    }

    public async Task<int> Load()
    {
        int number = Number;
        await Task.Yield();
        return number;
    }

    public async Task<int> Recover(int number)
    {
        await Task.Yield();
        try
        {
            throw new InvalidOperationException("as meant");
        }
        catch (InvalidOperationException)
        {
            return number;
        }
    }
}

static class App
{
    static async Task<int> Main()
    {
        Item item = new Item { Number = 5 };
        return await item.Load() + await item.Recover(6);
    }
}
