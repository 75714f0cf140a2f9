//! The bits of attributes columns and their words (II.23.1). What Mono's ilasm has no word for stands in a comment.

/// A word: the bits it is about, their value, and the word.
type Word = (u32, u32, &'static str);

/// The words of the bits that are set, each with a space behind it.
pub(crate) fn words(flags: u32, table: &[Word]) -> String {
    let set = table.iter().filter(|(mask, value, _)| flags & mask == *value);
    set.flat_map(|(_, _, word)| [*word, " "]).collect()
}

/// II.23.1.15
pub(crate) const TYPE: &[Word] = &[
    (0x20, 0x20, "interface"),
    (0x7, 0x0, "private"),
    (0x7, 0x1, "public"),
    (0x7, 0x2, "nested public"),
    (0x7, 0x3, "nested private"),
    (0x7, 0x4, "nested family"),
    (0x7, 0x5, "nested assembly"),
    (0x7, 0x6, "nested famandassem"),
    (0x7, 0x7, "nested famorassem"),
    (0x18, 0x0, "auto"),
    (0x18, 0x8, "sequential"),
    (0x18, 0x10, "explicit"),
    (0x3_0000, 0x0, "ansi"),
    (0x3_0000, 0x1_0000, "unicode"),
    (0x3_0000, 0x2_0000, "autochar"),
    (0x80, 0x80, "abstract"),
    (0x100, 0x100, "sealed"),
    (0x400, 0x400, "specialname"),
    (0x800, 0x800, "rtspecialname"),
    (0x1000, 0x1000, "import"),
    (0x2000, 0x2000, "serializable"),
    (0x4000, 0x4000, "/* windowsruntime */"),
    (0x10_0000, 0x10_0000, "beforefieldinit"),
];

/// The visibility words of ExportedType, with `forwarder` (II.23.1.15).
pub(crate) const EXPORTED: &[Word] = &[
    (0x7, 0x1, "public"),
    (0x7, 0x2, "nested public"),
    (0x7, 0x3, "nested private"),
    (0x7, 0x4, "nested family"),
    (0x7, 0x5, "nested assembly"),
    (0x7, 0x6, "nested famandassem"),
    (0x7, 0x7, "nested famorassem"),
    (0x20_0000, 0x20_0000, "forwarder"),
];

/// II.23.1.5
pub(crate) const FIELD: &[Word] = &[
    (0x7, 0x0, "privatescope"),
    (0x7, 0x1, "private"),
    (0x7, 0x2, "famandassem"),
    (0x7, 0x3, "assembly"),
    (0x7, 0x4, "family"),
    (0x7, 0x5, "famorassem"),
    (0x7, 0x6, "public"),
    (0x10, 0x10, "static"),
    (0x20, 0x20, "initonly"),
    (0x40, 0x40, "literal"),
    (0x80, 0x80, "notserialized"),
    (0x200, 0x200, "specialname"),
    (0x400, 0x400, "rtspecialname"),
];

/// II.23.1.10; `pinvokeimpl` has arguments and is not among them.
pub(crate) const METHOD: &[Word] = &[
    (0x7, 0x0, "privatescope"),
    (0x7, 0x1, "private"),
    (0x7, 0x2, "famandassem"),
    (0x7, 0x3, "assembly"),
    (0x7, 0x4, "family"),
    (0x7, 0x5, "famorassem"),
    (0x7, 0x6, "public"),
    (0x80, 0x80, "hidebysig"),
    (0x100, 0x100, "newslot"),
    (0x200, 0x200, "strict"),
    (0x800, 0x800, "specialname"),
    (0x1000, 0x1000, "rtspecialname"),
    (0x400, 0x400, "abstract"),
    (0x10, 0x10, "static"),
    (0x40, 0x40, "virtual"),
    (0x20, 0x20, "final"),
    (0x8, 0x8, "unmanagedexp"),
    (0x8000, 0x8000, "reqsecobj"),
];

/// II.23.1.11
pub(crate) const METHOD_IMPL: &[Word] = &[
    (0x3, 0x0, "cil"),
    (0x3, 0x1, "native"),
    (0x3, 0x2, "optil"),
    (0x3, 0x3, "runtime"),
    (0x4, 0x0, "managed"),
    (0x4, 0x4, "unmanaged"),
    (0x8, 0x8, "noinlining"),
    (0x10, 0x10, "forwardref"),
    (0x20, 0x20, "synchronized"),
    (0x40, 0x40, "nooptimization"),
    (0x80, 0x80, "preservesig"),
    (0x100, 0x100, "aggressiveinlining"),
    (0x200, 0x200, "/* aggressiveoptimization */"),
    (0x1000, 0x1000, "internalcall"),
    (0x2000, 0x2000, "/* async */"),
];

/// II.23.1.8
pub(crate) const PINVOKE: &[Word] = &[
    (0x1, 0x1, "nomangle"),
    (0x6, 0x2, "ansi"),
    (0x6, 0x4, "unicode"),
    (0x6, 0x6, "autochar"),
    (0x40, 0x40, "lasterr"),
    (0x700, 0x100, "winapi"),
    (0x700, 0x200, "cdecl"),
    (0x700, 0x300, "stdcall"),
    (0x700, 0x400, "thiscall"),
    (0x700, 0x500, "fastcall"),
    (0x30, 0x10, "bestfit:on"),
    (0x30, 0x20, "bestfit:off"),
    (0x3000, 0x1000, "charmaperror:on"),
    (0x3000, 0x2000, "charmaperror:off"),
];

/// II.23.1.13
pub(crate) const PARAM: &[Word] = &[(0x1, 0x1, "[in]"), (0x2, 0x2, "[out]"), (0x10, 0x10, "[opt]")];

/// Of properties and events (II.23.1.14, II.23.1.4).
pub(crate) const FEATURE: &[Word] = &[(0x200, 0x200, "specialname"), (0x400, 0x400, "rtspecialname")];

/// II.23.1.7
pub(crate) const GENERIC_PARAM: &[Word] = &[
    (0x3, 0x1, "+"),
    (0x3, 0x2, "-"),
    (0x4, 0x4, "class"),
    (0x8, 0x8, "valuetype"),
    (0x10, 0x10, ".ctor"),
    (0x20, 0x20, "/* byreflike */"),
];

/// What a method is to a property or an event (II.23.1.12).
pub(crate) const SEMANTICS: &[Word] = &[
    (0x1, 0x1, ".set"),
    (0x2, 0x2, ".get"),
    (0x4, 0x4, ".other"),
    (0x8, 0x8, ".addon"),
    (0x10, 0x10, ".removeon"),
    (0x20, 0x20, ".fire"),
];

/// Security actions, from 1 (II.22.11).
pub(crate) const SECURITY_ACTIONS: &[&str] = &[
    "request",
    "demand",
    "assert",
    "deny",
    "permitonly",
    "linkcheck",
    "inheritcheck",
    "reqmin",
    "reqopt",
    "reqrefuse",
    "prejitgrant",
    "prejitdeny",
    "noncasdemand",
    "noncaslinkdemand",
    "noncasinheritance",
];
