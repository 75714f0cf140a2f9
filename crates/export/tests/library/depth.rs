//! Deep paths: the size of an export grows with the profile, not with the square of its depth, and sums stay exact.

use std::io;

use export::{Cut, Export, Format, Measure, Origin};
use names::MethodId;
use profile::{
    CallTree, Profile, SampleType,
    model::{Function, MethodName, Node, Notes},
};

/// Returns a profile in levels of `siblings` methods; the first of each level calls the next level.
fn profile(count: usize, siblings: usize) -> Profile {
    let function = |index: usize| Function {
        method_id: MethodId::new(1, index as u32 + 1),
        name: Some(MethodName { type_name: "Shop.Orders.Type".into(), method: format!("Method{index}") }),
        source: None,
        module: None,
    };
    let caller = |index: usize| (index / siblings * siblings).checked_sub(siblings);
    let nodes: Vec<Node> = (0..count).map(|index| Node { function: index, caller: caller(index) }).collect();
    let tree = CallTree {
        number: 1,
        notes: vec![Notes::default(); count],
        nodes,
        values: vec![vec![1; count], vec![10; count]],
        ..CallTree::default()
    };
    Profile {
        sample_types: vec![SampleType::CALLS, SampleType::WALL],
        functions: (0..count).map(function).collect(),
        trees: vec![tree],
        ..Profile::default()
    }
}

/// A writer that counts bytes.
#[derive(Default)]
struct Counted(usize);

impl io::Write for Counted {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn written(profile: &Profile, format: Format, max_depth: Option<usize>) -> (usize, Cut) {
    let origin = Origin::new(profile, "host");
    let export =
        Export { profile, bytes: &[], phases: &[], origin: &origin, measure: Measure::Calls, by_thread: false, max_depth };
    let mut out = Counted::default();
    let cut = export.write(format, &mut out).expect("it can be written");
    (out.0, cut)
}

#[test]
fn what_is_written_grows_with_the_profile() {
    for siblings in [1, 60] {
        let deep = profile(10_000, siblings);
        for format in Format::ALL {
            let (bytes, cut) = written(&deep, format, None);
            // Unshortened, a single path would take 1.5 GB as folded stacks.
            assert!(bytes < 120_000_000, "{}, {siblings} siblings: {bytes} bytes", format.name());
            let is_cut = format.has_whole_paths() && siblings == 1;
            assert_eq!(cut.deeper.is_some(), is_cut, "{}, {siblings} siblings: {cut}", format.name());
            assert!(!cut.is_folded);
        }
    }
}

#[test]
fn deeper_calls_are_added_up_in_a_frame_that_says_so() {
    let deep = profile(5, 1);
    let origin = Origin::new(&deep, "host");
    let mut export = Export {
        profile: &deep,
        bytes: &[],
        phases: &[],
        origin: &origin,
        measure: Measure::Calls,
        by_thread: false,
        max_depth: Some(2),
    };
    let mut out = Vec::new();
    let cut = export.write(Format::Folded, &mut out).expect("it can be written");
    let [first, second] = ["Shop.Orders.Type.Method0", "Shop.Orders.Type.Method1"];
    let expected = format!("{first} 1\n{first};{second} 1\n{first};{second};[deeper than 2 calls] 3\n");
    assert_eq!(String::from_utf8(out).expect("it is text"), expected);
    assert_eq!(cut, Cut { is_folded: false, deeper: Some((2, 3)) });
    assert_eq!(cut.to_string(), "3 call paths of more than 2 calls are added up as '[deeper than 2 calls]'");
    for max_depth in [Some(0), Some(5), None] {
        export.max_depth = max_depth;
        assert_eq!(export.write(Format::Folded, &mut Vec::new()).expect("it can be written"), Cut::default());
    }
}
