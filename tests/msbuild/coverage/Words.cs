using System;
using System.Collections.Generic;
using System.Linq;
using System.Text;

namespace Words;

public enum Kind { Number, Name, Symbol, Text }

public readonly record struct Token(Kind Kind, string Text, int At);

public sealed class FormatError : Exception
{
    public FormatError(string message, int at) : base($"{message} at {at}")
    {
        At = at;
    }

    public int At { get; }
}

/// <summary>Splits text into tokens.</summary>
public static class Tokens
{
    private static readonly HashSet<char> Symbols = new("+-*/(),=<>".Where(symbol => symbol != ' '));

    public static IEnumerable<Token> Of(string text)
    {
        for (int at = 0; at < text.Length;)
        {
            char first = text[at];
            if (char.IsWhiteSpace(first))
            {
                at++;
                continue;
            }
            int end = at + 1;
            Kind kind;
            if (char.IsDigit(first))
            {
                kind = Kind.Number;
                while (end < text.Length && (char.IsDigit(text[end]) || text[end] == '.'))
                    end++;
            }
            else if (char.IsLetter(first))
            {
                kind = Kind.Name;
                while (end < text.Length && char.IsLetterOrDigit(text[end])) end++;
            }
            else if (first == '"')
            {
                kind = Kind.Text;
                while (end < text.Length && text[end] != '"') end++;
                if (end == text.Length)
                {
                    throw new FormatError("text without an end", at);
                }
                end++;
            }
            else
            {
                kind = Symbols.Contains(first) ? Kind.Symbol : throw new FormatError("unknown character", at);
            }
            yield return new Token(kind, text[at..end], at);
            at = end;
        }
    }
}

/// <summary>Evaluates arithmetic.</summary>
public sealed class Calculator
{
    private readonly Dictionary<string, double> names = new();
    private List<Token> tokens = new();
    private int next;

    public double this[string name]
    {
        get => names.TryGetValue(name, out double value) ? value : 0;
        set => names[name] = value;
    }

    public double Value(string text)
    {
        tokens = Tokens.Of(text).ToList();
        next = 0;
        double value = Sum();
        if (next < tokens.Count)
        {
            throw new FormatError("more text", tokens[next].At);
        }
        return value;

        double Sum()
        {
            double sum = Product();
            while (Take("+", "-") is { } sign)
            {
                double right = Product();
                sum = sign == "+"
                    ? sum + right
                    : sum - right;
            }
            return sum;
        }

        double Product()
        {
            double product = Factor();
            while (Take("*", "/") is { } sign)
            {
                double right = Factor();
                product = sign switch
                {
                    "*" => product * right,
                    "/" when right == 0 => throw new DivideByZeroException(),
                    "/" => product / right,
                    _ => product,
                };
            }
            return product;
        }

        double Factor()
        {
            if (next == tokens.Count) throw new FormatError("no number", text.Length);
            Token token = tokens[next++];
            switch (token.Kind)
            {
                case Kind.Number:
                    return double.Parse(token.Text, System.Globalization.CultureInfo.InvariantCulture);
                case Kind.Name:
                    return this[token.Text];
                case Kind.Symbol when token.Text == "(":
                    double value = Sum();
                    if (Take(")") is null)
                        throw new FormatError("no )", token.At);
                    return value;
                case Kind.Symbol when token.Text == "-":
                    return -Factor();
                default:
                    throw new FormatError("no number", token.At);
            }
        }

        string? Take(params string[] symbols)
        {
            bool isThere = next < tokens.Count && symbols.Contains(tokens[next].Text);
            return isThere ? tokens[next++].Text : null;
        }
    }

    /// <summary>No test calls it.</summary>
    public void Forget()
    {
        names.Clear();
        tokens = new();
    }
}

public static class Columns
{
    public static string Aligned(IEnumerable<string[]> rows)
    {
        List<string[]> all = rows.ToList();
        if (all.Count == 0) { return ""; }
        int[] widths = Enumerable.Range(0, all.Max(row => row.Length))
            .Select(column => all
                .Where(row => row.Length > column)
                .Max(row => row[column].Length))
            .ToArray();
        StringBuilder text = new();
        foreach (string[] row in all)
        {
            for (int column = 0; column < row.Length; column++)
            {
                text.Append(column == 0 ? "" : "  ").Append(row[column].PadRight(widths[column]));
            }
            text.Length -= text.ToString().Length - text.ToString().TrimEnd().Length;
            text.Append('\n');
        }
        return text.ToString();
    }
}
