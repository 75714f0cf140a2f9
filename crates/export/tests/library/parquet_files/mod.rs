//! The same rows as Parquet, in each encoding that other tools write.

use std::sync::Arc;

use parquet::{
    basic::{Compression, Encoding},
    data_type::{ByteArray, ByteArrayType, DoubleType, Int32Type, Int64Type},
    file::{
        properties::{WriterProperties, WriterVersion},
        writer::SerializedFileWriter,
    },
    schema::parser::parse_message_type,
    schema::types::ColumnPath,
};

/// The kinds of columns: required or optional, with numbers of each type.
const SCHEMAS: [&str; 3] = [
    "message m { REQUIRED group path (LIST) { REPEATED group list { REQUIRED BYTE_ARRAY element (STRING); } }
        REQUIRED INT64 calls; REQUIRED INT64 self_ns; REQUIRED BYTE_ARRAY other (STRING); }",
    "message m { OPTIONAL group path (LIST) { REPEATED group list { OPTIONAL BYTE_ARRAY element (STRING); } }
        OPTIONAL INT32 calls (INTEGER(32, false)); OPTIONAL DOUBLE self_ns; OPTIONAL BYTE_ARRAY other (STRING); }",
    "message m { OPTIONAL group path (LIST) { REPEATED BYTE_ARRAY array (STRING); }
        REQUIRED INT32 calls; OPTIONAL INT64 self_ns (INTEGER(64, false)); REQUIRED BYTE_ARRAY other (STRING); }",
];

/// Returns the rows: a path, calls, and a time. Every fifth time is null in optional columns.
pub(crate) fn rows(count: usize) -> Vec<(Vec<String>, i64, i64)> {
    let name = |depth: usize, index: usize| format!("Shop.Orders.Type{}.Method{}", depth % 3, (index + depth) % 7);
    let path = |index: usize| (0..=index % 5).map(|depth| name(depth, index)).collect();
    (0..count).map(|index| (path(index), index as i64 % 4, 1000 + 3 * index as i64)).collect()
}

/// Returns the files, each with its name, for a number of rows.
pub(crate) fn files(count: usize) -> Vec<(String, Vec<u8>)> {
    let mut files = Vec::new();
    for (number, schema) in SCHEMAS.iter().enumerate() {
        for compression in [Compression::UNCOMPRESSED, Compression::SNAPPY] {
            for version in [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0] {
                for text in
                    [None, Some(Encoding::PLAIN), Some(Encoding::DELTA_LENGTH_BYTE_ARRAY), Some(Encoding::DELTA_BYTE_ARRAY)]
                {
                    let name = format!("schema {number}, {compression:?}, {version:?}, {text:?}");
                    let mut builder = WriterProperties::builder().set_compression(compression).set_writer_version(version);
                    builder = builder.set_data_page_row_count_limit(50).set_write_batch_size(10);
                    if let Some(text) = text {
                        let column = |name: &str| ColumnPath::from(name.split('.').map(str::to_owned).collect::<Vec<_>>());
                        let path = if number == 2 { "path.array" } else { "path.list.element" };
                        let delta = if text == Encoding::PLAIN { text } else { Encoding::DELTA_BINARY_PACKED };
                        builder = builder.set_dictionary_enabled(false).set_column_encoding(column(path), text);
                        builder = builder.set_column_encoding(column("calls"), delta);
                        builder =
                            builder.set_column_encoding(column("self_ns"), if number == 1 { Encoding::PLAIN } else { delta });
                    }
                    files.push((name, file(number, schema, builder.build(), &rows(count))));
                }
            }
        }
    }
    files
}

/// Returns a file of these rows.
#[allow(dead_code, reason = "the fuzzer needs others")]
pub(crate) fn of_rows(rows: &[(Vec<String>, i64, i64)]) -> Vec<u8> {
    file(0, SCHEMAS[0], WriterProperties::builder().build(), rows)
}

fn file(number: usize, schema: &str, properties: WriterProperties, rows: &[(Vec<String>, i64, i64)]) -> Vec<u8> {
    let schema = Arc::new(parse_message_type(schema).expect("it is a schema"));
    let mut writer = SerializedFileWriter::new(Vec::new(), schema, Arc::new(properties)).expect("it can be written");
    let (first, second) = rows.split_at(rows.len() / 2);
    for rows in [first, second] {
        let mut group = writer.next_row_group().expect("it can be written");
        let is_optional = number > 0;
        // The definition level of a path element that is present.
        let level = [1, 3, 2][number];
        let names: Vec<ByteArray> = rows.iter().flat_map(|row| &row.0).map(|name| ByteArray::from(name.as_str())).collect();
        let repetition: Vec<i16> = rows.iter().flat_map(|row| (0..row.0.len()).map(|depth| i16::from(depth > 0))).collect();
        let mut column = group.next_column().expect("it has").expect("a column");
        let path = column.typed::<ByteArrayType>();
        path.write_batch(&names, Some(&vec![level; names.len()]), Some(&repetition)).expect("it can be written");
        column.close().expect("it can be written");

        let levels: Vec<i16> = vec![1; rows.len()];
        let calls: Vec<i64> = rows.iter().map(|row| row.1).collect();
        let mut column = group.next_column().expect("it has").expect("a column");
        if number == 0 {
            column.typed::<Int64Type>().write_batch(&calls, None, None).expect("it can be written");
        } else {
            let calls: Vec<i32> = calls.iter().map(|calls| *calls as i32).collect();
            let levels = (number == 1).then_some(&levels[..]);
            column.typed::<Int32Type>().write_batch(&calls, levels, None).expect("it can be written");
        }
        column.close().expect("it can be written");

        let there: Vec<i16> = (0..rows.len()).map(|index| i16::from(!is_optional || index % 5 != 0)).collect();
        let times = rows.iter().zip(&there).filter(|(_, is_there)| **is_there == 1).map(|(row, _)| row.2);
        let mut column = group.next_column().expect("it has").expect("a column");
        if number == 1 {
            let times: Vec<f64> = times.map(|time| time as f64).collect();
            column.typed::<DoubleType>().write_batch(&times, Some(&there), None).expect("it can be written");
        } else {
            let (times, levels): (Vec<i64>, _) = (times.collect(), is_optional.then_some(&there[..]));
            column.typed::<Int64Type>().write_batch(&times, levels, None).expect("it can be written");
        }
        column.close().expect("it can be written");

        let others = vec![ByteArray::from("other"); rows.len()];
        let mut column = group.next_column().expect("it has").expect("a column");
        let levels = (number == 1).then_some(&levels[..]);
        column.typed::<ByteArrayType>().write_batch(&others, levels, None).expect("it can be written");
        column.close().expect("it can be written");
        group.close().expect("it can be written");
    }
    writer.into_inner().expect("it can be written")
}
