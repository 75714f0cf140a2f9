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
        worlds::MayCollect,
    },
    hooks::{exceptions, functions},
    process::forked,
    rewrite::{at_load, attached},
    sampler, start,
    values::{capture, classes, described},
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
fn guarded(action: impl FnOnce() -> HResult) -> HResult {
    if forked::is_child() {
        return S_OK;
    }
    catch_unwind(AssertUnwindSafe(action)).unwrap_or(S_OK)
}

extern "system" fn initialize(_this: *mut c_void, runtime: *mut c_void) -> HResult {
    catch_unwind(|| start::start_program(runtime)).unwrap_or(E_FAIL)
}

/// The client passes its settings as data: the environment of a running process cannot be set.
extern "system" fn initialize_for_attach(_this: *mut c_void, runtime: *mut c_void, data: *const u8, size: u32) -> HResult {
    catch_unwind(|| {
        // SAFETY: the runtime passes `size` bytes at `data`.
        let data = if data.is_null() { &[][..] } else { unsafe { std::slice::from_raw_parts(data, size as usize) } };
        attached::start_attachment(runtime, data)
    })
    .unwrap_or(E_FAIL)
}

extern "system" fn profiler_attach_complete(_this: *mut c_void) -> HResult {
    guarded(|| {
        attached::run_attachment();
        S_OK
    })
}

extern "system" fn profiler_detach_succeeded(_this: *mut c_void) -> HResult {
    guarded(|| {
        attached::is_detached();
        S_OK
    })
}

extern "system" fn get_rejit_parameters(_this: *mut c_void, module: Id, token: u32, control: *mut c_void) -> HResult {
    guarded(|| attached::set_body(module, token, control))
}

extern "system" fn rejit_error(_this: *mut c_void, module: Id, token: u32, _function: Id, why: HResult) -> HResult {
    guarded(|| {
        attached::refused(module, token, why);
        S_OK
    })
}

extern "system" fn shutdown(_this: *mut c_void) -> HResult {
    guarded(|| {
        if !at_load::is_on() && !attached::end_program() {
            start::end_program();
        }
        S_OK
    })
}

extern "system" fn module_load_finished(_this: *mut c_void, module: Id, _status: HResult) -> HResult {
    guarded(|| {
        described::add_module(module);
        at_load::add_module(module);
        S_OK
    })
}

/// This thread is in a callback other than a hook, without a lock.
fn may_collect() -> MayCollect {
    // SAFETY: the runtime permits all queries in the callbacks that use this.
    unsafe { MayCollect::new() }
}

/// Some queries are permitted here, but not in hooks.
extern "system" fn jit_compilation_started(_this: *mut c_void, function: Id, _may_block: i32) -> HResult {
    guarded(|| {
        if capture::is_on() {
            load_layouts(function);
        }
        S_OK
    })
}

extern "system" fn jit_compilation_finished(_this: *mut c_void, function: Id, _status: HResult, _may_block: i32) -> HResult {
    guarded(|| {
        sampler::compiled(function, false);
        S_OK
    })
}

extern "system" fn dynamic_method_compiled(_this: *mut c_void, function: Id, _status: HResult, _may_block: i32) -> HResult {
    guarded(|| {
        sampler::compiled(function, true);
        S_OK
    })
}

/// Called by the thread itself.
extern "system" fn thread_assigned(_this: *mut c_void, _thread: Id, _system_id: u32) -> HResult {
    guarded(|| {
        sampler::thread_began();
        S_OK
    })
}

extern "system" fn runtime_suspend_started(_this: *mut c_void, _reason: u32) -> HResult {
    capture::suspended();
    S_OK
}

extern "system" fn module_unload_started(_this: *mut c_void, module: Id) -> HResult {
    guarded(|| {
        functions::forget_module(module);
        described::forget_module(module);
        at_load::forget_module(module);
        attached::allow_unload();
        sampler::forget(module);
        classes::forget_classes();
        S_OK
    })
}

/// Precompiled code has no probes, and may have inlined the original code of instrumented methods.
extern "system" fn cached_function_search_started(_this: *mut c_void, function: Id, is_used: *mut i32) -> HResult {
    guarded(|| {
        if !is_used.is_null() && !at_load::may_be_precompiled(function) {
            // SAFETY: the runtime passes a valid pointer for the answer.
            unsafe { *is_used = 0 };
        }
        S_OK
    })
}

/// Hooked functions must not be inlined, so that each call is recorded.
extern "system" fn jit_inlining(_this: *mut c_void, _caller: Id, callee: Id, is_inlined: *mut i32) -> HResult {
    guarded(|| {
        if !is_inlined.is_null() && (functions::find(may_collect(), callee).is_some() || attached::is_woven(callee)) {
            // SAFETY: the runtime passes a valid pointer for the answer.
            unsafe { *is_inlined = 0 };
        }
        S_OK
    })
}

extern "system" fn exception_thrown(_this: *mut c_void, _object: usize) -> HResult {
    of_exception(|| exceptions::thrown(exceptions::here()))
}

extern "system" fn exception_search_enter(_this: *mut c_void, _function: Id) -> HResult {
    of_exception(|| exceptions::is_searched(exceptions::here()))
}

extern "system" fn exception_filter_enter(_this: *mut c_void, _function: Id) -> HResult {
    of_exception(|| exceptions::filter(exceptions::here()))
}

extern "system" fn exception_filter_leave(_this: *mut c_void) -> HResult {
    of_exception(|| exceptions::filtered(exceptions::here()))
}

extern "system" fn exception_catcher_found(_this: *mut c_void, _function: Id) -> HResult {
    of_exception(exceptions::catcher_is_found)
}

extern "system" fn exception_unwind_enter(_this: *mut c_void, function: Id) -> HResult {
    of_exception(|| exceptions::unwind(may_collect(), function, exceptions::here()))
}

extern "system" fn exception_unwind_leave(_this: *mut c_void) -> HResult {
    of_exception(exceptions::unwound)
}

extern "system" fn exception_finally_enter(_this: *mut c_void, _function: Id) -> HResult {
    of_exception(|| exceptions::finally(true))
}

extern "system" fn exception_finally_leave(_this: *mut c_void) -> HResult {
    of_exception(|| exceptions::finally(false))
}

extern "system" fn exception_catcher_enter(_this: *mut c_void, function: Id, _object: usize) -> HResult {
    of_exception(|| exceptions::catch(function))
}

/// Finds the layouts of the values that a function takes and returns, before it is called.
fn load_layouts(function: Id) {
    let may = may_collect();
    functions::find(may, function).iter().for_each(|function| described::load_layouts(may, function));
}

/// Runs a callback for exception events.
fn of_exception(action: impl FnOnce()) -> HResult {
    guarded(|| {
        action();
        S_OK
    })
}
