//! speedscope's file format: frames are opened and closed on a line whose length is the total time. A path's own time is placed
//! before its callees. The views that add up times ("left heavy", "sandwich") do not depend on this order.

use std::{io::Write, rc::Rc};

use profile::{CallTree, Profile};
use serde::{Serialize, Serializer};

use crate::{
    Error, Export, Measure,
    walk::{Step, Walk, cumulative},
};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct File<'p> {
    #[serde(rename = "$schema")]
    schema: &'static str,
    exporter: &'static str,
    name: &'p str,
    active_profile_index: usize,
    shared: Shared<'p>,
    profiles: Vec<Timeline<'p>>,
}

#[derive(Serialize)]
struct Shared<'p> {
    frames: Vec<Frame<'p>>,
}

#[derive(Serialize)]
struct Frame<'p> {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<&'p str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u32>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Timeline<'p> {
    #[serde(rename = "type")]
    kind: &'static str,
    name: String,
    unit: &'static str,
    start_value: i64,
    end_value: i64,
    events: Events<'p>,
}

/// The events of a tree, created while they are written.
struct Events<'p> {
    tree: Tree<'p>,
    own: Vec<i64>,
    all: Vec<i64>,
}

enum Tree<'p> {
    Merged(Rc<CallTree>),
    OfThread(&'p CallTree),
}

impl Tree<'_> {
    fn get(&self) -> &CallTree {
        match self {
            Self::Merged(tree) => tree,
            Self::OfThread(tree) => tree,
        }
    }
}

#[derive(Serialize)]
struct Event {
    #[serde(rename = "type")]
    kind: char,
    frame: usize,
    at: i64,
}

pub(crate) fn write(export: &Export<'_>, out: &mut impl Write) -> Result<(), Error> {
    let profile = export.profile;
    let names = profile.display_names().into_iter().zip(&profile.functions);
    let frames = names.map(|(name, function)| Frame { name, file: function.file(), line: function.line() });
    let merged = Rc::new(profile.merged_tree());
    // speedscope shows the first profile at first: running time.
    let mut measures = Measure::of_profile(profile);
    measures.sort_by_key(|measure| *measure != Measure::SelfTime);
    let all = |measure: Measure| {
        let name = if measure == Measure::SelfTime { "time" } else { measure.name() };
        timeline(profile, Tree::Merged(merged.clone()), measure, name.to_owned())
    };
    let mut profiles: Vec<Timeline<'_>> = measures.iter().map(|measure| all(*measure)).collect();
    if profile.trees.len() > 1 && measures.contains(&Measure::SelfTime) {
        let of_thread = |tree| timeline(profile, Tree::OfThread(tree), Measure::SelfTime, tree.thread_names());
        profiles.extend(profile.trees.iter().map(of_thread).filter(|timeline| timeline.end_value > 0));
    }
    let file = File {
        schema: "https://www.speedscope.app/file-format-schema.json",
        exporter: concat!("ilinst ", env!("CARGO_PKG_VERSION")),
        name: &profile.program,
        active_profile_index: 0,
        shared: Shared { frames: frames.collect() },
        profiles,
    };
    Ok(serde_json::to_writer(out, &file)?)
}

fn timeline<'p>(profile: &Profile, tree: Tree<'p>, measure: Measure, name: String) -> Timeline<'p> {
    let own = measure.values(profile, tree.get());
    let all = cumulative(tree.get(), &own);
    let end_value = own.iter().fold(0_i64, |sum, value| sum.saturating_add(*value));
    let unit = match measure {
        Measure::Bytes => "bytes",
        _ if measure.is_time() => "nanoseconds",
        _ => "none",
    };
    Timeline { kind: "evented", name, unit, start_value: 0, end_value, events: Events { tree, own, all } }
}

impl Serialize for Events<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let tree = self.tree.get();
        let value = |values: &[i64], node: usize| values.get(node).copied().unwrap_or_default();
        let mut at = 0_i64;
        let events = Walk::over(tree).filter_map(|step| {
            let (Step::Enter(node) | Step::Leave(node)) = step;
            // A node that has the value 0, callees included, is omitted.
            if value(&self.all, node) == 0 {
                return None;
            }
            let frame = tree.nodes.get(node)?.function;
            let kind = if matches!(step, Step::Enter(_)) { 'O' } else { 'C' };
            let event = Event { kind, frame, at };
            if kind == 'O' {
                at = at.saturating_add(value(&self.own, node));
            }
            Some(event)
        });
        serializer.collect_seq(events)
    }
}
