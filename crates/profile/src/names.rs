//! What functions are called in reports.

use std::collections::HashMap;

use identity::source_name;

use crate::model::{Function, Profile};

impl Profile {
    /// The names of all functions, as a person would say them; where several have the same, their tokens tell them apart,
    /// or else their assemblies.
    pub fn display_names(&self) -> Vec<String> {
        let mut names: Vec<String> = self.functions.iter().map(Function::display_name).collect();
        self.tell_apart(&mut names, |function| format!(" ({})", function.token()));
        self.tell_apart(&mut names, |function| {
            let assembly = function.module.and_then(|module| self.modules.get(module)?.assembly.split(',').next());
            format!(" in {}", assembly.map_or_else(|| function.module_key(), str::to_owned))
        });
        names
    }

    /// Adds a mark to names that are not alone.
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
}

impl Function {
    /// Its name in metadata: `Namespace.Type::Method`.
    pub fn raw_name(&self) -> Option<String> {
        self.name.as_ref().map(|name| format!("{}::{}", name.type_name, name.method))
    }

    /// Its token in its module: `0x06000012`.
    pub fn token(&self) -> String {
        format!("0x{:08x}", self.method_id.token())
    }

    fn module_key(&self) -> String {
        format!("{:010x}", self.method_id.module_key())
    }

    fn display_name(&self) -> String {
        let source = self.name.as_ref().and_then(|name| source_name(&name.type_name, &name.method));
        let name = source.map(|source| source.to_string()).or_else(|| self.raw_name());
        name.unwrap_or_else(|| format!("{}!{}", self.module_key(), self.token()))
    }
}
