//! Captured calls of a method with very many parameters, and of types with very many fields and members. The work for each call
//! must not grow with these. Otherwise each of these tests would take hours.

use little_endian::PutNumbers;
use profile::{Profile, calls::Calls};
use profile_format::{CallFlags, CallRecordKind, ChunkKind, DescriptionKind, TypeShape, ValueKind, calls::HEADER};
use report::calls::{CallText, Condition, line};

use crate::builder;

const MANY: u32 = 1_000_000;
const CALLS: u64 = 400_000;

fn text(out: &mut Vec<u8>, text: &str) {
    out.put_u32(text.len() as u32);
    out.extend(text.as_bytes());
}

/// Returns a description's record.
fn description(kind: DescriptionKind, body: &[u8]) -> Vec<u8> {
    let size = (8 + body.len()) as u32;
    [&[kind.number(), 0, 0, 0][..], &size.to_le_bytes(), body].concat()
}

/// Returns a method with by-reference parameters; the last one's name is `last`.
fn signature(parameters: u32, type_name: &str) -> Vec<u8> {
    let mut body = Vec::new();
    body.put_u32(1);
    body.put_u64(7);
    body.put_u32(0x0600_0001);
    ["app.dll", "App.Program.Run", "void", ""].iter().for_each(|name| text(&mut body, name));
    body.put_u32(parameters);
    for parameter in 1..=parameters {
        body.push(1);
        text(&mut body, type_name);
        text(&mut body, if parameter == parameters { "last" } else { "" });
    }
    description(DescriptionKind::Signature, &body)
}

/// Returns an enum with the members 0, 1, 2 ..., or a type with as many fields.
fn type_of(number: u32, shape: TypeShape) -> Vec<u8> {
    let mut body = Vec::new();
    body.put_u32(number);
    body.push(shape.number());
    text(&mut body, "App.T");
    body.put_u32(MANY);
    for member in 0..MANY {
        if shape != TypeShape::Fields {
            body.put_i64(member.into());
        }
        text(&mut body, if member + 1 == MANY { "Last" } else { "" });
    }
    description(DescriptionKind::Type, &body)
}

fn call(flags: CallFlags, kind: CallRecordKind, number: u64, values: &[u8]) -> Vec<u8> {
    let size = (HEADER + values.len()) as u16;
    let mut bytes =
        [&size.to_le_bytes()[..], &[kind.number(), flags.bits()], &1_u32.to_le_bytes(), &number.to_le_bytes()].concat();
    bytes.put_i64(number.cast_signed());
    bytes.extend(values);
    bytes
}

/// Returns a profile with these descriptions and records of calls.
fn profile(descriptions: &[u8], records: &[u8]) -> Vec<u8> {
    let profile = builder::build("profile end=1000\nmethod 7 App.Program::Run\ntree\n Run\n");
    [profile, builder::chunk(ChunkKind::Descriptions.number(), descriptions), builder::chunk(ChunkKind::Calls.number(), records)]
        .concat()
}

/// Returns the number of calls that meet a condition, and the length of the calls' text.
fn shown(bytes: &[u8], condition: &str) -> (usize, usize) {
    let calls = Calls::parse(bytes).expect("it is a profile");
    assert_eq!(calls.list.len() as u64, CALLS);
    let condition: Condition = condition.parse().expect("it is a condition");
    let met = calls.list.iter().filter(|call| condition.is_met(&calls, call)).count();
    let length = calls.list.iter().map(|call| CallText(&calls).values(call).len()).sum();
    (met, length)
}

#[test]
fn parameters_are_not_searched_for_each_call() {
    let records: Vec<u8> = (1..=CALLS)
        .flat_map(|number| {
            let enter = call(CallFlags::ARGUMENTS, CallRecordKind::Enter, number, &[ValueKind::Null.number()]);
            [enter, call(CallFlags::BY_REFERENCE, CallRecordKind::Leave, number, &[ValueKind::Null.number()])].concat()
        })
        .collect();
    let bytes = profile(&signature(MANY, ""), &records);
    assert_eq!(shown(&bytes, "last == null").0, 0);
}

#[test]
fn fields_and_members_are_not_searched_for_each_call() {
    for (shape, condition, met) in [
        (TypeShape::Enum, "last == Last", 1),
        (TypeShape::Flags, "last == Last", 1),
        // No value has that many fields.
        (TypeShape::Fields, "last.Last == 1", 0),
    ] {
        let records: Vec<u8> = (1..=CALLS)
            .flat_map(|number| {
                let mut value =
                    if shape == TypeShape::Fields { vec![ValueKind::Struct.number()] } else { vec![ValueKind::Enum.number()] };
                value.put_u32(5);
                // A number that is no member, so that a search would look at all; the last member for the last call.
                let number_of = if number == CALLS { MANY - 1 } else { MANY + number as u32 };
                value.extend(if shape == TypeShape::Fields {
                    vec![0]
                } else {
                    [&[ValueKind::Int32.number()][..], &number_of.to_le_bytes()].concat()
                });
                call(CallFlags::ARGUMENTS, CallRecordKind::Enter, number, &value)
            })
            .collect();
        let bytes = profile(&[type_of(5, shape), signature(1, "T")].concat(), &records);
        assert_eq!(shown(&bytes, condition).0, met, "{condition}");
    }
}

/// Numbers at their limits: lengths of dimensions multiply, and the last call's number is the largest.
#[test]
fn numbers_from_a_profile_do_not_overflow() {
    let mut array = vec![ValueKind::Array.number()];
    array.put_u32(5);
    array.push(255);
    // Their product has more zeros behind it than a number has digits, so that it may not wrap.
    array.extend([0, 0, 0, 0x40].repeat(255));
    array.push(0);
    let records: Vec<u8> =
        [u64::MAX, 1].iter().flat_map(|number| call(CallFlags::ARGUMENTS, CallRecordKind::Enter, *number, &array)).collect();
    let calls = Calls::parse(&profile(&signature(1, "T"), &records)).expect("it is a profile");
    let condition: Condition = "last.Length > 3".parse().expect("it is a condition");
    assert!(calls.list.len() == 2 && calls.list.iter().all(|call| condition.is_met(&calls, call)));
}

/// A value of each kind, also a seed of the fuzzer.
#[test]
fn a_profile_of_captured_calls_is_read() {
    let calls = Calls::parse(&builder::captured()).expect("it is a profile");
    let shown: Vec<String> = calls.list.iter().map(|call| CallText(&calls).values(call)).collect();
    assert_eq!(shown.len(), 8);
    assert!(
        shown[0].starts_with("this=null order=Order {Total=7, Name=\"x\"") && shown[0].contains("Colours.Red | Colours.Green"),
        "{shown:?}"
    );
}

#[test]
fn a_method_is_shown_with_the_parameters_that_there_is_room_for() {
    let records = call(CallFlags::default(), CallRecordKind::Enter, 1, &[]);
    let bytes = profile(&signature(MANY, "int"), &records);
    let calls = Calls::parse(&bytes).expect("it is a profile");
    let line = line(&calls.signatures[0]);
    assert!(line.len() < 10_000, "{}", line.len());
    assert!(line.starts_with("app.dll!App.Program.Run(ref int, ref int, ") && line.ends_with(" more))"), "{line}");
    let profile = Profile::parse(&bytes).expect("it is a profile");
    let json = CallText(&calls).json(&profile, &calls.list[0]).to_string();
    assert!(json.len() < 50_000, "{}", json.len());
}
