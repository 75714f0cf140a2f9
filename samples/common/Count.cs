using System;
using System.Collections.Generic;
using System.IO;
using System.Reflection;

/// <summary>
/// Counts calls without any profiler: each method of the samples reports itself here, and the counts that a profile
/// holds have to be the same. This type is not compared.
/// </summary>
static class Count
{
    private static readonly SortedDictionary<string, long> counts = new SortedDictionary<string, long>(StringComparer.Ordinal);

    /// <summary>Counts a method, given itself: Count.Here(MethodBase.GetCurrentMethod()).</summary>
    public static void Here(MethodBase method)
    {
        Add(FullName(method.DeclaringType) + "::" + method.Name + " 0x" + method.MetadataToken.ToString("x8"));
    }

    /// <summary>Counts a method that has no room for a call, by its type and name; it must have no overloads.</summary>
    public static void Of(Type type, string method)
    {
        BindingFlags all = BindingFlags.Instance | BindingFlags.Static | BindingFlags.Public | BindingFlags.NonPublic;
        Here(type.GetMethod(method, all));
    }

    /// <summary>Writes the counts to where ILINST_SAMPLE_COUNTS says.</summary>
    public static void Write()
    {
        string path = Environment.GetEnvironmentVariable("ILINST_SAMPLE_COUNTS");
        if (string.IsNullOrEmpty(path))
        {
            return;
        }
        using (StreamWriter writer = new StreamWriter(path))
        {
            lock (counts)
            {
                foreach (KeyValuePair<string, long> count in counts)
                {
                    writer.Write(count.Key + "\t" + count.Value + "\n");
                }
            }
        }
    }

    private static void Add(string key)
    {
        lock (counts)
        {
            long count;
            counts.TryGetValue(key, out count);
            counts[key] = count + 1;
        }
    }

    private static string FullName(Type type)
    {
        string name = type.Name;
        while (type.DeclaringType != null)
        {
            type = type.DeclaringType;
            name = type.Name + "/" + name;
        }
        return string.IsNullOrEmpty(type.Namespace) ? name : type.Namespace + "." + name;
    }
}
