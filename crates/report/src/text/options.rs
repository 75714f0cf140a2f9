//! Options of views as text.

use profile::rows::SortBy;

use super::columns::Column;

/// Options for writing a view as text.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TextOptions {
    /// The columns of the table of methods; empty for all that have values.
    pub columns: Vec<Column>,
    /// Whether to draw bars for percentages.
    pub bars: bool,
    /// The sort order, whose metric gets a column.
    pub sort: SortBy,
}
