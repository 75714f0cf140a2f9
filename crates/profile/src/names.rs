//! The names of functions in reports.

use std::collections::HashMap;

use names::{MethodId, is_compiler_generated, source_name, written_member, written_type};

use crate::model::{CallTree, Function, Mode, Module, Node, Profile, SampleType, ThreadName};

/// The most thread names shown for a shared tree.
const NAMES_SHOWN: usize = 3;

impl Profile {
    /// Returns the module of a function; `None` if the program did not name it.
    pub fn module_of(&self, function: &Function) -> Option<&Module> {
        self.modules.get(function.module?)
    }

    /// Returns the display names of all functions. Equal names get the types of their parameters as a suffix, or else their
    /// tokens, or their assemblies.
    pub fn display_names(&self) -> Vec<String> {
        let mut names: Vec<String> = self.functions.iter().map(Function::display_name).collect();
        self.tell_apart(&mut names, |function| function.parameters().map(|types| format!("({types})")).unwrap_or_default());
        self.tell_apart(&mut names, |function| format!(" ({})", function.token()));
        self.tell_apart(&mut names, |function| {
            let assembly = self.module_of(function).and_then(|module| module.assembly.split(',').next());
            format!(" in {}", assembly.map_or_else(|| function.module_key(), str::to_owned))
        });
        names
    }

    /// Takes names and places of functions from another profile of the same file.
    pub fn take_names(&mut self, from: &Self) {
        let known: HashMap<MethodId, &Function> = from.functions.iter().map(|function| (function.method_id, function)).collect();
        for function in &mut self.functions {
            if let Some(named) = known.get(&function.method_id) {
                function.name.clone_from(&named.name);
                function.source.clone_from(&named.source);
            }
        }
    }

    /// Adds a mark to names that several functions have.
    fn tell_apart(&self, names: &mut [String], mark: impl Fn(&Function) -> String) {
        let mut counts: HashMap<&str, usize> = HashMap::new();
        for name in names.iter() {
            *counts.entry(name).or_default() += 1;
        }
        let alone: Vec<bool> = names.iter().map(|name| counts.get(name.as_str()) == Some(&1)).collect();
        for ((name, function), _) in names.iter_mut().zip(&self.functions).zip(alone).filter(|(_, is_alone)| !is_alone) {
            name.push_str(&mark(function));
        }
    }

    /// Removes compiler-generated methods without a body in the source, and adds their time to their callers. A profile of
    /// counts has neither times nor callers.
    pub fn fold_generated(&mut self) {
        self.fold(Function::is_generated);
    }

    /// Removes functions, and adds their time to their callers.
    pub fn fold(&mut self, is_removed: impl Fn(&Function) -> bool) {
        let removed: Vec<bool> = self.functions.iter().map(is_removed).collect();
        if removed.contains(&true) {
            let is_kept: Vec<bool> = self.sample_types.iter().map(|measured| KEPT.contains(measured)).collect();
            for tree in &mut self.trees {
                *tree = tree.without(&removed, &is_kept, self.mode != Mode::Count);
            }
        }
    }
}

/// The values that move to the caller of a removed function: times.
const KEPT: [SampleType; 7] = [
    SampleType::WALL,
    SampleType::WAITING,
    SampleType::PROBES,
    SampleType::UNCERTAINTY,
    SampleType::CPU,
    SampleType::SAMPLES,
    SampleType::ALLOCATED,
];

impl CallTree {
    /// Returns the tree without these functions. Their time and their callees move to the caller. Without a caller they stay if
    /// `keeps_roots` is set.
    fn without(&self, left_out: &[bool], is_kept: &[bool], keeps_roots: bool) -> Self {
        let mut kept = Self { values: vec![Vec::new(); self.values.len()], nodes: Vec::new(), notes: Vec::new(), ..self.clone() };
        // The new node of each node.
        let mut places: Vec<Option<usize>> = Vec::with_capacity(self.nodes.len());
        for (index, node) in self.nodes.iter().enumerate() {
            let caller = node.caller.and_then(|caller| places.get(caller).copied().flatten());
            let is_left_out = left_out.get(node.function) == Some(&true);
            if is_left_out && caller.is_none() && !keeps_roots {
                places.push(None);
                continue;
            }
            let into = caller.filter(|_| is_left_out);
            let place = into.unwrap_or_else(|| {
                kept.nodes.push(Node { caller, ..*node });
                kept.notes.push(self.notes.get(index).copied().unwrap_or_default());
                kept.values.iter_mut().for_each(|values| values.push(0));
                kept.nodes.len() - 1
            });
            let lists = kept.values.iter_mut().zip(&self.values).zip(is_kept);
            for ((sums, values), _) in lists.filter(|(_, is_kept)| **is_kept || into.is_none()) {
                if let (Some(sum), Some(value)) = (sums.get_mut(place), values.get(index)) {
                    *sum = sum.saturating_add(*value);
                }
            }
            places.push(Some(place));
        }
        kept
    }
}

impl Function {
    /// Returns the source file of its beginning, from its PDB; `None` without a PDB.
    pub fn file(&self) -> Option<&str> {
        self.source.as_ref()?.file.as_deref()
    }

    /// Returns the line of its beginning, from 1.
    pub fn line(&self) -> Option<u32> {
        self.source.as_ref()?.line
    }

    /// Returns the types of its parameters: `int, string`; `None` if they are not known.
    pub fn parameters(&self) -> Option<&str> {
        self.source.as_ref()?.parameters.as_deref()
    }

    /// Returns its name in metadata: `Namespace.Type::Method`.
    pub fn raw_name(&self) -> Option<String> {
        let name = self.name.as_ref()?;
        let is_native = name.type_name.is_empty();
        Some(if is_native { name.method.clone() } else { format!("{}::{}", name.type_name, name.method) })
    }

    /// Returns its display name, with the types of its parameters if known. The result is the same in all profiles.
    pub fn full_name(&self) -> String {
        self.display_name() + &self.parameters().map(|types| format!("({types})")).unwrap_or_default()
    }

    /// Returns whether it stands for the functions of a native library that have no symbols.
    pub(crate) fn is_library(&self) -> bool {
        self.name.as_ref().is_some_and(|name| name.type_name.is_empty() && !name.method.contains('!'))
    }

    /// Returns its token in its module: `0x06000012`.
    pub fn token(&self) -> String {
        format!("0x{:08x}", self.method_id.token())
    }

    /// Returns whether it is compiler-generated and has no body in the source.
    pub fn is_generated(&self) -> bool {
        match (&self.source, &self.name) {
            (Some(source), _) => source.is_generated,
            (None, Some(name)) => is_compiler_generated(&name.type_name, &name.method),
            (None, None) => false,
        }
    }

    /// Returns its type's name in source form; `None` if its name is not known.
    pub fn type_name(&self) -> Option<String> {
        let written = self.source.as_ref().map(|source| source.type_name.clone());
        written.or_else(|| Some(written_type(&self.name.as_ref()?.type_name)))
    }

    /// Returns the namespace of its type; `None` if its name is not known.
    pub fn namespace(&self) -> Option<&str> {
        let outermost = self.name.as_ref()?.type_name.split('/').next().unwrap_or_default();
        Some(outermost.rsplit_once('.').map_or("", |(namespace, _)| namespace))
    }

    fn module_key(&self) -> String {
        format!("{:010x}", self.method_id.module_key())
    }

    pub(crate) fn display_name(&self) -> String {
        match (&self.source, &self.name) {
            (Some(source), _) if source.type_name.is_empty() => source.method.clone(),
            (Some(source), _) => format!("{}.{}", source.type_name, source.method),
            // A native function.
            (None, Some(name)) if name.type_name.is_empty() => name.method.clone(),
            (None, Some(name)) => {
                let source = source_name(&name.type_name, &name.method);
                let member = source.map_or_else(|| written_member(&name.method), |source| source.member());
                format!("{}.{member}", written_type(&name.type_name))
            }
            (None, None) => format!("{}!{}", self.module_key(), self.token()),
        }
    }
}

impl CallTree {
    /// Returns the names of its threads: `Worker (4)`, `thread 7`, `12 threads of tree 3, one after another`.
    pub fn thread_names(&self) -> String {
        // Threads of several processes have no numbers.
        if let Some(thread) = self.names.first().filter(|thread| thread.managed_id == 0) {
            let name = if thread.name.is_empty() { "without a name" } else { &thread.name };
            return format!("{name}, {}", counted(self.threads, "thread"));
        }
        let name = |thread: &ThreadName| match thread.name.as_str() {
            "" => format!("thread {}", thread.managed_id),
            name => format!("{name} ({})", thread.managed_id),
        };
        let mut names: Vec<String> = self.names.iter().take(NAMES_SHOWN).map(name).collect();
        let more = self.threads.saturating_sub(names.len() as u64);
        if names.is_empty() {
            return match self.threads {
                0 | 1 => format!("thread of tree {}", self.number),
                many => format!("{} of tree {}, one after another", counted(many, "thread"), self.number),
            };
        }
        if more > 0 {
            names.push(format!("and {more} more, one after another"));
        }
        names.join(", ")
    }
}

/// Returns a number with its noun: `1 thread`, `2 threads`, `2 assemblies`.
pub fn counted(number: u64, noun: &str) -> String {
    match noun.strip_suffix('y') {
        _ if number == 1 => format!("{number} {noun}"),
        Some(stem) => format!("{number} {stem}ies"),
        None if noun.ends_with('s') => format!("{number} {noun}es"),
        None => format!("{number} {noun}s"),
    }
}
