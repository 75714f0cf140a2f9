//! Which functions are hooked: decided once, with what their hooks are given.

use std::{
    collections::HashMap,
    ffi::c_void,
    sync::{Mutex, MutexGuard, OnceLock, PoisonError, atomic::AtomicPtr},
};

use crate::{
    info::{Context, Id, Runtime},
    modules::{Module, Rules},
    plan::{Class, Plans},
    settings,
    signature::{self, Instance},
};

/// What the hooks of a function are given: it stays for as long as the process does.
#[derive(Debug)]
pub(crate) struct Function {
    pub(crate) method_id: u64,
    /// As the runtime knows it.
    pub(crate) id: Id,
    pub(crate) module: Id,
    pub(crate) token: u32,
    /// Whether its calls differ in their generic arguments.
    pub(crate) is_generic: bool,
    /// With which arguments it was called.
    pub(crate) instances: AtomicPtr<Instance>,
}

impl Function {
    /// One that the runtime does not know.
    pub(crate) const fn unknown(method_id: u64) -> Self {
        Self { method_id, id: 0, module: 0, token: 0, is_generic: false, instances: AtomicPtr::new(std::ptr::null_mut()) }
    }
}

/// What is known of the program.
struct Functions {
    runtime: Runtime,
    rules: Rules,
    /// Modules of which functions may be recorded.
    modules: HashMap<Id, Option<Module>>,
    functions: HashMap<Id, Known>,
    plans: Plans,
    /// What is said to the launcher: a line behind the first for each module of which methods are left alone.
    status: String,
}

struct Known {
    module: Id,
    hooked: Option<&'static Function>,
}

static FUNCTIONS: OnceLock<Mutex<Functions>> = OnceLock::new();

/// Before the first function.
pub(crate) fn start(runtime: Runtime, rules: Rules, status: String) {
    let plans = Plans::new(runtime);
    let functions = Functions { runtime, rules, modules: HashMap::new(), functions: HashMap::new(), plans, status };
    let _ = FUNCTIONS.set(Mutex::new(functions));
}

/// While it is locked, the runtime is asked nothing that waits for a garbage collection: hooks that hold one off wait here.
fn functions() -> Option<MutexGuard<'static, Functions>> {
    FUNCTIONS.get().map(|functions| functions.lock().unwrap_or_else(PoisonError::into_inner))
}

/// `FunctionIDMapper2`: the same answer each time, from any thread.
pub(crate) extern "system" fn map(function: Id, _data: *mut c_void, is_hooked: *mut i32) -> usize {
    let hooked = std::panic::catch_unwind(|| find(function)).ok().flatten();
    if !is_hooked.is_null() {
        // SAFETY: the runtime passes a place for its answer.
        unsafe { *is_hooked = hooked.is_some().into() };
    }
    hooked.map_or(function, |hooked| std::ptr::from_ref(hooked).addr())
}

/// What a function's hooks are given; none if it is not hooked.
pub(crate) fn find(function: Id) -> Option<&'static Function> {
    functions()?.find(function)
}

/// A module is there.
pub(crate) fn add(module: Id) {
    if let Some(mut known) = functions() {
        known.plans.modules.add(module);
    }
}

/// What was known of a module is forgotten: its ids may come to mean others.
pub(crate) fn forget(module: Id) {
    if let Some(mut known) = functions() {
        known.modules.remove(&module);
        known.functions.retain(|_, function| function.module != module);
        known.plans.forget(module);
    }
}

/// Asks for what hooks may not: how the values are laid out that a function takes and returns.
pub(crate) fn prepare(function: Id) {
    let Some(function) = find(function) else { return };
    let wanted = functions().map(|mut known| {
        let known = &mut *known;
        let context = known.runtime.context(function.id, 0).unwrap_or_default();
        signature::values(&mut known.plans, function, &context)
    });
    for of in wanted.unwrap_or_default() {
        let request = functions().and_then(|mut known| Some((known.runtime, known.plans.request(&of)?)));
        let Some((runtime, request)) = request else { continue };
        // Not locked: types may be loaded, and a collection be waited for.
        let layout = request.load(runtime).and_then(|class| runtime.class_layout(class));
        if let (Some(layout), Some(mut known)) = (layout, functions()) {
            known.plans.keep_layout(of, layout);
        }
    }
}

/// A function with its arguments, described for the first time.
pub(crate) fn describe(function: &'static Function, context: &Context) -> Option<Instance> {
    let mut known = functions()?;
    signature::describe(&mut known.plans, function, context)
}

/// A class that was not met before.
pub(crate) fn class(class: Id) -> Option<Class> {
    Some(functions()?.plans.class(class))
}

/// Says how many methods of a module are left alone, as the runtime suspends them itself.
fn report_suspended(module: &Module, status: &mut String) {
    let count = module.suspended();
    if count > 0 {
        let methods = if count == 1 { "method" } else { "methods" };
        status.push_str(&format!("\n{}: {count} runtime-async {methods}, which hooks do not follow", module.loaded.path));
        settings::report(status);
    }
}

/// The number of the type that a class is.
pub(crate) fn number_of_class(class: Id) -> Option<u32> {
    Some(functions()?.plans.number_of_class(class))
}

impl Functions {
    fn find(&mut self, function: Id) -> Option<&'static Function> {
        if let Some(known) = self.functions.get(&function) {
            return known.hooked;
        }
        let place = self.runtime.function(function)?;
        let Self { runtime, rules, plans, status, .. } = self;
        let module = self.modules.entry(place.module).or_insert_with(|| {
            let module = rules.module(plans.modules.get(place.module)?)?;
            report_suspended(&module, status);
            Some(module)
        });
        let hooked = module.as_ref().and_then(|module| {
            // What is compiled once more calls the method that was written.
            let is_written = || runtime.function_of((place.module, place.token)).is_none_or(|written| written == function);
            if module.is_suspended(place.token) || runtime.compiles_for_awaits() && !is_written() {
                return None;
            }
            let method_id = module.method(place.token)?.0;
            let is_generic = signature::is_generic(&module.loaded.metadata, place.token);
            let instances = AtomicPtr::default();
            let function = Function { method_id, id: function, module: place.module, token: place.token, is_generic, instances };
            Some(&*Box::leak(Box::new(function)))
        });
        self.functions.insert(function, Known { module: place.module, hooked });
        hooked
    }
}
