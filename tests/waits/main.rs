//! The list of what waits, held against the base library of .NET 10: each public method that leads to what blocks, by no other
//! public method, is in the list of `weave`, or stands in `left.txt` with the reason why it is not.

use std::{
    collections::{BTreeSet, HashMap, HashSet, VecDeque},
    fs,
    path::{Path, PathBuf},
};

use ecma335::signature::Signature;
use ecma335::{
    Image, Metadata, MethodBody, Rid, Rva, Token,
    opcode::Operand,
    schema::{MemberRef, MethodDef, MethodSpec, NestedClass, TypeDef, TypeDefOrRef, TypeRef, TypeSpec},
};
use tests::{root, tool};

/// A type's full name and a method's name: overloads are one.
type Name = (String, String);

/// Blocking methods of the operating system and of the runtime.
const BLOCKING: [(&str, &str); 9] = [
    (
        "Interop/Sys",
        "Accept Connect CopyFile FLock FSync GetHostEntryForName GetNameInfo LockFileRegion PRead PReadV PWrite PWriteV Poll Read ReadStdin \
         Receive ReceiveMessage Send SendFile SendMessage Select TcDrain WaitForSocketEvents Write",
    ),
    ("System.Threading.Monitor", "ObjWait Wait"),
    ("System.Threading.Thread", "Join JoinInternal Sleep SleepInternal"),
    ("System.Threading.WaitHandle", "WaitOneCore WaitOneNoCheck WaitMultiple WaitMultipleIgnoringSyncContext"),
    ("System.Threading.Tasks.Task", "InternalWait InternalWaitCore SpinThenBlockingWait"),
    ("System.Threading.Condition", "Wait"),
    ("System.Threading.LowLevelLifoSemaphore", "WaitForSignal"),
    ("System.Threading.ManualResetEventSlim", "Wait"),
    ("System.Threading.SpinWait", "SpinUntil"),
];

/// Taking one of these is a wait of its own in a program. The library takes them everywhere, and most are free.
const LOCKS: [&str; 4] = [
    "System.Threading.Monitor",
    "System.Threading.Lock",
    "System.Threading.ReaderWriterLock",
    "System.Threading.ReaderWriterLockSlim",
];

/// Where the way to what blocks ends: a program does not wait by these. They trace, load a file of the system once, or have
/// something done by another thread.
const CUT: [(&str, &str); 6] = [
    ("System.Diagnostics.Tracing.EventSource", "SendManifest"),
    ("System.TimeZoneInfo", "TryLoadTzFile"),
    (
        "System.Threading.Tasks.ConcurrentExclusiveSchedulerPair/ConcurrentExclusiveTaskScheduler",
        "TryExecuteTaskInlineOnTargetScheduler",
    ),
    ("System.Diagnostics.Process", "GetUntruncatedProcessName"),
    ("System.Runtime.CompilerServices.TaskAwaiter", "HandleNonSuccessAndDebuggerNotification"),
    ("System.ConsolePal", "EnsureConsoleInitialized EnsureInitializedCore"),
];

/// The methods of the library, and their calls.
#[derive(Default)]
struct Library {
    /// The methods that a method calls.
    calls: HashMap<Name, BTreeSet<Name>>,
    /// The types that derive from one.
    derived: HashMap<String, Vec<String>>,
    public: BTreeSet<Name>,
    /// The callees of a method, with the overrides that may be called in their place: filled when all assemblies are added.
    reached: HashMap<Name, Vec<Name>>,
}

impl Library {
    fn add(&mut self, path: &Path) {
        let bytes = fs::read(path).expect("it can be read");
        let Ok(image) = Image::parse(&bytes) else { return };
        let Ok(metadata) = image.metadata().and_then(Metadata::parse) else { return };
        let names = metadata.full_names();
        let enclosing: HashMap<u32, u32> =
            metadata.tables.rows::<NestedClass>().map(|(_, row)| (row.nested_class.get(), row.enclosing_class.get())).collect();
        for (rid, row) in metadata.tables.rows::<TypeDef>() {
            let Ok(name) = names.name_of(rid) else { continue };
            if let Some(base) = row.extends.token().and_then(|base| type_name(&metadata, base)) {
                self.derived.entry(base).or_default().push(name.clone());
            }
            let is_public = is_visible(&metadata, rid, &enclosing);
            for method in metadata.children::<TypeDef, MethodDef>(rid) {
                let Ok(row) = metadata.row(method) else { continue };
                let own = (name.clone(), metadata.name(row.name).unwrap_or_default());
                // Whoever awaits waits for nothing, and what begins something does not.
                if is_public && is_visible_method(row.flags) && !returns_later(&metadata, &row) {
                    self.public.insert(own.clone());
                }
                let called = self.calls.entry(own).or_default();
                let Some(Ok(body)) = row.has_il_body().then(|| MethodBody::parse(image.cursor_at(Rva(row.rva))?)) else {
                    continue;
                };
                let calls = body.instructions().map_while(Result::ok).filter(|one| one.info.operand == Operand::Method);
                // Not what a delegate is made of: it may be called anywhere.
                let calls = calls.filter(|one| one.info.name.starts_with("call"));
                called.extend(calls.filter_map(|one| method_name(&metadata, one.token())));
            }
        }
    }

    /// Returns the callees of a method, and the overrides that may be called in their place.
    fn find_reached(&self, name: &Name) -> Vec<Name> {
        let mut found = Vec::new();
        for callee in self.calls.get(name).into_iter().flatten() {
            found.push(callee.clone());
            if self.public.contains(callee) {
                continue;
            }
            let (mut types, mut seen) = (vec![callee.0.clone()], HashSet::new());
            while let Some(ty) = types.pop() {
                for derived in self.derived.get(&ty).into_iter().flatten() {
                    if seen.insert(derived.clone()) {
                        found.push((derived.clone(), callee.1.clone()));
                        types.push(derived.clone());
                    }
                }
            }
        }
        found
    }

    /// Returns the public methods that lead to a known one by methods that are not public.
    fn leading_to<'l>(&'l self, known: &'l HashSet<Name>) -> BTreeSet<&'l Name> {
        let mut callers: HashMap<&Name, Vec<&Name>> = HashMap::new();
        for (caller, callees) in &self.reached {
            callees.iter().filter(|callee| !is_cut(callee)).for_each(|callee| callers.entry(callee).or_default().push(caller));
        }
        let (mut next, mut seen, mut found): (Vec<&Name>, HashSet<&Name>, _) =
            (known.iter().collect(), HashSet::new(), BTreeSet::new());
        while let Some(callee) = next.pop() {
            for caller in callers.get(callee).into_iter().flatten() {
                if self.public.contains(*caller) {
                    found.insert(*caller);
                } else if seen.insert(caller) {
                    next.push(caller);
                }
            }
        }
        found
    }

    /// By what a public method blocks: what is known to, or a method of the list.
    fn blocks_by<'l>(&'l self, name: &'l Name, known: &HashSet<Name>) -> Option<Vec<&'l Name>> {
        let (mut next, mut seen) = (VecDeque::from([vec![name]]), HashSet::from([name]));
        while let Some(path) = next.pop_front() {
            let reached = &self.reached[*path.last().expect("a method")];
            for callee in reached.iter().filter(|callee| !is_cut(callee)) {
                if known.contains(callee) && callee != name {
                    return Some([path, vec![callee]].concat());
                }
                if !self.public.contains(callee) && self.calls.contains_key(callee) && seen.insert(callee) {
                    next.push_back([&path[..], &[callee]].concat());
                }
            }
        }
        None
    }
}

fn is_cut((ty, method): &Name) -> bool {
    CUT.iter().any(|(of, methods)| of == ty && methods.split(' ').any(|name| name == method))
}

fn type_name(metadata: &Metadata<'_>, token: Token) -> Option<String> {
    if let Some(rid) = token.rid_in::<TypeDef>() {
        return metadata.full_names().name_of(rid).ok();
    }
    if let Some(rid) = token.rid_in::<TypeRef>() {
        return metadata.type_ref_name(rid).ok();
    }
    let blob = metadata.blob(metadata.row(token.rid_in::<TypeSpec>()?).ok()?.signature).ok()?;
    // An instance of a generic type (II.23.2.12).
    let rest = blob.strip_prefix(&[0x15])?.get(1..)?;
    let mut cursor = ecma335::Cursor::new(rest, ecma335::FileOffset(0));
    type_name(metadata, TypeDefOrRef(cursor.compressed_u32().ok()?).token()?)
}

fn method_name(metadata: &Metadata<'_>, token: Token) -> Option<Name> {
    if let Some(rid) = token.rid_in::<MethodSpec>() {
        return method_name(metadata, metadata.row(rid).ok()?.method.token()?);
    }
    if let Some(rid) = token.rid_in::<MethodDef>() {
        let name = metadata.name(metadata.row(rid).ok()?.name).ok()?;
        return Some((metadata.full_names().name_of(metadata.owner(rid)?).ok()?, name));
    }
    let row: MemberRef = metadata.row(token.rid_in()?).ok()?;
    Some((type_name(metadata, row.class.token()?)?, metadata.name(row.name).ok()?))
}

/// Whether others see a type (II.23.1.15).
fn is_visible(metadata: &Metadata<'_>, rid: Rid<TypeDef>, enclosing: &HashMap<u32, u32>) -> bool {
    let Ok(row) = metadata.row(rid) else { return false };
    match row.flags & 7 {
        1 => true,
        2 => enclosing.get(&rid.get()).is_some_and(|outer| is_visible(metadata, Rid::new(*outer), enclosing)),
        _ => false,
    }
}

/// Whether others see a method: public ones (II.23.1.10).
fn is_visible_method(flags: u16) -> bool {
    flags & 7 == 6
}

/// Whether what a method returns says later how it went.
fn returns_later(metadata: &Metadata<'_>, row: &MethodDef) -> bool {
    let signature = metadata.blobs.blob(row.signature).and_then(Signature::parse);
    let Ok(Signature::Method(signature)) = signature else { return false };
    let text = signature.display_head(metadata);
    ["Task", "IAsync", "ConfiguredCancelableAsyncEnumerable", "ConfiguredTaskAwaitable"].iter().any(|later| text.contains(later))
}

/// The content of `left.txt`: below each reason, which begins with `#`, types with their methods. `*` is any end of a type's name,
/// and alone any method.
struct Left {
    lines: Vec<(String, Vec<String>)>,
    met: Vec<bool>,
}

impl Left {
    fn read(path: &Path) -> Self {
        let text = fs::read_to_string(path).expect("it is there");
        let lines = text.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
        let names = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let lines = lines.map(names).map(|mut names| (names.remove(0), names)).collect::<Vec<_>>();
        Self { met: vec![false; lines.len()], lines }
    }

    fn has(&mut self, (ty, method): &Name) -> bool {
        let is_type = |pattern: &str| pattern.strip_suffix('*').map_or(pattern == ty, |start| ty.starts_with(start));
        let is_it =
            |(of, methods): &(String, Vec<String>)| is_type(of) && methods.iter().any(|name| name == "*" || name == method);
        let found: Vec<usize> = (0..self.lines.len()).filter(|index| is_it(&self.lines[*index])).collect();
        found.iter().for_each(|index| self.met[*index] = true);
        !found.is_empty()
    }
}

#[test]
#[ignore = "needs .NET 10"]
fn what_blocks_is_in_the_list_or_left_for_a_reason() {
    let Some(dotnet) = tool("ILINST_DOTNET10") else {
        println!("without: .NET 10");
        return;
    };
    let framework = dotnet.parent().expect("it is in a folder").join("shared/Microsoft.NETCore.App");
    let version = fs::read_dir(&framework).expect("it is there").flatten().next().expect("there is one").path();
    let mut library = Library::default();
    let files = fs::read_dir(version).expect("it is there").flatten().map(|file| file.path());
    let mut files: Vec<PathBuf> = files.filter(|path| path.extension().is_some_and(|extension| extension == "dll")).collect();
    files.sort();
    files.iter().for_each(|file| library.add(file));
    library.reached = library.calls.keys().map(|name| (name.clone(), library.find_reached(name))).collect();
    let listed: HashSet<Name> = weave::waits().map(|(ty, method)| (ty.to_owned(), method.to_owned())).collect();
    let names =
        |(ty, methods): (&str, &str)| methods.split(' ').map(|method| (ty.to_owned(), method.to_owned())).collect::<Vec<_>>();
    let waiting = listed.iter().filter(|(ty, _)| !LOCKS.contains(&ty.as_str())).cloned();
    let known: HashSet<Name> = BLOCKING.into_iter().flat_map(names).chain(waiting).collect();
    let mut left = Left::read(&root().join("tests/waits/left.txt"));
    let mut unknown = Vec::new();
    for name in library.leading_to(&known).into_iter().filter(|name| !listed.contains(*name)) {
        let Some(path) = library.blocks_by(name, &known) else { continue };
        if left.has(name) {
            continue;
        }
        let path = path.iter().map(|(ty, method)| format!("{ty}::{method}")).collect::<Vec<_>>().join(" > ");
        unknown.push(path);
    }
    assert!(library.public.len() > 10_000, "{}", library.public.len());
    assert!(unknown.is_empty(), "{} block, and are in no list:\n{}", unknown.len(), unknown.join("\n"));
    let unmet: Vec<_> = left.lines.iter().zip(&left.met).filter(|(_, is_met)| !**is_met).map(|(line, _)| line).collect();
    assert!(unmet.is_empty(), "these do not block, and are left: {unmet:?}");
}
