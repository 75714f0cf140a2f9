//! A Parquet reader for `view`. It reads a column of lists of names and columns of numbers, in the encodings that DuckDB, Spark,
//! Polars and pandas write. The crate `parquet`, which writes our files, panics on damaged files in many ways and allocates as
//! much memory as they claim to need. This reader decodes one value at a time and allocates nothing beyond the file's own size.
//! (<https://parquet.apache.org/docs/file-format/>)

mod column;
mod delta;
mod input;
mod schema;
mod thrift;

use self::{
    column::{Column, Item},
    schema::{Leaf, Physical},
};
use crate::Measure;

/// Receives the rows of a file. Both functions fail if there are too many rows or names.
pub(crate) trait Rows {
    /// Returns the number of a name.
    fn name(&mut self, name: &[u8]) -> Result<usize, String>;

    /// Adds a row: a path as numbers of names, and the measured values of the path.
    fn row(&mut self, path: &[usize], values: &[(Measure, i64)]) -> Result<(), String>;
}

/// Decoding steps allowed for any file, and further steps for each of its bytes. The limit is needed because repeated values take
/// no bytes.
const STEPS: u64 = 4 << 20;
const STEPS_PER_BYTE: u64 = 64;
/// The longest path accepted, in names.
const LONGEST: usize = 1 << 16;
/// Bytes of a page that cost one step.
const BYTES_PER_STEP: usize = 16;

/// The number of steps left.
struct Steps(u64);

impl Steps {
    fn take(&mut self, count: u64) -> Result<(), String> {
        self.0 = self.0.checked_sub(count).ok_or("it has more values than a file of its size can have")?;
        Ok(())
    }
}

/// Reads all rows of a file.
///
/// # Errors
/// If the file is damaged (the text says where) or a column is missing.
pub(crate) fn read(file: &[u8], rows: &mut impl Rows) -> Result<(), String> {
    let footer = schema::footer(file)?;
    let leaves = schema::leaves(&footer)?;
    let is_path = |leaf: &Leaf<'_>| leaf.name == b"path" && leaf.max_repetition == 1 && leaf.physical == Physical::Bytes;
    let path = leaves.iter().position(is_path).ok_or("there is no column path that is a list of names")?;
    let measured = |(index, leaf): (usize, &Leaf<'_>)| {
        let measure = Measure::ALL.into_iter().find(|measure| measure.column().as_bytes() == leaf.name)?;
        (leaf.max_repetition == 0 && leaf.physical.is_number()).then_some((measure, index))
    };
    let measures: Vec<(Measure, usize)> = leaves.iter().enumerate().filter_map(measured).collect();
    if measures.is_empty() {
        let known: Vec<&str> = Measure::ALL.into_iter().map(Measure::column).collect();
        return Err(format!("there is no column that is measured; {}", known.join(", ")));
    }
    let mut steps = Steps(STEPS.max(STEPS_PER_BYTE.saturating_mul(file.len() as u64)));
    for group in footer.structs(4) {
        steps.take(1)?;
        let column = |index: usize| Column::read(file, group, index, &leaves[index]);
        let mut path = Paths { column: column(path)?, next: None };
        let mut numbers =
            measures.iter().map(|(measure, index)| Ok((*measure, column(*index)?))).collect::<Result<Vec<_>, String>>()?;
        let (mut names, mut values) = (Vec::new(), Vec::new());
        while path.row(&mut names, rows, &mut steps).map_err(|error| format!("column path: {error}"))? {
            values.clear();
            for (measure, column) in &mut numbers {
                let item = column.next(rows, &mut steps).and_then(|item| item.ok_or_else(|| "it ends before path".into()));
                let item = item.map_err(|error| format!("column {}: {error}", measure.column()))?;
                values.push((*measure, item.value.unwrap_or_default()));
            }
            rows.row(&names, &values)?;
        }
    }
    Ok(())
}

/// The column of paths, with the first name of the next path.
struct Paths<'b> {
    column: Column<'b>,
    next: Option<Item>,
}

impl Paths<'_> {
    /// Reads the next list of names; returns false if there is none.
    fn row(&mut self, names: &mut Vec<usize>, rows: &mut impl Rows, steps: &mut Steps) -> Result<bool, String> {
        names.clear();
        let Some(mut item) = self.next.take().map_or_else(|| self.column.next(rows, steps), |item| Ok(Some(item)))? else {
            return Ok(false);
        };
        loop {
            match item.value {
                Some(name) => names.push(usize::try_from(name).unwrap_or_default()),
                // An empty list, or a null.
                None if item.is_empty => {}
                None => return Err("a name in column path is null".into()),
            }
            if names.len() > LONGEST {
                return Err(format!("a path has more than {LONGEST} names"));
            }
            match self.column.next(rows, steps)? {
                Some(next) if next.repetition > 0 => item = next,
                next => {
                    self.next = next;
                    return Ok(true);
                }
            }
        }
    }
}
