//! Macros that declare numbers of the format, for Rust and for C#.

/// A class of constants in C#. The tracker may add its own to it.
pub(crate) struct Declaration {
    pub(crate) name: &'static str,
    /// Its doc comment, by line.
    pub(crate) doc: &'static [&'static str],
    /// For each constant its name and type in Rust, its value, and its doc comment.
    pub(crate) constants: &'static [(&'static str, &'static str, u64, &'static [&'static str])],
}

/// Declares a module of offsets and sizes.
macro_rules! layout {
    ($(#[doc = $doc:literal])+ $module:ident: $csharp:literal { $($(#[doc = $of:literal])+ $name:ident: $number:ty = $value:expr;)* }) => {
        $(#[doc = $doc])+
        pub mod $module {
            #[allow(unused_imports, reason = "not every layout refers to others")]
            use super::*;

            $($(#[doc = $of])+ pub const $name: $number = $value;)*

            #[allow(dead_code, reason = "the tracker does not write all parts of a file")]
            pub(crate) const DECLARATION: crate::declare::Declaration = crate::declare::Declaration {
                name: $csharp,
                doc: &[$($doc),+],
                constants: &[$((stringify!($name), stringify!($number), $name as u64, &[$($of),+])),*],
            };
        }
    };
}

/// Declares a kind with its numbers.
macro_rules! kinds {
    ($(#[doc = $doc:literal])+ $name:ident: $number:ident { $($(#[doc = $of:literal])+ $variant:ident = $value:literal,)* }) => {
        $(#[doc = $doc])+
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        #[repr($number)]
        pub enum $name { $($(#[doc = $of])+ $variant = $value,)* }

        impl $name {
            /// All kinds.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            #[allow(dead_code, reason = "the tracker does not write all parts of a file")]
            pub(crate) const DECLARATION: crate::declare::Declaration = crate::declare::Declaration {
                name: stringify!($name),
                doc: &[$($doc),+],
                constants: &[$((stringify!($variant), stringify!($number), $value, &[$($of),+])),*],
            };

            /// Returns the kind with this number; `None` if the format has none.
            pub const fn from_number(number: $number) -> Option<Self> {
                match number { $($value => Some(Self::$variant),)* _ => None }
            }

            /// Returns its number in the file.
            pub const fn number(self) -> $number {
                self as $number
            }
        }

        impl From<$name> for $number {
            fn from(kind: $name) -> $number {
                kind.number()
            }
        }
    };
}

/// Declares a set of flags.
macro_rules! flags {
    ($(#[doc = $doc:literal])+ $name:ident: $number:ident { $($(#[doc = $of:literal])+ $flag:ident = $value:literal,)* }) => {
        $(#[doc = $doc])+
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
        pub struct $name($number);

        impl $name {
            $($(#[doc = $of])+ pub const $flag: Self = Self($value);)*

            const KNOWN: $number = $($value)|*;

            #[allow(dead_code, reason = "the tracker does not write all parts of a file")]
            pub(crate) const DECLARATION: crate::declare::Declaration = crate::declare::Declaration {
                name: stringify!($name),
                doc: &[$($doc),+],
                constants: &[$((stringify!($flag), stringify!($number), $value, &[$($of),+])),*],
            };

            /// Creates a set from its bits in the file.
            pub const fn from_bits(bits: $number) -> Self {
                Self(bits)
            }

            /// Returns its bits in the file.
            pub const fn bits(self) -> $number {
                self.0
            }

            /// Returns whether the set has one of these flags.
            pub const fn has(self, flags: Self) -> bool {
                self.0 & flags.0 != 0
            }

            /// Returns whether the set has flags that the format does not state.
            pub const fn has_unknown(self) -> bool {
                self.0 & !Self::KNOWN != 0
            }

            /// Returns these flags if a condition is met, and else none.
            #[must_use]
            pub const fn when(self, condition: bool) -> Self {
                if condition { self } else { Self(0) }
            }
        }

        impl std::ops::BitOr for $name {
            type Output = Self;

            fn bitor(self, other: Self) -> Self {
                Self(self.0 | other.0)
            }
        }
    };
}
