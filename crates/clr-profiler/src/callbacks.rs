//! Entry points that the runtime calls: the class factory, and `ICorProfilerCallback`.

use std::{
    ffi::c_void,
    panic::{AssertUnwindSafe, catch_unwind},
};

use crate::{
    abi::{
        com::{
            CLASS_E_CLASSNOTAVAILABLE, E_FAIL, E_NOINTERFACE, Guid, HResult, ICLASS_FACTORY, IUNKNOWN, Object, S_OK, VTable,
            count_references, ignore,
        },
        runtime::Id,
        tables::{CALLBACK_IDS, CALLBACKS, CLASS, Callback},
    },
    attach,
    events::{at_load, exceptions, functions},
    process::forked,
    sampler, start, tree,
    values::{capture, classes, described},
    worlds::InCallback,
};

static FACTORY: Object<5> = Object(&FACTORY_TABLE);
static FACTORY_TABLE: VTable<5> = VTable([
    query_factory as *const (),
    count_references as *const (),
    count_references as *const (),
    create as *const (),
    ignore as *const (),
]);

static PROFILER: Object<CALLBACKS> = Object(&CALLBACK_TABLE);
static CALLBACK_TABLE: VTable<CALLBACKS> = VTable({
    let mut table = [ignore as *const (); CALLBACKS];
    table[Callback::QueryInterface as usize] = query_profiler as *const ();
    table[Callback::AddRef as usize] = count_references as *const ();
    table[Callback::Release as usize] = count_references as *const ();
    table[Callback::Initialize as usize] = initialize as *const ();
    table[Callback::Shutdown as usize] = shutdown as *const ();
    table[Callback::InitializeForAttach as usize] = initialize_for_attach as *const ();
    table[Callback::ProfilerAttachComplete as usize] = profiler_attach_complete as *const ();
    table[Callback::ProfilerDetachSucceeded as usize] = profiler_detach_succeeded as *const ();
    table[Callback::GetReJITParameters as usize] = get_rejit_parameters as *const ();
    table[Callback::ReJITCompilationStarted as usize] = rejit_compilation_started as *const ();
    table[Callback::ReJITCompilationFinished as usize] = rejit_compilation_finished as *const ();
    table[Callback::ReJITError as usize] = rejit_error as *const ();
    table[Callback::ModuleLoadFinished as usize] = module_load_finished as *const ();
    table[Callback::ModuleUnloadStarted as usize] = module_unload_started as *const ();
    table[Callback::JITCompilationStarted as usize] = jit_compilation_started as *const ();
    table[Callback::JITCachedFunctionSearchStarted as usize] = cached_function_search_started as *const ();
    table[Callback::JITInlining as usize] = jit_inlining as *const ();
    table[Callback::RuntimeSuspendStarted as usize] = runtime_suspend_started as *const ();
    table[Callback::JITCompilationFinished as usize] = jit_compilation_finished as *const ();
    table[Callback::DynamicMethodJITCompilationFinished as usize] = dynamic_method_compiled as *const ();
    table[Callback::ThreadAssignedToOSThread as usize] = thread_assigned as *const ();
    table[Callback::ExceptionThrown as usize] = exception_thrown as *const ();
    table[Callback::ExceptionSearchFunctionEnter as usize] = exception_search_enter as *const ();
    table[Callback::ExceptionSearchFilterEnter as usize] = exception_filter_enter as *const ();
    table[Callback::ExceptionSearchFilterLeave as usize] = exception_filter_leave as *const ();
    table[Callback::ExceptionSearchCatcherFound as usize] = exception_catcher_found as *const ();
    table[Callback::ExceptionUnwindFunctionEnter as usize] = exception_unwind_enter as *const ();
    table[Callback::ExceptionUnwindFunctionLeave as usize] = exception_unwind_leave as *const ();
    table[Callback::ExceptionUnwindFinallyEnter as usize] = exception_finally_enter as *const ();
    table[Callback::ExceptionUnwindFinallyLeave as usize] = exception_finally_leave as *const ();
    table[Callback::ExceptionCatcherEnter as usize] = exception_catcher_enter as *const ();
    table
});

/// Returns the class factory. The runtime requests it from a library that it loads as a profiler.
///
/// # Safety
/// The pointers must be as COM defines them: two ids, and a place for an interface.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn DllGetClassObject(class: *const Guid, id: *const Guid, found: *mut *mut c_void) -> HResult {
    // SAFETY: as the runtime passes them.
    unsafe {
        if class.is_null() || *class != CLASS {
            return CLASS_E_CLASSNOTAVAILABLE;
        }
        answer(id, &[ICLASS_FACTORY], (&raw const FACTORY).cast(), found)
    }
}

/// `S_FALSE`: the library must not be unloaded.
#[unsafe(no_mangle)]
pub extern "system" fn DllCanUnloadNow() -> HResult {
    1
}

/// Implements `QueryInterface`.
///
/// # Safety
/// The pointers must be null, or point to an id and to a place for an interface.
unsafe fn answer(id: *const Guid, known: &[Guid], object: *const c_void, found: *mut *mut c_void) -> HResult {
    if id.is_null() || found.is_null() {
        return E_FAIL;
    }
    // SAFETY: the caller guarantees this.
    unsafe {
        let is_known = *id == IUNKNOWN || known.contains(&*id);
        *found = if is_known { object.cast_mut() } else { std::ptr::null_mut() };
        if is_known { S_OK } else { E_NOINTERFACE }
    }
}

unsafe extern "system" fn query_factory(this: *mut c_void, id: *const Guid, found: *mut *mut c_void) -> HResult {
    // SAFETY: callers pass pointers as COM defines them.
    unsafe { answer(id, &[ICLASS_FACTORY], this, found) }
}

unsafe extern "system" fn query_profiler(this: *mut c_void, id: *const Guid, found: *mut *mut c_void) -> HResult {
    // SAFETY: callers pass pointers as COM defines them.
    unsafe { answer(id, &CALLBACK_IDS, this, found) }
}

/// `IClassFactory::CreateInstance`
unsafe extern "system" fn create(_this: *mut c_void, _outer: *mut c_void, id: *const Guid, found: *mut *mut c_void) -> HResult {
    // SAFETY: callers pass pointers as COM defines them.
    unsafe { answer(id, &CALLBACK_IDS, (&raw const PROFILER).cast(), found) }
}

/// Runs a callback. A panic ends here, so that it does not unwind into the runtime. A forked child does nothing.
fn guarded(action: impl FnOnce(InCallback) -> HResult) -> HResult {
    if forked::is_child() { S_OK } else { or_after_panic(S_OK, action) }
}

/// Runs a callback; returns `failed` if it panics.
fn or_after_panic(failed: HResult, action: impl FnOnce(InCallback) -> HResult) -> HResult {
    // SAFETY: this thread is in a callback that permits all queries, and holds no lock.
    let may = unsafe { InCallback::new() };
    catch_unwind(AssertUnwindSafe(|| action(may))).unwrap_or(failed)
}

extern "system" fn initialize(_this: *mut c_void, runtime: *mut c_void) -> HResult {
    or_after_panic(E_FAIL, |may| start::start_program(may, runtime))
}

/// The client passes its settings as data: the environment of a running process cannot be set.
extern "system" fn initialize_for_attach(_this: *mut c_void, runtime: *mut c_void, data: *const u8, size: u32) -> HResult {
    or_after_panic(E_FAIL, |may| {
        // SAFETY: the runtime passes `size` bytes at `data`.
        let data = if data.is_null() { &[][..] } else { unsafe { std::slice::from_raw_parts(data, size as usize) } };
        attach::start_attachment(may, runtime, data)
    })
}

extern "system" fn profiler_attach_complete(_this: *mut c_void) -> HResult {
    guarded(|may| {
        attach::run_attachment(may);
        S_OK
    })
}

extern "system" fn profiler_detach_succeeded(_this: *mut c_void) -> HResult {
    guarded(|may| {
        attach::is_detached(may);
        S_OK
    })
}

extern "system" fn get_rejit_parameters(_this: *mut c_void, module: Id, token: u32, control: *mut c_void) -> HResult {
    guarded(|may| attach::set_body(may, module, token, control))
}

extern "system" fn rejit_compilation_started(_this: *mut c_void, _function: Id, _rejit: Id, _may_block: i32) -> HResult {
    guarded(|may| {
        record_compilation(may, tree::compilation_begins);
        S_OK
    })
}

extern "system" fn rejit_compilation_finished(
    _this: *mut c_void,
    _function: Id,
    _rejit: Id,
    _status: HResult,
    _may_block: i32,
) -> HResult {
    guarded(|may| {
        record_compilation(may, tree::compilation_ends);
        S_OK
    })
}

extern "system" fn rejit_error(_this: *mut c_void, module: Id, token: u32, _function: Id, why: HResult) -> HResult {
    guarded(|may| {
        attach::refused(may, module, token, why);
        S_OK
    })
}

extern "system" fn shutdown(_this: *mut c_void) -> HResult {
    guarded(|may| {
        if !at_load::is_on() && !attach::end_program(may) {
            start::end_program(may);
        }
        S_OK
    })
}

extern "system" fn module_load_finished(_this: *mut c_void, module: Id, _status: HResult) -> HResult {
    guarded(|may| {
        described::add_module(may, module);
        at_load::add_module(may, module);
        S_OK
    })
}

/// Some queries are permitted here, but not in hooks.
extern "system" fn jit_compilation_started(_this: *mut c_void, function: Id, _may_block: i32) -> HResult {
    guarded(|may| {
        if capture::is_on() {
            load_layouts(may, function);
        }
        record_compilation(may, tree::compilation_begins);
        S_OK
    })
}

extern "system" fn jit_compilation_finished(_this: *mut c_void, function: Id, _status: HResult, _may_block: i32) -> HResult {
    guarded(|may| {
        record_compilation(may, tree::compilation_ends);
        sampler::compiled(may, function, false);
        S_OK
    })
}

extern "system" fn dynamic_method_compiled(_this: *mut c_void, function: Id, _status: HResult, _may_block: i32) -> HResult {
    guarded(|may| {
        sampler::compiled(may, function, true);
        S_OK
    })
}

/// Called by the thread itself.
extern "system" fn thread_assigned(_this: *mut c_void, _thread: Id, _system_id: u32) -> HResult {
    guarded(|may| {
        sampler::thread_began(may);
        S_OK
    })
}

extern "system" fn runtime_suspend_started(_this: *mut c_void, _reason: u32) -> HResult {
    capture::suspended();
    S_OK
}

extern "system" fn module_unload_started(_this: *mut c_void, module: Id) -> HResult {
    guarded(|may| {
        functions::forget_module(may, module);
        described::forget_module(may, module);
        at_load::forget_module(may, module);
        attach::allow_unload(may);
        sampler::forget(may, module);
        classes::forget_classes();
        S_OK
    })
}

/// Precompiled code has no probes, and may have inlined the original code of instrumented methods.
extern "system" fn cached_function_search_started(_this: *mut c_void, function: Id, is_used: *mut i32) -> HResult {
    guarded(|may| {
        if !is_used.is_null() && !at_load::may_be_precompiled(may, function) {
            // SAFETY: the runtime passes a valid pointer for the answer.
            unsafe { *is_used = 0 };
        }
        S_OK
    })
}

/// Hooked functions must not be inlined, so that each call is recorded.
extern "system" fn jit_inlining(_this: *mut c_void, _caller: Id, callee: Id, is_inlined: *mut i32) -> HResult {
    guarded(|may| {
        if !is_inlined.is_null() && (functions::find(may, callee).is_some() || attach::is_woven(may, callee)) {
            // SAFETY: the runtime passes a valid pointer for the answer.
            unsafe { *is_inlined = 0 };
        }
        S_OK
    })
}

extern "system" fn exception_thrown(_this: *mut c_void, _object: usize) -> HResult {
    of_exception(|may| exceptions::thrown(may, exceptions::here()))
}

extern "system" fn exception_search_enter(_this: *mut c_void, _function: Id) -> HResult {
    of_exception(|may| exceptions::is_searched(may, exceptions::here()))
}

extern "system" fn exception_filter_enter(_this: *mut c_void, _function: Id) -> HResult {
    of_exception(|may| exceptions::filter(may, exceptions::here()))
}

extern "system" fn exception_filter_leave(_this: *mut c_void) -> HResult {
    of_exception(|may| exceptions::filtered(may, exceptions::here()))
}

extern "system" fn exception_catcher_found(_this: *mut c_void, _function: Id) -> HResult {
    of_exception(exceptions::catcher_is_found)
}

extern "system" fn exception_unwind_enter(_this: *mut c_void, function: Id) -> HResult {
    of_exception(|may| exceptions::unwind(may, function, exceptions::here()))
}

extern "system" fn exception_unwind_leave(_this: *mut c_void) -> HResult {
    of_exception(exceptions::unwound)
}

extern "system" fn exception_finally_enter(_this: *mut c_void, _function: Id) -> HResult {
    of_exception(|may| exceptions::finally(may, true))
}

extern "system" fn exception_finally_leave(_this: *mut c_void) -> HResult {
    of_exception(|may| exceptions::finally(may, false))
}

extern "system" fn exception_catcher_enter(_this: *mut c_void, function: Id, _object: usize) -> HResult {
    of_exception(|may| exceptions::catch(may, function))
}

/// Records that a compilation begins or ends on this thread, if probes or hooks record its calls.
fn record_compilation(may: InCallback, change: fn(InCallback)) {
    if functions::are_hooked() {
        change(may);
    } else {
        attach::with_trees(may, change);
    }
}

/// Finds the layouts of the values that a function takes and returns, before it is called.
fn load_layouts(may: InCallback, function: Id) {
    functions::find(may, function).iter().for_each(|function| described::load_layouts(may, function));
}

/// Runs a callback for exception events.
fn of_exception(action: impl FnOnce(InCallback)) -> HResult {
    guarded(|may| {
        action(may);
        S_OK
    })
}
