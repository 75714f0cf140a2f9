//! The assemblers that take the text.

use ecma335::{Metadata, Table, schema::AssemblyRef};

/// An assembler. Each knows words that the other does not.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ilasm {
    /// Mono's. .NET's takes the text too, but it lacks what only .NET's has words for.
    Mono,
    /// .NET's.
    DotNet,
}

impl Ilasm {
    /// The assembler for a module, by the core library that it is built for.
    pub fn for_module(metadata: &Metadata<'_>) -> Self {
        const CORE: [&[u8]; 3] = [b"System.Runtime", b"System.Private.CoreLib", b"netstandard"];
        let is_core = |name| metadata.strings.string_bytes(name).is_ok_and(|name| CORE.contains(&name));
        let references = metadata.tables.rows::<AssemblyRef>().map(|(_, row)| row.name);
        // The core library itself refers to no other.
        let own = metadata.assembly().filter(|_| metadata.tables.count(Table::AssemblyRef) == 0).map(|row| row.name);
        if references.chain(own).any(is_core) { Self::DotNet } else { Self::Mono }
    }

    /// Flags in words. Those that only .NET's has words for are comments for Mono's.
    pub(crate) fn flags(self, words: String) -> String {
        const DOTNET: [&str; 4] = ["byreflike", "aggressiveoptimization", "async", "windowsruntime"];
        match self {
            Self::DotNet => DOTNET.iter().fold(words, |words, word| words.replace(&format!("/* {word} */"), word)),
            Self::Mono => words,
        }
    }
}
