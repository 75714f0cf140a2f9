using System;
using System.IO;
using System.Reflection;
using System.Reflection.Metadata;
using System.Reflection.Metadata.Ecma335;
using System.Reflection.PortableExecutable;

/// <summary>
/// Writes a library of as many methods as asked for, with the shapes of body that compilers make: a getter, a loop, a call
/// with a string, a protected block, a switch. <c>cargo xtask bench --large</c> weaves some of growing size.
/// </summary>
internal static class LargeAssembly
{
    private const int MethodsPerType = 12;

    private static void Main(string[] arguments)
    {
        string path = arguments[0];
        int count = int.Parse(arguments[1]);
        var metadata = new MetadataBuilder();
        StringHandle name = metadata.GetOrAddString("Large");
        metadata.AddModule(0, metadata.GetOrAddString("Large.dll"), metadata.GetOrAddGuid(new Guid(1, 2, 3, new byte[8])), default, default);
        metadata.AddAssembly(name, new Version(1, 0, 0, 0), default, default, 0, AssemblyHashAlgorithm.None);
        AssemblyReferenceHandle library = metadata.AddAssemblyReference(
            metadata.GetOrAddString("mscorlib"), new Version(4, 0, 0, 0), default, default, 0, default);
        TypeReferenceHandle objectType = Reference(metadata, library, "Object"), exception = Reference(metadata, library, "Exception");
        var fieldSignature = new BlobBuilder();
        new BlobEncoder(fieldSignature).FieldSignature().Int32();
        BlobHandle fieldType = metadata.GetOrAddBlob(fieldSignature);
        var methodSignature = new BlobBuilder();
        new BlobEncoder(methodSignature).MethodSignature(isInstanceMethod: true)
            .Parameters(1, result => result.Type().Int32(), parameters => parameters.AddParameter().Type().Int32());
        BlobHandle methodType = metadata.GetOrAddBlob(methodSignature);
        var localSignature = new BlobBuilder();
        LocalVariablesEncoder twoLocals = new BlobEncoder(localSignature).LocalVariableSignature(2);
        twoLocals.AddVariable().Type().Int32();
        twoLocals.AddVariable().Type().Int32();
        StandaloneSignatureHandle locals = metadata.AddStandaloneSignature(metadata.GetOrAddBlob(localSignature));
        metadata.AddTypeDefinition(
            default, default, metadata.GetOrAddString("<Module>"), default,
            MetadataTokens.FieldDefinitionHandle(1), MetadataTokens.MethodDefinitionHandle(1));
        var code = new BlobBuilder();
        var bodies = new MethodBodyStreamEncoder(code);
        for (int index = 0; index < count; index++)
        {
            int type = index / MethodsPerType;
            if (index % MethodsPerType == 0)
            {
                FieldDefinitionHandle field = metadata.AddFieldDefinition(FieldAttributes.Private, metadata.GetOrAddString("value"), fieldType);
                metadata.AddTypeDefinition(
                    TypeAttributes.Public, metadata.GetOrAddString("Large.Part" + type / 100), metadata.GetOrAddString("Type" + type),
                    objectType, field, MetadataTokens.MethodDefinitionHandle(index + 1));
            }
            ParameterHandle parameter = metadata.AddParameter(0, metadata.GetOrAddString("argument"), 1);
            int body = Body(metadata, bodies, index, MetadataTokens.FieldDefinitionHandle(type + 1), exception, locals);
            metadata.AddMethodDefinition(
                MethodAttributes.Public | MethodAttributes.HideBySig, MethodImplAttributes.IL,
                metadata.GetOrAddString("DoSomethingOfKind" + index), methodType, body, parameter);
        }
        var file = new BlobBuilder();
        new ManagedPEBuilder(PEHeaderBuilder.CreateLibraryHeader(), new MetadataRootBuilder(metadata), code).Serialize(file);
        using (FileStream stream = File.Create(path))
        {
            file.WriteContentTo(stream);
        }
    }

    private static TypeReferenceHandle Reference(MetadataBuilder metadata, AssemblyReferenceHandle library, string name)
    {
        return metadata.AddTypeReference(library, metadata.GetOrAddString("System"), metadata.GetOrAddString(name));
    }

    /// <summary>Its offset among the bodies.</summary>
    private static int Body(
        MetadataBuilder metadata, MethodBodyStreamEncoder bodies, int index, FieldDefinitionHandle field, EntityHandle exception,
        StandaloneSignatureHandle locals)
    {
        var flow = new ControlFlowBuilder();
        var il = new InstructionEncoder(new BlobBuilder(), flow);
        LabelHandle again = il.DefineLabel(), end = il.DefineLabel();
        switch (index % 5)
        {
            case 0:
                il.LoadArgument(0);
                il.OpCode(ILOpCode.Ldfld);
                il.Token(field);
                il.OpCode(ILOpCode.Ret);
                return bodies.AddMethodBody(il);
            case 1:
                il.MarkLabel(again);
                il.LoadLocal(0);
                il.LoadArgument(1);
                il.OpCode(ILOpCode.Add);
                il.StoreLocal(0);
                il.LoadLocal(1);
                il.LoadConstantI4(1);
                il.OpCode(ILOpCode.Add);
                il.StoreLocal(1);
                il.LoadLocal(1);
                il.LoadConstantI4(1000 + index % 1000);
                il.Branch(ILOpCode.Blt_s, again);
                il.LoadLocal(0);
                break;
            case 2:
                il.LoadString(metadata.GetOrAddUserString("What it says, number " + index % 5000));
                il.OpCode(ILOpCode.Pop);
                for (int call = 1; call <= 4; call++)
                {
                    il.LoadArgument(0);
                    il.LoadArgument(1);
                    il.LoadConstantI4(call);
                    il.OpCode(ILOpCode.Add);
                    il.Call(MetadataTokens.MethodDefinitionHandle(Math.Max(1, index - call)));
                    il.StoreLocal(call & 1);
                }
                il.LoadLocal(1);
                break;
            case 3:
                LabelHandle start = il.DefineLabel(), handler = il.DefineLabel(), handlerEnd = il.DefineLabel();
                il.MarkLabel(start);
                il.LoadArgument(0);
                il.LoadArgument(1);
                il.Call(MetadataTokens.MethodDefinitionHandle(Math.Max(1, index - 2)));
                il.StoreLocal(0);
                il.Branch(ILOpCode.Leave_s, handlerEnd);
                il.MarkLabel(handler);
                il.OpCode(ILOpCode.Pop);
                il.LoadConstantI4(-1);
                il.StoreLocal(0);
                il.Branch(ILOpCode.Leave_s, handlerEnd);
                il.MarkLabel(handlerEnd);
                flow.AddCatchRegion(start, handler, handler, handlerEnd, exception);
                il.LoadLocal(0);
                break;
            default:
                for (int value = 0; value < 8; value++)
                {
                    LabelHandle next = il.DefineLabel();
                    il.LoadArgument(1);
                    il.LoadConstantI4(value);
                    il.Branch(ILOpCode.Bne_un_s, next);
                    il.LoadConstantI4(value * index);
                    il.StoreLocal(0);
                    il.Branch(ILOpCode.Br, end);
                    il.MarkLabel(next);
                }
                il.MarkLabel(end);
                il.LoadLocal(0);
                break;
        }
        il.OpCode(ILOpCode.Ret);
        return bodies.AddMethodBody(il, 8, locals);
    }
}
