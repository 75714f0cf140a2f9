//! Rows as CSV, with the column names of the Parquet export. Paths are JSON lists, since a name may contain any character.

use std::io::Write;

use profile::model::Function;
use serde_json::{Map, Value};

use crate::{
    Error, Export,
    rows::{METRICS, date, for_each, started_text},
};

pub(crate) fn write(export: &Export<'_>, out: &mut impl Write) -> Result<(), Error> {
    let (profile, origin) = (export.profile, export.origin);
    let names: Vec<String> = profile.functions.iter().map(Function::full_name).collect();
    let name = |function: usize| names.get(function).map_or("?", String::as_str);
    let (day, started) = (date(profile), started_text(profile));
    let mut writer = report::csv::Writer::new(out);
    for_each(export, |row| {
        let function = profile.functions.get(row.function());
        let module = function.and_then(|function| profile.module_of(function));
        let mut cells: Map<String, Value> = [
            ("date", Value::from(day.as_str())),
            ("run", origin.run.as_str().into()),
            ("host", origin.host.as_str().into()),
            ("program", profile.program.as_str().into()),
            ("release", origin.release.as_str().into()),
            ("runtime", profile.runtime.as_str().into()),
            ("started", started.as_str().into()),
            ("process", profile.pid.into()),
            ("thread", row.tree.number.into()),
            ("thread_name", row.thread.into()),
            ("phase", row.phase.into()),
            ("assembly", module.map(|module| module.assembly.as_str()).into()),
            ("method", name(row.function()).into()),
            ("file", function.and_then(Function::file).into()),
            ("line", function.and_then(Function::line).into()),
            ("waits", function.is_some_and(|function| function.method_id.waits()).into()),
            ("async", row.is_async.into()),
            ("path", row.path.iter().map(|function| name(*function)).collect()),
        ]
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect();
        cells.extend(METRICS.iter().zip(row.metrics).map(|(name, metric)| ((*name).to_owned(), metric.into())));
        Ok(writer.write(&cells)?)
    })?;
    Ok(writer.finish()?)
}
