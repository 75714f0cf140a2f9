//! Formats the differences as JSON, while they are found.

use std::io::{self, Write};

use serde_json::{Value, json};

use super::model::{Change, Count, Kind, Sum, Totals, Visitor};

/// Writes one object: the two files, a list of changes, the totals.
pub struct Json<W> {
    out: W,
    separator: &'static str,
}

impl<W: Write> Json<W> {
    /// Starts the object.
    pub fn new(mut out: W, [old, new]: &[String; 2]) -> io::Result<Self> {
        write!(
            out,
            "{{\n  \"old\": {},\n  \"new\": {},\n  \"changes\": [",
            Value::from(old.as_str()),
            Value::from(new.as_str())
        )?;
        Ok(Self { out, separator: "\n" })
    }
}

impl<W: Write> Visitor for Json<W> {
    fn change(&mut self, change: &Change) -> io::Result<()> {
        let hunk = |hunk: &super::lines::Hunk| {
            let lines: Vec<String> = hunk.lines.iter().map(|(tag, line)| format!("{}{line}", tag.sign())).collect();
            json!({ "oldStart": hunk.old.0, "oldLines": hunk.old.1, "newStart": hunk.new.0, "newLines": hunk.new.1, "lines": lines })
        };
        let mut value = json!({ "kind": change.kind.name(), "name": change.name, "change": change.status.word() });
        if let Some(name) = &change.new_name {
            value["newName"] = name.as_str().into();
        }
        if !change.hunks.is_empty() {
            let (new, old) = change.counts();
            value["added"] = new.into();
            value["removed"] = old.into();
            value["hunks"] = change.hunks.iter().map(hunk).collect();
        }
        write!(self.out, "{}    {value}", std::mem::replace(&mut self.separator, ",\n"))
    }

    fn finish(&mut self, totals: &Totals) -> io::Result<()> {
        let types = totals.types.iter().map(|(name, sum)| {
            let mut value = summary(sum);
            value["name"] = name.as_str().into();
            value
        });
        let types: Vec<Value> = types.collect();
        let mut totals_value = summary(&totals.all);
        totals_value["same"] = totals.is_same().into();
        totals_value["methods"] = totals.compared.into();
        totals_value["types"] = types.into();
        let totals = totals_value;
        let close = if self.separator == "\n" { "" } else { "\n  " };
        writeln!(self.out, "{close}],\n  \"totals\": {totals}\n}}")?;
        self.out.flush()
    }
}

fn summary(sum: &Sum) -> Value {
    let counts = Kind::ALL.iter().zip(&sum.counts).filter(|(_, count)| !count.is_zero());
    let of = |count: &Count| -> serde_json::Map<String, Value> {
        count.each().map(|(status, number)| (status.word().to_owned(), number.into())).collect()
    };
    let counts: serde_json::Map<String, Value> = counts.map(|(kind, count)| (kind.name().to_owned(), of(count).into())).collect();
    json!({ "addedLines": sum.new_lines, "removedLines": sum.old_lines, "counts": counts })
}
