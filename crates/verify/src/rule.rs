//! The rules: number, level and text. Numbers are the standard's. A letter stands for a rule that the standard leaves
//! unnumbered. A rule that runtimes extend beyond the standard has the suffix `/clr`.

/// The consequence of breaking a rule.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Level {
    /// The assembly is not valid, and a runtime may refuse it.
    Error,
    /// The standard forbids it, but runtimes accept it. Reported only in pedantic mode.
    Warning,
    /// The code is valid but cannot be proved type-safe. Reported only in pedantic mode.
    Unverifiable,
}

impl Level {
    /// The level's word in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Unverifiable => "unverifiable",
        }
    }
}

/// A rule.
#[derive(PartialEq, Eq, Debug)]
pub struct Rule {
    /// The rule's number: `II.22.37-3`.
    pub number: &'static str,
    /// The consequence of breaking the rule.
    pub level: Level,
    /// The requirement of the rule.
    pub text: &'static str,
}

impl Rule {
    /// The rule of a number. Only [`rule!`] calls this, at compile time.
    pub(crate) const fn numbered(number: &str) -> &'static Self {
        let mut index = 0;
        while index < RULES.len() {
            if is_same(RULES[index].number.as_bytes(), number.as_bytes()) {
                return &RULES[index];
            }
            index += 1;
        }
        panic!("no such rule")
    }
}

const fn is_same(one: &[u8], other: &[u8]) -> bool {
    let mut index = one.len();
    // Compared from the end, where numbers differ.
    while index > 0 && one.len() == other.len() && one[index - 1] == other[index - 1] {
        index -= 1;
    }
    index == 0 && one.len() == other.len()
}

/// The rule of a number. A number that is not in the table does not compile.
macro_rules! rule {
    ($number:literal) => {
        const { $crate::rule::Rule::numbered($number) }
    };
}
pub(crate) use rule;

macro_rules! rules {
    ($($number:literal $level:ident $text:literal)*) => {
        /// All rules, in the order of the standard.
        pub const RULES: &[Rule] = &[$(Rule { number: $number, level: Level::$level, text: $text }),*];
    };
}

rules! {
    "I.8.5.3.2-a"    Unverifiable "what code names is accessible to it"
    "I.12.4.2-a"     Error        "exception clauses nest, and inner ones come first"
    "II.9.7-a"       Error        "a variant parameter stands where its variance permits"
    "II.10.1.4-a"    Error        "a class that is not abstract overrides each abstract method of those it extends"
    "II.10.1.7-a"    Unverifiable "what stands for a generic parameter satisfies its constraints"
    "II.10.3.3-a"    Error        "a method is for all that what it overrides is for"
    "II.12.2-a"      Error        "a class that is not abstract has a method for each abstract one of its interfaces"
    "II.14.4.2-a"    Unverifiable "no reference is to a reference"
    "II.14.6.1-a"    Unverifiable "a delegate's method takes what Invoke is given, and returns what that is to"
    "II.15.4.2.2-a"  Error        "a final method is not overridden"
    "II.16.1.2-a"    Unverifiable "an initonly field is stored to by the initializer, constructors and init accessors of its type alone"
    "II.16.1.2-b"    Warning      "the address of a static initonly field is taken by the initializer of its type alone"
    "II.6-a"         Warning      "an assembly is for running: a reference assembly is for compilers"
    "II.13-a"        Error        "a value type does not contain itself"
    "II.22-a"        Error        "the table is sorted by its key"
    "II.22-b"        Error        "an index names a row that is there"
    "II.22-c"        Error        "a coded index has a tag that is in use"
    "II.22.2-1"      Error        "Assembly has at most one row"
    "II.22.2-2"      Error        "HashAlgId is a known algorithm"
    "II.22.2-4"      Error        "Assembly.Flags has only bits that are specified"
    "II.22.2-4/clr"  Warning      "Assembly.Flags has only the standard's bits"
    "II.22.2-6"      Error        "an assembly has a name"
    "II.22.5-2"      Error        "AssemblyRef.Flags has only bits that are specified"
    "II.22.5-2/clr"  Warning      "AssemblyRef.Flags has no bit but PublicKey"
    "II.22.5-3"      Warning      "a public key token has eight bytes"
    "II.22.5-5"      Error        "an assembly reference has a name"
    "II.22.5-9"      Warning      "a hash is not empty"
    "II.22.5-10"     Warning      "AssemblyRef has no duplicates"
    "II.22.8-2"      Error        "layout is not given to an interface"
    "II.22.8-3"      Error        "a type with a ClassLayout row has sequential or explicit layout"
    "II.22.8-4"      Error        "PackingSize is 0 or a power of two up to 128"
    "II.22.8-4a"     Warning      "a value type's ClassSize is below 1 MiB"
    "II.22.8-5"      Warning      "an explicit layout has no PackingSize"
    "II.22.8-a"      Error        "a type owns at most one ClassLayout row"
    "II.22.9-1"      Error        "a constant's type is a primitive, a string, or class with a null value"
    "II.22.9-4"      Error        "a parent has at most one constant"
    "II.22.9-a"      Error        "a constant's value has the size of its type"
    "II.22.9-b"      Warning      "a constant's padding is zero"
    "II.22.10-3"     Error        "an attribute's type is a constructor"
    "II.22.10-6"     Error        "an attribute's value starts with 0x0001 and holds what the constructor asks for"
    "II.22.11-1"     Error        "a security action is one that is specified"
    "II.22.11-3"     Warning      "security is not declared on an interface"
    "II.22.11-4"     Error        "a type with declared security has HasSecurity"
    "II.22.11-5"     Error        "a method with declared security has HasSecurity"
    "II.22.11-6"     Error        "a permission set is not null"
    "II.22.11-7"     Warning      "a permission set starts with a period, or is XML"
    "II.22.12-2"     Error        "a type has one EventMap row"
    "II.22.12-3"     Error        "EventMap rows do not share events"
    "II.22.13-2"     Error        "an event has one owner"
    "II.22.13-3"     Error        "EventFlags has only bits that are specified"
    "II.22.13-4"     Error        "an event has a name"
    "II.22.13-8"     Error        "an event's type is a class"
    "II.22.13-9"     Error        "an event has one add and one remove method"
    "II.22.13-10"    Error        "an event has at most one raise method"
    "II.22.13-11"    Error        "a type's events differ in name"
    "II.22.14-3"     Error        "ExportedType.Flags has only bits that are specified"
    "II.22.14-4"     Warning      "a type exported from another file is public"
    "II.22.14-5"     Warning      "an exported nested type is nested public"
    "II.22.14-7"     Error        "an exported type has a name"
    "II.22.14-9"     Warning      "a namespace that is given is not empty"
    "II.22.14-11"    Warning      "an exported nested type has no namespace of its own"
    "II.22.14-12"    Error        "an exported type says where it is"
    "II.22.14-12a"   Error        "exported types do not enclose themselves"
    "II.22.14-14"    Error        "exported types differ in full name"
    "II.22.14-15"    Error        "exported nested types differ in name within their encloser"
    "II.22.14-a"     Error        "a forwarder leads to an assembly, and what leads there is a forwarder"
    "II.22.15-2"     Error        "a field has one owner"
    "II.22.15-4"     Error        "Field.Flags has only bits that are specified"
    "II.22.15-5"     Error        "a field's access is one of seven"
    "II.22.15-6"     Error        "a field is not both literal and init-only"
    "II.22.15-7"     Error        "a literal field is static"
    "II.22.15-8"     Error        "RTSpecialName goes with SpecialName"
    "II.22.15-9"     Error        "HasFieldMarshal goes with one FieldMarshal row"
    "II.22.15-10"    Error        "HasDefault goes with one Constant row"
    "II.22.15-11"    Error        "HasFieldRVA goes with one FieldRVA row"
    "II.22.15-12"    Error        "a field has a name"
    "II.22.15-14"    Error        "a field has a valid field signature"
    "II.22.15-16"    Error        "a field of the module is static"
    "II.22.15-16a"   Warning      "a field of the module is public, private or compiler-controlled"
    "II.22.15-17"    Error        "a type's fields differ in name or signature"
    "II.22.15-a"     Error        "a field of a ref struct's type is an instance field of a ref struct"
    "II.22.16-2"     Error        "a field with an offset is of a type with explicit layout"
    "II.22.16-3"     Error        "an offset is not negative"
    "II.22.16-5"     Error        "a field with an offset is not static"
    "II.22.16-6"     Error        "a field has at most one offset"
    "II.22.16-7"     Error        "an object reference is aligned"
    "II.22.16-8"     Error        "an object reference does not overlap with what is none"
    "II.22.16-9"     Error        "every instance field of an explicit layout has an offset"
    "II.22.17-3"     Error        "a native type is not null"
    "II.22.17-4"     Error        "a field or parameter is marshalled in one way"
    "II.22.17-5"     Error        "a native type is one that is specified"
    "II.22.18-1"     Error        "a field's RVA is not zero"
    "II.22.18-2"     Error        "a field's RVA points to data of the file"
    "II.22.18-a"     Error        "a field with an RVA is static and says HasFieldRVA"
    "II.22.18-b"     Error        "a field has at most one RVA"
    "II.22.19-1"     Error        "File.Flags has only bits that are specified"
    "II.22.19-2"     Error        "a file has a name, without a path"
    "II.22.19-3"     Warning      "a file has a hash"
    "II.22.19-4"     Error        "files differ in name"
    "II.22.20-4"     Error        "a method owns a GenericParam row for each of its parameters, and its signature counts them"
    "II.22.20-6"     Error        "only interfaces and delegates have variant parameters"
    "II.22.20-9"     Error        "a parameter's number is below their count"
    "II.22.20-10"    Error        "an owner's parameters are numbered from 0 without gaps"
    "II.22.20-11"    Warning      "a generic parameter has a name"
    "II.22.20-12"    Warning      "an owner's generic parameters differ in name"
    "II.22.20-13"    Error        "an owner's generic parameters differ in number"
    "II.22.20-a"     Error        "GenericParam.Flags has only bits that are specified"
    "II.22.21-5"     Warning      "a generic parameter has at most one class constraint"
    "II.22.21-7"     Warning      "a generic parameter's constraints differ"
    "II.22.21-8"     Error        "System.Void is no constraint"
    "II.22.22-2"     Error        "MappingFlags has only bits that are specified"
    "II.22.22-2a"    Error        "a call convention is one of five"
    "II.22.22-3"     Error        "what is forwarded is a method"
    "II.22.22-5"     Warning      "an import has a name"
    "II.22.22-7"     Error        "a forwarded method is PInvokeImpl and static"
    "II.22.22-a"     Error        "a method is forwarded once"
    "II.22.23-3c"    Error        "what is implemented is an interface"
    "II.22.23-4"     Unverifiable "an interface is implemented once"
    "II.22.24-2"     Error        "a resource lies within the resources of the file"
    "II.22.24-3"     Error        "ManifestResource.Flags has only bits that are specified"
    "II.22.24-4"     Error        "a resource is public or private"
    "II.22.24-5"     Error        "a resource has a name"
    "II.22.24-8"     Error        "a resource is in a file or an assembly"
    "II.22.24-9"     Error        "resources differ in name"
    "II.22.24-10"    Error        "a resource in another file starts at 0"
    "II.22.25-1"     Error        "a member reference to a method here names it and is a call of varargs"
    "II.22.25-2"     Error        "a member reference has a parent"
    "II.22.25-3"     Error        "a member reference has a name"
    "II.22.25-5"     Error        "a member reference has a valid field or method signature"
    "II.22.25-6"     Warning      "MemberRef has no duplicates"
    "II.22.25-a"     Error        "a member that is named is there"
    "II.22.26-2"     Error        "a method has one owner"
    "II.22.26-3"     Error        "ImplFlags has only bits that are known"
    "II.22.26-3/clr" Warning      "ImplFlags has only the standard's bits"
    "II.22.26-5"     Error        "a constructor is not generic"
    "II.22.26-6"     Error        "a method's access is one of seven"
    "II.22.26-7a"    Warning      "a method is not both static and final"
    "II.22.26-7b"    Error        "a static method is virtual only in an interface"
    "II.22.26-7c"    Warning      "a method is not both static and newslot"
    "II.22.26-7d"    Error        "a class's method is not both final and abstract"
    "II.22.26-7e"    Error        "a method is not both abstract and PInvokeImpl"
    "II.22.26-7f"    Warning      "a compiler-controlled method has no special name"
    "II.22.26-8"     Error        "an abstract method is virtual"
    "II.22.26-9"     Error        "RTSpecialName goes with SpecialName"
    "II.22.26-10"    Warning      "HasSecurity goes with declared security or SuppressUnmanagedCodeSecurity"
    "II.22.26-12"    Warning      "SuppressUnmanagedCodeSecurity goes with HasSecurity"
    "II.22.26-14"    Error        "a method has a name"
    "II.22.26-15"    Error        "an interface has no instance constructor"
    "II.22.26-17"    Error        "a method has a valid method signature"
    "II.22.26-19a"   Error        "a method of the module is static"
    "II.22.26-19b"   Error        "a method of the module is neither abstract nor virtual"
    "II.22.26-19d"   Warning      "a method of the module is public, private or compiler-controlled"
    "II.22.26-20"    Warning      "a value type's method is not synchronized"
    "II.22.26-21"    Error        "a type's methods differ in name or signature"
    "II.22.26-23"    Warning       "Final, NewSlot and Strict go with Virtual"
    "II.22.26-24"    Error        "a PInvokeImpl method is not virtual"
    "II.22.26-27"    Error        "a method's calling convention is default, vararg or generic"
    "II.22.26-29"    Error        "an instance method's signature says HASTHIS"
    "II.22.26-30"    Error        "a static method's signature does not say HASTHIS"
    "II.22.26-31"    Error        "EXPLICITTHIS goes with HASTHIS"
    "II.22.26-32"    Warning      "EXPLICITTHIS is for function pointers"
    "II.22.26-33"    Error        "a method without a body is abstract, runtime, internal call or PInvokeImpl"
    "II.22.26-33/clr" Warning     "a static method without a body is internal call or PInvokeImpl"
    "II.22.26-34a"   Error        "an abstract method has no body"
    "II.22.26-34b"   Error        "a method with an RVA is IL, native or runtime"
    "II.22.26-34c"   Error        "a method's RVA points into the file"
    "II.22.26-35"    Error        "a PInvokeImpl method has an ImplMap row and no body"
    "II.22.26-36"    Error        "RTSpecialName is for .ctor, .cctor and _VtblGap"
    "II.22.26-37"    Error        "constructors have RTSpecialName"
    "II.22.26-38a"   Error        "a constructor returns nothing"
    "II.22.26-38b"   Error        "a constructor is not static"
    "II.22.26-38c"   Error        "a constructor is neither abstract nor virtual"
    "II.22.26-38e"   Error        "a constructor's owner is a class or value type"
    "II.22.26-39"    Error        "a type initializer returns nothing, takes nothing and is static"
    "II.22.26-39e"   Error        "a type initializer is neither virtual nor abstract"
    "II.22.26-40"    Error        "a type has at most one initializer"
    "II.22.27-4"     Error        "an overridden method is virtual"
    "II.22.27-6"     Error        "an overriding method is the class's or a base class's"
    "II.22.27-7"     Error        "an overriding method is virtual, or static in an interface's stead"
    "II.22.27-8"     Warning      "an overriding method has a body"
    "II.22.27-9"     Error        "an overridden method is of a base class or of an interface that the class has"
    "II.22.27-10"    Error        "an overridden method is not final"
    "II.22.27-12"    Error        "an overriding method is static, returns a value and takes as many parameters as the overridden one"
    "II.22.27-13"    Error        "a class overrides a method once"
    "II.22.28-2"     Error        "Semantics has only bits that are specified"
    "II.22.28-3"     Error        "a method with semantics is of its property's or event's type"
    "II.22.28-5"     Error        "a method has one part in its property or event"
    "II.22.28-6"     Warning      "an event's add and remove methods take a delegate and return nothing"
    "II.22.29-3"     Error        "an instantiation is a valid one, with an argument for each parameter"
    "II.22.29-4"     Warning      "MethodSpec has no duplicates"
    "II.22.30-1"     Error        "Module has one row"
    "II.22.30-2"     Error        "a module has a name"
    "II.22.30-3"     Error        "a module has an MVID"
    "II.22.30-a"     Warning      "Generation, EncId and EncBaseId are zero"
    "II.22.31-1"     Warning      "a module reference has a name"
    "II.22.31-2"     Warning      "ModuleRef has no duplicates"
    "II.22.31-3"     Warning      "a referenced module of types or members is one of the assembly's files"
    "II.22.32-4"     Warning      "NestedClass has no duplicates"
    "II.22.32-5"     Error        "a type is nested in one encloser"
    "II.22.32-a"     Error        "types do not enclose themselves"
    "II.22.33-2"     Error        "a parameter has one owner"
    "II.22.33-3"     Warning      "Param.Flags has only bits that are specified"
    "II.22.33-4"     Error        "a parameter's number is one of its method's"
    "II.22.33-5"     Warning      "parameters come in order, each once"
    "II.22.33-6"     Error        "HasDefault goes with one Constant row"
    "II.22.33-7"     Warning      "a Constant row goes with HasDefault"
    "II.22.33-8"     Error        "HasFieldMarshal goes with one FieldMarshal row"
    "II.22.34-2"     Error        "a property has one owner"
    "II.22.34-3"     Error        "Property.Flags has only bits that are specified"
    "II.22.34-4"     Error        "a property has a name"
    "II.22.34-7"     Error        "a property has a valid property signature"
    "II.22.34-8"     Error        "a type's properties differ in name or signature"
    "II.22.35-2"     Error        "a type has one PropertyMap row"
    "II.22.35-3"     Error        "PropertyMap rows do not share properties"
    "II.22.36-3"     Error        "a stand-alone signature is a method's or of local variables"
    "II.22.36-3/clr" Warning      "a stand-alone signature is not a field's"
    "II.22.37-1"     Error        "TypeDef has a first row for the module"
    "II.22.37-2a"    Error        "TypeDef.Flags has only bits that are known"
    "II.22.37-2b"    Error        "a type's layout is auto, sequential or explicit"
    "II.22.37-2d"    Warning      "HasSecurity goes with declared security or SuppressUnmanagedCodeSecurity"
    "II.22.37-3"     Error        "a type has a name"
    "II.22.37-6"     Warning      "a namespace that is given is not empty"
    "II.22.37-8"     Error        "a class extends another"
    "II.22.37-9"     Error        "System.Object extends nothing"
    "II.22.37-10"    Error        "System.ValueType extends System.Object"
    "II.22.37-11"    Error        "a base type is a class that is not sealed"
    "II.22.37-12"    Error        "a type does not extend itself"
    "II.22.37-13"    Error        "an interface extends nothing"
    "II.22.37-16"    Warning      "a value type has a size"
    "II.22.37-17"    Error        "FieldList names a row, or the one behind the last"
    "II.22.37-21"    Error        "MethodList names a row, or the one behind the last"
    "II.22.37-22"    Error        "a class with an abstract method is abstract"
    "II.22.37-23"    Error        "an interface is abstract"
    "II.22.37-26"    Error        "an interface has no instance fields"
    "II.22.37-27"    Error        "an interface is not sealed"
    "II.22.37-28"    Warning      "an interface's methods are abstract"
    "II.22.37-29"    Error        "types differ in full name"
    "II.22.37-30"    Error        "nested types differ in full name within their encloser"
    "II.22.37-33a"   Error        "an enumeration is sealed"
    "II.22.37-33b"   Error        "an enumeration has no methods"
    "II.22.37-33c"   Error        "an enumeration implements no interfaces"
    "II.22.37-33d"   Error        "an enumeration has neither properties nor events"
    "II.22.37-33f"   Error        "an enumeration's static fields are literals"
    "II.22.37-33h"   Error        "an enumeration has one instance field, of a primitive type"
    "II.22.37-34"    Error        "a nested type has a NestedClass row, and what has one is nested"
    "II.22.37-35"    Error        "a value type is sealed"
    "II.22.38-1a"    Error        "a type reference without a scope is of an exported type"
    "II.22.38-1b"    Error        "type references do not enclose themselves"
    "II.22.38-1d"    Warning      "a type reference is not to this module"
    "II.22.38-2"     Error        "a type reference has a name"
    "II.22.38-4"     Warning      "a namespace that is given is not empty"
    "II.22.38-6"     Warning      "TypeRef has no duplicates"
    "II.22.38-a"     Error        "a type that is named is there"
    "II.22.39-2"     Error        "a type specification is a valid type"
    "II.22.39-3"     Warning      "TypeSpec has no duplicates"
    "II.23.2.12-a"   Warning      "class and valuetype in a signature are what the type is"
    "II.24.2.1-a"    Error        "the version string fits its length and has an end"
    "II.24.2.1-b"    Warning      "reserved fields of the metadata root are zero"
    "II.24.2.2-a"    Error        "streams differ in name"
    "II.24.2.2-b"    Warning      "streams start at multiples of four and have such sizes"
    "II.24.2.2-c"    Warning      "streams are #~, #Strings, #US, #GUID, #Blob"
    "II.24.2.3-a"    Error        "#Strings starts with an empty name"
    "II.24.2.3-b"    Error        "the last name of #Strings ends with a zero"
    "II.24.2.3-c"    Error        "a name lies within #Strings"
    "II.24.2.3-d"    Warning      "a name is UTF-8"
    "II.24.2.4-a"    Error        "#Blob and #US start with an empty item"
    "II.24.2.4-b"    Error        "a blob lies within #Blob"
    "II.24.2.4-c"    Warning      "a user string has a last byte of 0 or 1"
    "II.24.2.5-a"    Error        "#GUID is made of 16-byte items"
    "II.24.2.5-b"    Error        "a GUID lies within #GUID"
    "II.24.2.6-a"    Warning      "the table stream's version is 2.0"
    "II.24.2.6-b"    Error        "an assembly has no tables of a debug file"
    "II.24.2.6-c"    Warning      "a sorted table says that it is"
    "II.25.2-a"      Error        "a data directory lies within the file"
    "II.25.3-a"      Error        "a section's data lie within the file"
    "II.25.3-b"      Error        "sections do not overlap in memory"
    "II.25.3.3-a"    Error        "the CLI header has 72 bytes or more"
    "II.25.3.3-b"    Error        "the CLI header's flags have only bits that are known"
    "II.25.3.3-c"    Error        "the entry point is a method with a body, or a file"
    "II.25.3.3-d"    Error        "an entry point is static, not generic, and takes nothing or strings"
    "II.25.3.3-e"    Error        "a directory of the CLI header lies within the file"
    "II.25.4-a"      Error        "a method's header and sections can be read"
    "II.25.4-b"      Warning      "a fat method header starts at a multiple of four"
    "II.25.4.4-a"    Error        "a body's locals are described by a local variable signature"
    "II.25.4.6-a"    Error        "a clause's blocks lie on instructions of the body"
    "II.25.4.6-b"    Error        "what is caught is a type"
    "II.25.4.6-c"    Error        "a filter stands right before its handler"
    "III.1.2-a"      Error        "an instruction is one of Partition III's, and whole"
    "III.1.2-b"      Warning      "what no path comes to is made of Partition III's instructions too"
    "III.1.5-a"      Unverifiable "an operator fits its operands"
    "III.1.5-b"      Unverifiable "a value fits where it goes"
    "III.1.7.1-a"    Error        "control does not run off the end"
    "III.1.7.2-a"    Error        "a branch leads to an instruction"
    "III.1.7.3-a"    Error        "a protected block is entered at its start and left by leave or an exception"
    "III.1.7.3-b"    Error        "a handler is entered by an exception and left by leave, endfinally or endfilter"
    "III.1.7.3-c"    Error        "a ret is not in a protected block or handler"
    "III.1.7.3-d"    Error        "endfinally ends a finally or fault handler, endfilter a filter, whose last instruction it is"
    "III.1.7.3-e"    Error        "rethrow is in a handler"
    "III.1.7.3-e/clr" Warning     "rethrow is in a catch handler, and in no other within that"
    "III.1.7.4-a"    Error        "the stack stays within maxstack"
    "III.1.7.5-a"    Error        "the stack has one depth at each place"
    "III.1.7.5-b"    Error        "what an instruction takes is on the stack"
    "III.1.7.5-c"    Error        "a ret or endfilter leaves nothing on the stack"
    "III.1.7.5-d"    Error        "the stack is empty where a protected block is entered"
    "III.1.7.5-e"    Unverifiable "where only a branch from behind leads to, the stack is empty"
    "III.1.8.1.1-a"  Unverifiable "local variables are initialized: the header of a method that has some says so"
    "III.1.8.1.2-a"  Unverifiable "a value's type is assignable to the type of where it goes"
    "III.1.8.1.2.2-a" Unverifiable "a pointer of controlled mutability is not stored through, nor passed where it could be"
    "III.1.8.1.3-a"  Unverifiable "the stack has values of one kind, and of types that merge, where paths meet"
    "III.1.8.1.4-a"  Unverifiable "before its constructor has called another, `this` serves for its fields alone"
    "III.1.8.1.4-b"  Unverifiable "a constructor is called for a new object, or on `this` of its class or a derived one, once"
    "III.1.8.1.4-c"  Unverifiable "a constructor returns after it has called one of its class or its base class"
    "III.1.9-a"      Error        "an instruction's token is of a table it can name, and of a row that is there"
    "III.1.9-b"      Error        "a user string lies within #US"
    "III.1.9-c"      Error        "an argument or local variable is one of the method's"
    "III.2-a"        Error        "a prefix stands before an instruction it is for"
    "III.2-b"        Error        "a branch leads to an instruction's prefix, not behind it"
    "III.2.1-a"      Error        "without callvirt, a constrained method is static or has a body"
    "III.2.3-a"      Error        "a call with readonly. is of an array's Address method"
    "III.2.4-a"      Error        "a call with tail. is followed by ret"
    "III.2.4-b"      Error        "a call with tail. stands in no protected block or handler"
    "III.2.4-c"      Unverifiable "a call with tail. is passed no reference, which might be into the frame that it removes"
    "III.3-a"        Unverifiable "the instruction can be proved type-safe"
    "III.3.19-a"     Unverifiable "without callvirt, a virtual method that may be overridden is called on `this` or a box alone"
    "III.3.47-a"     Error        "localloc stands in no handler"
    "III.3.19-b"     Error        "an abstract method is called by callvirt"
    "III.3.41-a"     Unverifiable "ldftn and ldvirtftn name no constructor"
    "III.3.41-b"     Error        "ldftn names a method with a body, or by constrained. a static one"
    "III.3.47-b"     Error        "localloc finds its size alone on the stack"
    "III.3.57-a"     Unverifiable "what is returned is no reference to an argument or local variable"
    "III.4.1-a"      Error        "what is boxed is no reference, nor a ref struct"
    "III.4.2-a"      Error        "callvirt and ldvirtftn name an instance method"
    "III.4.2-b"      Unverifiable "callvirt names no method of a value type"
    "III.4.14-a"     Error        "ldsfld, ldsflda and stsfld name a static field"
    "III.4.20-a"     Error        "elements of an array are no references, nor ref structs"
    "III.4.21-a"     Unverifiable "a delegate is made of a method by ldftn, or by dup and ldvirtftn, right before newobj"
    "III.4.21-b"     Unverifiable "a delegate's target is what has the method, or its first argument, or null"
    "III.4.21-c"     Unverifiable "a delegate of a virtual method that may be overridden is made by ldvirtftn, or of `this` or a box"
    "III.4.21-d"     Error        "what newobj calls is an instance method"
    "III.4.21-d/clr" Warning      "what newobj calls is a constructor"
    "III.4.21-e"     Error        "newobj makes an object of a class that is not abstract"
    "III.4.32-a"     Unverifiable "unbox names a value type"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_comes_once() {
        for (index, rule) in RULES.iter().enumerate() {
            assert!(RULES[..index].iter().all(|other| other.number != rule.number), "{}", rule.number);
            assert_eq!(Rule::numbered(rule.number), rule);
        }
    }
}
