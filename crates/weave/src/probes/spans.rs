//! Values of spans: the methods that give the tracker their lengths, and copies of their first elements.

use std::sync::Arc;

use ecma335::{
    cursor::put_compressed_u32,
    element::{ElementType, convention},
    signature::TypeSig,
};
use ilrewrite::{MethodName, OwnArgument, OwnCall, SpecMember, TokenRequest};

pub use super::span_types::NAMES;
use super::{span_types::SpanType, tracker::Tracker};

/// The methods that are called, in the form of their references: a name, and a signature with `SPAN` for the generic type.
/// All have been in it from its first release on. None has a modifier in its signature: Mono's library leaves those out.
pub const METHODS: [(&str, &str); 5] = [
    ("get_Length", "instance int32 ()"),
    ("get_Empty", "valuetype SPAN<!0> ()"),
    ("op_Equality", "bool (valuetype SPAN<!0>, valuetype SPAN<!0>)"),
    ("Slice", "instance valuetype SPAN<!0> (int32, int32)"),
    ("ToArray", "instance !0[] ()"),
];

/// The location of a value: that of a variable of the method.
pub(super) enum Place {
    Argument(u16),
    Returned,
}

impl Place {
    /// The value.
    pub(super) fn value(&self) -> OwnArgument {
        match self {
            Self::Argument(number) => OwnArgument::Argument(*number),
            Self::Returned => OwnArgument::ReturnValue,
        }
    }

    /// The value, if it is an address, as a number.
    pub(super) fn address(&self) -> OwnArgument {
        match self {
            Self::Argument(number) => OwnArgument::Address(*number),
            Self::Returned => OwnArgument::ReturnAddress,
        }
    }

    /// The variable's address.
    pub(super) fn location(&self) -> OwnArgument {
        match self {
            Self::Argument(number) => OwnArgument::ArgumentLocation(*number),
            Self::Returned => OwnArgument::ReturnLocation,
        }
    }
}

impl SpanType<'_> {
    fn blob(&self) -> Vec<u8> {
        let mut blob = Vec::new();
        self.class.write(&mut blob);
        blob
    }

    /// A call of one of [`METHODS`]. [`OF_T`] in its signature stands for the generic type with its own parameter.
    fn call(&self, name: &str, signature: &[u8], arguments: Vec<OwnArgument>) -> OwnCall {
        let mut blob = Vec::new();
        for byte in signature {
            match *byte {
                OF_T => {
                    blob.extend([ElementType::GenericInst as u8, ElementType::ValueType as u8]);
                    put_compressed_u32(&mut blob, self.generic.0);
                    blob.extend([1, ElementType::Var as u8, 0]);
                }
                byte => blob.push(byte),
            }
        }
        let member = SpecMember { class: self.blob(), name: name.into(), signature: blob };
        OwnCall { method: TokenRequest::MemberOfSpec(Arc::new(member)), arguments }
    }

    /// `instance int32 get_Length()`
    fn length(&self, location: &OwnArgument) -> OwnArgument {
        result(self.call("get_Length", &[convention::HAS_THIS, 0, I4], vec![location.clone()]))
    }

    /// `instance Span<!0> Slice(int32, int32)`, from the first element on.
    fn slice(&self, location: &OwnArgument, length: OwnArgument) -> OwnCall {
        let arguments = vec![location.clone(), OwnArgument::Int32(0), length];
        self.call("Slice", &[convention::HAS_THIS, 2, OF_T, I4, I4], arguments)
    }

    /// Whether it refers to no memory: `bool op_Equality(Span<!0>, Span<!0>)` of its empty slice and `Span<!0> get_Empty()`.
    fn is_null(&self, location: &OwnArgument) -> OwnArgument {
        let empty = self.call("get_Empty", &[0, 0, OF_T], Vec::new());
        let slice = self.slice(location, OwnArgument::Int32(0));
        result(self.call("op_Equality", &[0, 2, ElementType::Boolean as u8, OF_T, OF_T], vec![result(slice), result(empty)]))
    }

    /// `instance !0[] ToArray()`
    fn array(&self, location: OwnArgument) -> OwnArgument {
        let signature = [convention::HAS_THIS, 0, ElementType::SzArray as u8, ElementType::Var as u8, 0];
        result(self.call("ToArray", &signature, vec![location]))
    }
}

const I4: u8 = ElementType::I4 as u8;
/// No element type (II.23.1.16).
const OF_T: u8 = 0xFF;

fn result(call: OwnCall) -> OwnArgument {
    OwnArgument::Result(Box::new(call))
}

/// A method's instantiation for one type.
pub(super) fn instance(method: &Arc<MethodName>, ty: &TypeSig) -> TokenRequest {
    let mut instantiation = vec![convention::GENERIC_INST, 1];
    ty.write(&mut instantiation);
    TokenRequest::MethodSpec(method.clone(), instantiation)
}

/// The tracker's methods that receive spans.
pub(super) struct SpanReceiver {
    shown: Arc<MethodName>,
    span: Arc<MethodName>,
}

impl SpanReceiver {
    pub(super) fn new(tracker: &Tracker) -> Self {
        let method = |name, signature: &[u8]| Arc::new(tracker.capture_method(name, signature));
        Self {
            // `int32 Shown<T>(bool, int32)`
            shown: method("Shown", &[convention::GENERIC, 1, 2, I4, ElementType::Boolean as u8, I4]),
            // `void Span(int32, object, bool)`
            span: method("Span", &[0, 3, ElementType::Void as u8, I4, ElementType::Object as u8, ElementType::Boolean as u8]),
        }
    }

    /// The call that passes a span: `Span(span.Length, span.Slice(0, Shown<T>(is null, span.Length)).ToArray(), ..)`. The
    /// tracker limits the number of elements to copy. Elements at a null pointer are not read: a probe throws no exception.
    pub(super) fn call(&self, span: &SpanType<'_>, location: &OwnArgument, locals: &mut Vec<Vec<u8>>) -> OwnCall {
        let arguments = vec![span.is_null(location), span.length(location)];
        let shown = result(OwnCall { method: instance(&self.shown, span.element), arguments });
        let ty = span.blob();
        let local = locals.iter().position(|known| *known == ty).unwrap_or_else(|| {
            locals.push(ty);
            locals.len() - 1
        });
        let elements = span.array(OwnArgument::Stored(local as u16, span.slice(location, shown).into()));
        let arguments = vec![span.length(location), elements, OwnArgument::Int32(span.is_read_only.into())];
        OwnCall { method: TokenRequest::MemberRef(self.span.clone()), arguments }
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, path::Path};

    use ecma335::{
        Cursor, FileOffset, Table, Token,
        schema::TypeDefOrRef,
        signature::{Signature, text::TypeNames},
    };

    use super::*;

    struct Names;

    impl TypeNames for Names {
        fn type_name(&self, _: Token) -> String {
            "SPAN".into()
        }
    }

    /// The methods that a call makes to get its arguments, with their signatures.
    fn add_methods(call: &OwnCall, found: &mut Vec<(String, String)>) {
        if let TokenRequest::MemberOfSpec(member) = &call.method {
            let signature = Signature::parse(Cursor::new(&member.signature, FileOffset(0)));
            let Ok(Signature::Method(signature)) = signature else { panic!("{member:?}") };
            found.push((member.name.clone(), signature.display(&Names).to_string()));
        }
        for argument in &call.arguments {
            if let OwnArgument::Result(call) | OwnArgument::Stored(_, call) = argument {
                add_methods(call, found);
            }
        }
    }

    #[test]
    fn the_methods_that_are_called_are_those_of_the_list() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tracker-runtime/bin/Ilinst.Tracker.dll");
        let receiver = SpanReceiver::new(&Tracker::read(&fs::read(path).expect("it is there")).expect("it is an assembly"));
        let generic = TypeDefOrRef::new(Token::new(Table::TypeRef, 7)).expect("it is a type");
        let element = TypeSig::Element(ElementType::I8);
        let class = TypeSig::GenericInst { is_value: true, token: generic, arguments: vec![element.clone()] };
        let span = SpanType { class: &class, generic, element: &element, is_read_only: true };
        let (mut locals, mut found) = (Vec::new(), Vec::new());
        for place in [Place::Argument(3), Place::Returned] {
            add_methods(&receiver.call(&span, &place.location(), &mut locals), &mut found);
        }
        // Both use one local.
        assert_eq!(locals, [span.blob()]);
        found.sort();
        found.dedup();
        let mut expected = METHODS.map(|(name, signature)| (name.to_owned(), signature.to_owned()));
        expected.sort();
        assert_eq!(found, expected);
    }
}
