//! The source names of the instrumented samples' methods: names/*.txt, a line for each method. `BLESS=1` writes these files.

use std::{env, fs, path::PathBuf};

use ecma335::{Image, Metadata};
use identity::MethodId;
use symbols::{Manifest, Symbol, Symbols, module_key, pdb_of};
use weave::{Options, Tracker, Weave, weave};

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Returns an instrumented sample, its PDB, and its number of methods.
fn woven(name: &str) -> (Vec<u8>, Option<Vec<u8>>, u32) {
    let folder = root().join("samples").join(name).join("bin");
    let path = ["exe", "dll"].map(|extension| folder.join(name).with_extension(extension)).into_iter().find(|path| path.exists());
    let bytes = fs::read(path.expect("the sample is there")).expect("it can be read");
    let beside = fs::read(folder.join(name).with_extension("pdb")).ok();
    let tracker = fs::read(root().join("tracker-runtime/bin/Ilinst.Tracker.dll")).expect("the tracker is there");
    let tracker = Tracker::read(&tracker).expect("it is an assembly");
    let image = Image::parse(&bytes).expect("it is an image");
    let metadata = Metadata::parse(image.metadata().expect("it is managed")).expect("it has metadata");
    let options = Options::default();
    let how = Weave { options: &options, tool: "test", pdb: beside.as_deref(), ..Weave::new(&tracker) };
    let woven = weave(&image, &metadata, &how).expect("it can be woven");
    let count = woven.methods.len() as u32;
    (woven.file.iter().flatten().copied().collect(), woven.pdb, count)
}

#[test]
fn methods_are_called_what_people_call_them() {
    for entry in fs::read_dir(root().join("crates/symbols/tests/names")).expect("it is there").flatten() {
        let name = entry.path().file_stem().expect("a file has a name").to_string_lossy().into_owned();
        let (assembly, beside, methods) = woven(&name);
        let key = module_key(&assembly).expect("it is woven");
        let pdb = pdb_of(&assembly, beside.as_deref());
        let symbols = Symbols::read(&assembly, pdb.as_deref()).expect("it can be read").expect("it is woven");
        let line = |row: u32| {
            let Symbol { raw: (type_name, method), type_name: written, member, parameters, is_made, place } =
                symbols.symbol(MethodId::new(key, row)).expect("there is such a row");
            let made = if is_made { " made" } else { "" };
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
        // Ids with another key or without a row have no symbol.
        assert_eq!(symbols.symbol(MethodId::new(key + 1, 1)), None);
        assert_eq!(symbols.symbol(MethodId::new(key, methods + 1)), None);
        assert_eq!(symbols.symbol(MethodId::new(key, 0)), None);
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
    assert!(manifest.symbol(MethodId::new(key, 3)).is_some_and(|symbol| symbol.is_made));
    assert_eq!([4, 5, 0].map(|row| name(MethodId::new(key, row))), [None, None, None]);
    let join = MethodId::call_site(key, 12, true).expect("it has room");
    assert_eq!(name(join).as_deref(), Some("System.Threading.Thread.Join"));
    assert_eq!(name(MethodId::new(key ^ 1, 1)), None);
    assert!(Manifest::read(b"{}").is_none() && Manifest::read(b"\xff").is_none());
}
