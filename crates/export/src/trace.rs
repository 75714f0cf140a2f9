//! Chrome's trace events, which Perfetto and speedscope read, too. In mode trace, each call of a thread is an event. In other
//! modes, a call path is one event, as long as all its calls together. Paths of one caller stand side by side.

use std::{collections::HashMap, io::Write};

use profile::{CallTree, Event, Profile, model::Mode};
use serde::{Serialize, Serializer, ser::SerializeSeq as _};

use crate::{
    Error, Export, Measure,
    measure::nanoseconds,
    walk::{Step, Walk, cumulative},
};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct File<'e> {
    display_time_unit: &'static str,
    other_data: About<'e>,
    trace_events: Entries<'e>,
}

#[derive(Serialize)]
struct About<'e> {
    program: &'e str,
    runtime: &'e str,
    timeline: &'static str,
    exporter: &'static str,
}

/// An event; times in microseconds.
#[derive(Serialize)]
struct Entry<'n> {
    ph: char,
    pid: u32,
    tid: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    ts: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dur: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'n str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cat: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    args: Option<Arguments<'n>>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Arguments<'n> {
    Name {
        name: &'n str,
    },
    #[serde(rename_all = "camelCase")]
    Path {
        calls: i64,
        self_ms: f64,
        waiting_ms: f64,
    },
}

pub(crate) fn write(export: &Export<'_>, out: &mut impl Write) -> Result<(), Error> {
    let profile = export.profile;
    if profile.mode == Mode::Count {
        let message = "it has neither times nor paths: run the program with ILINST_MODE=trace for a timeline, or with \
            ILINST_MODE=exact for what each path took";
        return Err(Error::Refused(message.into()));
    }
    let names = profile.display_names();
    let traced = if profile.mode == Mode::Trace { Traced::read(export)? } else { Traced::default() };
    let is_timeline = profile.events > 0;
    let about = if is_timeline { "each call, as it was" } else { "all calls of a path in one: not when, but how long" };
    let file = File {
        display_time_unit: "ns",
        other_data: About {
            program: &profile.program,
            runtime: &profile.runtime,
            timeline: about,
            exporter: concat!("ilinst ", env!("CARGO_PKG_VERSION")),
        },
        trace_events: Entries { profile, names: &names, traced: &traced, is_timeline },
    };
    Ok(serde_json::to_writer(out, &file)?)
}

struct Entries<'e> {
    profile: &'e Profile,
    names: &'e [String],
    traced: &'e Traced,
    is_timeline: bool,
}

impl Serialize for Entries<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut seq = serializer.serialize_seq(None)?;
        let pid = self.profile.pid;
        seq.serialize_element(&named(pid, 0, "process_name", &self.profile.program))?;
        for tree in &self.profile.trees {
            seq.serialize_element(&named(pid, tree.number, "thread_name", &tree.thread_names()))?;
            let mut put = |entry: &Entry<'_>| seq.serialize_element(entry);
            if self.is_timeline { self.calls(tree, &mut put)? } else { self.paths(tree, &mut put)? }
        }
        seq.end()
    }
}

/// Returns the event that names a process or a thread.
fn named<'n>(pid: u32, tid: u64, kind: &'n str, name: &'n str) -> Entry<'n> {
    Entry { ph: 'M', pid, tid, ts: None, dur: None, name: Some(kind), cat: None, args: Some(Arguments::Name { name }) }
}

impl Entries<'_> {
    /// Writes the calls of a thread.
    fn calls<E>(&self, tree: &CallTree, put: &mut impl FnMut(&Entry<'_>) -> Result<(), E>) -> Result<(), E> {
        let profile = self.profile;
        let entry = |ph, ticks: u64, function: Option<usize>| Entry {
            ph,
            pid: profile.pid,
            tid: tree.number,
            ts: Some(nanoseconds(profile, i64::try_from(ticks).unwrap_or(i64::MAX)) as f64 / 1e3),
            dur: None,
            name: function.and_then(|function| self.names.get(function)).map(String::as_str),
            cat: None,
            args: None,
        };
        let Some(events) = self.traced.events.get(&tree.number) else { return Ok(()) };
        let function = |node: u32| self.traced.functions.get(&(tree.number, node)).copied();
        let (first, last) = (events.first().map_or(0, |event| event.ticks), events.iter().map(|event| event.ticks).max());
        let positive = |ticks: i64| u64::try_from(ticks).unwrap_or_default();
        let all = [(0, None)];
        // The length of the closed parts.
        let closed = profile.parts.iter().filter_map(|(from, to)| Some(to.as_ref()? - from)).fold(0, i64::saturating_add);
        for (from, to) in if profile.parts.is_empty() { &all[..] } else { &profile.parts } {
            let end = to.unwrap_or_else(|| from.saturating_add(profile.duration).saturating_sub(closed));
            let end = if to.is_none() { positive(end).max(last.unwrap_or_default()) } else { positive(end) };
            let from = positive(*from).max(first);
            let (mut open, mut now, mut is_begun) = (began_before(events), from, false);
            for event in events.iter().take_while(|event| event.ticks < end || to.is_none()) {
                if !is_begun && event.ticks >= from {
                    is_begun = true;
                    open.iter().try_for_each(|node| put(&entry('B', from, function(*node))))?;
                }
                now = now.max(event.ticks);
                if !event.is_leave {
                    open.push(event.node);
                    if is_begun {
                        put(&entry('B', now, function(event.node)))?;
                    }
                } else if let Some(place) = open.iter().rposition(|node| *node == event.node) {
                    // Calls that an exception left end here, too.
                    for node in open.drain(place..).rev().filter(|_| is_begun) {
                        put(&entry('E', now, function(node)))?;
                    }
                }
            }
            if !is_begun {
                open.iter().try_for_each(|node| put(&entry('B', from, function(*node))))?;
            }
            while let Some(node) = open.pop() {
                put(&entry('E', end.max(now), function(node)))?;
            }
        }
        Ok(())
    }

    /// Writes the paths of a thread, one after another.
    fn paths<E>(&self, tree: &CallTree, put: &mut impl FnMut(&Entry<'_>) -> Result<(), E>) -> Result<(), E> {
        let profile = self.profile;
        let [running, waiting, calls] =
            [Measure::SelfTime, Measure::Waiting, Measure::Calls].map(|one| one.values(profile, tree));
        let own: Vec<i64> = running.iter().zip(&waiting).map(|(running, waiting)| running.saturating_add(*waiting)).collect();
        let all = cumulative(tree, &own);
        let at = |values: &[i64], node: usize| values.get(node).copied().unwrap_or_default();
        let mut now = 0_i64;
        for step in Walk::over(tree) {
            let Step::Enter(node) = step else { continue };
            if at(&all, node) == 0 {
                continue;
            }
            let function = tree.nodes.get(node).map_or(usize::MAX, |node| node.function);
            put(&Entry {
                ph: 'X',
                pid: profile.pid,
                tid: tree.number,
                ts: Some(now as f64 / 1e3),
                dur: Some(at(&all, node) as f64 / 1e3),
                name: self.names.get(function).map(String::as_str),
                cat: Some(if at(&waiting, node) > 0 { "waiting" } else { "running" }),
                args: Some(Arguments::Path {
                    calls: at(&calls, node),
                    self_ms: at(&running, node) as f64 / 1e6,
                    waiting_ms: at(&waiting, node) as f64 / 1e6,
                }),
            })?;
            now = now.saturating_add(at(&own, node));
        }
        Ok(())
    }
}

/// The events of each thread in the order of time, and the function of each node by tree and number.
#[derive(Default)]
struct Traced {
    events: HashMap<u64, Vec<Event>>,
    functions: HashMap<(u64, u32), usize>,
}

impl Traced {
    fn read(export: &Export<'_>) -> Result<Self, Error> {
        let refused = |error: profile::Error| Error::Refused(error.to_string());
        let mut traced = Self::default();
        for event in profile::events(export.bytes).map_err(refused)? {
            traced.events.entry(event.tree).or_default().push(event);
        }
        // Chunks are reused; within a chunk, events are in order.
        traced.events.values_mut().for_each(|events| events.sort_by_key(|event| event.sequence));
        let functions = export.profile.functions.iter().enumerate();
        let by_method: HashMap<_, _> = functions.map(|(index, function)| (function.method_id, index)).collect();
        for (tree, node, method) in profile::traced_nodes(export.bytes).map_err(refused)? {
            traced.functions.extend(by_method.get(&method).map(|function| ((tree, node), *function)));
        }
        Ok(traced)
    }
}

/// Returns the calls, outermost first, that end in these events without a beginning. Later events overwrote their beginnings.
fn began_before(events: &[Event]) -> Vec<u32> {
    let (mut open, mut before): (Vec<u32>, Vec<u32>) = (Vec::new(), Vec::new());
    for event in events {
        match open.iter().rposition(|node| event.is_leave && *node == event.node) {
            Some(place) => open.truncate(place),
            None if event.is_leave => before.push(event.node),
            None => open.push(event.node),
        }
    }
    before.reverse();
    before
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_that_began_before_are_found_by_their_ends() {
        let event = |(is_leave, node): (bool, u32)| Event { tree: 1, sequence: 0, ticks: 0, is_leave, node };
        let before = |events: &[(bool, u32)]| began_before(&events.iter().copied().map(event).collect::<Vec<_>>());
        // 3 ends, 4 begins and ends, then 2 and 1 end. 5 begins, and 6 within it; an exception leaves 6.
        let events = [(true, 3), (false, 4), (true, 4), (true, 2), (true, 1), (false, 5), (false, 6), (true, 5)];
        assert_eq!(before(&events), [1, 2, 3]);
        assert!(before(&[]).is_empty());
    }
}
