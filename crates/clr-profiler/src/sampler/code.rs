//! The methods and native functions at code addresses.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    ops::Range,
    sync::{Arc, Mutex, PoisonError},
};

use super::{
    call,
    handler::signal::read_memory,
    ids::{DYNAMIC, Ids, KERNEL, Place, RUNTIME},
    maps::{Mapping, Maps},
};
use crate::abi::runtime::{Id, Runtime};

/// A compiled method.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Method {
    OfModule {
        module: Id,
        token: u32,
    },
    /// Compiled from a `DynamicMethod`.
    Dynamic(Arc<str>),
}

/// The code that the runtime compiled.
#[derive(Default)]
struct Compiled {
    /// By first address: the end, and the method.
    ranges: BTreeMap<usize, (usize, Method)>,
    /// The bodies by on-stack replacement, by first address.
    replacements: BTreeMap<usize, usize>,
    /// First addresses of bodies that were not looked at yet: the runtime reports a body before its code is in place.
    unseen: Vec<usize>,
    /// Whether there is new code since it was last looked at.
    has_grown: bool,
    /// Whether code lies where other code was before.
    has_moved: bool,
}

static COMPILED: Mutex<Option<Compiled>> = Mutex::new(None);

/// Does something with the compiled code. The runtime must not be asked anything there.
fn with_compiled<T>(action: impl FnOnce(&mut Compiled) -> T) -> T {
    action(COMPILED.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_with(Compiled::default))
}

/// Forgets all code: of an earlier recording, some may have been freed since.
pub(super) fn clear() {
    with_compiled(|compiled| *compiled = Compiled::default());
}

/// The runtime has compiled a method. Its name is read when a sample needs it.
pub(super) fn add_compiled(runtime: Runtime, function: Id) {
    if let Some(place) = runtime.function(function) {
        add(runtime, function, &Method::OfModule { module: place.module, token: place.token });
    }
}

/// The runtime has compiled a dynamic method, whose name is known no longer than its code.
pub(super) fn add_dynamic(runtime: Runtime, function: Id) {
    if let Some(name) = runtime.dynamic_name(function) {
        add(runtime, function, &Method::Dynamic(name.into()));
    }
}

fn add(runtime: Runtime, function: Id, method: &Method) {
    for start in runtime.code_starts(function) {
        if with_compiled(|compiled| compiled.ranges.get(&start).is_some_and(|(_, known)| known == method)) {
            continue;
        }
        for range in runtime.code_ranges(start) {
            with_compiled(|compiled| compiled.add(range, method));
        }
    }
}

impl Compiled {
    /// Adds a range. Older ranges that it overlaps were freed.
    fn add(&mut self, range: Range<usize>, method: &Method) {
        let before = self.ranges.range(..range.start).next_back().filter(|(_, (end, _))| *end > range.start);
        let old: Vec<usize> = before.into_iter().chain(self.ranges.range(range.clone())).map(|(start, _)| *start).collect();
        for start in &old {
            self.ranges.remove(start);
            self.replacements.remove(start);
        }
        self.has_grown = true;
        self.has_moved |= !old.is_empty();
        self.unseen.push(range.start);
        self.ranges.insert(range.start, (range.end, method.clone()));
    }

    /// Finds the bodies by on-stack replacement among new ones.
    fn look_at_new(&mut self, code_at: impl Fn(usize) -> Option<Beginning>) {
        self.unseen.retain(|start| {
            let Some((end, _)) = self.ranges.get(start) else { return false };
            let beginning = code_at(*start);
            if beginning == Some(Beginning::Replacement) {
                self.replacements.insert(*start, *end);
                self.has_moved = true;
            }
            beginning == Some(Beginning::NotWritten)
        });
        self.has_grown |= !self.unseen.is_empty();
    }

    fn at(&self, address: usize) -> Option<(Range<usize>, Method)> {
        let (start, (end, method)) = self.ranges.range(..=address).next_back()?;
        (address < *end).then(|| (*start..*end, method.clone()))
    }
}

/// Finds what is at code addresses, and writes names to the profile. Used by one thread at a time.
pub(super) struct Names {
    runtime: Runtime,
    maps: Maps,
    /// Answers so far; `None` for numbers that are no return addresses.
    places: HashMap<usize, Option<Place>>,
    pub(super) ids: Ids,
}

impl Names {
    pub(super) fn new(runtime: Runtime) -> Self {
        Self { runtime, maps: Maps::read(), places: HashMap::new(), ids: Ids::default() }
    }

    pub(super) fn maps(&self) -> &Maps {
        &self.maps
    }

    /// Reads the mappings anew.
    pub(super) fn refresh(&mut self) {
        self.maps = Maps::read();
    }

    /// Takes note of newly compiled code. Returns whether there was any.
    pub(super) fn take_changes(&mut self) -> bool {
        let (has_grown, has_moved) = with_compiled(|compiled| {
            let has_grown = std::mem::take(&mut compiled.has_grown);
            compiled.look_at_new(beginning);
            (has_grown, std::mem::take(&mut compiled.has_moved))
        });
        if has_moved {
            self.places.clear();
        }
        has_grown
    }

    /// The code by on-stack replacement, and all other code of the methods that were replaced.
    pub(super) fn replacements() -> [Vec<Range<usize>>; 2] {
        with_compiled(|compiled| {
            let replacements: Vec<Range<usize>> = compiled.replacements.iter().map(|(start, end)| *start..*end).collect();
            let methods = replacements.iter().filter_map(|range| Some(compiled.ranges.get(&range.start)?.1.clone()));
            let methods: HashSet<Method> = methods.collect();
            let is_replaced = |start, method| methods.contains(method) && !compiled.replacements.contains_key(start);
            let of_methods = compiled.ranges.iter().filter(|(start, (_, method))| is_replaced(*start, method));
            let replaced =
                if methods.is_empty() { Vec::new() } else { of_methods.map(|(start, (end, _))| *start..*end).collect() };
            [replacements, replaced]
        })
    }

    /// A module is about to be unloaded.
    pub(super) fn forget(&mut self, module: Id) {
        self.ids.forget(module);
        self.places.clear();
        let is_of = |method: &Method| matches!(method, Method::OfModule { module: of, .. } if *of == module);
        with_compiled(|compiled| {
            compiled.ranges.retain(|_, (_, method)| !is_of(method));
            compiled.replacements.retain(|start, _| compiled.ranges.contains_key(start));
        });
    }

    /// Finds the function at the address of an interrupted instruction.
    pub(super) fn at(&mut self, address: usize) -> Place {
        if let Some(Some(known)) = self.places.get(&address) {
            return known.clone();
        }
        let place = self.find(address);
        self.places.insert(address, Some(place.clone()));
        place
    }

    /// Finds the function that a return address leads back to. `None` if no call is in front of the address: a stack has other pointers
    /// to code, also to methods that never ran. The runtime crashes when it is asked about a precompiled method that never ran.
    pub(super) fn caller_at(&mut self, return_address: usize) -> Option<Place> {
        // The address may lie behind the last instruction of the caller.
        let address = return_address.checked_sub(1)?;
        if let Some(known) = self.places.get(&address) {
            return known.clone();
        }
        let mut code = [0; call::LONGEST];
        let is_read = read_memory(return_address.saturating_sub(code.len()), &mut code);
        let place = (is_read && call::ends_with_call(&code)).then(|| self.find(address));
        self.places.insert(address, place.clone());
        place
    }

    fn find(&mut self, address: usize) -> Place {
        let compiled = with_compiled(|compiled| {
            let (range, method) = compiled.at(address)?;
            Some((method, Some(range.start).filter(|start| !compiled.replacements.contains_key(start))))
        });
        if let Some((method, start)) = compiled {
            return Place { method_id: self.id_of(&method), start, is_library: false };
        }
        if self.maps.at(address).is_none() {
            self.refresh();
        }
        let mapping = self.maps.at(address).cloned();
        let is_native = mapping.as_ref().is_some_and(Mapping::is_shared_object);
        if !is_native && mapping.as_ref().is_some_and(|mapping| mapping.is_executable) {
            let function = self.runtime.function_at(address);
            if let Some((function, place)) = function.and_then(|function| Some((function, self.runtime.function(function)?))) {
                let starts = self.runtime.code_starts(function);
                let start = starts.into_iter().filter(|start| *start <= address).max();
                let method = Method::OfModule { module: place.module, token: place.token };
                return Place { method_id: self.id_of(&method), start, is_library: false };
            }
        }
        let native = match mapping {
            Some(mapping) if mapping.is_library() => return self.ids.native(&mapping, address),
            Some(mapping) if mapping.path.starts_with("[v") => self.ids.intern(KERNEL, &mapping.path.clone()),
            Some(mapping) if mapping.is_executable => self.ids.intern(RUNTIME, "[runtime stub]"),
            _ => self.ids.intern(RUNTIME, "[unknown]"),
        };
        Place { method_id: native, start: None, is_library: true }
    }

    fn id_of(&mut self, method: &Method) -> u64 {
        match method {
            Method::Dynamic(name) => self.ids.intern(DYNAMIC, name),
            Method::OfModule { module, token } => {
                let runtime = self.runtime;
                let id = self.ids.method(*module, *token, || runtime.module(*module));
                id.unwrap_or_else(|| {
                    let path = runtime.module(*module).map(|place| place.path).unwrap_or_default();
                    // A file that was replaced has no names for the module.
                    let file = path.rsplit(['/', '\\']).next().filter(|file| !file.is_empty()).unwrap_or("a dynamic assembly");
                    self.ids.intern(DYNAMIC, &format!("method 0x{token:08X} of {file}"))
                })
            }
        }
    }
}

/// The first instructions of a compiled method.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Beginning {
    /// None yet.
    NotWritten,
    /// Those of a body by on-stack replacement: a push of what the replaced method saved.
    Replacement,
    Other,
}

/// Reads the first instructions at an address; `None` if it is not mapped any more.
fn beginning(start: usize) -> Option<Beginning> {
    // `mov rax, [rbp]; push rax`. Since .NET 11, another `push rax` comes first.
    const REPLACEMENT: [u8; 6] = [0x50, 0x48, 0x8B, 0x45, 0x00, 0x50];
    let mut code = [0; REPLACEMENT.len()];
    if !cfg!(target_arch = "x86_64") {
        return Some(Beginning::Other);
    }
    read_memory(start, &mut code).then_some(match code {
        [0, 0, 0, 0, 0, 0] => Beginning::NotWritten,
        REPLACEMENT => Beginning::Replacement,
        _ if code.starts_with(&REPLACEMENT[1..]) => Beginning::Replacement,
        _ => Beginning::Other,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_range_wins() {
        let method = |token| Method::OfModule { module: 1, token };
        let mut compiled = Compiled::default();
        compiled.add(10..20, &method(1));
        compiled.add(20..30, &method(2));
        compiled.add(40..50, &method(3));
        assert!(!compiled.has_moved);
        compiled.look_at_new(|start| (start == 20).then_some(Beginning::Replacement));
        assert!(std::mem::take(&mut compiled.has_moved) && compiled.replacements.len() == 1);
        let found = [9, 10, 19, 20, 30, 49].map(|address| compiled.at(address).map(|(range, _)| range));
        assert_eq!(found, [None, Some(10..20), Some(10..20), Some(20..30), None, Some(40..50)]);
        compiled.add(15..45, &method(4));
        assert!(compiled.has_moved && compiled.replacements.is_empty());
        assert_eq!(compiled.ranges.len(), 1);
        assert_eq!(compiled.at(44), Some((15..45, method(4))));
    }

    #[test]
    fn code_is_looked_at_once_it_is_written() {
        let mut compiled = Compiled::default();
        compiled.add(10..20, &Method::OfModule { module: 1, token: 1 });
        compiled.look_at_new(|_| Some(Beginning::NotWritten));
        assert!(compiled.replacements.is_empty() && compiled.unseen == [10]);
        compiled.look_at_new(|_| Some(Beginning::Replacement));
        assert!(compiled.replacements.contains_key(&10) && compiled.unseen.is_empty());
    }
}
