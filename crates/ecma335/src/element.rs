//! The bytes of signatures: element types (II.23.1.16) and calling conventions (II.23.2).

/// `name = byte "in IL assembly" "in namespace System" "in C#"`. A name is empty if the element is no complete type.
macro_rules! for_each_element_type {
    ($then:ident) => {
        $then! {
            End         = 0x00 ""            ""               ""
            Void        = 0x01 "void"        "Void"           "void"
            Boolean     = 0x02 "bool"        "Boolean"        "bool"
            Char        = 0x03 "char"        "Char"           "char"
            I1          = 0x04 "int8"        "SByte"          "sbyte"
            U1          = 0x05 "uint8"       "Byte"           "byte"
            I2          = 0x06 "int16"       "Int16"          "short"
            U2          = 0x07 "uint16"      "UInt16"         "ushort"
            I4          = 0x08 "int32"       "Int32"          "int"
            U4          = 0x09 "uint32"      "UInt32"         "uint"
            I8          = 0x0A "int64"       "Int64"          "long"
            U8          = 0x0B "uint64"      "UInt64"         "ulong"
            R4          = 0x0C "float32"     "Single"         "float"
            R8          = 0x0D "float64"     "Double"         "double"
            String      = 0x0E "string"      "String"         "string"
            Ptr         = 0x0F ""            ""               ""
            ByRef       = 0x10 ""            ""               ""
            ValueType   = 0x11 ""            ""               ""
            Class       = 0x12 ""            ""               ""
            Var         = 0x13 ""            ""               ""
            Array       = 0x14 ""            ""               ""
            GenericInst = 0x15 ""            ""               ""
            TypedByRef  = 0x16 "typedref"    "TypedReference" "TypedReference"
            I           = 0x18 "native int"  "IntPtr"         "nint"
            U           = 0x19 "native uint" "UIntPtr"        "nuint"
            FnPtr       = 0x1B ""            ""               ""
            Object      = 0x1C "object"      "Object"         "object"
            SzArray     = 0x1D ""            ""               ""
            MVar        = 0x1E ""            ""               ""
            CModReqd    = 0x1F ""            ""               ""
            CModOpt     = 0x20 ""            ""               ""
            Internal    = 0x21 ""            ""               ""
            Modifier    = 0x40 ""            ""               ""
            Sentinel    = 0x41 ""            ""               ""
            Pinned      = 0x45 ""            ""               ""
            Type        = 0x50 "type"        ""               ""
            BoxedObject = 0x51 "object"      ""               ""
            Reserved    = 0x52 ""            ""               ""
            Field       = 0x53 ""            ""               ""
            Property    = 0x54 ""            ""               ""
            Enum        = 0x55 ""            ""               ""
        }
    };
}

macro_rules! elements {
    ($($name:ident = $byte:literal $text:literal $class:literal $keyword:literal)*) => {
        /// An element type (II.23.1.16).
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        #[repr(u8)]
        pub enum ElementType { $(#[doc = concat!("0x", stringify!($byte), " ", $text)] $name = $byte,)* }

        impl ElementType {
            /// The element with this byte.
            pub const fn from_byte(byte: u8) -> Option<Self> {
                match byte { $($byte => Some(Self::$name),)* _ => None }
            }

            /// The name in IL assembly. Empty if the element is no complete type.
            pub const fn text(self) -> &'static str {
                match self { $(Self::$name => $text),* }
            }

            /// The name of its type in namespace `System`. Empty if the element is no complete type.
            pub const fn class(self) -> &'static str {
                match self { $(Self::$name => $class),* }
            }

            /// The element for the type of this name in namespace `System`.
            pub fn of_class(name: &[u8]) -> Option<Self> {
                const ALL: &[ElementType] = &[$(ElementType::$name),*];
                ALL.iter().copied().find(|element| !name.is_empty() && element.class().as_bytes() == name)
            }

            /// The name in C#. Empty if the element is no complete type.
            pub const fn keyword(self) -> &'static str {
                match self { $(Self::$name => $keyword),* }
            }

            /// Whether it is a number, a boolean or a character: a primitive type (I.8.2.2).
            pub const fn is_primitive(self) -> bool {
                matches!(self as u8, 0x02..=0x0D | 0x18 | 0x19)
            }

            /// Whether the element alone is a type that signatures may contain (II.23.2.12).
            pub const fn is_whole_type(self) -> bool {
                !self.text().is_empty() && (self as u8) < Self::Modifier as u8
            }
        }
    };
}
for_each_element_type!(elements);

/// The kind of a signature, in the low four bits of its first byte (II.23.2).
pub mod convention {
    /// A managed method.
    pub const DEFAULT: u8 = 0x0;
    /// An unmanaged method, C convention.
    pub const C: u8 = 0x1;
    /// An unmanaged method, stdcall.
    pub const STDCALL: u8 = 0x2;
    /// An unmanaged method, thiscall.
    pub const THISCALL: u8 = 0x3;
    /// An unmanaged method, fastcall.
    pub const FASTCALL: u8 = 0x4;
    /// A method with a variable argument list.
    pub const VARARG: u8 = 0x5;
    /// A field.
    pub const FIELD: u8 = 0x6;
    /// Local variables.
    pub const LOCAL: u8 = 0x7;
    /// A property.
    pub const PROPERTY: u8 = 0x8;
    /// An unmanaged method whose calling convention is in its modifiers.
    pub const UNMANAGED: u8 = 0x9;
    /// An instantiation of a generic method.
    pub const GENERIC_INST: u8 = 0xA;
    /// The mask for one of the above.
    pub const MASK: u8 = 0x0F;
    /// A generic method: the number of its type parameters follows.
    pub const GENERIC: u8 = 0x10;
    /// The method takes a `this`.
    pub const HAS_THIS: u8 = 0x20;
    /// `this` is the first of the listed parameters.
    pub const EXPLICIT_THIS: u8 = 0x40;
}
