//! Names from a manifest (docs/manifest-format.md), for use without the instrumented file.

use serde_json::Value;

use super::symbol::Symbol;
use crate::method_id::MethodId;

/// The deepest nesting of types accepted.
const MAX_NESTING: usize = 64;

/// The methods and types in a manifest.
pub struct Manifest {
    key: u64,
    types: Vec<Value>,
    methods: Vec<Value>,
    /// The targets of call sites, each with its row and name.
    calls: Vec<Value>,
}

impl Manifest {
    /// Reads a manifest. Returns `None` if the bytes are no manifest.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let mut document: Value = serde_json::from_slice(bytes).ok()?;
        let key = u64::from_str_radix(document.get("moduleKey")?.as_str()?, 16).ok()?;
        let mut list = |name: &str| match document.get_mut(name).map(Value::take) {
            Some(Value::Array(rows)) => Some(rows),
            _ => None,
        };
        Some(Self { key, types: list("types")?, methods: list("methods")?, calls: list("calls").unwrap_or_default() })
    }

    /// Returns the key at the beginning of the method ids.
    pub fn module_key(&self) -> u64 {
        self.key
    }

    /// Returns the symbol of a method. Returns `None` if the id is of another module, or no row has it.
    pub fn symbol(&self, id: MethodId) -> Option<Symbol> {
        if id.module_key() != self.key {
            return None;
        }
        if id.is_call_site() {
            return self.called(id.row());
        }
        let row = self.methods.get((id.row() as usize).checked_sub(1)?)?;
        Some(Symbol::from_names(&self.type_name(row.get(0)?.as_u64()?)?, row.get(1)?.as_str()?))
    }

    fn called(&self, row: u32) -> Option<Symbol> {
        let call = self.calls.iter().find(|call| call.get(0).and_then(Value::as_u64) == Some(row.into()))?;
        let (raw_type, name) = call.get(1)?.as_str()?.split_once("::")?;
        Some(Symbol::from_names(raw_type, name))
    }

    fn type_name(&self, row: u64) -> Option<String> {
        let mut parts = Vec::new();
        let mut next = Some(row);
        while let Some(row) = next.filter(|_| parts.len() < MAX_NESTING) {
            let each = self.types.get(usize::try_from(row).ok()?.checked_sub(1)?)?;
            parts.push(each.get(0)?.as_str()?);
            next = each.get(1).and_then(Value::as_u64);
        }
        parts.reverse();
        Some(parts.join("/"))
    }
}
