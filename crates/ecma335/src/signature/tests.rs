use super::{
    MethodSig, Signature,
    outline::{LocalsShape, MethodShape, effective_async_return},
    text::{MAX_TEXT, TypeNames},
};
use crate::{
    cursor::Cursor,
    token::{FileOffset, Token},
};

struct Numbers;
impl TypeNames for Numbers {
    fn type_name(&self, token: Token) -> String {
        format!("T{}", token.rid())
    }
}

/// Blobs of methods, and their text.
const METHODS: &[(&[u8], &str)] = &[
    (&[0x00, 0x00, 0x01], "void ()"),
    (&[0x20, 0x02, 0x08, 0x0E, 0x10, 0x1C], "instance int32 (string, object&)"),
    (&[0x10, 0x01, 0x01, 0x1E, 0x00, 0x1D, 0x1E, 0x00], "!!0 (!!0[])"),
    (&[0x05, 0x02, 0x01, 0x0E, 0x41, 0x08], "vararg void (string, ..., int32)"),
    (&[0x00, 0x01, 0x15, 0x12, 0x05, 0x02, 0x08, 0x13, 0x01, 0x0F, 0x01], "class T1<int32, !1> (void*)"),
    (&[0x00, 0x01, 0x01, 0x14, 0x08, 0x02, 0x01, 0x03, 0x02, 0x00, 0x02], "void (int32[0...2,1...])"),
    (&[0x00, 0x01, 0x01, 0x14, 0x08, 0x01, 0x00, 0x00], "void (int32[...])"),
    (&[0x00, 0x00, 0x1F, 0x05, 0x10, 0x11, 0x09], "valuetype T2& modreq(T1) ()"),
    (&[0x00, 0x01, 0x16, 0x1B, 0x09, 0x01, 0x01, 0x18], "typedref (method unmanaged void *(native int))"),
];

#[test]
fn methods_read_write_and_show() {
    for (blob, text) in METHODS {
        let Signature::Method(method) = Signature::parse(Cursor::new(blob, FileOffset(0))).unwrap() else { panic!("{text}") };
        assert_eq!(method.display(&Numbers).to_string(), *text);
        let mut out = Vec::new();
        method.write(&mut out);
        assert_eq!(out, *blob, "{text}");
        let shape = MethodShape::read(blob, FileOffset(0)).unwrap();
        assert_eq!(shape.params as usize, method.params.len(), "{text}");
        assert_eq!(shape.returns_value, !text.contains("void ("), "{text}");
    }
}

/// The outline, which instrumenting reads, and the full parser, which `verify` uses, accept the same types.
#[test]
fn what_returns_no_type_is_no_signature_for_either() {
    for element in 0..=u8::MAX {
        let blob = [&[0x00, 0x00, element][..], &[0x05; 8]].concat();
        let is_parsed = MethodSig::read(&mut Cursor::new(&blob, FileOffset(0)), 0).is_ok();
        assert_eq!(MethodShape::read(&blob, FileOffset(0)).is_ok(), is_parsed, "{element:#x}");
    }
}

#[test]
fn long_signatures_are_cut() {
    let many = [&[0x00, 0x80 | 0x3F, 0xFF, 0x01][..], &[0x12, 0x05].repeat(0x3FFF)].concat();
    let Signature::Method(method) = Signature::parse(Cursor::new(&many, FileOffset(0))).unwrap() else { panic!("a method") };
    let shown = method.display(&Numbers).to_string();
    assert!(shown.starts_with("void (class T1, class T1") && shown.ends_with("class T1…)"), "{}", &shown[..40]);
    assert!((MAX_TEXT..MAX_TEXT + 40).contains(&shown.len()), "{}", shown.len());
    assert_eq!(method.display_head(&Numbers) + &method.display_params(&Numbers), shown);
}

#[test]
fn the_other_kinds_round_trip() {
    for blob in [&[0x06, 0x0E][..], &[0x28, 0x01, 0x08, 0x0E], &[0x07, 0x02, 0x45, 0x10, 0x08, 0x16], &[0x0A, 0x02, 0x08, 0x1C]] {
        let mut out = Vec::new();
        Signature::parse(Cursor::new(blob, FileOffset(0))).unwrap().write(&mut out);
        assert_eq!(out, blob);
    }
}

#[test]
fn locals_are_as_many_as_the_signature_says() {
    // Three locals: pinned uint8&, class T1<int32>, string; and an excess byte.
    let blob = [0x07, 0x03, 0x45, 0x10, 0x05, 0x15, 0x12, 0x05, 0x01, 0x08, 0x0E, 0xFF];
    assert_eq!(LocalsShape::read(&blob[..11], FileOffset(0)).unwrap(), LocalsShape { count: 3, types: 2..11 });
    for (length, kind) in [(10, 0x07), (11, 0x06), (12, 0x07)] {
        let blob = [&[kind], &blob[1..length]].concat();
        assert!(LocalsShape::read(&blob, FileOffset(0)).is_err(), "{length} bytes of kind {kind}");
    }
}

#[test]
fn modifiers_before_the_return_type_are_left_out() {
    // void modreq(T1) (int32): an init accessor has no return value.
    let shape = MethodShape::read(&[0x20, 0x01, 0x1F, 0x05, 0x01, 0x08], FileOffset(0)).unwrap();
    assert!(!shape.returns_value);
    let shape = MethodShape::read(METHODS[7].0, FileOffset(0)).unwrap();
    assert_eq!(METHODS[7].0[shape.return_type], [0x10, 0x11, 0x09]);
}

#[test]
fn a_runtime_async_method_returns_what_its_task_holds() {
    let of = |blob: &[u8]| {
        let shape = MethodShape::read(blob, FileOffset(0)).unwrap();
        effective_async_return(blob, &shape.return_type).map(|range| blob[range].to_vec())
    };
    assert_eq!(of(&[0x00, 0x00, 0x15, 0x12, 0x05, 0x01, 0x1D, 0x08]), Some(vec![0x1D, 0x08]));
    assert_eq!(of(&[0x00, 0x00, 0x12, 0x05]), None);
}

#[test]
fn every_cut_off_blob_is_an_error_and_deep_ones_end() {
    for (blob, text) in METHODS {
        for length in 0..blob.len() {
            assert!(Signature::parse(Cursor::new(&blob[..length], FileOffset(0))).is_err(), "{text} cut to {length}");
        }
    }
    let deep = [vec![0x06], vec![0x1D; 100_000], vec![0x08]].concat();
    assert!(Signature::parse(Cursor::new(&deep, FileOffset(0))).is_err());
}
