//! The layouts and descriptions so far, for all threads. They are asked for when a function, generic arguments or a class is met
//! for the first time.
//!
//! ```text
//! types ─► resolve ─► layouts ─► signature
//! ```

mod layouts;
mod resolve;
mod signature;
mod types;

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use self::layouts::Layouts;
use crate::{
    abi::runtime::{Context, Id, Runtime},
    function::{Function, Instance, ObjectLayout},
    modules::loaded::Loaded,
    worlds::{InCallback, InHook},
};

static LAYOUTS: OnceLock<(Runtime, Mutex<Layouts>)> = OnceLock::new();

/// The lock. While it is held, make no runtime call that waits for a garbage collection: hooks that prevent one wait
/// for this lock.
fn layouts() -> Option<MutexGuard<'static, Layouts>> {
    LAYOUTS.get().map(|(_, layouts)| layouts.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Called before the first module.
pub(crate) fn follow_modules(_: InCallback, runtime: Runtime) {
    let _ = LAYOUTS.set((runtime, Mutex::new(Layouts::new(runtime))));
}

/// A module was loaded.
pub(crate) fn add_module(_: InCallback, module: Id) {
    if let Some(mut layouts) = layouts() {
        layouts.modules.add(module);
    }
}

/// A module is unloaded: its ids may be reused.
pub(crate) fn forget_module(_: InCallback, module: Id) {
    if let Some(mut layouts) = layouts() {
        layouts.forget_module(module);
    }
}

/// A module, parsed.
pub(crate) fn loaded_module(_: InCallback, module: Id) -> Option<Arc<Loaded>> {
    layouts()?.modules.get(module)
}

/// Makes the queries that hooks may not make: the layouts of the values that a function takes and returns.
pub(crate) fn load_layouts(may: InCallback, function: &Function) {
    let Some((runtime, _)) = LAYOUTS.get() else { return };
    let context = runtime.context(function.id, 0).unwrap_or_default();
    let wanted = layouts().map(|mut layouts| signature::values(&mut layouts, function, &context));
    for of in wanted.unwrap_or_default() {
        let Some(request) = layouts().and_then(|mut layouts| layouts.request(&of)) else { continue };
        // Made without the lock: it may load types and wait for a garbage collection.
        let layout = request.load(may, *runtime).and_then(|class| runtime.class_layout(class));
        if let (Some(layout), Some(mut layouts)) = (layout, layouts()) {
            layouts.keep_layout(of, layout);
        }
    }
}

/// A function with its generic arguments, described for the first time.
pub(crate) fn describe_instance(_: InHook<'_>, function: &Function, context: &Context) -> Option<Instance> {
    signature::describe(&mut *layouts()?, function, context)
}

/// How objects of a new class lie in memory.
pub(crate) fn object_layout(_: InHook<'_>, class: Id) -> Option<ObjectLayout> {
    Some(layouts()?.object_layout(class))
}

/// The profile's number for the type of a class.
pub(crate) fn number_of_class(_: InHook<'_>, class: Id) -> Option<u32> {
    Some(layouts()?.number_of_class(class))
}
