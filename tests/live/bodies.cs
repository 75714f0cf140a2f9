using System;
using System.Collections.Generic;
using System.Reflection;
using System.Reflection.Emit;
using System.Text;

// Prints the bodies of an assembly's methods as the runtime has them, with names in place of tokens.
static class Bodies
{
    const BindingFlags Own = BindingFlags.Public | BindingFlags.NonPublic | BindingFlags.Static | BindingFlags.Instance
        | BindingFlags.DeclaredOnly;
    static readonly Dictionary<int, OpCode> opcodes = new Dictionary<int, OpCode>();

    static void Main(string[] arguments)
    {
        foreach (FieldInfo field in typeof(OpCodes).GetFields(BindingFlags.Public | BindingFlags.Static))
        {
            OpCode opcode = (OpCode)field.GetValue(null);
            opcodes[(ushort)opcode.Value] = opcode;
        }
        foreach (Type type in Assembly.LoadFrom(arguments[0]).GetTypes())
        {
            var methods = new List<MethodBase>(type.GetMethods(Own));
            methods.AddRange(type.GetConstructors(Own));
            methods.Sort((one, other) => one.MetadataToken.CompareTo(other.MetadataToken));
            foreach (MethodBase method in methods)
            {
                MethodBody body = method.GetMethodBody();
                if (body != null)
                {
                    Print(method, body);
                }
            }
        }
    }

    static void Print(MethodBase method, MethodBody body)
    {
        Console.WriteLine("{0}::{1}", method.DeclaringType, method);
        Console.WriteLine("  .maxstack {0} {1}", body.MaxStackSize, body.InitLocals ? "init" : "");
        foreach (LocalVariableInfo local in body.LocalVariables)
        {
            Console.WriteLine("  .local {0}", local);
        }
        foreach (ExceptionHandlingClause clause in body.ExceptionHandlingClauses)
        {
            bool isCatch = clause.Flags == ExceptionHandlingClauseOptions.Clause;
            int filter = clause.Flags == ExceptionHandlingClauseOptions.Filter ? clause.FilterOffset : 0;
            Console.WriteLine("  .try {0}+{1} {2} {3} {4}+{5} {6}", clause.TryOffset, clause.TryLength, clause.Flags, filter,
                clause.HandlerOffset, clause.HandlerLength, isCatch ? clause.CatchType : null);
        }
        byte[] il = body.GetILAsByteArray();
        for (int at = 0; at < il.Length;)
        {
            var line = new StringBuilder("  ").Append(at).Append(' ');
            int value = il[at++];
            OpCode opcode = opcodes[value == 0xFE ? 0xFE00 | il[at++] : value];
            line.Append(opcode.Name).Append(' ');
            int size = Size(opcode.OperandType);
            if (opcode.OperandType == OperandType.InlineSwitch)
            {
                size = 4 + 4 * BitConverter.ToInt32(il, at);
            }
            line.Append(Text(method, opcode.OperandType, il, at, size));
            at += size;
            Console.WriteLine(line);
        }
    }

    static int Size(OperandType operand)
    {
        switch (operand)
        {
            case OperandType.InlineNone: return 0;
            case OperandType.ShortInlineBrTarget:
            case OperandType.ShortInlineI:
            case OperandType.ShortInlineVar: return 1;
            case OperandType.InlineVar: return 2;
            case OperandType.InlineI8:
            case OperandType.InlineR: return 8;
            default: return 4;
        }
    }

    static string Text(MethodBase method, OperandType operand, byte[] il, int at, int size)
    {
        int token = size == 4 ? BitConverter.ToInt32(il, at) : 0;
        switch (operand)
        {
            case OperandType.InlineString: return method.Module.ResolveString(token);
            case OperandType.InlineSig: return BitConverter.ToString(method.Module.ResolveSignature(token));
            case OperandType.InlineMethod:
            case OperandType.InlineField:
            case OperandType.InlineType:
            case OperandType.InlineTok:
                Type[] ofType = method.DeclaringType.GetGenericArguments();
                Type[] ofMethod = method.IsGenericMethod ? method.GetGenericArguments() : null;
                MemberInfo member = method.Module.ResolveMember(token, ofType, ofMethod);
                return member.DeclaringType + "::" + member + " of " + member.Module.Name;
            default: return size == 0 ? "" : BitConverter.ToString(il, at, size);
        }
    }
}
