//! A method on both sides of a comparison.

use indexmap::IndexMap;
use serde::Serialize;

use super::change::Change;
use crate::metric::Metric;

/// The verdict on a method.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Verdict {
    /// It became slower.
    Slower,
    /// It became faster.
    Faster,
    /// No run of the base called it.
    New,
    /// No new run called it.
    Gone,
    /// No difference is proven.
    Same,
}

impl Verdict {
    /// Returns its word in expressions and documents.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Slower => "slower",
            Self::Faster => "faster",
            Self::New => "new",
            Self::Gone => "gone",
            Self::Same => "same",
        }
    }
}

/// A method on both sides.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MethodChange {
    /// Its display name, with the types of its parameters where it is ambiguous without.
    pub name: String,
    /// Its name in metadata: `Namespace.Type::Method`.
    pub raw_name: Option<String>,
    /// The display name of its type, with which its name begins; `None` if the name is not known.
    #[serde(skip)]
    pub type_name: Option<String>,
    /// Whether it is a blocking call.
    #[serde(skip)]
    pub waits: bool,
    /// The simple name of its assembly.
    pub assembly: String,
    /// The types of its parameters, if both sides know them.
    pub parameters: Option<String>,
    /// The source file of its beginning, from the newest build that has the method.
    pub file: Option<String>,
    /// The line of its beginning, from 1.
    pub line: Option<u32>,
    /// The verdict.
    pub verdict: Verdict,
    /// The change of each known metric.
    #[serde(flatten)]
    pub metrics: IndexMap<&'static str, Change>,
}

impl MethodChange {
    /// Returns the change of a metric; `None` if it is not known.
    pub fn metric(&self, metric: Metric) -> Option<&Change> {
        self.metrics.get(metric.name())
    }
}
