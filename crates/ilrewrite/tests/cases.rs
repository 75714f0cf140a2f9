//! Tests bodies with labels. Each `cases/*.case` holds a method, a probe and a body. After `=>` comes the rewritten
//! body, or the reason to skip it. `BLESS=1 cargo test -p ilinst-ilrewrite` writes the current results; review the
//! difference.
//!
//! The test's own provider numbers the requested tokens. Only the bodies' own bytes depend on the provider.

mod assembler;

use std::{fs, path::Path, sync::Arc};

use assembler::{Case, Source};
use ecma335::{Cursor, FileOffset, Image, Metadata, MethodBody, Token};
use ilrewrite::{
    Argument, AssemblyName, Batch, BodyRewriter, Call, Context, CountedPlace, Counter, Method, MethodName, OwnArgument, OwnCall,
    OwnCalls, Probe, Returned, RewriteError, Site, SiteProbe, Sites, SpecMember, TokenProvider, TokenRequest, TypeName, Value,
};

/// The values of every method: an id, and a name.
const VALUES: [Value<'_>; 2] = [Value::Int64(0x1234_5678), Value::String("N.T::M")];

/// Gives each new request the next number, and records its text. Like a runtime, it knows the tokens it gave.
#[derive(Default)]
struct Numbered {
    known: Vec<String>,
}

impl Numbered {
    fn number(&mut self, kind: u32, words: String) -> Result<Token, String> {
        let place = self.known.iter().position(|known| *known == words);
        let place = place.unwrap_or_else(|| {
            self.known.push(words);
            self.known.len() - 1
        });
        Ok(Token((kind << 24) + place as u32 + 1))
    }

    fn words(&self, token: Token) -> &str {
        &self.known[token.rid() as usize - 1]
    }
}

impl TokenProvider for Numbered {
    type Error = String;

    fn assembly_ref(&mut self, assembly: &AssemblyName) -> Result<Token, String> {
        self.number(0x23, format!("[{}]", assembly.name))
    }

    fn type_ref(&mut self, scope: Token, namespace: &str, name: &str) -> Result<Token, String> {
        let words = format!("{}{namespace}.{name}", self.words(scope));
        self.number(0x01, words)
    }

    fn member_ref(&mut self, class: Token, name: &str, signature: &[u8]) -> Result<Token, String> {
        let words = format!("{}::{name} {signature:02x?}", self.words(class));
        self.number(0x0A, words)
    }

    fn method_spec(&mut self, method: Token, instantiation: &[u8]) -> Result<Token, String> {
        let words = format!("{} of {instantiation:02x?}", self.words(method));
        self.number(0x2B, words)
    }

    fn type_spec(&mut self, signature: &[u8]) -> Result<Token, String> {
        self.number(0x1B, format!("type {signature:02x?}"))
    }

    fn standalone_sig(&mut self, signature: &[u8]) -> Result<Token, String> {
        self.number(0x11, format!("locals {signature:02x?}"))
    }

    fn user_string(&mut self, text: &str) -> Result<Token, String> {
        self.number(0x70, format!("{text:?}"))
    }
}

fn call(name: &str, signature: &[u8], arguments: &[Argument]) -> Call {
    let assembly = AssemblyName { name: "Probes".into(), version: [1, 0, 0, 0], public_key_token: Vec::new() };
    let class = TypeName { assembly, namespace: "P".into(), name: "Probe".into() };
    let method = MethodName { class, name: name.into(), signature: signature.into(), types: Vec::new() };
    Call { method: method.into(), arguments: arguments.into(), exception: None, address: None }
}

/// The probes that cases name.
fn probe(name: &str) -> Probe {
    use Argument::{EnterResult, SiteConstant, SiteResult, Value};
    // `native int (int64)`, `void (native int)`
    let (enters, leaves): (&[u8], &[u8]) = (&[0x00, 0x01, 0x18, 0x0A], &[0x00, 0x01, 0x01, 0x18]);
    let token = Probe {
        enter: Some(call("Enter", enters, &[Value(0)])),
        leave: Some(call("Leave", leaves, &[EnterResult])),
        handle: Some(call("Handle", leaves, &[EnterResult])),
        catch: Some(call("Catch", leaves, &[EnterResult])),
        sites: Vec::new(),
    };
    match name {
        "token" => token,
        "none" => Probe::NONE,
        // These probes stand around a call, before one with no other kind, and around one with no value to keep. The
        // last one stands around a call and the call whose return value it consumes.
        "sites" => Probe {
            sites: vec![
                SiteProbe {
                    before: call("Before", enters, &[SiteConstant]),
                    ahead: None,
                    behind: Some(call("Behind", leaves, &[SiteResult])),
                },
                SiteProbe { before: call("Mark", leaves, &[EnterResult]), ahead: None, behind: None },
                // `void Hit(int64)`
                SiteProbe {
                    before: call("Hit", &[0x00, 0x01, 0x01, 0x0A], &[SiteConstant]),
                    ahead: None,
                    behind: Some(call("Miss", leaves, &[EnterResult])),
                },
                SiteProbe {
                    before: call("Suspend", leaves, &[EnterResult]),
                    ahead: Some(call("Await", leaves, &[EnterResult])),
                    behind: Some(call("Continue", leaves, &[EnterResult])),
                },
            ],
            ..token
        },
        // `void Enter()`, `void Leave()`
        "plain" => Probe {
            enter: Some(call("Enter", &[0x00, 0x00, 0x01], &[])),
            leave: Some(call("Leave", &[0x00, 0x00, 0x01], &[])),
            handle: None,
            catch: None,
            ..token
        },
        // `float64 Enter(string, int64)`, `void Leave(string, float64)`
        "named" => Probe {
            enter: Some(call("Enter", &[0x00, 0x02, 0x0D, 0x0E, 0x0A], &[Value(1), Value(0)])),
            leave: Some(call("Leave", &[0x00, 0x02, 0x01, 0x0E, 0x0D], &[Value(1), EnterResult])),
            handle: None,
            catch: None,
            ..token
        },
        // `void Leave(object)`, also for caught exceptions
        "returned" => Probe {
            leave: Some(call("Leave", &[0x00, 0x01, 0x01, 0x1C], &[Argument::ReturnValue])),
            handle: None,
            catch: Some(call("Catch", &[0x00, 0x01, 0x01, 0x1C], &[Argument::Exception])),
            ..token
        },
        // `void Leave<T>(T&)`
        "changed" => {
            Probe { leave: Some(call("Leave", &[0x10, 0x01, 0x01, 0x01, 0x10, 0x1E, 0x00], &[Argument::ReturnAddress])), ..token }
        }
        "own" => token,
        // `void Hit(int64)`
        "enter" => {
            let enter = call("Hit", &[0x00, 0x01, 0x01, 0x0A], &[Value(0)]);
            Probe { enter: Some(enter), leave: None, handle: None, catch: None, ..token }
        }
        _ => panic!("no probe is called {name}"),
    }
}

/// The additional calls of methods with the probe `own`.
fn own_calls() -> OwnCalls {
    use OwnArgument::{
        Address, Argument, ArgumentLocation, Exception, Int32, Int64, Kept, Result, ReturnLocation, ReturnValue, Stored,
    };
    let own = |name: &str, signature: &[u8], arguments: &[OwnArgument]| {
        let method = TokenRequest::MemberRef(call(name, signature, &[]).method);
        OwnCall { method, arguments: arguments.to_vec() }
    };
    // `void Value<T>(T)` of `int32`
    let value = |argument| {
        let method = TokenRequest::MethodSpec(call("Value", &[0x10, 0x01, 0x01, 0x01, 0x1E, 0x00], &[]).method, vec![10, 1, 8]);
        OwnCall { method, arguments: vec![argument] }
    };
    // A method of the type `int32[]`.
    let of_spec = |name: &str, signature: &[u8], argument| {
        let member = SpecMember { class: vec![0x1D, 0x08], name: name.into(), signature: signature.into() };
        OwnCall { method: TokenRequest::MemberOfSpec(Arc::new(member)), arguments: vec![argument] }
    };
    let slice = of_spec("Slice", &[0x20, 0x00, 0x08], ArgumentLocation(0));
    let place = Stored(1, Box::new(slice));
    let of_kept = [0x00, 0x01, 0x01, 0x0A];
    OwnCalls {
        enter: vec![
            own("Begin", &[0x00, 0x02, 0x0A, 0x0A, 0x08], &[Int64(0x1234_5678), Int32(2)]),
            value(Argument(0)),
            own("Pointer", &[0x00, 0x01, 0x01, 0x0B], &[Address(0)]),
            own(
                "Array",
                &[0x00, 0x01, 0x01, 0x1D, 0x08],
                &[Result(Box::new(of_spec("ToArray", &[0x20, 0x00, 0x1D, 0x13, 0x00], place)))],
            ),
        ],
        end: vec![own("Left", &of_kept, &[Kept])],
        replace: vec![own("Replaced", &of_kept, &[Kept])],
        ret: vec![
            own("Returning", &of_kept, &[Kept]),
            value(ReturnValue),
            own(
                "Length",
                &[0x00, 0x01, 0x01, 0x08],
                &[Result(Box::new(of_spec("get_Length", &[0x20, 0x00, 0x08], ReturnLocation)))],
            ),
        ],
        catch: vec![own("Caught", &[0x00, 0x02, 0x01, 0x1C, 0x0A], &[Exception, Kept])],
        pass: vec![own("Passed", &[0x00, 0x02, 0x01, 0x1C, 0x0A], &[Exception, Kept])],
        // One that no call uses has its place, too.
        locals: vec![vec![0x0B], vec![0x08]],
    }
}

/// The result of a case, as text.
fn run(case: &Case, source: &Source) -> String {
    let metadata = Metadata::parse(Cursor::new(&source.metadata, FileOffset(0))).expect("it was written");
    let probes = [probe(&case.probe)];
    // `void Count(native int, int32)`
    let counter = Counter { address: Token(0x0400_0002), method: call("Count", &[0x00, 0x02, 0x01, 0x18, 0x08], &[]).method };
    let context = Context::new(&metadata, &probes, Some(&counter)).expect("its calls fit");
    let places: Vec<CountedPlace> =
        (7..).zip(&source.places).map(|(counter, offset)| CountedPlace { offset: *offset, counter }).collect();
    let site_of = |token: Token| {
        let probe = case.site_of(&source.word(token)?)?;
        Some(Site { probe, constant: 0xA0 + probe as u64 })
    };
    let own = own_calls();
    let rewrite = |batch: &mut Batch| {
        let body = MethodBody::parse(Cursor::new(&source.body, FileOffset(0)))
            .map_err(|error| RewriteError::BadBody(error.to_string()))?;
        let signature = Cursor::new(&source.signature, FileOffset(0));
        let sites = Sites(&site_of);
        let (row, leave_mode) = (&source.row, case.leave);
        // All these methods return references or nothing: the byte after convention and count is `void`.
        let has_returned = ["returned", "changed"].contains(&case.probe.as_str()) && source.signature.get(2) != Some(&0x01);
        let returned = if has_returned { Returned::Reference } else { Returned::Nothing };
        let own = (case.probe == "own").then_some(&own);
        let method =
            Method { row, signature, body: &body, probe: 0, leave_mode, values: &VALUES, returned, sites, own, places: &places };
        BodyRewriter::default().rewrite(&context, &method, batch)
    };
    let mut batch = context.batch();
    // A second body, so that its offset in the batch is not 0.
    let first = rewrite(&mut batch);
    let body = match rewrite(&mut batch) {
        Ok(body) => body,
        Err(error) => {
            assert!(batch.bodies.is_empty() && batch.fixups.is_empty(), "nothing is left of what failed");
            return format!("left alone, {}: {error}\n", error.code());
        }
    };
    let (mut settled, mut tokens) = (Vec::new(), Numbered::default());
    for body in first.iter().chain([&body]) {
        batch.settle(body, &mut settled, &mut tokens).expect("every token is to be had");
    }
    let rewritten = MethodBody::parse(Cursor::new(&batch.bodies[body.range.clone()], FileOffset(0))).expect("it was checked");
    let counters = if places.is_empty() { String::new() } else { format!(", counters {:?}", body.counters) };
    format!(
        "{:?}{counters}\n{}",
        body.shape,
        assembler::print(&rewritten, &|token| source.word(token).or_else(|| Some(tokens.words(token).to_owned())))
    )
}

#[test]
fn bodies_become_what_the_cases_say() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases");
    let sample =
        fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../samples/hello/bin/hello.exe")).expect("it is committed");
    let image = Image::parse(&sample).expect("it is an assembly");
    let base = Metadata::parse(image.metadata().expect("it has metadata")).expect("it can be read");
    let mut paths: Vec<_> = fs::read_dir(folder).expect("it is there").map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    assert!(paths.len() > 20, "{} cases", paths.len());
    let (bless, mut failures) = (std::env::var_os("BLESS").is_some(), Vec::new());
    for path in paths {
        let text = fs::read_to_string(&path).expect("it can be read");
        let (input, expected) = text.split_once("=>\n").expect("=> stands before what comes out");
        let case = Case::parse(input);
        let found = run(&case, &case.assemble(&base));
        if bless {
            fs::write(&path, format!("{input}=>\n{found}")).expect("it can be written");
        } else if found != expected {
            failures.push(format!("{}\n{found}", path.display()));
        }
    }
    assert!(failures.is_empty(), "{} cases come out otherwise:\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn a_probe_whose_calls_do_not_fit_is_refused() {
    use Argument::{EnterResult, SiteConstant, SiteResult, Value};
    let enter = || call("Enter", &[0x00, 0x01, 0x18, 0x0A], &[Value(0)]);
    let probe = |enter, leave| Probe { enter: Some(enter), leave, handle: None, catch: None, sites: Vec::new() };
    let with_site = |before, behind| Probe { sites: vec![SiteProbe { before, ahead: None, behind }], ..probe(enter(), None) };
    let fits = |probe: Probe| probe.validate().is_ok();
    assert!(fits(probe(enter(), Some(call("Leave", &[0x00, 0x01, 0x01, 0x18], &[EnterResult])))));
    let before = |argument| call("Before", &[0x00, 0x01, 0x18, 0x0A], &[argument]);
    let behind = |argument| Some(call("Behind", &[0x00, 0x01, 0x01, 0x18], &[argument]));
    assert!(fits(with_site(before(SiteConstant), behind(SiteResult))));
    for (what, unfit) in [
        ("a site's constant where there is no site", probe(enter(), behind(SiteConstant))),
        ("a site's result before there is one", with_site(before(SiteResult), None)),
        ("a site's result that is none", with_site(call("Before", &[0x00, 0x00, 0x01], &[]), behind(SiteResult))),
        ("a site's result that nobody takes", with_site(before(SiteConstant), Some(before(SiteConstant)))),
        ("too few arguments", probe(call("Enter", &[0x00, 0x01, 0x18, 0x0A], &[]), None)),
        ("too many arguments", probe(enter(), Some(call("Leave", &[0x00, 0x00, 0x01], &[EnterResult])))),
        ("an instance method", probe(call("Enter", &[0x20, 0x00, 0x01], &[]), None)),
        ("a result that nobody takes", probe(enter(), Some(call("Leave", &[0x00, 0x01, 0x18, 0x18], &[EnterResult])))),
        ("a result before there is one", probe(call("Enter", &[0x00, 0x01, 0x18, 0x18], &[EnterResult]), None)),
        (
            "a result that is none",
            probe(call("Enter", &[0x00, 0x00, 0x01], &[]), Some(call("Leave", &[0x00, 0x01, 0x01, 0x18], &[EnterResult]))),
        ),
        ("a signature that cannot be read", probe(call("Enter", &[0x00], &[]), None)),
    ] {
        assert!(!fits(unfit), "{what}");
    }
}

/// Each provider gives any request a token of the right kind, and equal requests the same token.
#[test]
fn every_request_is_settled_by_either_provider() {
    let sample = fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../samples/hello/bin/hello.exe"));
    let sample = sample.expect("it is committed");
    let image = Image::parse(&sample).expect("it is an assembly");
    let base = Metadata::parse(image.metadata().expect("it has metadata")).expect("it can be read");
    let (mut builder, mut numbered) = (ecma335::MetadataBuilder::new(&base), Numbered::default());
    let method = call("Generic", &[0x10, 0x01, 0x01, 0x01, 0x1E, 0x00], &[]).method;
    let member = SpecMember { class: vec![0x1D, 0x08], name: "Length".into(), signature: vec![0x20, 0x00, 0x08] };
    for (kind, request) in [
        (0x0A, TokenRequest::MemberRef(method.clone())),
        (0x2B, TokenRequest::MethodSpec(method, vec![0x0A, 0x01, 0x08])),
        (0x0A, TokenRequest::MemberOfSpec(Arc::new(member))),
        (0x1B, TokenRequest::TypeSpec(vec![0x1D, 0x08])),
        (0x11, TokenRequest::LocalVarSig(vec![0x07, 0x01, 0x08], Vec::new())),
        (0x70, TokenRequest::UserString("text".into())),
    ] {
        let of_file = builder.settle(&request).expect("there is room");
        let of_test = numbered.settle(&request).expect("there is room");
        assert_eq!((of_file.kind(), of_test.kind()), (kind, kind), "{request:?}");
        assert_eq!(builder.settle(&request), Ok(of_file), "{request:?}");
        assert_eq!(numbered.settle(&request), Ok(of_test), "{request:?}");
    }
}
