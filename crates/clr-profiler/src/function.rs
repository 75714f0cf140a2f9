//! Functions of the program, and how their values lie in memory: plain data that hooks read.

use std::{
    ptr::null_mut,
    sync::atomic::{AtomicPtr, Ordering::Acquire, Ordering::Release},
};

use profile_format::{ParameterMode, UnreadReason};

use crate::abi::runtime::Id;

/// The data passed to the hooks of a function. It is never freed.
#[derive(Debug)]
pub(crate) struct Function {
    pub(crate) method_id: u64,
    /// The runtime's id.
    pub(crate) id: Id,
    pub(crate) module: Id,
    pub(crate) token: u32,
    /// Whether the function has generic arguments that differ between calls.
    pub(crate) is_generic: bool,
    /// The generic arguments of its calls so far.
    pub(crate) instances: Instances,
}

impl Function {
    /// A function unknown to the runtime.
    pub(crate) const fn unknown(method_id: u64) -> Self {
        Self { method_id, id: 0, module: 0, token: 0, is_generic: false, instances: Instances::new() }
    }
}

/// A function with the generic arguments of some of its calls.
#[derive(Debug)]
pub(crate) struct Instance {
    pub(crate) class: Id,
    pub(crate) arguments: Box<[Id]>,
    /// The number of module unloads when it was made: class ids may mean other classes afterwards.
    pub(crate) generation: u32,
    next: *mut Instance,
    /// Its number in the profile.
    pub(crate) number: u32,
    pub(crate) this: Option<ValueLayout>,
    pub(crate) parameters: Box<[Parameter]>,
    /// `None` for a function without a result.
    pub(crate) returned: Option<ValueLayout>,
}

#[derive(Debug)]
pub(crate) struct Parameter {
    pub(crate) passing: ParameterMode,
    pub(crate) layout: ValueLayout,
}

impl Instance {
    pub(crate) fn new(class: Id, arguments: &[Id], number: u32) -> Self {
        let (this, parameters, returned) = (None, Box::default(), None);
        Self { class, arguments: arguments.into(), generation: 0, next: null_mut(), number, this, parameters, returned }
    }
}

/// A list of instances that grows while other threads read it. They are never freed.
#[derive(Debug)]
pub(crate) struct Instances(AtomicPtr<Instance>);

impl Instances {
    pub(crate) const fn new() -> Self {
        Self(AtomicPtr::new(null_mut()))
    }

    /// The first instance that matches a predicate.
    #[inline]
    pub(crate) fn find(&self, is_it: impl Fn(&Instance) -> bool) -> Option<&'static Instance> {
        let mut at = self.0.load(Acquire);
        // SAFETY: instances of the list are never freed.
        while let Some(instance) = unsafe { at.as_ref::<'static>() } {
            if is_it(instance) {
                return Some(instance);
            }
            at = instance.next;
        }
        None
    }

    /// Adds an instance. Two threads may each add the same one: both are correct.
    pub(crate) fn add(&self, instance: Instance) -> &'static Instance {
        let instance = Box::leak(Box::new(instance));
        let mut first = self.0.load(Acquire);
        loop {
            instance.next = first;
            match self.0.compare_exchange_weak(first, instance, Release, Acquire) {
                Ok(_) => return instance,
                Err(other) => first = other,
            }
        }
    }
}

/// How a value of a type lies in memory.
#[derive(Clone, Debug)]
pub(crate) enum ValueLayout {
    /// Bytes copied unchanged, after a byte for their kind.
    Plain {
        kind: u8,
        size: usize,
    },
    Decimal,
    /// The number of its type, and the plain element type of its values.
    Enum {
        number: u32,
        element: u8,
        size: usize,
    },
    /// The address of an object.
    Reference,
    /// A flag, and the value at an offset.
    Nullable {
        value_at: usize,
        size: usize,
        of: Box<ValueLayout>,
    },
    /// The number of its type, and its fields; no fields if they are unknown.
    Struct {
        number: u32,
        size: Option<usize>,
        fields: Option<Box<[Field]>>,
    },
    /// `System.Span` or `System.ReadOnlySpan`: the number of its type, and of an array's with the same elements.
    Span {
        number: u32,
        array: u32,
        size: usize,
        /// The offsets of the address of its first element, and of its length.
        reference_at: usize,
        length_at: usize,
        element: Box<ValueLayout>,
    },
    /// The address of a value.
    ByRef(Box<ValueLayout>),
    /// The value cannot be read; its size, if known.
    Unread {
        reason: UnreadReason,
        size: Option<usize>,
    },
}

/// A field of an object or a value.
#[derive(Clone, Debug)]
pub(crate) struct Field {
    pub(crate) offset: usize,
    pub(crate) layout: ValueLayout,
    /// The number of additional levels to show: for fields that hold a collection's elements, or a number's digits.
    pub(crate) deeper: usize,
}

/// How objects of a class lie in memory.
#[derive(Debug)]
pub(crate) enum ObjectLayout {
    String,
    /// A value at an offset.
    Boxed {
        at: usize,
        layout: ValueLayout,
    },
    Array {
        number: u32,
        rank: usize,
        size: usize,
        element: ValueLayout,
    },
    Object {
        number: u32,
        fields: Box<[Field]>,
    },
    /// A type, with the location of its class.
    Type {
        at: usize,
    },
    Unknown,
}

impl ValueLayout {
    const POINTER: usize = size_of::<usize>();

    /// The size of the value as an argument or field; `None` if unknown.
    pub(crate) fn size(&self) -> Option<usize> {
        match self {
            Self::Plain { size, .. } | Self::Enum { size, .. } | Self::Nullable { size, .. } | Self::Span { size, .. } => {
                Some(*size)
            }
            Self::Decimal => Some(16),
            Self::Reference | Self::ByRef(_) => Some(Self::POINTER),
            Self::Struct { size, .. } | Self::Unread { size, .. } => *size,
        }
    }
}
