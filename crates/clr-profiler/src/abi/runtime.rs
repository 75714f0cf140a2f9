//! Wrappers of `ICorProfilerInfo`, the runtime's interface for queries and requests.

use std::{ffi::c_void, mem::MaybeUninit};

use super::{
    com::{Guid, HResult, Interface, Owned},
    tables::{IMPORT, INFO_5, INFO_10, Import, Info, MethodMalloc, ModuleEnum},
};
use crate::worlds::{InCallback, Object};

/// `FunctionID`, `ModuleID`, `ThreadID`: addresses of runtime structures.
pub(crate) type Id = usize;

/// The function mapper: the runtime asks it whether a function is hooked.
pub(crate) type Mapper = extern "system" fn(Id, *mut c_void, *mut i32) -> usize;

/// `FunctionEnter3` and the other hooks: stubs with a calling convention of the runtime's own.
pub(crate) type Hook = unsafe extern "C" fn();

/// `FunctionEnter3WithInfo` and the other hooks: their arguments are the mapper's answer and `COR_PRF_ELT_INFO`.
pub(crate) type InfoHook<F> = extern "C" fn(&'static F, usize);

/// The runtime, through its profiling interface.
#[derive(Clone, Copy)]
pub(crate) struct Runtime(Interface);

/// The location of a module.
pub(crate) struct ModuleInfo {
    /// The path of its file; empty if it has none.
    pub(crate) path: String,
    /// The base address.
    pub(crate) base: *const u8,
    /// `COR_PRF_MODULE_FLAGS`
    pub(crate) flags: u32,
    /// Its MVID (II.22.30), if the runtime reports it. The file may have been replaced since.
    pub(crate) mvid: Option<[u8; 16]>,
}

/// In [`ModuleInfo::flags`]: the module's memory has the layout of a file (`COR_PRF_MODULE_FLAT_LAYOUT`).
pub(crate) const FLAT_LAYOUT: u32 = 0x20;
/// In [`ModuleInfo::flags`]: it may be unloaded (`COR_PRF_MODULE_COLLECTIBLE`).
pub(crate) const COLLECTIBLE: u32 = 0x8;

/// A function: its module and its token there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FunctionInfo {
    pub(crate) module: Id,
    pub(crate) token: u32,
}

fn done(result: HResult) -> Option<()> {
    (result >= 0).then_some(())
}

fn in_words(result: HResult) -> Result<(), String> {
    if result >= 0 { Ok(()) } else { Err(format!("0x{result:08X}")) }
}

impl Runtime {
    /// Wraps the argument of `Initialize`; `None` if the runtime is too old for the profiler.
    pub(crate) fn new(object: *mut c_void) -> Option<Self> {
        // SAFETY: the runtime passes an interface.
        unsafe { Interface::query(object, &INFO_5) }.map(Self)
    }

    fn this(self) -> *mut c_void {
        self.0.pointer()
    }

    pub(crate) fn set_event_mask(self, low: u32, high: u32) -> Option<()> {
        type F = unsafe extern "system" fn(*mut c_void, u32, u32) -> HResult;
        // SAFETY: SetEventMask2(DWORD, DWORD).
        done(unsafe { self.0.method::<F>(Info::SetEventMask2 as usize)(self.this(), low, high) })
    }

    pub(crate) fn set_mapper(self, mapper: Mapper) -> Option<()> {
        type F = unsafe extern "system" fn(*mut c_void, Mapper, *mut c_void) -> HResult;
        // SAFETY: SetFunctionIDMapper2(FunctionIDMapper2*, void*).
        done(unsafe { self.0.method::<F>(Info::SetFunctionIDMapper2 as usize)(self.this(), mapper, std::ptr::null_mut()) })
    }

    /// Sets the hooks.
    ///
    /// # Safety
    /// The stubs must follow the runtime's convention for such hooks, and take what the mapper answers.
    pub(crate) unsafe fn set_hooks(self, [enter, leave, tailcall]: [Hook; 3]) -> Option<()> {
        type F = unsafe extern "system" fn(*mut c_void, Hook, Hook, Hook) -> HResult;
        let method = Info::SetEnterLeaveFunctionHooks3 as usize;
        // SAFETY: SetEnterLeaveFunctionHooks3(enter, leave, tailcall).
        done(unsafe { self.0.method::<F>(method)(self.this(), enter, leave, tailcall) })
    }

    pub(crate) fn function(self, function: Id) -> Option<FunctionInfo> {
        type F = unsafe extern "system" fn(*mut c_void, Id, *mut Id, *mut Id, *mut u32) -> HResult;
        let (mut class, mut module, mut token) = (0, 0, 0);
        // SAFETY: GetFunctionInfo(FunctionID, ClassID*, ModuleID*, mdToken*).
        let result = unsafe {
            self.0.method::<F>(Info::GetFunctionInfo as usize)(self.this(), function, &mut class, &mut module, &mut token)
        };
        done(result).filter(|()| module != 0).map(|()| FunctionInfo { module, token })
    }

    pub(crate) fn module(self, module: Id) -> Option<ModuleInfo> {
        type F =
            unsafe extern "system" fn(*mut c_void, Id, *mut *const u8, u32, *mut u32, *mut u16, *mut Id, *mut u32) -> HResult;
        let (mut base, mut assembly, mut flags) = (std::ptr::null(), 0, 0);
        let path = text(|size, length, buffer| {
            // SAFETY: GetModuleInfo2(ModuleID, LPCBYTE*, ULONG, ULONG*, WCHAR[], AssemblyID*, DWORD*).
            unsafe {
                let method = self.0.method::<F>(Info::GetModuleInfo2 as usize);
                method(self.this(), module, &mut base, size, length, buffer, &mut assembly, &mut flags)
            }
        })?;
        let mvid = if path.is_empty() { None } else { self.mvid(module) };
        Some(ModuleInfo { path, base, flags, mvid })
    }

    fn mvid(self, module: Id) -> Option<[u8; 16]> {
        type F = unsafe extern "system" fn(*mut c_void, *mut u16, u32, *mut u32, *mut [u8; 16]) -> HResult;
        const READ: u32 = 0;
        let metadata = self.metadata(module, READ, &IMPORT)?;
        let (import, mut length, mut mvid) = (metadata.interface(), 0, [0; 16]);
        // SAFETY: GetScopeProps(LPWSTR, ULONG, ULONG*, GUID*). Without room for the name, only its length is returned.
        let result = unsafe {
            let method = import.method::<F>(Import::GetScopeProps as usize);
            method(import.pointer(), std::ptr::null_mut(), 0, &mut length, &mut mvid)
        };
        done(result).map(|()| mvid)
    }

    /// A writable interface to a module's metadata.
    pub(crate) fn metadata_to_write(self, module: Id, id: &Guid) -> Option<Owned> {
        const WRITE: u32 = 1;
        self.metadata(module, WRITE, id)
    }

    /// An interface to a module's metadata, opened with these `CorOpenFlags`.
    fn metadata(self, module: Id, flags: u32, id: &Guid) -> Option<Owned> {
        type F = unsafe extern "system" fn(*mut c_void, Id, u32, *const Guid, *mut *mut c_void) -> HResult;
        let mut found = std::ptr::null_mut();
        // SAFETY: GetModuleMetaData(ModuleID, DWORD, REFIID, IUnknown**); the result is a counted reference.
        unsafe {
            done(self.0.method::<F>(Info::GetModuleMetaData as usize)(self.this(), module, flags, id, &mut found))?;
            Owned::new(found)
        }
    }

    /// The allocator for bodies of a module's methods.
    pub(crate) fn body_allocator(self, module: Id) -> Option<Owned> {
        type F = unsafe extern "system" fn(*mut c_void, Id, *mut *mut c_void) -> HResult;
        let mut found = std::ptr::null_mut();
        // SAFETY: GetILFunctionBodyAllocator(ModuleID, IMethodMalloc**); the result is a counted reference.
        unsafe {
            done(self.0.method::<F>(Info::GetILFunctionBodyAllocator as usize)(self.this(), module, &mut found))?;
            Owned::new(found)
        }
    }

    /// Sets the body (II.25.4) of a method that was not compiled yet.
    pub(crate) fn set_body(self, module: Id, allocator: &Owned, token: u32, body: &[u8]) -> Option<()> {
        type Alloc = unsafe extern "system" fn(*mut c_void, u32) -> *mut u8;
        type F = unsafe extern "system" fn(*mut c_void, Id, u32, *const u8) -> HResult;
        let (allocator, size) = (allocator.interface(), u32::try_from(body.len()).ok()?);
        // SAFETY: IMethodMalloc::Alloc(ULONG) returns that much memory, aligned for bodies, or null.
        // SetILFunctionBody(ModuleID, mdMethodDef, LPCBYTE) takes a complete body there, and keeps it.
        unsafe {
            let memory = allocator.method::<Alloc>(MethodMalloc::Alloc as usize)(allocator.pointer(), size);
            if memory.is_null() {
                return None;
            }
            memory.copy_from_nonoverlapping(body.as_ptr(), body.len());
            done(self.0.method::<F>(Info::SetILFunctionBody as usize)(self.this(), module, token, memory))
        }
    }

    /// The loaded modules.
    pub(crate) fn modules(self) -> Option<Vec<Id>> {
        type F = unsafe extern "system" fn(*mut c_void, *mut *mut c_void) -> HResult;
        type Next = unsafe extern "system" fn(*mut c_void, u32, *mut Id, *mut u32) -> HResult;
        let (mut found, mut modules) = (std::ptr::null_mut(), Vec::new());
        // SAFETY: EnumModules(ICorProfilerModuleEnum**); the result is a counted reference with Next(ULONG,
        // ModuleID[], ULONG*).
        unsafe {
            done(self.0.method::<F>(Info::EnumModules as usize)(self.this(), &mut found))?;
            let all = Owned::new(found)?;
            let (all, mut module, mut count) = (all.interface(), 0, 0);
            while all.method::<Next>(ModuleEnum::Next as usize)(all.pointer(), 1, &mut module, &mut count) >= 0 && count == 1 {
                modules.push(module);
            }
        }
        Some(modules)
    }

    /// Registers this thread with the runtime, which did not create it.
    pub(crate) fn initialize_thread(self) {
        type F = unsafe extern "system" fn(*mut c_void) -> HResult;
        // SAFETY: InitializeCurrentThread().
        unsafe { self.0.method::<F>(Info::InitializeCurrentThread as usize)(self.this()) };
    }

    /// The function of a loaded method without generic arguments.
    pub(crate) fn function_of(self, (module, token): (Id, u32)) -> Option<Id> {
        type F = unsafe extern "system" fn(*mut c_void, Id, u32, *mut Id) -> HResult;
        let mut function = 0;
        // SAFETY: GetFunctionFromToken(ModuleID, mdToken, FunctionID*).
        done(unsafe { self.0.method::<F>(Info::GetFunctionFromToken as usize)(self.this(), module, token, &mut function) })?;
        Some(function)
    }

    /// Whether a function with generic arguments is its method as written, and not compiled for awaits. May wait for a
    /// garbage collection. True if the runtime does not say.
    pub(crate) fn is_written(self, _: InCallback, function: Id) -> bool {
        type F = unsafe extern "system" fn(*mut c_void, Id, u32, Id, u32, *const Id, *mut Id) -> HResult;
        let (Some(place), Some(context)) = (self.function(function), self.context(function, 0)) else { return true };
        let (arguments, mut written) = (context.arguments(), 0);
        let method = Info::GetFunctionFromTokenAndTypeArgs as usize;
        // SAFETY: GetFunctionFromTokenAndTypeArgs(ModuleID, mdMethodDef, ClassID, ULONG32, ClassID[], FunctionID*).
        let result = unsafe {
            let method = self.0.method::<F>(method);
            method(
                self.this(),
                place.module,
                place.token,
                context.class,
                arguments.len() as u32,
                arguments.as_ptr(),
                &mut written,
            )
        };
        done(result).is_none_or(|()| written == function)
    }

    /// Whether the runtime has runtime-async methods, and compiles methods that return tasks for them.
    pub(crate) fn compiles_for_awaits(self) -> bool {
        self.version().is_some_and(|[major, ..]| major >= 10)
    }

    /// Whether a compilation for awaits calls the original method; in .NET 11 it has the method's code. A runtime that calls it keeps
    /// running the optimized code of runtime-async methods after a request to recompile them.
    pub(crate) fn calls_original(self) -> bool {
        self.version().is_some_and(|[major, ..]| major == 10)
    }

    /// Requests that methods, and methods that inlined them, are recompiled at their next call.
    pub(crate) fn request_rejit(self, methods: &[(Id, u32)]) -> Result<(), String> {
        type Plain = unsafe extern "system" fn(*mut c_void, u32, *const Id, *const u32) -> HResult;
        type F = unsafe extern "system" fn(*mut c_void, u32, u32, *const Id, *const u32) -> HResult;
        // COR_PRF_REJIT_FLAGS
        const BLOCK_INLINING: u32 = 1;
        // Before .NET 5, the search for inliners crashes the process if one of their modules is not loaded.
        let is_old = self.version().is_none_or(|[major, ..]| major < 5);
        let (methods, unloaded): (Vec<_>, Vec<_>) =
            methods.iter().copied().partition(|method| !is_old || self.function_of(*method).is_some());
        if !unloaded.is_empty() {
            let (modules, tokens): (Vec<Id>, Vec<u32>) = unloaded.into_iter().unzip();
            // SAFETY: RequestReJIT(ULONG, ModuleID[], mdMethodDef[]).
            in_words(unsafe {
                let rejit = self.0.method::<Plain>(Info::RequestReJIT as usize);
                rejit(self.this(), modules.len() as u32, modules.as_ptr(), tokens.as_ptr())
            })?;
        }
        if methods.is_empty() {
            return Ok(());
        }
        let (modules, tokens): (Vec<Id>, Vec<u32>) = methods.into_iter().unzip();
        // SAFETY: RequestReJITWithInliners(DWORD, ULONG, ModuleID[], mdMethodDef[]), of an ICorProfilerInfo10.
        let result = unsafe {
            let info = Interface::query(self.this(), &INFO_10).ok_or("it has no ICorProfilerInfo10 (.NET Core 3.0)")?;
            let rejit = info.method::<F>(Info::RequestReJITWithInliners as usize);
            rejit(info.pointer(), BLOCK_INLINING, modules.len() as u32, modules.as_ptr(), tokens.as_ptr())
        };
        in_words(result)
    }

    /// Requests that methods revert to their original code from their next call on.
    pub(crate) fn request_revert(self, methods: &[(Id, u32)]) -> Result<(), String> {
        type F = unsafe extern "system" fn(*mut c_void, u32, *const Id, *const u32, *mut HResult) -> HResult;
        let (modules, tokens): (Vec<Id>, Vec<u32>) = methods.iter().copied().unzip();
        let mut results = vec![0; modules.len()];
        // SAFETY: RequestRevert(ULONG, ModuleID[], mdMethodDef[], HRESULT[]).
        let result = unsafe {
            let revert = self.0.method::<F>(Info::RequestRevert as usize);
            revert(self.this(), modules.len() as u32, modules.as_ptr(), tokens.as_ptr(), results.as_mut_ptr())
        };
        [&[result], &results[..]].concat().into_iter().try_for_each(in_words)
    }

    /// Suspends all managed code and resumes it. Returns whether it was suspended.
    pub(crate) fn stop_for_a_moment(self) -> bool {
        type F = unsafe extern "system" fn(*mut c_void) -> HResult;
        // CORPROF_E_SUSPENSION_IN_PROGRESS: already suspended, for example for a garbage collection.
        const BUSY: HResult = 0x8013_1388_u32.cast_signed();
        const TRIES: usize = 1000;
        // SAFETY: the interface belongs to the runtime.
        let Some(info) = (unsafe { Interface::query(self.this(), &INFO_10) }) else { return false };
        for _ in 0..TRIES {
            // SAFETY: SuspendRuntime() of an ICorProfilerInfo10.
            match unsafe { info.method::<F>(Info::SuspendRuntime as usize)(info.pointer()) } {
                BUSY => std::thread::sleep(std::time::Duration::from_millis(1)),
                done if done >= 0 => {
                    // SAFETY: ResumeRuntime(), called by the thread that suspended it.
                    return unsafe { info.method::<F>(Info::ResumeRuntime as usize)(info.pointer()) } >= 0;
                }
                _ => return false,
            }
        }
        false
    }

    /// Requests that the runtime detach the profiler once no thread runs in it.
    pub(crate) fn request_detach(self) -> Result<(), String> {
        type F = unsafe extern "system" fn(*mut c_void, u32) -> HResult;
        const EXPECTED_MILLISECONDS: u32 = 1;
        // SAFETY: RequestProfilerDetach(DWORD).
        in_words(unsafe { self.0.method::<F>(Info::RequestProfilerDetach as usize)(self.this(), EXPECTED_MILLISECONDS) })
    }

    /// Whether it is .NET Core 3.0 or later, shown by its interfaces.
    pub(crate) fn takes_startup_hooks(self) -> bool {
        // SAFETY: the interface belongs to the runtime.
        unsafe { Interface::query(self.this(), &INFO_10) }.is_some()
    }

    /// The version that the runtime reports: 4.0 on .NET Core before 5.
    pub(crate) fn version(self) -> Option<[u16; 3]> {
        type F = unsafe extern "system" fn(
            *mut c_void,
            *mut u16,
            *mut u32,
            *mut u16,
            *mut u16,
            *mut u16,
            *mut u16,
            u32,
            *mut u32,
            *mut u16,
        ) -> HResult;
        let (mut instance, mut kind, mut version, mut fix) = (0, 0, [0; 3], 0);
        let [major, minor, build] = &mut version;
        let mut length = 0;
        // SAFETY: GetRuntimeInformation(USHORT*, COR_PRF_RUNTIME_TYPE*, USHORT* (major, minor, build, QFE), ULONG, ULONG*, WCHAR[]).
        let result = unsafe {
            let method = self.0.method::<F>(Info::GetRuntimeInformation as usize);
            let none = std::ptr::null_mut();
            method(self.this(), &mut instance, &mut kind, major, minor, build, &mut fix, 0, &mut length, none)
        };
        done(result).map(|()| version)
    }
}

/// Queries for samples: what lies at code addresses. None waits for managed code.
impl Runtime {
    /// `ICorProfilerInfo10`, which has all slots used here.
    fn newer(self) -> Option<Interface> {
        // SAFETY: the interface belongs to the runtime.
        unsafe { Interface::query(self.this(), &INFO_10) }
    }

    /// The function whose code contains an address, compiled ahead of time or not. Dynamic methods are not found.
    pub(crate) fn function_at(self, address: usize) -> Option<Id> {
        type F = unsafe extern "system" fn(*mut c_void, usize, *mut Id) -> HResult;
        let mut function = 0;
        // SAFETY: GetFunctionFromIP(LPCBYTE, FunctionID*), which takes any address.
        done(unsafe { self.0.method::<F>(Info::GetFunctionFromIP as usize)(self.this(), address, &mut function) })?;
        Some(function).filter(|function| *function != 0)
    }

    /// The first addresses of a function's compiled bodies.
    pub(crate) fn code_starts(self, function: Id) -> Vec<usize> {
        type F = unsafe extern "system" fn(*mut c_void, Id, usize, u32, *mut u32, *mut usize) -> HResult;
        let Some(info) = self.newer() else { return Vec::new() };
        let starts = list(8, |room, count, to| {
            let method = Info::GetNativeCodeStartAddresses as usize;
            // SAFETY: GetNativeCodeStartAddresses(FunctionID, ReJITID, ULONG32, ULONG32*, UINT_PTR[]).
            unsafe { info.method::<F>(method)(info.pointer(), function, 0, room, count, to) }
        });
        starts.unwrap_or_default()
    }

    /// The parts of the body that begins at an address.
    pub(crate) fn code_ranges(self, start: usize) -> Vec<std::ops::Range<usize>> {
        /// `COR_PRF_CODE_INFO`
        #[repr(C)]
        #[derive(Clone, Copy, Default)]
        struct CodeInfo {
            start: usize,
            size: usize,
        }
        type F = unsafe extern "system" fn(*mut c_void, usize, u32, *mut u32, *mut CodeInfo) -> HResult;
        let Some(info) = self.newer() else { return Vec::new() };
        let parts = list(4, |room, count, to| {
            // SAFETY: GetCodeInfo4(UINT_PTR, ULONG32, ULONG32*, COR_PRF_CODE_INFO[]).
            unsafe { info.method::<F>(Info::GetCodeInfo4 as usize)(info.pointer(), start, room, count, to) }
        });
        let parts = parts.unwrap_or_default().into_iter();
        parts.filter(|part| part.size != 0).map(|part| part.start..part.start.saturating_add(part.size)).collect()
    }

    /// The name of a dynamic method.
    pub(crate) fn dynamic_name(self, function: Id) -> Option<String> {
        type F =
            unsafe extern "system" fn(*mut c_void, Id, *mut Id, *mut *const u8, *mut u32, u32, *mut u32, *mut u16) -> HResult;
        let info = self.newer()?;
        let (mut module, mut signature, mut size) = (0, std::ptr::null(), 0);
        text(|room, length, to| {
            // SAFETY: GetDynamicFunctionInfo(FunctionID, ModuleID*, PCCOR_SIGNATURE*, ULONG*, ULONG, ULONG*, WCHAR[]).
            unsafe {
                let method = info.method::<F>(Info::GetDynamicFunctionInfo as usize);
                method(info.pointer(), function, &mut module, &mut signature, &mut size, room, length, to)
            }
        })
    }

    /// The functions that are compiled already.
    pub(crate) fn compiled(self) -> Vec<Id> {
        type F = unsafe extern "system" fn(*mut c_void, *mut *mut c_void) -> HResult;
        type Next = unsafe extern "system" fn(*mut c_void, u32, *mut [Id; 2], *mut u32) -> HResult;
        const ROOM: usize = 64;
        let (mut found, mut functions) = (std::ptr::null_mut(), Vec::new());
        // SAFETY: EnumJITedFunctions2(ICorProfilerFunctionEnum**); the result is a counted reference with Next(ULONG,
        // COR_PRF_FUNCTION[], ULONG*), of pairs of a FunctionID and a ReJITID.
        unsafe {
            if self.0.method::<F>(Info::EnumJITedFunctions2 as usize)(self.this(), &mut found) < 0 {
                return functions;
            }
            let Some(all) = Owned::new(found) else { return functions };
            let (all, mut some) = (all.interface(), [[0; 2]; ROOM]);
            loop {
                let mut count = 0;
                let next = all.method::<Next>(ModuleEnum::Next as usize);
                if next(all.pointer(), ROOM as u32, some.as_mut_ptr(), &mut count) < 0 || count == 0 {
                    break;
                }
                functions.extend(some.iter().take(count as usize).map(|[function, _]| *function));
            }
        }
        functions
    }
}

/// The exact class and generic arguments of a function in one call.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Context {
    pub(crate) class: Id,
    pub(crate) arguments: [Id; MAX_ARGUMENTS],
    pub(crate) count: usize,
}

/// The maximum number of generic arguments of a method that are queried.
pub(crate) const MAX_ARGUMENTS: usize = 8;

impl Context {
    pub(crate) fn arguments(&self) -> &[Id] {
        self.arguments.get(..self.count).unwrap_or_default()
    }
}

/// `COR_PRF_FUNCTION_ARGUMENT_RANGE`
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Range {
    pub(crate) address: usize,
    pub(crate) length: u32,
}

/// `COR_PRF_FUNCTION_ARGUMENT_INFO`, with a fixed number of ranges.
#[repr(C)]
pub(crate) struct ArgumentInfo {
    count: u32,
    size: u32,
    ranges: [MaybeUninit<Range>; MAX_RANGES],
}

const MAX_RANGES: usize = 64;

impl ArgumentInfo {
    pub(crate) fn new() -> Self {
        Self { count: 0, size: 0, ranges: [MaybeUninit::uninit(); MAX_RANGES] }
    }

    pub(crate) fn ranges(&self) -> &[Range] {
        let ranges = self.ranges.get(..self.count as usize).unwrap_or_default();
        // SAFETY: the runtime has written that number of ranges.
        unsafe { std::slice::from_raw_parts(ranges.as_ptr().cast(), ranges.len()) }
    }
}

/// The definition of a class: its module, its token, its base class, and its generic arguments with those of its
/// enclosing types.
pub(crate) struct ClassInfo {
    pub(crate) module: Id,
    pub(crate) token: u32,
    pub(crate) base: Id,
    pub(crate) arguments: Vec<Id>,
}

/// `COR_FIELD_OFFSET`
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FieldOffset {
    pub(crate) token: u32,
    pub(crate) offset: u32,
}

/// The offsets of the fields that a class itself declares, and the size of its instances.
#[derive(Clone, Debug, Default)]
pub(crate) struct FieldLayout {
    pub(crate) fields: Vec<FieldOffset>,
    pub(crate) size: usize,
}

/// Queries for hooks with info. All are permitted while a garbage collection is prevented, and none starts one.
impl Runtime {
    /// Sets the hooks.
    ///
    /// # Safety
    /// For each hooked function, the mapper must answer with the address of a `F` that is never freed.
    pub(crate) unsafe fn set_hooks_with_info<F>(self, [enter, leave, tailcall]: [InfoHook<F>; 3]) -> Option<()> {
        type SetHooks<F> = unsafe extern "system" fn(*mut c_void, InfoHook<F>, InfoHook<F>, InfoHook<F>) -> HResult;
        let method = Info::SetEnterLeaveFunctionHooks3WithInfo as usize;
        // SAFETY: SetEnterLeaveFunctionHooks3WithInfo(enter, leave, tailcall); these hooks use the C calling
        // convention.
        done(unsafe { self.0.method::<SetHooks<F>>(method)(self.this(), enter, leave, tailcall) })
    }

    /// The frame of a call that begins: its generic arguments, and the locations of its arguments.
    pub(crate) fn enter_info(
        self,
        function: Id,
        info: usize,
        asks_for_arguments: bool,
        arguments: Option<&mut ArgumentInfo>,
    ) -> Option<usize> {
        type F = unsafe extern "system" fn(*mut c_void, Id, usize, *mut usize, *mut u32, *mut ArgumentInfo) -> HResult;
        let mut frame = 0;
        let has_room = arguments.is_some();
        let mut size = if has_room { size_of::<ArgumentInfo>() as u32 } else { 0 };
        let arguments = arguments.map_or(std::ptr::null_mut(), std::ptr::from_mut);
        let size = if asks_for_arguments { &raw mut size } else { std::ptr::null_mut() };
        let method = Info::GetFunctionEnter3Info as usize;
        // SAFETY: GetFunctionEnter3Info(FunctionID, COR_PRF_ELT_INFO, COR_PRF_FRAME_INFO*, ULONG*, COR_PRF_FUNCTION_ARGUMENT_INFO*).
        let result = unsafe { self.0.method::<F>(method)(self.this(), function, info, &mut frame, size, arguments) };
        // The frame is valid even if the call reports a buffer too small for the arguments.
        done(result).or((!has_room && frame != 0).then_some(()))?;
        Some(frame)
    }

    /// The location of a call's result.
    pub(crate) fn leave_info(self, function: Id, info: usize) -> Option<Range> {
        type F = unsafe extern "system" fn(*mut c_void, Id, usize, *mut usize, *mut Range) -> HResult;
        let (mut frame, mut range) = (0, Range::default());
        let method = Info::GetFunctionLeave3Info as usize;
        // SAFETY: GetFunctionLeave3Info(FunctionID, COR_PRF_ELT_INFO, COR_PRF_FRAME_INFO*, COR_PRF_FUNCTION_ARGUMENT_RANGE*).
        done(unsafe { self.0.method::<F>(method)(self.this(), function, info, &mut frame, &mut range) })?;
        Some(range).filter(|range| range.address != 0)
    }

    /// A function's class and generic arguments: exact with a frame's info, else those common to all calls.
    pub(crate) fn context(self, function: Id, frame: usize) -> Option<Context> {
        type F = unsafe extern "system" fn(*mut c_void, Id, usize, *mut Id, *mut Id, *mut u32, u32, *mut u32, *mut Id) -> HResult;
        let (mut context, mut module, mut token, mut count) = (Context::default(), 0, 0, 0);
        let arguments = context.arguments.as_mut_ptr();
        let method = Info::GetFunctionInfo2 as usize;
        // SAFETY: GetFunctionInfo2(FunctionID, COR_PRF_FRAME_INFO, ClassID*, ModuleID*, mdToken*, ULONG32, ULONG32*, ClassID[]).
        done(unsafe {
            let method = self.0.method::<F>(method);
            method(
                self.this(),
                function,
                frame,
                &mut context.class,
                &mut module,
                &mut token,
                MAX_ARGUMENTS as u32,
                &mut count,
                arguments,
            )
        })?;
        context.count = (count as usize).min(MAX_ARGUMENTS);
        Some(context)
    }

    pub(crate) fn class_of_object(self, object: Object<'_>) -> Option<Id> {
        type F = unsafe extern "system" fn(*mut c_void, usize, *mut Id) -> HResult;
        let mut class = 0;
        // SAFETY: GetClassFromObject(ObjectID, ClassID*).
        done(unsafe { self.0.method::<F>(Info::GetClassFromObject as usize)(self.this(), object.address(), &mut class) })?;
        Some(class).filter(|class| *class != 0)
    }

    /// The element type of an array class as in signatures, its class, and the rank; `None` for other classes.
    pub(crate) fn array_class(self, class: Id) -> Option<(u32, Id, u32)> {
        type F = unsafe extern "system" fn(*mut c_void, Id, *mut u32, *mut Id, *mut u32) -> HResult;
        let (mut element, mut element_class, mut rank) = (0, 0, 0);
        let method = Info::IsArrayClass as usize;
        // SAFETY: IsArrayClass(ClassID, CorElementType*, ClassID*, ULONG*).
        let result = unsafe { self.0.method::<F>(method)(self.this(), class, &mut element, &mut element_class, &mut rank) };
        (result == 0).then_some((element, element_class, rank))
    }

    pub(crate) fn class(self, class: Id) -> Option<ClassInfo> {
        type F = unsafe extern "system" fn(*mut c_void, Id, *mut Id, *mut u32, *mut Id, u32, *mut u32, *mut Id) -> HResult;
        let mut place = ClassInfo { module: 0, token: 0, base: 0, arguments: Vec::new() };
        place.arguments = list(MAX_ARGUMENTS, |room, count, to| {
            let method = Info::GetClassIDInfo2 as usize;
            // SAFETY: GetClassIDInfo2(ClassID, ModuleID*, mdTypeDef*, ClassID*, ULONG32, ULONG32*, ClassID[]).
            unsafe {
                let method = self.0.method::<F>(method);
                method(self.this(), class, &mut place.module, &mut place.token, &mut place.base, room, count, to)
            }
        })?;
        Some(place).filter(|place| place.module != 0)
    }

    pub(crate) fn class_layout(self, class: Id) -> Option<FieldLayout> {
        type F = unsafe extern "system" fn(*mut c_void, Id, *mut FieldOffset, u32, *mut u32, *mut u32) -> HResult;
        let method = Info::GetClassLayout as usize;
        let mut size = 0;
        let fields = list(256, |room, count, to| {
            // SAFETY: GetClassLayout(ClassID, COR_FIELD_OFFSET[], ULONG, ULONG*, ULONG*).
            unsafe { self.0.method::<F>(method)(self.this(), class, to, room, count, &mut size) }
        })?;
        Some(FieldLayout { fields, size: size as usize })
    }

    /// The dimensions of an array, and the address of its first element.
    ///
    /// # Safety
    /// The object must be an array with that number of dimensions.
    pub(crate) unsafe fn array(self, object: Object<'_>, dimensions: &mut [u32]) -> Option<usize> {
        type F = unsafe extern "system" fn(*mut c_void, usize, u32, *mut u32, *mut i32, *mut usize) -> HResult;
        let (mut lower, mut data) = ([0; MAX_RANK], 0);
        let count = dimensions.len().min(MAX_RANK) as u32;
        let method = Info::GetArrayObjectInfo as usize;
        // SAFETY: GetArrayObjectInfo(ObjectID, ULONG32, ULONG32[], int[], BYTE**); the caller guarantees the rank.
        done(unsafe {
            let method = self.0.method::<F>(method);
            method(self.this(), object.address(), count, dimensions.as_mut_ptr(), lower.as_mut_ptr(), &mut data)
        })?;
        Some(data)
    }

    /// The offsets of a string's length and of its first code unit.
    pub(crate) fn string_layout(self) -> Option<(usize, usize)> {
        type F = unsafe extern "system" fn(*mut c_void, *mut u32, *mut u32) -> HResult;
        let (mut length, mut units) = (0, 0);
        // SAFETY: GetStringLayout2(ULONG*, ULONG*).
        done(unsafe { self.0.method::<F>(Info::GetStringLayout2 as usize)(self.this(), &mut length, &mut units) })?;
        Some((length as usize, units as usize))
    }

    /// The offset of the value in a box; `None` for a class that is not a boxed value type.
    pub(crate) fn box_layout(self, class: Id) -> Option<usize> {
        type F = unsafe extern "system" fn(*mut c_void, Id, *mut u32) -> HResult;
        let mut offset = 0;
        // SAFETY: GetBoxClassLayout(ClassID, ULONG32*).
        let result = unsafe { self.0.method::<F>(Info::GetBoxClassLayout as usize)(self.this(), class, &mut offset) };
        (result == 0).then_some(offset as usize)
    }

    /// The class of a type with these generic arguments. It may load the type and start a garbage collection.
    pub(crate) fn load_class(self, _: InCallback, module: Id, token: u32, arguments: &[Id]) -> Option<Id> {
        type F = unsafe extern "system" fn(*mut c_void, Id, u32, u32, *const Id, *mut Id) -> HResult;
        let mut class = 0;
        let method = Info::GetClassFromTokenAndTypeArgs as usize;
        // SAFETY: GetClassFromTokenAndTypeArgs(ModuleID, mdTypeDef, ULONG32, ClassID[], ClassID*).
        done(unsafe {
            let method = self.0.method::<F>(method);
            method(self.this(), module, token, arguments.len() as u32, arguments.as_ptr(), &mut class)
        })?;
        Some(class).filter(|class| *class != 0)
    }
}

/// The maximum number of array dimensions.
pub(crate) const MAX_RANK: usize = 32;

/// The text from a call that reports its length.
fn text(call: impl FnMut(u32, *mut u32, *mut u16) -> HResult) -> Option<String> {
    let units: Vec<u16> = list(512, call)?;
    let end = units.iter().position(|unit| *unit == 0).unwrap_or(units.len());
    Some(String::from_utf16_lossy(&units[..end]))
}

/// The items from a call that reports their number. If the buffer is too small, it calls again; some functions report
/// this as a failure and others do not.
fn list<T: Clone + Default>(room: usize, mut call: impl FnMut(u32, *mut u32, *mut T) -> HResult) -> Option<Vec<T>> {
    let (mut items, mut count) = (vec![T::default(); room], 0);
    let mut result = call(room as u32, &mut count, items.as_mut_ptr());
    if count as usize > room {
        items.resize(count as usize, T::default());
        result = call(count, &mut count, items.as_mut_ptr());
    }
    done(result)?;
    items.truncate(count as usize);
    Some(items)
}
