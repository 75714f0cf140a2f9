//! Reads a manifest, which describes the file beside it (docs/manifest-format.md).

use std::path::Path;

use instrument::Input;
use serde_json::Value;

pub(crate) struct Manifest {
    /// The options in words.
    pub(crate) options: String,
    /// The hash of what was woven, in hex.
    pub(crate) input: String,
    /// How many methods were woven.
    pub(crate) woven: usize,
    /// Why others were left alone: how many of each reason, most first.
    pub(crate) left_alone: Vec<(String, usize)>,
}

impl Manifest {
    /// Whether no method has an IL body: the assembly holds interfaces, delegates or nothing.
    pub(crate) fn has_no_code(&self) -> bool {
        self.woven == 0 && self.left_alone.iter().all(|(reason, _)| reason == "no-body")
    }

    /// The one beside an assembly.
    pub(crate) fn beside(assembly: &Path) -> Option<Self> {
        let manifest: Value = serde_json::from_slice(&Input::open(&instrument::manifest_path(assembly)).ok()?).ok()?;
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let decisions: Vec<String> = manifest.get("decisions")?.as_array()?.iter().filter_map(text).collect();
        let mut counts = vec![0; decisions.len()];
        for method in manifest.get("methods")?.as_array()? {
            let decision = method.get(2).and_then(Value::as_u64).and_then(|place| counts.get_mut(place as usize));
            decision.into_iter().for_each(|count| *count += 1);
        }
        let (woven, mut left_alone): (Vec<_>, Vec<_>) =
            decisions.into_iter().zip(counts).partition(|(decision, _)| decision == "finally" || decision == "return");
        left_alone.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        Some(Self {
            options: text(manifest.get("options")?)?,
            input: text(manifest.get("input")?.get("sha256")?)?,
            woven: woven.iter().map(|(_, count)| count).sum(),
            left_alone,
        })
    }
}
