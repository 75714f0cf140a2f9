//! Tables of the profiling API: vtable slots in order, interface ids and event masks. Each vtable is declared once,
//! as a list of names.

use super::com::Guid;

/// Declares a vtable: an enum of the slots after those of `IUnknown`, in order.
macro_rules! table {
    ($(#[$doc:meta])* $table:ident, $count:ident: $($slot:ident)*) => {
        $(#[$doc])*
        #[repr(usize)]
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        #[allow(missing_docs, dead_code, reason = "the API's own names, of which most are there for their place")]
        pub enum $table { QueryInterface, AddRef, Release, $($slot,)* }

        #[doc = "How many slots there are."]
        pub const $count: usize = [$(stringify!($slot),)*].len() + 3;
    };
}

table! {
    /// `ICorProfilerCallback` to `ICorProfilerCallback10`. A line ends where an interface or a group of methods ends.
    Callback, CALLBACKS:
    Initialize Shutdown
    AppDomainCreationStarted AppDomainCreationFinished AppDomainShutdownStarted AppDomainShutdownFinished
    AssemblyLoadStarted AssemblyLoadFinished AssemblyUnloadStarted AssemblyUnloadFinished
    ModuleLoadStarted ModuleLoadFinished ModuleUnloadStarted ModuleUnloadFinished ModuleAttachedToAssembly
    ClassLoadStarted ClassLoadFinished ClassUnloadStarted ClassUnloadFinished FunctionUnloadStarted
    JITCompilationStarted JITCompilationFinished JITCachedFunctionSearchStarted JITCachedFunctionSearchFinished
    JITFunctionPitched JITInlining
    ThreadCreated ThreadDestroyed ThreadAssignedToOSThread
    RemotingClientInvocationStarted RemotingClientSendingMessage RemotingClientReceivingReply RemotingClientInvocationFinished
    RemotingServerReceivingMessage RemotingServerInvocationStarted RemotingServerInvocationReturned RemotingServerSendingReply
    UnmanagedToManagedTransition ManagedToUnmanagedTransition
    RuntimeSuspendStarted RuntimeSuspendFinished RuntimeSuspendAborted RuntimeResumeStarted RuntimeResumeFinished
    RuntimeThreadSuspended RuntimeThreadResumed
    MovedReferences ObjectAllocated ObjectsAllocatedByClass ObjectReferences RootReferences
    ExceptionThrown ExceptionSearchFunctionEnter ExceptionSearchFunctionLeave ExceptionSearchFilterEnter
    ExceptionSearchFilterLeave ExceptionSearchCatcherFound ExceptionOSHandlerEnter ExceptionOSHandlerLeave
    ExceptionUnwindFunctionEnter ExceptionUnwindFunctionLeave ExceptionUnwindFinallyEnter ExceptionUnwindFinallyLeave
    ExceptionCatcherEnter ExceptionCatcherLeave
    COMClassicVTableCreated COMClassicVTableDestroyed ExceptionCLRCatcherFound ExceptionCLRCatcherExecute
    ThreadNameChanged GarbageCollectionStarted SurvivingReferences GarbageCollectionFinished FinalizeableObjectQueued
    RootReferences2 HandleCreated HandleDestroyed
    InitializeForAttach ProfilerAttachComplete ProfilerDetachSucceeded
    ReJITCompilationStarted GetReJITParameters ReJITCompilationFinished ReJITError MovedReferences2 SurvivingReferences2
    ConditionalWeakTableElementReferences
    GetAssemblyReferences
    ModuleInMemorySymbolsUpdated
    DynamicMethodJITCompilationStarted DynamicMethodJITCompilationFinished
    DynamicMethodUnloaded
    EventPipeEventDelivered EventPipeProviderCreated
}

table! {
    /// `ICorProfilerInfo` to `ICorProfilerInfo10`.
    Info, INFOS:
    GetClassFromObject GetClassFromToken GetCodeInfo GetEventMask GetFunctionFromIP GetFunctionFromToken GetHandleFromThread
    GetObjectSize IsArrayClass GetThreadInfo GetCurrentThreadID GetClassIDInfo GetFunctionInfo SetEventMask
    SetEnterLeaveFunctionHooks SetFunctionIDMapper GetTokenAndMetaDataFromFunction GetModuleInfo GetModuleMetaData
    GetILFunctionBody GetILFunctionBodyAllocator SetILFunctionBody GetAppDomainInfo GetAssemblyInfo SetFunctionReJIT ForceGC
    SetILInstrumentedCodeMap GetInprocInspectionInterface GetInprocInspectionIThisThread GetThreadContext
    BeginInprocDebugging EndInprocDebugging GetILToNativeMapping
    DoStackSnapshot SetEnterLeaveFunctionHooks2 GetFunctionInfo2 GetStringLayout GetClassLayout GetClassIDInfo2 GetCodeInfo2
    GetClassFromTokenAndTypeArgs GetFunctionFromTokenAndTypeArgs EnumModuleFrozenObjects GetArrayObjectInfo GetBoxClassLayout
    GetThreadAppDomain GetRVAStaticAddress GetAppDomainStaticAddress GetThreadStaticAddress GetContextStaticAddress
    GetStaticFieldInfo GetGenerationBounds GetObjectGeneration GetNotifiedExceptionClauseInfo
    EnumJITedFunctions RequestProfilerDetach SetFunctionIDMapper2 GetStringLayout2 SetEnterLeaveFunctionHooks3
    SetEnterLeaveFunctionHooks3WithInfo GetFunctionEnter3Info GetFunctionLeave3Info GetFunctionTailcall3Info EnumModules
    GetRuntimeInformation GetThreadStaticAddress2 GetAppDomainsContainingModule GetModuleInfo2
    EnumThreads InitializeCurrentThread RequestReJIT RequestRevert GetCodeInfo3 GetFunctionFromIP2 GetReJITIDs
    GetILToNativeMapping2 EnumJITedFunctions2 GetObjectSize2
    GetEventMask2 SetEventMask2
    EnumNgenModuleMethodsInliningThisMethod
    ApplyMetaData GetInMemorySymbolsLength ReadInMemorySymbols
    IsFunctionDynamic GetFunctionFromIP3 GetDynamicFunctionInfo
    GetNativeCodeStartAddresses GetILToNativeMapping3 GetCodeInfo4
    EnumerateObjectReferences IsFrozenObject GetLOHObjectSizeThreshold RequestReJITWithInliners SuspendRuntime ResumeRuntime
}

table! {
    /// `IMetaDataEmit` and `IMetaDataEmit2`: they add metadata to a module.
    Emit, EMITS:
    SetModuleProps Save SaveToStream GetSaveSize DefineTypeDef DefineNestedType SetHandler DefineMethod DefineMethodImpl
    DefineTypeRefByName DefineImportType DefineMemberRef DefineImportMember DefineEvent SetClassLayout DeleteClassLayout
    SetFieldMarshal DeleteFieldMarshal DefinePermissionSet SetRVA GetTokenFromSig DefineModuleRef SetParent
    GetTokenFromTypeSpec SaveToMemory DefineUserString DeleteToken SetMethodProps SetTypeDefProps SetEventProps
    SetPermissionSetProps DefinePinvokeMap SetPinvokeMap DeletePinvokeMap DefineCustomAttribute SetCustomAttributeValue
    DefineField DefineProperty DefineParam SetFieldProps SetPropertyProps SetParamProps DefineSecurityAttributeSet
    ApplyEditAndContinue TranslateSigWithScope SetMethodImplFlags SetFieldRVA Merge MergeEnd
    DefineMethodSpec GetDeltaSaveSize SaveDelta SaveDeltaToStream SaveDeltaToMemory DefineGenericParam SetGenericParamProps
    ResetENCLog
}

table! {
    /// `IMetaDataImport`, up to the last slot used here.
    Import, IMPORTS:
    CloseEnum CountEnum ResetEnum EnumTypeDefs EnumInterfaceImpls EnumTypeRefs FindTypeDefByName GetScopeProps
}

table! {
    /// `IMetaDataAssemblyEmit`, up to the last slot used here.
    AssemblyEmit, ASSEMBLY_EMITS:
    DefineAssembly DefineAssemblyRef
}

table! {
    /// `IMethodMalloc`: allocates memory for method bodies. The memory is freed with the module.
    MethodMalloc, METHOD_MALLOCS:
    Alloc
}

table! {
    /// `ICorProfilerFunctionControl`: sets the body from which a method is recompiled.
    FunctionControl, FUNCTION_CONTROLS:
    SetCodegenFlags SetILFunctionBody SetILInstrumentedCodeMap
}

table! {
    /// `ICorProfilerModuleEnum`
    ModuleEnum, MODULE_ENUMS:
    Skip Reset Clone GetCount Next
}

/// The class id of this profiler, the only class that the library creates.
pub const CLASS: Guid = Guid::new(live::CLASS);

/// The versions of `ICorProfilerCallback` that the table covers.
pub const CALLBACK_IDS: [Guid; 10] = [
    Guid::new(0x176FBED1_A55C_4796_98CA_A9DA0EF883E7),
    Guid::new(0x8A8CC829_CCF2_49FE_BBAE_0F022228071A),
    Guid::new(0x4FD2ED52_7731_4B8D_9469_03D2CC3086C5),
    Guid::new(0x7B63B2E3_107D_4D48_B2F6_F61E229470D2),
    Guid::new(0x8DFBA405_8C9F_45F8_BFFA_83B14CEF78B5),
    Guid::new(0xFC13DF4B_4448_4F4F_950C_BA8D19D00C36),
    Guid::new(0xF76A2DBA_1D52_4539_866C_2AA518F9EFC3),
    Guid::new(0x5BED9B15_C079_4D47_BFE2_215A140C07E0),
    Guid::new(0x27583EC3_C8F5_482F_8052_194B8CE4705A),
    Guid::new(0xCEC5B60E_C69C_495F_87F6_84D28EE16FFB),
];

/// `ICorProfilerInfo5`: available in every .NET Core version, and in the .NET Framework since 4.5.2.
pub const INFO_5: Guid = Guid::new(0x07602928_CE38_4B83_81E7_74ADAF781214);

/// `ICorProfilerInfo10`: .NET Core 3.0 and later.
pub const INFO_10: Guid = Guid::new(0x2F1B5152_C869_40C9_AA5F_3ABE026BD720);
/// `IMetaDataImport`
pub const IMPORT: Guid = Guid::new(0x7DAC8207_D3AE_4C75_9B67_92801A497D44);
/// `IMetaDataEmit2`
pub const EMIT_2: Guid = Guid::new(0xF5DD9950_F693_42E6_830E_7B833E8146A9);
/// `IMetaDataAssemblyEmit`
pub const ASSEMBLY_EMIT: Guid = Guid::new(0x211EF15B_5317_4438_B196_DEC87B887693);

/// Event flags (`COR_PRF_MONITOR`), low word.
pub mod mask {
    /// `COR_PRF_MONITOR_FUNCTION_UNLOADS`
    pub const FUNCTION_UNLOADS: u32 = 0x1;
    /// `COR_PRF_MONITOR_MODULE_LOADS`
    pub const MODULE_LOADS: u32 = 0x4;
    /// `COR_PRF_MONITOR_JIT_COMPILATION`: these events include `JITInlining`, which asks whether to inline a callee.
    pub const JIT_COMPILATION: u32 = 0x20;
    /// `COR_PRF_MONITOR_EXCEPTIONS`
    pub const EXCEPTIONS: u32 = 0x40;
    /// `COR_PRF_MONITOR_THREADS`
    pub const THREADS: u32 = 0x200;
    /// `COR_PRF_MONITOR_ENTERLEAVE`
    pub const ENTERLEAVE: u32 = 0x1000;
    /// `COR_PRF_MONITOR_SUSPENDS`: the runtime suspends threads, for example for a garbage collection.
    pub const SUSPENDS: u32 = 0x10000;
    /// `COR_PRF_MONITOR_CACHE_SEARCHES`: the runtime asks whether to use code compiled ahead of time.
    pub const CACHE_SEARCHES: u32 = 0x20000;
    /// `COR_PRF_ENABLE_REJIT`: allows methods to be recompiled.
    pub const ENABLE_REJIT: u32 = 0x40000;
    /// `COR_PRF_ENABLE_FUNCTION_ARGS`
    pub const FUNCTION_ARGS: u32 = 0x0200_0000;
    /// `COR_PRF_ENABLE_FUNCTION_RETVAL`
    pub const FUNCTION_RETVAL: u32 = 0x0400_0000;
    /// `COR_PRF_ENABLE_FRAME_INFO`
    pub const FRAME_INFO: u32 = 0x0800_0000;
    /// High word: `COR_PRF_HIGH_MONITOR_DYNAMIC_FUNCTION_UNLOADS`, with which dynamic methods are reported, too.
    pub const DYNAMIC_UNLOADS: u32 = 0x4;
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Slot numbers known from the interface headers: each is at a border between two interfaces, or was called with
    /// success.
    #[test]
    fn slots_are_where_the_runtime_looks_for_them() {
        let callbacks = [
            (Callback::Initialize, 3),
            (Callback::Shutdown, 4),
            (Callback::ModuleLoadFinished, 14),
            (Callback::JITCompilationStarted, 23),
            (Callback::JITInlining, 28),
            (Callback::ExceptionThrown, 54),
            (Callback::ExceptionSearchCatcherFound, 59),
            (Callback::ExceptionUnwindFunctionEnter, 62),
            (Callback::ExceptionUnwindFunctionLeave, 63),
            (Callback::ExceptionCatcherEnter, 66),
            (Callback::ExceptionCLRCatcherExecute, 71),
            (Callback::ThreadNameChanged, 72),
            (Callback::HandleDestroyed, 79),
            (Callback::InitializeForAttach, 80),
            (Callback::ReJITCompilationStarted, 83),
            (Callback::GetReJITParameters, 84),
            (Callback::ConditionalWeakTableElementReferences, 89),
            (Callback::GetAssemblyReferences, 90),
            (Callback::ModuleInMemorySymbolsUpdated, 91),
            (Callback::DynamicMethodJITCompilationFinished, 93),
            (Callback::DynamicMethodUnloaded, 94),
            (Callback::EventPipeProviderCreated, 96),
        ];
        callbacks.iter().for_each(|(slot, number)| assert_eq!(*slot as usize, *number, "{slot:?}"));
        assert_eq!(CALLBACKS, 97);
        let infos = [
            (Info::GetClassFromObject, 3),
            (Info::IsArrayClass, 11),
            (Info::GetFunctionInfo, 15),
            (Info::SetEventMask, 16),
            (Info::GetModuleInfo, 20),
            (Info::GetModuleMetaData, 21),
            (Info::GetILFunctionBody, 22),
            (Info::SetILFunctionBody, 24),
            (Info::GetAssemblyInfo, 26),
            (Info::DoStackSnapshot, 36),
            (Info::GetFunctionInfo2, 38),
            (Info::GetClassLayout, 40),
            (Info::GetClassIDInfo2, 41),
            (Info::GetArrayObjectInfo, 46),
            (Info::GetBoxClassLayout, 47),
            (Info::EnumJITedFunctions, 57),
            (Info::RequestProfilerDetach, 58),
            (Info::SetFunctionIDMapper2, 59),
            (Info::GetStringLayout2, 60),
            (Info::SetEnterLeaveFunctionHooks3, 61),
            (Info::GetFunctionEnter3Info, 63),
            (Info::GetRuntimeInformation, 67),
            (Info::EnumThreads, 71),
            (Info::RequestReJIT, 73),
            (Info::RequestRevert, 74),
            (Info::SetEventMask2, 82),
            (Info::EnumNgenModuleMethodsInliningThisMethod, 83),
            (Info::ApplyMetaData, 84),
            (Info::IsFunctionDynamic, 87),
            (Info::GetNativeCodeStartAddresses, 90),
            (Info::EnumerateObjectReferences, 93),
            (Info::RequestReJITWithInliners, 96),
        ];
        infos.iter().for_each(|(slot, number)| assert_eq!(*slot as usize, *number, "{slot:?}"));
        assert_eq!(INFOS, 99);
        let emits = [
            (Emit::DefineTypeRefByName, 12),
            (Emit::DefineMemberRef, 14),
            (Emit::GetTokenFromSig, 23),
            (Emit::GetTokenFromTypeSpec, 26),
            (Emit::DefineUserString, 28),
            (Emit::DefineMethodSpec, 52),
        ];
        emits.iter().for_each(|(slot, number)| assert_eq!(*slot as usize, *number, "{slot:?}"));
        assert_eq!(EMITS, 60);
        assert_eq!((FunctionControl::SetILFunctionBody as usize, ModuleEnum::Next as usize), (4, 7));
        assert_eq!((AssemblyEmit::DefineAssemblyRef as usize, MethodMalloc::Alloc as usize), (4, 3));
    }
}
