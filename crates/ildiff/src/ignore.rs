//! The kinds of differences that a comparison can ignore.

/// A kind of difference to hide.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ignore {
    /// The module's id, and the link to its PDB, which change with each build.
    Mvid,
    /// The lists of references. Their uses are still compared.
    References,
    /// Attributes for nullable reference types.
    Nullable,
    /// Attributes that compilers add by themselves, including those of [`Ignore::Nullable`].
    Compiler,
    /// Attributes for debuggers.
    Debug,
    /// Whether local variables are cleared before a method begins.
    LocalsInit,
}

impl Ignore {
    /// All of them.
    pub const ALL: [Self; 6] = [Self::Mvid, Self::References, Self::Nullable, Self::Compiler, Self::Debug, Self::LocalsInit];

    /// The kind's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Mvid => "mvid",
            Self::References => "references",
            Self::Nullable => "nullable",
            Self::Compiler => "compiler",
            Self::Debug => "debug",
            Self::LocalsInit => "locals-init",
        }
    }

    /// The attributes of this kind.
    fn attributes(self) -> Vec<&'static str> {
        match self {
            Self::Mvid | Self::References | Self::LocalsInit => Vec::new(),
            Self::Nullable => NULLABLE.to_vec(),
            Self::Compiler => [NULLABLE, COMPILER].concat(),
            Self::Debug => DEBUG.to_vec(),
        }
    }
}

/// The full names of the ignored attributes.
pub(crate) fn attributes(ignored: &[Ignore]) -> Vec<&'static str> {
    ignored.iter().flat_map(|each| each.attributes()).collect()
}

const NULLABLE: &[&str] = &[
    "System.Runtime.CompilerServices.NullableAttribute",
    "System.Runtime.CompilerServices.NullableContextAttribute",
    "System.Runtime.CompilerServices.NullablePublicOnlyAttribute",
];
const COMPILER: &[&str] = &[
    "Microsoft.CodeAnalysis.EmbeddedAttribute",
    "System.Runtime.CompilerServices.AsyncIteratorStateMachineAttribute",
    "System.Runtime.CompilerServices.AsyncStateMachineAttribute",
    "System.Runtime.CompilerServices.CompilationRelaxationsAttribute",
    "System.Runtime.CompilerServices.CompilerGeneratedAttribute",
    "System.Runtime.CompilerServices.IsByRefLikeAttribute",
    "System.Runtime.CompilerServices.IsReadOnlyAttribute",
    "System.Runtime.CompilerServices.IsUnmanagedAttribute",
    "System.Runtime.CompilerServices.IteratorStateMachineAttribute",
    "System.Runtime.CompilerServices.NativeIntegerAttribute",
    "System.Runtime.CompilerServices.RefSafetyRulesAttribute",
    "System.Runtime.CompilerServices.RuntimeCompatibilityAttribute",
    "System.Runtime.CompilerServices.ScopedRefAttribute",
];
const DEBUG: &[&str] = &[
    "System.Diagnostics.DebuggableAttribute",
    "System.Diagnostics.DebuggerBrowsableAttribute",
    "System.Diagnostics.DebuggerDisplayAttribute",
    "System.Diagnostics.DebuggerHiddenAttribute",
    "System.Diagnostics.DebuggerNonUserCodeAttribute",
    "System.Diagnostics.DebuggerStepThroughAttribute",
    "System.Diagnostics.DebuggerStepperBoundaryAttribute",
    "System.Diagnostics.DebuggerTypeProxyAttribute",
];
