using System;
using System.Collections;

/// <summary>A game's scripts, as an engine has them: from bytes, against the core library of that engine alone.</summary>
public class Scripts
{
    int frames;

    public int Run(int times)
    {
        IEnumerator waiting = Wait(times);
        while (waiting.MoveNext())
        {
            Update();
        }
        return frames;
    }

    void Update()
    {
        frames += Math.Max(frames, 1) % 7;
    }

    static IEnumerator Wait(int times)
    {
        for (int i = 0; i < times; i++)
        {
            yield return i;
        }
    }
}
