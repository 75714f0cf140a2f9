//! Rows as Parquet: columns, written in groups of a hundred thousand rows.

use std::{io::Write, sync::Arc};

use parquet::{
    basic::Compression,
    data_type::{BoolType, ByteArray, ByteArrayType, DataType, Int32Type, Int64Type},
    errors::ParquetError,
    file::{
        properties::WriterProperties,
        writer::{SerializedFileWriter, SerializedRowGroupWriter},
    },
    schema::parser::parse_message_type,
};

use crate::{
    Error, Export,
    rows::{METRICS, Row, for_each, started},
};

/// The largest number of rows in memory, and of names in their paths.
const GROUP: usize = 100_000;
const NAMES: usize = 4_000_000;

/// The columns before the metrics, in the order in which they are written. The partition column `date` is not among them: the
/// folder's name states it.
const COLUMNS: &str = "
    REQUIRED BYTE_ARRAY run (STRING);
    REQUIRED BYTE_ARRAY host (STRING);
    REQUIRED BYTE_ARRAY program (STRING);
    REQUIRED BYTE_ARRAY release (STRING);
    REQUIRED BYTE_ARRAY runtime (STRING);
    REQUIRED INT64 started (TIMESTAMP(MICROS, true));
    REQUIRED INT64 process;
    REQUIRED INT64 thread;
    REQUIRED BYTE_ARRAY thread_name (STRING);
    REQUIRED BYTE_ARRAY phase (STRING);
    OPTIONAL BYTE_ARRAY assembly (STRING);
    REQUIRED BYTE_ARRAY method (STRING);
    OPTIONAL BYTE_ARRAY file (STRING);
    OPTIONAL INT32 line;
    REQUIRED BOOLEAN waits;
    REQUIRED BOOLEAN async;
    REQUIRED group path (LIST) { REPEATED group list { REQUIRED BYTE_ARRAY element (STRING); } }
";

impl From<ParquetError> for Error {
    fn from(error: ParquetError) -> Self {
        Self::Io(std::io::Error::other(error))
    }
}

pub(crate) fn write(export: &Export<'_>, out: &mut impl Write) -> Result<(), Error> {
    let metrics: String = METRICS.iter().map(|name| format!("REQUIRED INT64 {name};\n")).collect();
    let schema = Arc::new(parse_message_type(&format!("message profile {{ {COLUMNS} {metrics} }}"))?);
    let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
    // The writer must be `Send`, which locked standard output is not.
    let mut file = SerializedFileWriter::new(Vec::new(), schema, Arc::new(properties))?;
    let constants = Constants::new(export);
    let mut group = Group::default();
    for_each(export, |row| {
        group.push(&constants, row);
        if group.rows == GROUP || group.paths.len() >= NAMES {
            std::mem::take(&mut group).write(&constants, &mut file)?;
            out.write_all(&std::mem::take(file.inner_mut()))?;
        }
        Ok(())
    })?;
    if group.rows > 0 {
        group.write(&constants, &mut file)?;
    }
    out.write_all(&file.into_inner()?)?;
    Ok(())
}

/// Values that are equal in many rows.
struct Constants {
    run: [ByteArray; 5],
    started: i64,
    process: i64,
    /// The name of each function.
    names: Vec<ByteArray>,
    files: Vec<Option<(ByteArray, i32)>>,
    assemblies: Vec<Option<ByteArray>>,
    waits: Vec<bool>,
}

impl Constants {
    fn new(export: &Export<'_>) -> Self {
        let (profile, origin) = (export.profile, export.origin);
        let functions = profile.functions.iter();
        Self {
            run: [&origin.run, &origin.host, &profile.program, &origin.release, &profile.runtime]
                .map(|text| text.as_str().into()),
            started: started(profile).map_or(0, |time| time.timestamp_micros()),
            process: profile.pid.into(),
            names: functions.clone().map(|function| ByteArray::from(function.full_name().as_str())).collect(),
            files: functions
                .clone()
                .map(|function| {
                    Some((function.file()?.into(), function.line().unwrap_or_default().try_into().unwrap_or(i32::MAX)))
                })
                .collect(),
            assemblies: functions.clone().map(|function| Some(profile.module_of(function)?.assembly.as_str().into())).collect(),
            waits: functions.map(|function| function.method_id.waits()).collect(),
        }
    }
}

/// A group of rows, as columns.
#[derive(Default)]
struct Group {
    rows: usize,
    threads: Vec<i64>,
    thread_names: Vec<ByteArray>,
    phases: Vec<ByteArray>,
    functions: Vec<usize>,
    is_async: Vec<bool>,
    paths: Vec<ByteArray>,
    /// The repetition level of each path element: 0 at the start of a path.
    repetition: Vec<i16>,
    metrics: [Vec<i64>; METRICS.len()],
}

impl Group {
    fn push(&mut self, constants: &Constants, row: &Row<'_>) {
        self.rows += 1;
        self.threads.push(i64::try_from(row.tree.number).unwrap_or(i64::MAX));
        push_again(&mut self.thread_names, row.thread);
        push_again(&mut self.phases, row.phase);
        self.functions.push(row.function());
        self.is_async.push(row.is_async);
        for (depth, function) in row.path.iter().enumerate() {
            self.paths.extend(constants.names.get(*function).cloned());
            self.repetition.push(i16::from(depth > 0));
        }
        for (values, metric) in self.metrics.iter_mut().zip(row.metrics) {
            values.push(metric);
        }
    }

    fn write(self, constants: &Constants, file: &mut SerializedFileWriter<Vec<u8>>) -> Result<(), Error> {
        let mut columns = Columns(file.next_row_group()?);
        for text in &constants.run {
            columns.write::<ByteArrayType>(&vec![text.clone(); self.rows])?;
        }
        columns.write::<Int64Type>(&vec![constants.started; self.rows])?;
        columns.write::<Int64Type>(&vec![constants.process; self.rows])?;
        columns.write::<Int64Type>(&self.threads)?;
        columns.write::<ByteArrayType>(&self.thread_names)?;
        columns.write::<ByteArrayType>(&self.phases)?;
        let functions = self.functions.iter().copied();
        columns.write_some::<ByteArrayType>(functions.clone().map(|function| constants.assemblies.get(function)?.clone()))?;
        let names: Vec<ByteArray> = functions.clone().filter_map(|function| constants.names.get(function).cloned()).collect();
        columns.write::<ByteArrayType>(&names)?;
        let place = |function: usize| constants.files.get(function)?.clone();
        columns.write_some::<ByteArrayType>(functions.clone().map(|function| Some(place(function)?.0)))?;
        columns.write_some::<Int32Type>(functions.clone().map(|function| Some(place(function)?.1).filter(|line| *line > 0)))?;
        let waits: Vec<bool> = functions.map(|function| constants.waits.get(function) == Some(&true)).collect();
        columns.write::<BoolType>(&waits)?;
        columns.write::<BoolType>(&self.is_async)?;
        columns.write_with::<ByteArrayType>(&self.paths, Some(&vec![1; self.paths.len()]), Some(&self.repetition))?;
        for values in &self.metrics {
            columns.write::<Int64Type>(values)?;
        }
        columns.0.close()?;
        Ok(())
    }
}

/// Appends a text that is mostly equal to the previous one.
fn push_again(texts: &mut Vec<ByteArray>, text: &str) {
    let again = texts.last().filter(|last| last.data() == text.as_bytes()).cloned();
    texts.push(again.unwrap_or_else(|| text.into()));
}

/// The columns of a group of rows, written one after the other in the order of the schema.
struct Columns<'w>(SerializedRowGroupWriter<'w, Vec<u8>>);

impl Columns<'_> {
    fn write<T: DataType>(&mut self, values: &[T::T]) -> Result<(), Error> {
        self.write_with::<T>(values, None, None)
    }

    /// Writes an optional column.
    fn write_some<T: DataType>(&mut self, values: impl Iterator<Item = Option<T::T>>) -> Result<(), Error> {
        let (mut there, mut levels) = (Vec::new(), Vec::new());
        for value in values {
            levels.push(i16::from(value.is_some()));
            there.extend(value);
        }
        self.write_with::<T>(&there, Some(&levels), None)
    }

    fn write_with<T: DataType>(
        &mut self,
        values: &[T::T],
        definition: Option<&[i16]>,
        repetition: Option<&[i16]>,
    ) -> Result<(), Error> {
        let missing = || std::io::Error::other("more columns than the schema has");
        let mut column = self.0.next_column()?.ok_or_else(missing)?;
        column.typed::<T>().write_batch(values, definition, repetition)?;
        column.close()?;
        Ok(())
    }
}
