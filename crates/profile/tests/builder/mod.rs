//! Builds profiles from text. Lines describe the header, methods, trees with indented nodes, frames, phases and
//! counters. `docs/profile-format.md` describes the layout.

use std::collections::HashMap;

use little_endian::{ByteOrder, LE, PutNumbers};

use profile_format::{
    chunk::HEADER as CHUNK_HEADER,
    header::{self as layout, BLOCK},
    node::{self, FIRST_AT as FIRST_NODE, SIZE as NODE},
    statistics::SIZE as STATISTICS,
};

const KEY: u64 = 0x98_7654_3210;
/// The address of the first chunk; chunks follow each other with gaps between them.
const MEMORY: u64 = 0x7000_0000_0000;
const DISTANCE: u64 = 1 << 24;

/// The words of a line: those with `=` by name, the others in order.
struct Line<'t> {
    indent: usize,
    words: Vec<&'t str>,
    values: HashMap<&'t str, &'t str>,
}

impl<'t> Line<'t> {
    fn parse(line: &'t str) -> Self {
        let text = line.trim_start();
        let (values, words) = text.split_whitespace().partition::<Vec<&str>, _>(|word| word.contains('='));
        let values = values.into_iter().filter_map(|value| value.split_once('=')).collect();
        Self { indent: line.len() - text.len(), words, values }
    }

    fn number(&self, name: &str) -> u64 {
        self.number_or(name, 0)
    }

    fn number_or(&self, name: &str, otherwise: i64) -> u64 {
        let value = self.values.get(name).map(|value| value.parse().unwrap_or_else(|_| panic!("{name}={value}")));
        value.unwrap_or(otherwise) as u64
    }

    fn has(&self, word: &str) -> bool {
        self.words.contains(&word)
    }
}

/// Builds the file that a text describes.
pub(crate) fn build(text: &str) -> Vec<u8> {
    let mut builder = Builder::default();
    builder.methods.insert("JIT".to_owned(), node::JIT_ID as u64);
    text.lines()
        .filter(|line| !line.trim().is_empty() && !line.starts_with('#'))
        .for_each(|line| builder.add(&Line::parse(line)));
    builder.finish()
}

/// Returns a chunk of method names with any bytes. A method is its row and its name in a type `N`.
#[allow(dead_code, reason = "not all tests need it")]
pub(crate) fn names<'n>(methods: impl Iterator<Item = (u64, &'n [u8])>) -> Vec<u8> {
    let mut chunk = vec![0; CHUNK_HEADER];
    for (row, name) in methods {
        chunk.push(2);
        chunk.put_u64(KEY << 24 | row);
        string(&mut chunk, "N");
        chunk.put_u32(name.len() as u32);
        chunk.extend(name);
    }
    let used = chunk.len();
    chunk.resize(used.next_multiple_of(BLOCK), 0);
    let size = chunk.len() as u64;
    put(&mut chunk, 0, 2 | size << 32);
    put(&mut chunk, 32, used as u64);
    chunk
}

/// Returns a chunk of the first tree, with any content.
#[allow(dead_code, reason = "not all tests need it")]
pub(crate) fn chunk(kind: u32, content: &[u8]) -> Vec<u8> {
    let used = CHUNK_HEADER + content.len();
    let mut chunk = vec![0; used.next_multiple_of(BLOCK)];
    let size = chunk.len() as u64;
    chunk[CHUNK_HEADER..used].copy_from_slice(content);
    for (at, value) in [(0, u64::from(kind) | size << 32), (24, 1), (32, used as u64)] {
        put(&mut chunk, at, value);
    }
    chunk
}

/// Returns a profile of captured calls, with a value of each kind.
#[allow(dead_code, reason = "not all tests need it")]
pub(crate) fn captured() -> Vec<u8> {
    /// Returns a record of a type or a method, with its kind and size in front.
    fn description(kind: u32, numbers: &[u8], texts: &[&str], rest: &[u8]) -> Vec<u8> {
        let mut body = numbers.to_vec();
        texts.iter().for_each(|text| string(&mut body, text));
        body.extend(rest);
        [&kind.to_le_bytes()[..], &(8 + body.len() as u32).to_le_bytes(), &body].concat()
    }
    fn record(kind: u8, what: u8, number: u64, values: &[u8]) -> Vec<u8> {
        let head = [&(24 + values.len() as u16).to_le_bytes()[..], &[kind, what], &1_u32.to_le_bytes(), &number.to_le_bytes()];
        [&head.concat()[..], &(10 * number).to_le_bytes(), values].concat()
    }
    let named = |texts: &[&str]| {
        let mut out = (texts.len() as u32).to_le_bytes().to_vec();
        texts.iter().for_each(|text| string(&mut out, text));
        out
    };
    let mut parameters = 3_u32.to_le_bytes().to_vec();
    for (passing, type_name, name) in [(0, "Order", "order"), (1, "int[,]", "grid"), (3, "Colours", "colours")] {
        parameters.push(passing);
        [type_name, name].iter().for_each(|text| string(&mut parameters, text));
    }
    let mut flags = 2_u32.to_le_bytes().to_vec();
    for (value, name) in [(1_i64, "Red"), (2, "Green")] {
        flags.put_i64(value);
        string(&mut flags, name);
    }
    let id = (KEY << 24 | 1).to_le_bytes();
    let descriptions = [
        description(1, &[1, 0, 0, 0, 0], &["Order"], &named(&["Total", "<Name>k__BackingField"])),
        description(1, &[2, 0, 0, 0, 0], &["int[,]"], &named(&[])),
        description(1, &[3, 0, 0, 0, 2], &["Colours"], &flags),
        description(
            2,
            &[&1_u32.to_le_bytes()[..], &id, &[1, 0, 0, 6]].concat(),
            &["app.dll", "App.Run", "double", "App"],
            &parameters,
        ),
    ];
    let order =
        [&[0x12, 1, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0, 2, 0x08, 7, 0, 0, 0][..], &[0x0E, 2, 0, 0, 0, 1, 0, b'x', 0]].concat();
    let grid = [0x14, 2, 0, 0, 0, 2, 2, 0, 0, 0, 3, 0, 0, 0, 2, 0x05, 1, 0x04, 2];
    let colours = [0x55, 3, 0, 0, 0, 0x08, 3, 0, 0, 0];
    let others = [
        &[0x80; 9][..],
        &[0x81, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 0, 0, 2, 0x80],
        &[0x82; 17],
        &[0x83; 9],
        &[0x0D; 9],
        &[0x0F; 9],
        &[0x11, 1, 0, 0, 0, 0xFF],
    ];
    let mut records = record(1, 3, 1, &[&[0x01][..], &order, &grid, &[0x00, 5]].concat());
    others.iter().enumerate().for_each(|(index, value)| records.extend(record(1, 1, 2 + index as u64, value)));
    records.extend(record(3, 0, 2, &[0x01]));
    records.extend(record(4, 0, 3, &[0x01]));
    records.extend(record(2, 1, 3, &[]));
    records.extend(record(2, 48, 1, &[&[0x0D; 9][..], &grid, &colours].concat()));
    let profile = build("profile end=1000\nmethod 1 App::Run\ntree\n Run\n");
    [profile, chunk(9, &descriptions.concat()), chunk(10, &records)].concat()
}

#[derive(Default)]
struct Builder {
    header: Vec<u8>,
    chunks: Vec<Vec<u8>>,
    names: Vec<u8>,
    counters: Vec<u8>,
    /// Method ids by name.
    methods: HashMap<String, u64>,
    /// Addresses by label.
    labels: HashMap<String, u64>,
    /// The chunk of the tree, the labels in its header, and the open nodes by indentation.
    tree: usize,
    trees: u64,
    fixes: Vec<(usize, usize, String)>,
    above: Vec<(usize, u64)>,
    statistics: Option<usize>,
    /// The chunk of the last phase, and that of its details.
    phase: usize,
    details: Option<usize>,
}

/// The values of an async record.
const OF_ASYNC: [&str; 5] = ["latency", "completed", "faulted", "steps", "first-here"];

impl Builder {
    fn add(&mut self, line: &Line<'_>) {
        match line.words.first().copied().unwrap_or_default() {
            "profile" => self.header(line),
            "module" => {
                let name = |name: &str| line.values.get(name).copied().unwrap_or_default().to_owned();
                self.names.push(4);
                self.names.put_u64(KEY);
                self.names.extend([7; 16]);
                for text in [name("assembly"), name("name"), "test".to_owned(), name("path")] {
                    string(&mut self.names, &text);
                }
            }
            "method" => {
                let (row, name): (u64, &str) = (line.words[1].parse().expect("a row"), line.words[2]);
                let of_caller = u64::from(line.has("bytes-of-caller")) << 22;
                let bits = if line.has("waits") { 3 << 22 } else { of_caller | u64::from(line.has("site")) << 23 };
                let (type_name, method) = name.split_once("::").expect("Type::Method");
                self.methods.insert(method.to_owned(), KEY << 24 | bits | row);
                if !line.has("unnamed") {
                    self.names.push(2);
                    self.names.put_u64(KEY << 24 | bits | row);
                    string(&mut self.names, type_name);
                    string(&mut self.names, method);
                }
            }
            "exception" => {
                self.names.push(3);
                self.names.put_u32(line.words[1].parse::<u32>().expect("a number"));
                string(&mut self.names, line.words[2]);
            }
            "thread" => {
                self.names.push(5);
                self.names.put_u64(self.trees);
                self.names.put_u32(line.words[1].parse::<u32>().expect("a number"));
                string(&mut self.names, line.words.get(2).copied().unwrap_or_default());
            }
            "tree" => self.tree(line),
            "counter" => {
                self.counters.put_u64(self.methods[line.words[1]]);
                self.counters.put_u64(line.number("calls"));
            }
            "phase" => self.phase(line),
            "details" => self.details(line),
            // Readers only look for the presence of these chunks here.
            "captured" => drop(self.chunk(10, self.trees)),
            "events" => {
                // Each event is a node's number and a time, which is negative at the call's end.
                let told: Vec<(i64, u64)> = line.words[1..]
                    .iter()
                    .filter_map(|word| word.split_once('@'))
                    .map(|(node, ticks)| (node.parse().expect("a number"), ticks.parse().expect("a number")))
                    .collect();
                let chunk = self.chunk(4, self.trees);
                let end = CHUNK_HEADER + 8 * line.number_or("count", told.len() as i64) as usize;
                put(&mut self.chunks[chunk], 32, end as u64);
                put(&mut self.chunks[chunk], 40, line.number("sequence"));
                for (index, (node, ticks)) in told.iter().enumerate() {
                    let word = ticks << 24 | u64::from(*node < 0) << 23 | node.unsigned_abs();
                    put(&mut self.chunks[chunk], CHUNK_HEADER + 8 * index, word);
                }
            }
            _ => self.node(line),
        }
    }

    fn header(&mut self, line: &Line<'_>) {
        let mut header = vec![0; BLOCK];
        LE::write_u64(&mut header, layout::MAGIC);
        let mut put_u32 = |at: usize, value: u64| LE::write_u32(&mut header[at..], value as u32);
        for (at, value) in [
            (layout::VERSION_AT, 2),
            (layout::FLAGS_AT, line.number_or("flags", 1)),
            (layout::PID_AT, line.number_or("pid", 4711)),
            (layout::POINTER_SIZE_AT, 8),
            (layout::CLOCK_AT, line.number("clock")),
            (layout::SIZE_AT, BLOCK as u64),
            (layout::MAX_NODES_AT, line.number_or("max_nodes", 1000)),
            (layout::MODE_AT, line.number("mode")),
            (layout::HISTOGRAM_SHIFT_AT, line.number("shift")),
            (layout::CONTROL_AT + 12, line.number("paused_now")),
        ] {
            put_u32(at, value);
        }
        for (at, value) in [
            (layout::TICKS_PER_SECOND_AT, line.number_or("ticks", 1_000_000)),
            (layout::START_AT, line.number("start")),
            (layout::END_AT, line.number("end")),
            (layout::PAUSED_AT, line.number("paused")),
            (layout::CPU_AT, line.number_or("cpu", -1)),
            (layout::LOST_SAMPLES_AT, line.number("lost-samples")),
            (layout::LATE_SAMPLES_AT, line.number("late-samples")),
            (layout::UNSAMPLED_THREADS_AT, line.number("unsampled-threads")),
        ] {
            put(&mut header, at, value);
        }
        put(&mut header, layout::PROBE_INSIDE_AT, (line.number("inside") as f64).to_bits());
        put(&mut header, layout::COUNTING_AT, (line.number("counting") as f64).to_bits());
        put(&mut header, layout::COUNTING_LEAVE_AT, (line.number("counting-leave") as f64).to_bits());
        put(&mut header, layout::PROBE_OUTSIDE_AT, (line.number("outside") as f64).to_bits());
        let mut strings = Vec::new();
        for text in ["shop", ".NET test", "/app/shop.dll"] {
            string(&mut strings, text);
        }
        header[layout::STRINGS_AT..][..strings.len()].copy_from_slice(&strings);
        self.header = header;
    }

    /// Adds a chunk, and returns its number.
    fn chunk(&mut self, kind: u32, tree: u64) -> usize {
        let mut chunk = vec![0; BLOCK];
        let address = MEMORY + self.chunks.len() as u64 * DISTANCE;
        LE::write_u32(&mut chunk, kind);
        LE::write_u32(&mut chunk[4..], BLOCK as u32);
        let tree_address = MEMORY + self.tree as u64 * DISTANCE + 64;
        for (at, value) in [(8, address), (16, if kind == 1 { address + 64 } else { tree_address }), (24, tree), (32, 64)] {
            put(&mut chunk, at, value);
        }
        self.chunks.push(chunk);
        self.chunks.len() - 1
    }

    fn tree(&mut self, line: &Line<'_>) {
        self.trees += 1;
        self.tree = self.chunk(1, self.trees);
        let chunk = &mut self.chunks[self.tree];
        put(chunk, 32, FIRST_NODE as u64);
        for (at, value) in [
            (32, line.number_or("threads", 1)),
            (40, line.number("lost")),
            (48, line.number("bad")),
            (72, line.number_or("cpu", -1)),
            (96, line.number("bytes")),
            (104, line.number_or("delay", -1)),
        ] {
            put(chunk, 64 + at, value);
        }
        for (at, name) in [(0, "current"), (56, "frame")] {
            if let Some(label) = line.values.get(name) {
                self.fixes.push((self.tree, 64 + at, (*label).to_owned()));
            }
        }
        let root = self.slot();
        let place = (root & (DISTANCE - 1)) as usize;
        self.chunks[self.tree][place + 80] = 1;
        self.above = vec![(0, root)];
    }

    /// Returns whether the header says that nodes have allocated bytes.
    fn has_bytes(&self) -> bool {
        LE::read_u32(&self.header[layout::FLAGS_AT..]) & 512 != 0
    }

    /// Returns the address of a new slot in the current tree.
    fn slot(&mut self) -> u64 {
        let has_bytes = self.has_bytes();
        let chunk = &mut self.chunks[self.tree];
        let used = LE::read_u64(&chunk[32..]);
        put(chunk, 32, used + if has_bytes { 2 * NODE as u64 } else { NODE as u64 });
        MEMORY + self.tree as u64 * DISTANCE + used
    }

    fn node(&mut self, line: &Line<'_>) {
        let address = self.slot();
        let place = (address & (DISTANCE - 1)) as usize;
        if let Some(label) = line.values.get("label") {
            self.labels.insert((*label).to_owned(), address);
        }
        if self.has_bytes() {
            let chunk = &mut self.chunks[self.tree];
            for (at, name) in [(0, "bytes-start"), (8, "bytes"), (16, "bytes-detached")] {
                put(chunk, place + NODE + at, line.number(name));
            }
        }
        let name = line.words[0];
        let mut flags = 0_u64;
        for (word, flag) in [
            ("overflow", 4),
            ("async", 8),
            ("counted", 16),
            ("was-counted", 16384),
            ("runtime-async", 1_048_576),
            ("flow-lost", 32),
            ("frame", 2),
            ("layer", 64),
        ] {
            flags |= if line.has(word) { flag } else { 0 };
        }
        let tree = self.tree;
        if name == "frame" {
            for (at, key) in [(8, "node"), (16, "previous"), (32, "below")] {
                if let Some(label) = line.values.get(key) {
                    self.fixes.push((tree, place + at, (*label).to_owned()));
                }
            }
            put(&mut self.chunks[tree], place + 24, line.number("start"));
            put(&mut self.chunks[tree], place + 80, flags);
            return;
        }
        self.above.retain(|(indent, _)| *indent < line.indent);
        let caller = self.above.last().map_or(0, |(_, address)| *address);
        self.above.push((line.indent, address));
        let statistics = if line.values.contains_key("times") { self.statistics(line) } else { 0 };
        let record = OF_ASYNC.iter().any(|name| line.values.contains_key(name)).then(|| {
            let record = self.slot();
            let at = (record & (DISTANCE - 1)) as usize;
            let chunk = &mut self.chunks[tree];
            for (index, name) in OF_ASYNC.iter().enumerate() {
                put(chunk, at + 8 * index, line.number(name));
            }
            put(chunk, at + 80, 128);
            record
        });
        let calls = line.number_or("calls", 1);
        for (at, value) in [
            (0, self.methods.get(name).copied().unwrap_or_default()),
            (16, caller),
            (24, line.number("start")),
            (32, calls),
            (40, line.number("total")),
            (48, line.number_or("leaves", calls as i64)),
            (56, statistics),
            (80, flags | line.number("exceptions") << 32),
            (88, line.number("exception") | line.number("number") << 32),
            (96, line.number("detached")),
            (104, record.unwrap_or_default()),
            (120, line.number("cpu")),
        ] {
            put(&mut self.chunks[tree], place + at, value);
        }
    }

    /// Adds statistics: `first=9 times=10x5,20`.
    fn statistics(&mut self, line: &Line<'_>) -> u64 {
        let chunk = self.statistics.unwrap_or_else(|| self.chunk(3, self.trees));
        self.statistics = Some(chunk);
        let address = MEMORY + chunk as u64 * DISTANCE;
        let chunk = &mut self.chunks[chunk];
        let used = LE::read_u64(&chunk[32..]).max(STATISTICS as u64);
        put(chunk, 32, used + STATISTICS as u64);
        let place = used as usize;
        let (mut min, mut max, mut count) = (u64::MAX, 0, 0);
        for (value, bucket, calls) in times(line) {
            let at = place + 32 + 4 * bucket as usize;
            LE::write_u32(&mut chunk[at..], calls);
            (min, max, count) = (min.min(value), max.max(value), count + u64::from(calls));
        }
        for (at, value) in [(0, line.number("first")), (8, if count == 0 { 0 } else { min }), (16, max), (24, count)] {
            put(chunk, place + at, value);
        }
        address + used
    }

    /// Adds a phase: `phase mark NAME clock=5 LABEL:calls:total:detached...`.
    fn phase(&mut self, line: &Line<'_>) {
        let chunk = self.chunk(6, 0);
        (self.phase, self.details) = (chunk, None);
        let (entries, mut data) = (&line.words[3..], Vec::new());
        string(&mut data, line.words[2]);
        data.resize(data.len().next_multiple_of(8), 0);
        for entry in entries {
            let mut parts = entry.split(':');
            let label = parts.next().expect("a label");
            let place = self.labels.get(label).or_else(|| self.methods.get(label)).copied().unwrap_or_else(|| panic!("{label}"));
            data.put_u64(place);
            for _ in 0..if self.has_bytes() { 5 } else { 3 } {
                data.put_i64(parts.next().map_or(0_i64, |part| part.parse().expect("a number")));
            }
        }
        let chunk = &mut self.chunks[chunk];
        put(chunk, 32, 64 + data.len() as u64);
        put(chunk, 40, line.number("clock"));
        put(chunk, 48, if line.has("reset") { 2 } else { 1 } | (entries.len() as u64) << 32);
        chunk[64..64 + data.len()].copy_from_slice(&data);
    }

    /// Adds details of the last phase: `details LABEL exceptions=1 latency=9 times=10x5,20`.
    fn details(&mut self, line: &Line<'_>) {
        let chunk = self.details.unwrap_or_else(|| self.chunk(11, 0));
        self.details = Some(chunk);
        let times = times(line);
        let mut numbers = vec![self.labels[line.words[1]]];
        let names = ["exceptions", "cpu", "samples", "latency", "completed", "faulted", "steps"];
        numbers.extend(names.map(|name| line.number(name)));
        numbers.push(times.len() as u64);
        numbers.extend(times.iter().map(|(_, bucket, calls)| bucket | u64::from(*calls) << 32));
        let phase = MEMORY + self.phase as u64 * DISTANCE;
        let chunk = &mut self.chunks[chunk];
        let used = LE::read_u64(&chunk[32..]).max(64) as usize;
        numbers.iter().enumerate().for_each(|(index, number)| put(chunk, used + 8 * index, *number));
        put(chunk, 16, phase);
        put(chunk, 32, (used + 8 * numbers.len()) as u64);
    }

    fn finish(mut self) -> Vec<u8> {
        for (chunk, at, label) in std::mem::take(&mut self.fixes) {
            let address = self.labels.get(&label).copied().unwrap_or_else(|| panic!("{label}"));
            put(&mut self.chunks[chunk], at, address);
        }
        for (kind, data) in [(2, std::mem::take(&mut self.names)), (5, std::mem::take(&mut self.counters))] {
            if !data.is_empty() {
                let chunk = self.chunk(kind, 0);
                put(&mut self.chunks[chunk], 32, 64 + data.len() as u64);
                self.chunks[chunk][64..64 + data.len()].copy_from_slice(&data);
            }
        }
        // An allocated block that is not in use.
        self.chunks.insert(0, vec![0; BLOCK]);
        self.chunks.iter().fold(self.header, |file, chunk| [file, chunk.clone()].concat())
    }
}

/// Returns the entries of `times=10x5,20`: ticks, their bucket, and a number of calls.
fn times(line: &Line<'_>) -> Vec<(u64, u64, u32)> {
    let times = line.values.get("times").copied().unwrap_or_default().split(',').filter(|times| !times.is_empty());
    let times = times.map(|times| {
        let (value, calls) = times.split_once('x').unwrap_or((times, "1"));
        let (value, calls): (u64, u32) = (value.parse().expect("ticks"), calls.parse().expect("a count"));
        let exponent = u64::from(value.max(1).ilog2());
        let bucket = if value < 4 { value } else { (4 * (exponent - 1) + (value >> (exponent - 2) & 3)).min(119) };
        (value, bucket, calls)
    });
    times.collect()
}

fn put(bytes: &mut [u8], at: usize, value: u64) {
    LE::write_u64(&mut bytes[at..], value);
}

fn string(out: &mut Vec<u8>, text: &str) {
    out.put_u32(text.len() as u32);
    out.extend(text.as_bytes());
}
