//! Decides once for each function whether it is hooked, and holds the data passed to its hooks.

use std::{
    collections::{BTreeMap, HashMap},
    ffi::c_void,
    sync::{Mutex, MutexGuard, OnceLock, PoisonError},
};

use crate::{
    abi::runtime::{Id, Runtime},
    function::{Function, Instances},
    modules::rules::{Module, Rules},
    process::settings,
    values::{capture, described},
    worlds::InCallback,
};

/// The known functions and modules of the program.
struct Functions {
    runtime: Runtime,
    rules: Rules,
    /// Modules by id; `None` if no functions of the module may be recorded.
    modules: HashMap<Id, Option<Module>>,
    functions: HashMap<Id, Known>,
    /// The first line of the status for the launcher.
    status: String,
    skipped: Skipped,
}

struct Known {
    module: Id,
    hooked: Option<&'static Function>,
}

static FUNCTIONS: OnceLock<Mutex<Functions>> = OnceLock::new();

/// Called before the first function.
pub(crate) fn choose_functions(_: InCallback, runtime: Runtime, rules: Rules, status: String) {
    let (modules, functions, skipped) = (HashMap::new(), HashMap::new(), Skipped::default());
    let functions = Functions { runtime, rules, modules, functions, status, skipped };
    let _ = FUNCTIONS.set(Mutex::new(functions));
}

/// Whether hooks record calls. Only then do the trees of threads stay mapped until the process ends.
pub(crate) fn are_hooked() -> bool {
    FUNCTIONS.get().is_some()
}

/// Locks the functions. While the lock is held, make no runtime call that waits for a garbage collection: hooks that prevent one
/// wait for this lock.
fn functions() -> Option<MutexGuard<'static, Functions>> {
    FUNCTIONS.get().map(|functions| functions.lock().unwrap_or_else(PoisonError::into_inner))
}

/// `FunctionIDMapper2`: the same answer each time, from any thread.
pub(crate) extern "system" fn map(function: Id, _data: *mut c_void, is_hooked: *mut i32) -> usize {
    // SAFETY: the runtime asks when it compiles a function, and this thread holds no lock.
    let may = unsafe { InCallback::new() };
    let hooked = std::panic::catch_unwind(|| find(may, function)).ok().flatten();
    if !is_hooked.is_null() {
        // SAFETY: the runtime passes a place for its answer.
        unsafe { *is_hooked = hooked.is_some().into() };
    }
    hooked.map_or(function, |hooked| std::ptr::from_ref(hooked).addr())
}

/// The data for a function's hooks; `None` if the function is not hooked.
pub(crate) fn find(may: InCallback, function: Id) -> Option<&'static Function> {
    let mut known = functions()?;
    if let Some(hooked) = known.find(may, function, None) {
        return hooked;
    }
    let runtime = known.runtime;
    drop(known);
    // Asked without the lock: it may wait for a garbage collection.
    let is_written = runtime.is_written(may, function);
    functions()?.find(may, function, Some(is_written)).flatten()
}

/// Forgets everything about a module: its ids may be reused.
pub(crate) fn forget_module(_: InCallback, module: Id) {
    if let Some(mut known) = functions() {
        known.modules.remove(&module);
        known.functions.retain(|_, function| function.module != module);
    }
}

/// The skipped functions, by the paths of their modules.
#[derive(Default)]
struct Skipped {
    /// Methods that the runtime itself suspends.
    suspended: BTreeMap<String, usize>,
    /// Instantiations that are compiled for awaits, with values that cannot be read.
    awaited: BTreeMap<String, usize>,
}

impl Skipped {
    /// Reports all of them to the launcher, after the first line of the status.
    fn report(&self, may: InCallback, status: &str) {
        let mut status = status.to_owned();
        let plural = |count: usize| if count == 1 { "" } else { "s" };
        for (path, count) in &self.suspended {
            status.push_str(&format!("\n{path}: {count} runtime-async method{}, which hooks do not follow", plural(*count)));
        }
        for (path, count) in &self.awaited {
            status.push_str(&format!(
                "\n{path}: {count} instantiation{} of generic methods that runtime-async methods await: their values cannot be \
                 read; without --hooks or without --capture they are recorded",
                plural(*count)
            ));
        }
        settings::report(may, &status);
    }
}

impl Functions {
    /// Returns `None` if the runtime must be asked first whether the function is the method as written.
    fn find(&mut self, may: InCallback, function: Id, is_written: Option<bool>) -> Option<Option<&'static Function>> {
        if let Some(known) = self.functions.get(&function) {
            return Some(known.hooked);
        }
        let Some(place) = self.runtime.function(function) else { return Some(None) };
        let Self { runtime, rules, status, skipped, .. } = self;
        let module = self.modules.entry(place.module).or_insert_with(|| {
            let module = rules.module(described::loaded_module(may, place.module)?)?;
            let count = module.suspended();
            if count > 0 {
                skipped.suspended.insert(module.loaded.path.clone(), count);
                skipped.report(may, status);
            }
            Some(module)
        });
        let module = module.as_ref().filter(|module| !module.is_suspended(place.token));
        // On .NET 11, the values of an instantiation that is compiled for awaits cannot be read.
        let is_hooked = match module {
            None => false,
            Some(module) => match runtime.function_of((place.module, place.token)) {
                Some(written) => !runtime.calls_original() || written == function,
                None if runtime.calls_original() => is_written?,
                None if runtime.compiles_for_awaits() && capture::is_on() => {
                    let is_read = is_written?;
                    if !is_read && module.selects(place.token) {
                        *skipped.awaited.entry(module.loaded.path.clone()).or_default() += 1;
                        skipped.report(may, status);
                    }
                    is_read
                }
                None => true,
            },
        };
        let hooked = module.filter(|_| is_hooked).and_then(|module| {
            let method_id = module.method(place.token)?.0;
            let (is_generic, instances) = (module.loaded.is_generic(place.token), Instances::new());
            let function = Function { method_id, id: function, module: place.module, token: place.token, is_generic, instances };
            Some(&*Box::leak(Box::new(function)))
        });
        self.functions.insert(function, Known { module: place.module, hooked });
        Some(hooked)
    }
}
