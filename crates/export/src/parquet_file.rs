//! Parquet as `view` needs it: a column of lists of names and columns of numbers, in the encodings that DuckDB, Spark, Polars
//! and pandas write. The crate `parquet`, which writes our own, panics on damaged files in many ways and takes the memory that
//! these claim to need. Here values are read one at a time, and nothing is allocated that the file has no bytes for.
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

/// Where the rows of a file go. Both fail if there are more than there is room for.
pub(crate) trait Rows {
    /// The number of a name.
    fn name(&mut self, name: &[u8]) -> Result<usize, String>;

    /// A row: a path of names, by their numbers, and what was measured of it.
    fn row(&mut self, path: &[usize], values: &[(Measure, i64)]) -> Result<(), String>;
}

/// Steps that any file may take, and those for each of its bytes: values may be repeated at no cost in bytes.
const STEPS: u64 = 4 << 20;
const STEPS_PER_BYTE: u64 = 64;
/// No path has so many names.
const LONGEST: usize = 1 << 16;
/// A page costs a step for so many of its bytes.
const BYTES_PER_STEP: usize = 16;

/// How many steps are left.
struct Steps(u64);

impl Steps {
    fn take(&mut self, count: u64) -> Result<(), String> {
        self.0 = self.0.checked_sub(count).ok_or("it has more values than a file of its size can have")?;
        Ok(())
    }
}

/// Gives the rows of a file.
///
/// # Errors
/// Says what is damaged and where, or which column is missing.
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
        let column = |index: usize| Column::of(file, group, index, &leaves[index]);
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

/// The column of paths, with the first name of the next.
struct Paths<'b> {
    column: Column<'b>,
    next: Option<Item>,
}

impl Paths<'_> {
    /// Reads the next list of names; not if there is none.
    fn row(&mut self, names: &mut Vec<usize>, rows: &mut impl Rows, steps: &mut Steps) -> Result<bool, String> {
        names.clear();
        let Some(mut item) = self.next.take().map_or_else(|| self.column.next(rows, steps), |item| Ok(Some(item)))? else {
            return Ok(false);
        };
        loop {
            match item.value {
                Some(name) => names.push(usize::try_from(name).unwrap_or_default()),
                // An empty list, or none.
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
