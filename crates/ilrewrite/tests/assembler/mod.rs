//! Assembles a case's text into a method, and prints a body as text.

use std::collections::BTreeMap;

use little_endian::PutNumbers;

use ecma335::{
    Clause, ClauseKind, Metadata, MetadataBuilder, MethodBody, OpCode, Token,
    body::Instruction,
    cursor::put_compressed_u32,
    element::ElementType,
    opcode::{Flow, Operand},
    schema::{MemberRef, MethodDef, StandAloneSig},
};
use ilrewrite::LeaveMode;

/// The content of a case.
pub(crate) struct Case {
    pub(crate) probe: String,
    pub(crate) leave: LeaveMode,
    method: String,
    locals: Vec<String>,
    /// `key: value` lines of other kinds.
    settings: BTreeMap<String, String>,
    code: Vec<String>,
    clauses: Vec<String>,
}

/// A case as bytes.
pub(crate) struct Source {
    /// The sample's metadata, with the rows that the case needs.
    pub(crate) metadata: Vec<u8>,
    pub(crate) row: MethodDef,
    pub(crate) signature: Vec<u8>,
    pub(crate) body: Vec<u8>,
    /// The offsets of the counted places.
    pub(crate) places: Vec<u32>,
    /// The names of the tokens in the body.
    own: BTreeMap<u32, String>,
}

impl Source {
    /// The text for a token of the case's own.
    pub(crate) fn word(&self, token: Token) -> Option<String> {
        self.own.get(&token.0).cloned()
    }
}

impl Case {
    /// Comments begin with `#`, settings are `key: value`, clauses begin with `.try`. All other lines are code.
    pub(crate) fn parse(text: &str) -> Self {
        let (mut settings, mut code, mut clauses) = (BTreeMap::new(), Vec::new(), Vec::new());
        for line in text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
            match line.split_once(": ") {
                Some((key @ ("probe" | "leave" | "method" | "locals" | "header" | "bytes" | "sites" | "places"), value)) => {
                    settings.insert(key.to_owned(), value.trim().to_owned());
                }
                _ if line.starts_with(".try") => clauses.push(line.to_owned()),
                _ => code.push(line.to_owned()),
            }
        }
        let mut take = |key: &str, default: &str| settings.remove(key).unwrap_or_else(|| default.to_owned());
        let locals = take("locals", "");
        Self {
            probe: take("probe", "token"),
            leave: LeaveMode::from_word(&take("leave", "finally")).expect("a mode"),
            method: take("method", "void ()"),
            locals: locals.split(", ").filter(|local| !local.is_empty()).map(str::to_owned).collect(),
            settings,
            code,
            clauses,
        }
    }

    /// The method, in the sample's metadata with the needed rows added.
    pub(crate) fn assemble(&self, base: &Metadata<'_>) -> Source {
        let mut builder = MetadataBuilder::new(base);
        let mut own = BTreeMap::new();
        let (il, offsets) = self.code(&mut |words| {
            let (name, signature) = (builder.string("F").expect("room"), builder.blob(&method_sig(words)).expect("room"));
            let token = builder.add(&MemberRef { class: Default::default(), name, signature }).expect("room");
            own.insert(token.0, words.to_owned());
            token
        });
        let local_var_sig = if self.locals.is_empty() {
            Token::default()
        } else {
            let mut blob = vec![0x07];
            put_compressed_u32(&mut blob, self.locals.len() as u32);
            self.locals.iter().for_each(|local| blob.push(element(local)));
            // A signature that ends before the types it announces.
            blob.truncate(blob.len() - usize::from(self.has("short-locals")));
            let signature = builder.blob(&blob).expect("room");
            builder.add(&StandAloneSig { signature }).expect("room")
        };
        let local_var_sig = match self.setting("header") {
            "no-signature" => Token(0x0100_0001),
            "many-locals" => {
                let blob = [&[0x07, 0xC0, 0x00, 0xFF, 0xFE][..], &[0x08; 0xFFFE]].concat();
                let signature = builder.blob(&blob).expect("room");
                builder.add(&StandAloneSig { signature }).expect("room")
            }
            "odd-instance" => {
                let signature = builder.blob(&[0x07, 0x01, 0x15, 0x1C, 0x05, 0x01, 0x08]).expect("room");
                builder.add(&StandAloneSig { signature }).expect("room")
            }
            _ => local_var_sig,
        };
        own.insert(local_var_sig.0, "its own".into());
        let body = MethodBody {
            is_tiny: false,
            max_stack: self.number_of("max-stack-").unwrap_or(8),
            init_locals: !self.has("no-init"),
            local_var_sig,
            il: &il,
            il_offset: Default::default(),
            clauses: self.clauses.iter().map(|line| clause(line, &offsets)).collect(),
        };
        let mut bytes = Vec::new();
        if self.has("tiny") {
            bytes.push((il.len() as u8) << 2 | 2);
            bytes.extend_from_slice(&il);
        } else {
            body.write(&mut bytes);
        }
        if self.has("cut") {
            bytes.truncate(bytes.len() - 1);
        }
        let mut signature = method_sig(&self.method);
        signature.truncate(signature.len() - usize::from(self.has("short-signature")));
        if self.has("class-as-value") {
            // The method returns the second type, a class, encoded as a value type.
            signature.splice(2.., [0x11, 2 << 2]);
        }
        let mut row = base.tables.rows::<MethodDef>().next().expect("the sample has methods").1;
        row.impl_flags = if self.has("async") { 0x2000 } else { 0 };
        let place = |label: &str| offsets.get(label).copied().unwrap_or_else(|| label.parse().expect("a label or an offset"));
        let places = self.setting("places").split_whitespace().map(place).collect();
        Source { metadata: builder.finish().expect("it can be written").to_vec(), row, signature, body: bytes, places, own }
    }

    /// The number of the site probe for calls of a method: `sites: void (int32) = 0; int32 () = 1`.
    pub(crate) fn site_of(&self, callee: &str) -> Option<usize> {
        let sites = self.setting("sites").split("; ").filter_map(|site| site.split_once(" = "));
        sites.filter(|(method, _)| *method == callee).find_map(|(_, probe)| probe.parse().ok())
    }

    fn setting(&self, key: &str) -> &str {
        self.settings.get(key).map_or("", String::as_str)
    }

    fn has(&self, word: &str) -> bool {
        self.setting("header").split(' ').any(|each| each == word)
    }

    /// The number after a word of the header.
    fn number_of(&self, word: &str) -> Option<u16> {
        self.setting("header").split(' ').find_map(|each| each.strip_prefix(word)?.parse().ok())
    }

    /// The IL, and the offsets of its labels and end.
    fn code(&self, callee: &mut impl FnMut(&str) -> Token) -> (Vec<u8>, BTreeMap<String, u32>) {
        let (mut il, mut labels, mut branches) = (Vec::new(), BTreeMap::new(), Vec::new());
        for line in &self.code {
            let mut line = line.as_str();
            while let Some((label, rest)) = line.split_once(':').filter(|(label, _)| !label.contains(' ')) {
                labels.insert(label.to_owned(), il.len() as u32);
                line = rest.trim_start();
            }
            let (name, operand) = line.split_once(' ').unwrap_or((line, ""));
            if name.is_empty() {
                continue;
            }
            if let ("repeat", Some((count, name))) = (name, operand.split_once(' ')) {
                (0..count.parse().expect("a number")).for_each(|_| opcode(name).put(&mut il));
                continue;
            }
            if name == "byte" {
                il.push(u8::from_str_radix(operand, 16).expect("a byte"));
                continue;
            }
            let opcode = opcode(name);
            opcode.put(&mut il);
            match opcode.info().operand {
                Operand::Branch | Operand::BranchS => {
                    branches.push((il.len(), usize::from(opcode.info().operand_size), 0, operand.to_owned()));
                    il.resize(il.len() + usize::from(opcode.info().operand_size), 0);
                }
                Operand::Switch => {
                    let targets: Vec<&str> = operand.split(", ").collect();
                    il.put_u32(targets.len() as u32);
                    for (place, target) in targets.iter().enumerate() {
                        branches.push((il.len(), 4, (targets.len() - place - 1) * 4, (*target).to_owned()));
                        il.extend_from_slice(&[0; 4]);
                    }
                }
                Operand::Method if operand.starts_with("0x") => {
                    il.put_u32(u32::from_str_radix(&operand[2..], 16).expect("a token"));
                }
                Operand::Method => il.put_u32(callee(operand).0),
                _ => {
                    let number: i64 = if operand.is_empty() { 0 } else { operand.parse().expect("a number") };
                    il.extend_from_slice(&number.to_le_bytes()[..usize::from(opcode.info().operand_size)]);
                }
            }
        }
        labels.insert("end".into(), il.len() as u32);
        for (at, size, behind, label) in branches {
            let target = labels.get(&label).copied().unwrap_or_else(|| label.parse().expect("a label or an offset"));
            let distance = i64::from(target) - (at + size + behind) as i64;
            il[at..at + size].copy_from_slice(&distance.to_le_bytes()[..size]);
        }
        (il, labels)
    }
}

fn opcode(name: &str) -> OpCode {
    *OpCode::ALL.iter().find(|opcode| opcode.info().name == name).unwrap_or_else(|| panic!("no opcode is called {name}"))
}

/// `.try a b catch h i`: a block begins at the first label and ends before the second. Also `filter f h i`.
fn clause(line: &str, labels: &BTreeMap<String, u32>) -> Clause {
    let mut words = line.split(' ').skip(1);
    let label = |words: &mut dyn Iterator<Item = &str>| {
        let word = words.next().expect("a label").to_owned();
        labels.get(&word).copied().unwrap_or_else(|| word.parse().expect("a label or an offset"))
    };
    let (start, end) = (label(&mut words), label(&mut words));
    let kind = match words.next() {
        Some("catch") => ClauseKind::Catch(Token(0x0100_0001)),
        Some("finally") => ClauseKind::Finally,
        Some("fault") => ClauseKind::Fault,
        Some("filter") => ClauseKind::Filter(label(&mut words)),
        other => panic!("no clause is a {other:?}"),
    };
    let (handler_offset, handler_end) = (label(&mut words), label(&mut words));
    Clause {
        kind,
        try_offset: start,
        try_length: end.wrapping_sub(start),
        handler_offset,
        handler_length: handler_end.wrapping_sub(handler_offset),
    }
}

fn element(word: &str) -> u8 {
    (match word {
        "void" => ElementType::Void,
        "bool" => ElementType::Boolean,
        "int32" => ElementType::I4,
        "int64" => ElementType::I8,
        "float64" => ElementType::R8,
        "string" => ElementType::String,
        "object" => ElementType::Object,
        _ => panic!("no type is called {word}"),
    }) as u8
}

/// `instance int32 (string, bool)`. `Task<int32>` stands for a generic instance of a class.
fn method_sig(words: &str) -> Vec<u8> {
    let (is_instance, words) = words.strip_prefix("instance ").map_or((false, words), |rest| (true, rest));
    let (returns, params) = words.split_once(" (").expect("parameters");
    let params: Vec<&str> = params.trim_end_matches(')').split(", ").filter(|param| !param.is_empty()).collect();
    let mut blob = vec![if is_instance { 0x20 } else { 0 }, params.len() as u8];
    match returns.strip_prefix("Task<").and_then(|rest| rest.strip_suffix('>')) {
        Some(inner) => blob.extend_from_slice(&[0x15, 0x12, 0x05, 0x01, element(inner)]),
        None => blob.push(element(returns)),
    }
    blob.extend(params.into_iter().map(element));
    blob
}

/// Prints a body with a label at each branch target.
pub(crate) fn print(body: &MethodBody<'_>, words: &dyn Fn(Token) -> Option<String>) -> String {
    let instructions: Vec<Instruction<'_>> = body.instructions().collect::<Result<_, _>>().expect("it was checked");
    let mut places: Vec<u32> = instructions.iter().filter_map(Instruction::branch_target).collect();
    places.extend(instructions.iter().flat_map(Instruction::switch_targets));
    for clause in &body.clauses {
        places.extend([clause.try_offset, clause.try_offset + clause.try_length]);
        places.extend([clause.handler_offset, clause.handler_offset + clause.handler_length]);
        places.extend(match clause.kind {
            ClauseKind::Filter(filter) => Some(filter),
            _ => None,
        });
    }
    places.sort_unstable();
    places.dedup();
    let label = |offset: u32| format!("L{}", places.binary_search(&offset).expect("every place is listed"));
    let mut out = format!(".maxstack {}\n", body.max_stack);
    if body.local_var_sig != Token::default() {
        let init = if body.init_locals { "init " } else { "" };
        out.push_str(&format!(".locals {init}{}\n", words(body.local_var_sig).unwrap_or_default()));
    }
    let mut nops = 0;
    for instruction in &instructions {
        let is_led_to = places.binary_search(&instruction.offset).is_ok();
        // Long runs of `nop` only pad a body.
        if instruction.opcode() == OpCode::Nop && !is_led_to {
            nops += 1;
            continue;
        }
        flush(&mut nops, &mut out);
        if is_led_to {
            out.push_str(&format!("{}:\n", label(instruction.offset)));
        }
        let info = instruction.info;
        let operand = match info.operand {
            Operand::None => String::new(),
            Operand::Branch | Operand::BranchS => label(instruction.branch_target().expect("a branch")),
            Operand::Switch => instruction.switch_targets().map(label).collect::<Vec<_>>().join(", "),
            Operand::Method | Operand::String => words(instruction.token()).unwrap_or_else(|| instruction.token().to_string()),
            _ => format!("{:#x}", instruction.value()),
        };
        out.push_str(format!("  {} {operand}", info.name).trim_end());
        out.push('\n');
        debug_assert!(info.flow != Flow::Prefix || operand.is_empty() || operand.starts_with("0x"));
    }
    flush(&mut nops, &mut out);
    if places.binary_search(&(body.il.len() as u32)).is_ok() {
        out.push_str(&format!("{}:\n", label(body.il.len() as u32)));
    }
    for clause in &body.clauses {
        let range = |start: u32, length: u32| format!("{} {}", label(start), label(start + length));
        let kind = match clause.kind {
            ClauseKind::Catch(_) => "catch".into(),
            ClauseKind::Finally => "finally".into(),
            ClauseKind::Fault => "fault".into(),
            ClauseKind::Filter(filter) => format!("filter {}", label(filter)),
        };
        let protected = range(clause.try_offset, clause.try_length);
        out.push_str(&format!(".try {protected} {kind} {}\n", range(clause.handler_offset, clause.handler_length)));
    }
    out
}

fn flush(nops: &mut usize, out: &mut String) {
    if *nops > 0 {
        out.push_str(&format!("  repeat {nops} nop\n"));
        *nops = 0;
    }
}
