//! Rows as CSV for spreadsheets.

use std::io;

use names::Visible;
use serde::Serialize;
use serde_json::Value;

/// Writes flat rows as CSV (RFC 4180), with the names of their fields in the first line. Control characters in text become
/// escapes. A quote precedes text that a spreadsheet would take for a formula. Writes nothing if there are no rows.
///
/// # Errors
/// If writing fails.
pub fn write<T: Serialize>(rows: &[T], out: impl io::Write) -> io::Result<()> {
    let mut writer = Writer::new(out);
    rows.iter().try_for_each(|row| writer.write(row))?;
    writer.finish()
}

/// Writes rows one by one, as [`write()`] does.
#[derive(Debug)]
pub struct Writer<W: io::Write> {
    csv: csv::Writer<W>,
    is_first: bool,
}

impl<W: io::Write> Writer<W> {
    /// Creates a writer to `out`.
    pub fn new(out: W) -> Self {
        Self { csv: csv::Writer::from_writer(out), is_first: true }
    }

    /// Writes a row.
    ///
    /// # Errors
    /// If writing fails.
    pub fn write<T: Serialize>(&mut self, row: &T) -> io::Result<()> {
        let Value::Object(fields) = serde_json::to_value(row)? else { return Ok(()) };
        if std::mem::take(&mut self.is_first) {
            self.csv.write_record(fields.keys()).map_err(in_writing)?;
        }
        self.csv.write_record(fields.values().map(cell)).map_err(in_writing)
    }

    /// Writes buffered rows.
    ///
    /// # Errors
    /// If writing fails.
    pub fn finish(mut self) -> io::Result<()> {
        self.csv.flush()
    }
}

/// Returns the underlying I/O error, whose kind tells callers about a closed pipe.
fn in_writing(error: csv::Error) -> io::Error {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => error,
        other => io::Error::other(format!("{other:?}")),
    }
}

/// Returns the cell of a field.
fn cell(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => {
            let is_formula = text.starts_with(['=', '+', '-', '@', '\t', '\r']);
            format!("{}{}", if is_formula { "'" } else { "" }, Visible(text))
        }
        // Arrays become JSON, with their texts treated as in other cells.
        Value::Array(texts) => {
            let visible = |text: &Value| text.as_str().map_or_else(|| text.clone(), |text| Visible(text).to_string().into());
            Value::Array(texts.iter().map(visible).collect()).to_string()
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Serialize)]
    struct Row {
        name: &'static str,
        number: f64,
        none: Option<u32>,
    }

    #[test]
    fn text_is_no_formula_and_numbers_stay() {
        for (name, expected) in [
            ("=1+2", "'=1+2"),
            ("+x", "'+x"),
            ("-x", "'-x"),
            ("@SUM(A1)", "'@SUM(A1)"),
            ("\t=1", "'\\u{9}=1"),
            ("\r=1", "'\\u{d}=1"),
            ("a, b", "\"a, b\""),
            ("a\"b", "\"a\"\"b\""),
            ("a\n=1", "a\\u{a}=1"),
            ("\u{1b}[2J", "\\u{1b}[2J"),
            ("'x", "'x"),
            ("Größe", "Größe"),
        ] {
            let mut out = Vec::new();
            write(&[Row { name, number: -1.5, none: None }], &mut out).expect("memory takes it");
            assert_eq!(String::from_utf8(out).expect("it is text"), format!("name,number,none\n{expected},-1.5,\n"));
        }
    }
}
