//! `--rewrite`: instruments methods when their module is loaded, as in a file. The tracker records their calls.

use std::{
    path::Path,
    sync::{Mutex, OnceLock, PoisonError, RwLock},
};

use ecma335::{Table, Token, error::Error};
use weave::{Refusal, Tracker, Weave};

use crate::{
    abi::{
        metadata::MetadataEmit,
        runtime::{Id, Runtime},
    },
    modules::{
        loaded::{Loaded, TOOL},
        rules::Rules,
    },
    process::settings,
    worlds::InCallback,
};

/// The state for the instrumentation of loaded modules.
struct Rewriting {
    rules: Rules,
    tracker: Tracker,
    /// Modules loaded before the tracker; `None` once it is loaded. A program that cannot load it must run unchanged.
    waiting: Option<Vec<Id>>,
    /// The status for the launcher: after its first line, one line for each module that runs unchanged, with the
    /// reason, or whose precompiled code is not used.
    status: String,
}

static REWRITING: OnceLock<(Runtime, Mutex<Rewriting>)> = OnceLock::new();
/// Modules with instrumented methods: their precompiled code must not run.
static WOVEN: RwLock<Vec<Id>> = RwLock::new(Vec::new());

/// The status until the tracker is loaded.
const NO_TRACKER: &str =
    "the program has loaded no tracker: it takes no startup hooks (DOTNET_STARTUP_HOOKS), or ended before; --hooks needs none";

/// The reason why the runtime cannot load a tracker, if this is known in advance.
pub(crate) fn why_not(runtime: Runtime) -> Option<String> {
    const HOOKS: &str = "DOTNET_STARTUP_HOOKS";
    const SWITCH: &str = "System.StartupHookProvider.IsSupported";
    if !runtime.takes_startup_hooks() {
        return Some("this runtime has no startup hooks, which .NET Core 3.0 and later have".into());
    }
    if std::env::var_os(HOOKS).is_none_or(|hooks| hooks.is_empty()) {
        return Some(format!("{HOOKS} was taken out of its environment"));
    }
    let configuration = settings::runtime_configuration()?;
    let json: serde_json::Value = serde_json::from_slice(&std::fs::read(&configuration).ok()?).ok()?;
    let switch = &json["runtimeOptions"]["configProperties"][SWITCH];
    let is_off = switch.as_bool() == Some(false) || switch.as_str().is_some_and(|text| text.eq_ignore_ascii_case("false"));
    is_off.then(|| format!("{}: {SWITCH} is false", configuration.display()))
}

/// Called before the first module.
pub(crate) fn start_rewriting(_: InCallback, runtime: Runtime, rules: Rules, tracker: &Path) -> Result<(), String> {
    let in_tracker = |error: &dyn std::fmt::Display| format!("{}: {error}", tracker.display());
    let bytes = std::fs::read(tracker).map_err(|error| in_tracker(&error))?;
    let tracker = Tracker::read(&bytes).map_err(|error| in_tracker(&error))?;
    weave_alone();
    let _ = REWRITING
        .set((runtime, Mutex::new(Rewriting { rules, tracker, waiting: Some(Vec::new()), status: live::REWRITING.into() })));
    Ok(())
}

/// Instruments modules on the threads that load them: only the runtime's own threads may make its queries.
pub(crate) fn weave_alone() {
    let _ = rayon::ThreadPoolBuilder::new().num_threads(1).build_global();
}

/// The status until the tracker is loaded.
pub(crate) fn first_status() -> String {
    format!("{}{NO_TRACKER}", live::FAILED)
}

/// Whether methods are instrumented.
pub(crate) fn is_on() -> bool {
    REWRITING.get().is_some()
}

/// A module was loaded.
pub(crate) fn add_module(may: InCallback, module: Id) {
    let Some((runtime, rewriting)) = REWRITING.get() else { return };
    let read = |module| runtime.module(module).and_then(|place| Loaded::read(&place));
    let Some(loaded) = read(module) else { return };
    let mut rewriting = rewriting.lock().unwrap_or_else(PoisonError::into_inner);
    if loaded.assembly_name().is_some_and(|name| name == rewriting.tracker.name()) {
        settings::report(may, &rewriting.status);
        for module in rewriting.waiting.take().unwrap_or_default() {
            read(module).iter().for_each(|loaded| rewriting.weave(may, *runtime, module, loaded));
        }
        return;
    }
    match &mut rewriting.waiting {
        Some(waiting) => waiting.push(module),
        None => rewriting.weave(may, *runtime, module, &loaded),
    }
}

/// A module is unloaded.
pub(crate) fn forget_module(_: InCallback, module: Id) {
    let Some((_, rewriting)) = REWRITING.get() else { return };
    let mut rewriting = rewriting.lock().unwrap_or_else(PoisonError::into_inner);
    rewriting.waiting.iter_mut().for_each(|waiting| waiting.retain(|other| *other != module));
    WOVEN.write().unwrap_or_else(PoisonError::into_inner).retain(|woven| *woven != module);
}

/// Whether a function's precompiled code may run.
pub(crate) fn may_be_precompiled(_: InCallback, function: Id) -> bool {
    let Some((runtime, _)) = REWRITING.get() else { return true };
    let Some(place) = runtime.function(function) else { return true };
    !WOVEN.read().unwrap_or_else(PoisonError::into_inner).contains(&place.module)
}

impl Rewriting {
    /// Instruments a module, if its methods are selected. A module that cannot be instrumented runs unchanged, and
    /// the launcher reports it.
    fn weave(&mut self, may: InCallback, runtime: Runtime, module: Id, loaded: &Loaded) {
        if !self.rules.selects(loaded) {
            return;
        }
        let line = match self.try_weave(runtime, module, loaded) {
            Ok(()) => {
                WOVEN.write().unwrap_or_else(PoisonError::into_inner).push(module);
                loaded.image.precompiled().map(|_| format!("\n{}{}", live::PRECOMPILED, loaded.path))
            }
            Err(why) => Some(format!("\n{}: {why}", loaded.path)),
        };
        if let Some(line) = line {
            self.status.push_str(&line);
            settings::report(may, &self.status);
        }
    }

    fn try_weave(&self, runtime: Runtime, module: Id, loaded: &Loaded) -> Result<(), String> {
        let Self { rules, tracker, .. } = self;
        if let Some(refusal) = weave::refusal::for_file(&loaded.image, &loaded.metadata, tracker) {
            return Err(refusal.to_string());
        }
        let weaving = Weave { options: rules.options(), tool: TOOL, ..Weave::new(tracker) };
        let begin = || MetadataEmit::open(runtime, module);
        let woven = weave::weave_loaded(&loaded.image, &loaded.metadata, &weaving, begin);
        let woven = woven.map_err(|error: Error| {
            Refusal::from_error(&error).map_or_else(|| error.to_string(), |refusal| refusal.to_string())
        })?;
        let refused = || "the runtime takes no bodies for it".to_owned();
        let (Some(woven), Some(allocator)) = (woven, runtime.body_allocator(module)) else { return Err(refused()) };
        for (method, body) in woven.iter() {
            runtime.set_body(module, &allocator, Token::new(Table::MethodDef, method.get()).0, body).ok_or_else(refused)?;
        }
        Ok(())
    }
}
