using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Threading;
using System.Threading.Tasks;
using Mono.Cecil;
using Mono.Cecil.Cil;
using Mono.Collections.Generic;

/// <summary>
/// The work of <c>ilinst instrument</c>, by Mono.Cecil: the same three calls at the same places of each method
/// with a body, short branches where they fit, and the PDB that goes with it. <c>cargo xtask bench</c> compares the two.
/// </summary>
internal sealed class CecilWeave
{
    private readonly ModuleDefinition module;
    private readonly MethodReference enter, leave, handle;
    private readonly bool inFinally;
    private int woven;

    /// <summary>Arguments: finally or return, a file or folder, the same for the output, folders with references.</summary>
    private static int Main(string[] arguments)
    {
        bool inFinally = arguments[0] == "finally";
        string input = arguments[1], output = arguments[2];
        string[] references = arguments.Skip(3).ToArray();
        if (File.Exists(input))
        {
            Directory.CreateDirectory(Path.GetDirectoryName(output));
            Console.WriteLine("woven=" + Weave(input, output, inFinally, references));
            return 0;
        }
        int woven = 0, failed = 0;
        Parallel.ForEach(Directory.GetFiles(input, "*", SearchOption.AllDirectories), file =>
        {
            string target = Path.Combine(output, file.Substring(input.Length).TrimStart('/'));
            Directory.CreateDirectory(Path.GetDirectoryName(target));
            try
            {
                if (file.EndsWith(".dll") || file.EndsWith(".exe"))
                {
                    Interlocked.Add(ref woven, Weave(file, target, inFinally, references));
                    return;
                }
            }
            catch (BadImageFormatException)
            {
                // Not managed.
            }
            catch (Exception error)
            {
                Console.Error.WriteLine(file + ": " + error.Message);
                Interlocked.Increment(ref failed);
            }
            File.Copy(file, target, true);
        });
        Console.WriteLine("woven=" + woven + " failed=" + failed);
        return 0;
    }

    private static int Weave(string input, string output, bool inFinally, string[] references)
    {
        using (var resolver = new References())
        {
            resolver.AddSearchDirectory(Path.GetDirectoryName(input));
            Array.ForEach(references, resolver.AddSearchDirectory);
            var reading = new ReaderParameters
            {
                AssemblyResolver = resolver,
                MetadataResolver = new BoundedResolver(resolver),
                InMemory = true,
                ReadSymbols = true,
                SymbolReaderProvider = new DefaultSymbolReaderProvider(false),
            };
            using (var module = ModuleDefinition.ReadModule(input, reading))
            {
                var weaver = new CecilWeave(module, inFinally);
                foreach (TypeDefinition type in module.GetTypes())
                {
                    foreach (MethodDefinition method in type.Methods)
                    {
                        if (method.HasBody)
                        {
                            weaver.Weave(method);
                        }
                    }
                }
                if (weaver.woven == 0)
                {
                    File.Copy(input, output, true);
                    return 0;
                }
                // Precompiled code does not follow; its flags and machine type go with it.
                if ((module.Attributes & ModuleAttributes.ILOnly) == 0 && module.Architecture != TargetArchitecture.I386)
                {
                    module.Attributes |= ModuleAttributes.ILOnly;
                    module.Architecture = TargetArchitecture.AMD64;
                }
                module.Write(output, new WriterParameters { WriteSymbols = module.HasSymbols });
                return weaver.woven;
            }
        }
    }

    private CecilWeave(ModuleDefinition module, bool inFinally)
    {
        this.module = module;
        this.inFinally = inFinally;
        var tracker = new AssemblyNameReference("Ilinst.Tracker", new Version(1, 0, 0, 0));
        module.AssemblyReferences.Add(tracker);
        var type = new TypeReference("Ilinst", "ProfileInfoTracker", module, tracker);
        TypeSystem types = module.TypeSystem;
        enter = new MethodReference("WhenEntering", types.IntPtr, type);
        enter.Parameters.Add(new ParameterDefinition(types.Int64));
        leave = new MethodReference("WhenLeaving", types.Void, type);
        leave.Parameters.Add(new ParameterDefinition(types.IntPtr));
        handle = new MethodReference("WhenHandling", types.Void, type);
        handle.Parameters.Add(new ParameterDefinition(types.IntPtr));
    }

    private void Weave(MethodDefinition method)
    {
        MethodBody body = method.Body;
        Collection<Instruction> code = body.Instructions;
        if (code.Count == 0)
        {
            return;
        }
        woven++;
        var token = new VariableDefinition(module.TypeSystem.IntPtr);
        body.Variables.Add(token);
        // The token would otherwise be a local that nothing has set.
        body.InitLocals = true;
        bool isTail = false;
        foreach (Instruction instruction in code)
        {
            isTail |= instruction.OpCode.Code == Code.Tail || instruction.OpCode.Code == Code.Jmp;
            if (instruction.OpCode.OperandType == OperandType.ShortInlineBrTarget)
            {
                instruction.OpCode = Long(instruction.OpCode);
            }
        }
        var moved = new Dictionary<Instruction, Instruction>();
        if (body.HasExceptionHandlers)
        {
            BeginHandlers(body, token, moved);
        }
        if (inFinally && !isTail)
        {
            Protect(method, token);
        }
        else
        {
            PrecedeExits(body, token, moved);
        }
        code.Insert(0, Instruction.Create(OpCodes.Ldc_I8, 0x1122334455000000 | method.MetadataToken.RID));
        code.Insert(1, Instruction.Create(OpCodes.Call, enter));
        code.Insert(2, Store(token));
        ShortenBranches(code);
    }

    /// <summary>Each handler begins with a call; the block before it ends there as it did.</summary>
    private void BeginHandlers(MethodBody body, VariableDefinition token, Dictionary<Instruction, Instruction> moved)
    {
        foreach (ExceptionHandler handler in body.ExceptionHandlers)
        {
            if (moved.ContainsKey(handler.HandlerStart))
            {
                continue;
            }
            Instruction first = Load(token);
            int index = body.Instructions.IndexOf(handler.HandlerStart);
            body.Instructions.Insert(index, first);
            body.Instructions.Insert(index + 1, Instruction.Create(OpCodes.Call, handle));
            moved[handler.HandlerStart] = first;
        }
        Follow(body.ExceptionHandlers, moved);
        moved.Clear();
    }

    /// <summary>The body in a try block; each ret leaves to one epilogue behind the finally handler.</summary>
    private void Protect(MethodDefinition method, VariableDefinition token)
    {
        MethodBody body = method.Body;
        Collection<Instruction> code = body.Instructions;
        Instruction first = code[0], ret = Instruction.Create(OpCodes.Ret), epilogue = ret;
        VariableDefinition result = null;
        bool returns = false;
        for (int index = 0; index < code.Count; index++)
        {
            Instruction instruction = code[index];
            if (instruction.OpCode.Code != Code.Ret)
            {
                continue;
            }
            if (!returns && method.ReturnType.MetadataType != MetadataType.Void)
            {
                result = new VariableDefinition(method.ReturnType);
                body.Variables.Add(result);
                epilogue = Load(result);
            }
            returns = true;
            if (result == null)
            {
                instruction.OpCode = OpCodes.Leave;
                instruction.Operand = epilogue;
                continue;
            }
            Instruction store = Store(result);
            instruction.OpCode = store.OpCode;
            instruction.Operand = store.Operand;
            code.Insert(++index, Instruction.Create(OpCodes.Leave, epilogue));
        }
        Instruction handler = Load(token);
        code.Add(handler);
        code.Add(Instruction.Create(OpCodes.Call, leave));
        code.Add(Instruction.Create(OpCodes.Endfinally));
        foreach (ExceptionHandler inner in body.ExceptionHandlers)
        {
            inner.TryEnd = inner.TryEnd ?? handler;
            inner.HandlerEnd = inner.HandlerEnd ?? handler;
        }
        if (returns)
        {
            code.Add(epilogue);
            if (epilogue != ret)
            {
                code.Add(ret);
            }
        }
        body.ExceptionHandlers.Add(new ExceptionHandler(ExceptionHandlerType.Finally)
        {
            TryStart = first,
            TryEnd = handler,
            HandlerStart = handler,
            HandlerEnd = returns ? epilogue : null,
        });
    }

    /// <summary>A call before each ret, jmp and tail call; who jumped there jumps to the call.</summary>
    private void PrecedeExits(MethodBody body, VariableDefinition token, Dictionary<Instruction, Instruction> moved)
    {
        Collection<Instruction> code = body.Instructions;
        for (int index = 0; index < code.Count; index++)
        {
            Instruction instruction = code[index];
            Code kind = instruction.OpCode.Code;
            bool isBehindTail = index > 1 && code[index - 2].OpCode.Code == Code.Tail;
            if (kind != Code.Tail && kind != Code.Jmp && (kind != Code.Ret || isBehindTail))
            {
                continue;
            }
            Instruction load = Load(token);
            code.Insert(index++, load);
            code.Insert(index++, Instruction.Create(OpCodes.Call, leave));
            moved[instruction] = load;
        }
        foreach (Instruction instruction in code)
        {
            if (instruction.Operand is Instruction target)
            {
                instruction.Operand = Moved(target, moved);
            }
            else if (instruction.Operand is Instruction[] targets)
            {
                for (int index = 0; index < targets.Length; index++)
                {
                    targets[index] = Moved(targets[index], moved);
                }
            }
        }
        Follow(body.ExceptionHandlers, moved);
    }

    private static void Follow(Collection<ExceptionHandler> handlers, Dictionary<Instruction, Instruction> moved)
    {
        foreach (ExceptionHandler handler in handlers)
        {
            handler.TryStart = Moved(handler.TryStart, moved);
            handler.TryEnd = Moved(handler.TryEnd, moved);
            handler.HandlerStart = Moved(handler.HandlerStart, moved);
            handler.HandlerEnd = Moved(handler.HandlerEnd, moved);
        }
    }

    private static Instruction Moved(Instruction instruction, Dictionary<Instruction, Instruction> moved)
    {
        return instruction != null && moved.TryGetValue(instruction, out Instruction now) ? now : instruction;
    }

    /// <summary>All branches are long; those that reach their target become short.</summary>
    private static void ShortenBranches(Collection<Instruction> code)
    {
        for (bool again = true; again;)
        {
            int offset = 0;
            foreach (Instruction instruction in code)
            {
                instruction.Offset = offset;
                offset += instruction.GetSize();
            }
            again = false;
            foreach (Instruction instruction in code)
            {
                if (instruction.OpCode.OperandType != OperandType.InlineBrTarget)
                {
                    continue;
                }
                int distance = ((Instruction)instruction.Operand).Offset - (instruction.Offset + 2);
                // A branch forward comes three bytes nearer as it shrinks.
                if (distance >= -128 && distance <= (distance > 0 ? 130 : 127))
                {
                    instruction.OpCode = Short(instruction.OpCode);
                    again = true;
                }
            }
        }
    }

    private static Instruction Load(VariableDefinition variable)
    {
        switch (variable.Index)
        {
            case 0: return Instruction.Create(OpCodes.Ldloc_0);
            case 1: return Instruction.Create(OpCodes.Ldloc_1);
            case 2: return Instruction.Create(OpCodes.Ldloc_2);
            case 3: return Instruction.Create(OpCodes.Ldloc_3);
            default: return Instruction.Create(variable.Index < 256 ? OpCodes.Ldloc_S : OpCodes.Ldloc, variable);
        }
    }

    private static Instruction Store(VariableDefinition variable)
    {
        switch (variable.Index)
        {
            case 0: return Instruction.Create(OpCodes.Stloc_0);
            case 1: return Instruction.Create(OpCodes.Stloc_1);
            case 2: return Instruction.Create(OpCodes.Stloc_2);
            case 3: return Instruction.Create(OpCodes.Stloc_3);
            default: return Instruction.Create(variable.Index < 256 ? OpCodes.Stloc_S : OpCodes.Stloc, variable);
        }
    }

    private static OpCode Long(OpCode branch)
    {
        switch (branch.Code)
        {
            case Code.Br_S: return OpCodes.Br;
            case Code.Brfalse_S: return OpCodes.Brfalse;
            case Code.Brtrue_S: return OpCodes.Brtrue;
            case Code.Beq_S: return OpCodes.Beq;
            case Code.Bge_S: return OpCodes.Bge;
            case Code.Bgt_S: return OpCodes.Bgt;
            case Code.Ble_S: return OpCodes.Ble;
            case Code.Blt_S: return OpCodes.Blt;
            case Code.Bne_Un_S: return OpCodes.Bne_Un;
            case Code.Bge_Un_S: return OpCodes.Bge_Un;
            case Code.Bgt_Un_S: return OpCodes.Bgt_Un;
            case Code.Ble_Un_S: return OpCodes.Ble_Un;
            case Code.Blt_Un_S: return OpCodes.Blt_Un;
            case Code.Leave_S: return OpCodes.Leave;
            default: return branch;
        }
    }

    private static OpCode Short(OpCode branch)
    {
        switch (branch.Code)
        {
            case Code.Br: return OpCodes.Br_S;
            case Code.Brfalse: return OpCodes.Brfalse_S;
            case Code.Brtrue: return OpCodes.Brtrue_S;
            case Code.Beq: return OpCodes.Beq_S;
            case Code.Bge: return OpCodes.Bge_S;
            case Code.Bgt: return OpCodes.Bgt_S;
            case Code.Ble: return OpCodes.Ble_S;
            case Code.Blt: return OpCodes.Blt_S;
            case Code.Bne_Un: return OpCodes.Bne_Un_S;
            case Code.Bge_Un: return OpCodes.Bge_Un_S;
            case Code.Bgt_Un: return OpCodes.Bgt_Un_S;
            case Code.Ble_Un: return OpCodes.Ble_Un_S;
            case Code.Blt_Un: return OpCodes.Blt_Un_S;
            case Code.Leave: return OpCodes.Leave_S;
            default: return branch;
        }
    }
}

/// <summary>The references of an assembly.</summary>
internal sealed class References : DefaultAssemblyResolver
{
    public override AssemblyDefinition Resolve(AssemblyNameReference name, ReaderParameters parameters)
    {
        parameters.MetadataResolver = new BoundedResolver(this);
        return base.Resolve(name, parameters);
    }
}

/// <summary>Two assemblies that forward a type to each other would be followed until the stack ends.</summary>
internal sealed class BoundedResolver : MetadataResolver
{
    [ThreadStatic]
    private static int depth;

    internal BoundedResolver(IAssemblyResolver references)
        : base(references)
    {
    }

    public override TypeDefinition Resolve(TypeReference type)
    {
        if (depth > 100)
        {
            throw new InvalidOperationException(type.FullName + " is forwarded in a circle");
        }
        depth++;
        try
        {
            return base.Resolve(type);
        }
        finally
        {
            depth--;
        }
    }
}
