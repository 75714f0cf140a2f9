//! The calls that pass captured values: each goes to the tracker with its own type.

use std::sync::Arc;

use ecma335::{
    Rid,
    element::{ElementType, convention},
    schema::MethodDef,
    signature::TypeSig,
};
use ilrewrite::{MethodName, OwnArgument, OwnCall, OwnCalls, TokenRequest};
use names::MethodId;

use super::{
    captured::Captured,
    description::{DescribedMethod, ParameterMode, stripped},
    hook_values::{Boxing, HookContext},
    spans::{Place, SpanReceiver, instance},
    tracker::Tracker,
};

/// The flags of a record's contents: see docs/profile-format.md.
mod what {
    pub(super) const THIS: u32 = 1;
    pub(super) const ARGUMENTS: u32 = 2;
    pub(super) const RETURNED: u32 = 16;
    pub(super) const BY_REFERENCE: u32 = 32;
    /// Only the tracker uses this flag.
    pub(super) const TEXTS: u32 = 256;
}

/// The reasons for not reading a value: see docs/profile-format.md.
mod unread {
    pub(super) const UNKNOWN_TYPE: u32 = 1;
    pub(super) const TYPED_REFERENCE: u32 = 3;
    pub(super) const OUT: u32 = 5;
    pub(super) const ON_STACK: u32 = 9;
    pub(super) const UNDER_CONSTRUCTION: u32 = 10;
}

/// The methods that receive values. Only the first has a return value.
pub(crate) struct Receiver {
    enter: Arc<MethodName>,
    left: Arc<MethodName>,
    tail_calling: Arc<MethodName>,
    returning: Arc<MethodName>,
    catching: Arc<MethodName>,
    passing: Arc<MethodName>,
    value: Arc<MethodName>,
    reference: Arc<MethodName>,
    object: Arc<MethodName>,
    pointer: Arc<MethodName>,
    unread: Arc<MethodName>,
    end: Arc<MethodName>,
    /// `None` if the program's library lacks the methods of spans.
    spans: Option<SpanReceiver>,
}

impl Receiver {
    pub(crate) fn new(tracker: &Tracker) -> Self {
        const GENERIC: u8 = convention::GENERIC;
        let method = |name, signature: &[u8]| Arc::new(tracker.capture_method(name, signature));
        Self {
            enter: method("Enter", &[0x00, 0x02, 0x0A, 0x0A, 0x08]),
            left: method("Left", &[0x00, 0x01, 0x01, 0x0A]),
            tail_calling: method("TailCalling", &[0x00, 0x01, 0x01, 0x0A]),
            returning: method("Returning", &[0x00, 0x02, 0x01, 0x0A, 0x08]),
            catching: method("Catching", &[0x00, 0x02, 0x01, 0x1C, 0x0A]),
            passing: method("Passing", &[0x00, 0x02, 0x01, 0x1C, 0x0A]),
            value: method("Value", &[GENERIC, 0x01, 0x01, 0x01, 0x1E, 0x00]),
            reference: method("Reference", &[GENERIC, 0x01, 0x01, 0x01, 0x10, 0x1E, 0x00]),
            object: method("Object", &[0x00, 0x01, 0x01, 0x1C]),
            pointer: method("Pointer", &[0x00, 0x01, 0x01, 0x0B]),
            unread: method("Unread", &[0x00, 0x01, 0x01, 0x08]),
            end: method("End", &[0x00, 0x00, 0x01]),
            spans: tracker.has_spans().then(|| SpanReceiver::new(tracker)),
        }
    }

    fn unread(&self, reason: u32) -> OwnCall {
        call(&self.unread, vec![OwnArgument::Int32(reason)])
    }

    fn end(&self) -> OwnCall {
        call(&self.end, Vec::new())
    }
}

fn call(method: &Arc<MethodName>, arguments: Vec<OwnArgument>) -> OwnCall {
    OwnCall { method: TokenRequest::MemberRef(method.clone()), arguments }
}

/// A call of a method's instantiation for one type.
fn call_instance(method: &Arc<MethodName>, ty: &TypeSig, argument: OwnArgument) -> OwnCall {
    OwnCall { method: instance(method, ty), arguments: vec![argument] }
}

/// A method whose values are captured.
struct Capturing<'c, 'a, 'm> {
    receiver: &'c Receiver,
    method: &'c DescribedMethod<'c, 'a, 'm>,
    /// The types of the locals that its calls need.
    locals: Vec<Vec<u8>>,
}

impl<'a, 'm> HookContext<'a, 'm> {
    /// The calls that pass a method's values. `None` if the method's signature cannot be read.
    pub(crate) fn capturing(
        &self,
        receiver: &Receiver,
        captured: Captured,
        (rid, row): (Rid<MethodDef>, &MethodDef),
        id: MethodId,
    ) -> Option<OwnCalls> {
        let method = DescribedMethod::read(self, rid, row)?;
        let parameters = method.parameters();
        let mut capturing = Capturing { receiver, method: &method, locals: Vec::new() };
        let signature = &method.signature;
        let is_instance = !row.is_static();

        let (mut what_enter, mut enter) = (0, Vec::new());
        if captured.this && is_instance {
            what_enter |= what::THIS;
            enter.push(capturing.this());
        }
        let first = u16::from(is_instance);
        let places = || (first..).zip(signature.params.iter().zip(&parameters));
        if captured.arguments && !signature.params.is_empty() {
            what_enter |= what::ARGUMENTS;
            for (place, (ty, (mode, _))) in places() {
                enter.push(if *mode == ParameterMode::Out {
                    receiver.unread(unread::OUT)
                } else {
                    capturing.argument(place, ty)
                });
            }
        }
        let (mut what_ret, mut ret) = (0, Vec::new());
        let returned = stripped(&signature.return_type);
        if captured.returned && *returned != TypeSig::Element(ElementType::Void) {
            what_ret |= what::RETURNED;
            ret.push(capturing.returned(returned));
        }
        let is_changed = |mode: ParameterMode| matches!(mode, ParameterMode::Ref | ParameterMode::Out);
        if captured.arguments && parameters.iter().any(|(mode, _)| is_changed(*mode)) {
            what_ret |= what::BY_REFERENCE;
            ret.extend(places().filter(|(_, (_, (mode, _)))| is_changed(*mode)).map(|(at, (ty, _))| capturing.argument(at, ty)));
        }
        if captured.texts {
            [&mut what_enter, &mut what_ret].into_iter().filter(|what| **what != 0).for_each(|what| *what |= what::TEXTS);
        }
        let begin = vec![OwnArgument::Int64(id.0), OwnArgument::Int32(what_enter)];
        enter.insert(0, call(&receiver.enter, begin));
        ret.insert(0, call(&receiver.returning, vec![OwnArgument::Kept, OwnArgument::Int32(what_ret)]));
        for (calls, what) in [(&mut enter, what_enter), (&mut ret, what_ret)] {
            calls.extend((what != 0).then(|| receiver.end()));
        }
        let exception = |method| {
            let call = || call(method, vec![OwnArgument::Exception, OwnArgument::Kept]);
            captured.exception.then(call).into_iter().collect()
        };
        Some(OwnCalls {
            enter,
            end: vec![call(&receiver.left, vec![OwnArgument::Kept])],
            replace: vec![call(&receiver.tail_calling, vec![OwnArgument::Kept])],
            ret,
            catch: exception(&receiver.catching),
            pass: exception(&receiver.passing),
            locals: capturing.locals,
        })
    }
}

impl Capturing<'_, '_, '_> {
    fn this(&self) -> OwnCall {
        let is_constructor = self.method.name() == Ok(b".ctor");
        if is_constructor {
            return self.receiver.unread(unread::UNDER_CONSTRUCTION);
        }
        match self.method.context.own_type().filter(|_| !self.method.context.is_of_interface()) {
            Some(ty) if ty.is_value => match self.method.context.boxing(&ty.signature) {
                Some(_) => call_instance(&self.receiver.reference, &ty.signature, OwnArgument::Argument(0)),
                None => self.receiver.unread(unread::ON_STACK),
            },
            Some(_) => call(&self.receiver.object, vec![OwnArgument::Argument(0)]),
            // The value may be boxed or not.
            None => self.receiver.unread(unread::UNKNOWN_TYPE),
        }
    }

    fn argument(&mut self, place: u16, ty: &TypeSig) -> OwnCall {
        self.value(stripped(ty), &Place::Argument(place))
    }

    fn returned(&mut self, ty: &TypeSig) -> OwnCall {
        self.value(ty, &Place::Returned)
    }

    fn value(&mut self, ty: &TypeSig, place: &Place) -> OwnCall {
        let context = &self.method.context;
        let receiver = self.receiver;
        match ty {
            TypeSig::Ptr(_) | TypeSig::FnPtr(_) => call(&receiver.pointer, vec![place.address()]),
            TypeSig::Element(ElementType::TypedByRef) => receiver.unread(unread::TYPED_REFERENCE),
            TypeSig::ByRef(inner) => {
                let inner = stripped(inner);
                match (context.boxing(inner), context.span(inner), &receiver.spans) {
                    (Some(_), ..) => call_instance(&receiver.reference, inner, place.value()),
                    (None, Some(span), Some(spans)) => spans.call(&span, &place.value(), &mut self.locals),
                    (None, ..) => receiver.unread(unread::ON_STACK),
                }
            }
            _ => match (context.boxing(ty), context.span(ty), &receiver.spans) {
                (Some(Boxing::Reference), ..) => call(&receiver.object, vec![place.value()]),
                (Some(Boxing::Boxed(_)), ..) => call_instance(&receiver.value, ty, place.value()),
                (None, Some(span), Some(spans)) => spans.call(&span, &place.location(), &mut self.locals),
                (None, ..) => receiver.unread(unread::ON_STACK),
            },
        }
    }
}
