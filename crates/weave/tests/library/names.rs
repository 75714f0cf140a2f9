//! The names of the samples' methods: names/*.txt, a line a method. `BLESS=1` writes them. Instrumented methods have
//! the same.

use std::{borrow::Cow, env, fs, path::PathBuf};

use ecma335::{Image, Metadata, Table};
use names::{Manifest, Mark, MethodId, Symbol, Symbols, WovenNames, module_keys, woven_ids};
use weave::{Options, Tracker, Weave, pdb, reweave, weave};

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A sample, and its PDB.
fn sample(name: &str) -> (Vec<u8>, Option<Vec<u8>>) {
    let folder = root().join("samples").join(name).join("bin");
    let path = ["exe", "dll"].map(|extension| folder.join(name).with_extension(extension)).into_iter().find(|path| path.exists());
    let bytes = fs::read(path.expect("the sample is there")).expect("it can be read");
    (bytes, fs::read(folder.join(name).with_extension("pdb")).ok())
}

/// The PDB in an assembly, or beside it.
fn pdb_of<'p>(assembly: &[u8], beside: Option<&'p [u8]>) -> Option<Cow<'p, [u8]>> {
    pdb::find(&Image::parse(assembly).ok()?, beside).ok()?
}

/// It woven, with its PDB.
fn woven(bytes: &[u8], pdb: Option<&[u8]>, names: bool) -> (Vec<u8>, Option<Vec<u8>>) {
    let tracker = fs::read(root().join("tracker-runtime/bin/Ilinst.Tracker.dll")).expect("the tracker is there");
    let tracker = Tracker::read(&tracker).expect("it is an assembly");
    let image = Image::parse(bytes).expect("it is an image");
    let metadata = Metadata::parse(image.metadata().expect("it is managed")).expect("it has metadata");
    let options = Options { names, ..Options::default() };
    let how = Weave { options: &options, tool: "test", pdb, ..Weave::new(&tracker) };
    let woven = weave(&image, &metadata, &how).expect("it can be woven");
    (woven.file.iter().flatten().copied().collect(), woven.pdb)
}

#[test]
fn methods_are_called_what_people_call_them() {
    for entry in fs::read_dir(root().join("crates/weave/tests/library/names")).expect("it is there").flatten() {
        let name = entry.path().file_stem().expect("a file has a name").to_string_lossy().into_owned();
        let (assembly, beside) = sample(&name);
        let key = module_keys(&assembly)[0];
        let pdb = pdb_of(&assembly, beside.as_deref());
        let symbols = Symbols::read(&assembly, pdb.as_deref(), key).expect("it can be read").expect("it is the key's");
        let image = Image::parse(&assembly).expect("it is an image");
        let methods =
            Metadata::parse(image.metadata().expect("it has some")).expect("it can be read").tables.count(Table::MethodDef);
        let line = |row: u32| {
            let Symbol { raw: (type_name, method), type_name: written, member, parameters, is_compiler_generated, place } =
                symbols.symbol(MethodId::new(key, row)).expect("there is such a row");
            let made = if is_compiler_generated { " made" } else { "" };
            let parameters = parameters.unwrap_or_else(|| "?".into());
            let file = |path: &str| path.rsplit(['/', '\\']).next().unwrap_or_default().to_owned();
            let place = place.map(|(path, line)| format!(" at {}:{line}", file(&path))).unwrap_or_default();
            format!("{type_name}::{method} -> {written}.{member}({parameters}){made}{place}\n")
        };
        let found: String = (1..=methods).map(line).collect();
        if env::var_os("BLESS").is_some() {
            fs::write(entry.path(), &found).expect("it can be written");
        } else {
            assert_eq!(found, fs::read_to_string(entry.path()).expect("it can be read"), "{name}: BLESS=1 rewrites it");
        }
        // Not one of these is another's.
        assert!(Symbols::read(&assembly, None, key + 1).expect("it can be read").is_none());
        assert_eq!(symbols.symbol(MethodId::new(key + 1, 1)), None);
        assert_eq!(symbols.symbol(MethodId::new(key, methods + 1)), None);
        assert_eq!(symbols.symbol(MethodId::new(key, 0)), None);

        for names in [false, true] {
            let (woven, beside) = woven(&assembly, beside.as_deref(), names);
            assert_eq!(module_keys(&woven), [key]);
            let pdb = pdb_of(&woven, beside.as_deref());
            let of_woven = Symbols::read(&woven, pdb.as_deref(), key).expect("it can be read").expect("it is the key's");
            let image = Image::parse(&woven).expect("it is an image");
            let metadata = Metadata::parse(image.metadata().expect("it has some")).expect("it can be read");
            let ids = woven_ids(&image, &metadata, key);
            let mark = Mark::read(&metadata).expect("it is woven");
            let of_mark = WovenNames::read(mark.names.expect("it has names")).expect("they can be read");
            for id in ids.keys().copied() {
                let symbol = symbols.symbol(id).expect("it is a method");
                let (class, method) = &symbol.raw;
                assert_eq!(of_woven.symbol(id).as_ref(), Some(&symbol), "{name}");
                assert!(of_mark.is_name_of(id, class, method) && !of_mark.is_name_of(id, class, "another"));
                let in_mark = (names || id.is_call_site()).then_some((class.as_str(), method.as_str()));
                assert_eq!(of_mark.name(id), in_mark, "{name}");
            }
            let without = (1..=methods).map(|row| MethodId::new(key, row)).filter(|id| !ids.contains_key(id));
            assert!(!ids.is_empty() && without.map(|id| of_woven.symbol(id)).all(|symbol| symbol.is_none()), "{name}");
        }
    }
}

/// Damage is an error, or fewer names, and takes no memory that the bytes do not.
#[test]
fn damaged_names_are_read_as_far_as_they_go() {
    let (assembly, beside) = sample("orders");
    let (woven, _) = woven(&assembly, beside.as_deref(), true);
    let image = Image::parse(&woven).expect("it is an image");
    let metadata = Metadata::parse(image.metadata().expect("it has some")).expect("it can be read");
    let names = Mark::read(&metadata).and_then(|mark| mark.names).expect("it has names");
    assert!(WovenNames::read(names).is_ok());
    for end in 0..names.len() {
        let _ = WovenNames::read(&names[..end]);
    }
    for place in 0..names.len() {
        let mut damaged = names.to_vec();
        damaged[place] = 0xFF;
        let _ = WovenNames::read(&damaged);
    }
}

#[test]
fn a_manifest_has_names_too() {
    let manifest = br#"{ "moduleKey": "9876543210", "types": [["Shop.Order"],["<>c",1]],
        "methods": [[1,"get_Name",0],[2,"<Load>b__0_0",0,"Load [lambda]"],[2,".ctor",1],[9,"x",0]],
        "calls": [[12,"System.Threading.Thread::Join",true]] }"#;
    let manifest = Manifest::read(manifest).expect("it is one");
    let key = manifest.module_key();
    let name = |id: MethodId| manifest.symbol(id).map(|symbol| format!("{}.{}", symbol.type_name, symbol.member));
    assert_eq!(name(MethodId::new(key, 1)).as_deref(), Some("Shop.Order.Name.get"));
    assert_eq!(name(MethodId::new(key, 2)).as_deref(), Some("Shop.Order.Load [lambda]"));
    assert!(manifest.symbol(MethodId::new(key, 3)).is_some_and(|symbol| symbol.is_compiler_generated));
    assert_eq!([4, 5, 0].map(|row| name(MethodId::new(key, row))), [None, None, None]);
    let join = MethodId::call_site(key, 12, true).expect("it has room");
    assert_eq!(name(join).as_deref(), Some("System.Threading.Thread.Join"));
    assert_eq!(name(MethodId::new(key ^ 1, 1)), None);
    assert!(Manifest::read(b"{}").is_none() && Manifest::read(b"\xff").is_none());
}

/// The mark states the limit that short methods are skipped by, and the tool's version. A file of an older tool, whose mark lacks
/// the limit, is woven again with the words that it has.
#[test]
fn a_mark_states_what_was_woven_and_an_older_one_is_kept() {
    let tracker = fs::read(root().join("tracker-runtime/bin/Ilinst.Tracker.dll")).expect("the tracker is there");
    let tracker = Tracker::read(&tracker).expect("it is an assembly");
    let (bytes, _) = sample("hello");
    let image = Image::parse(&bytes).expect("it is an image");
    let metadata = Metadata::parse(image.metadata().expect("it is managed")).expect("it has metadata");
    let options_of = |file: &[u8]| {
        let woven = Image::parse(file).expect("it is an image");
        let woven = Metadata::parse(woven.metadata().expect("it is managed")).expect("it has metadata");
        let mark = Mark::read(&woven).expect("it has a mark");
        (mark.tool.to_owned(), mark.options.to_owned(), woven.mvid().expect("it has an MVID"))
    };
    let new = weave(&image, &metadata, &Weave { tool: "ilinst 1.2.3", ..Weave::new(&tracker) }).expect("it can be woven");
    let (tool, options, mvid) = options_of(&new.file.iter().flatten().copied().collect::<Vec<u8>>());
    assert_eq!((&*tool, &*options), ("ilinst 1.2.3", "--leave=finally --min-il=48"));
    let older = Mark {
        module_key: new.module_key,
        tool: &tool,
        options: "--leave=finally",
        names: None,
        descriptions: None,
        lines: None,
    };
    let again = reweave(&image, &metadata, &older, &tracker, None).expect("it can be woven again");
    let (_, options, older_mvid) = options_of(&again.woven.file.iter().flatten().copied().collect::<Vec<u8>>());
    assert_eq!(options, older.options);
    assert_ne!(older_mvid, mvid, "it is made of the words");
}
