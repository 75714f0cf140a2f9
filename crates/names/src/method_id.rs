//! The id of a method, which its probes pass.

/// The number of bits for the row and its kind. The module's key is above them.
const ROW_BITS: u32 = 24;
/// The flag of a row in MemberRef: a method that instrumented code calls.
const CALL_SITE: u64 = 1 << 23;
/// The flag of a call site whose call waits.
const WAITS: u64 = 1 << 22;
/// The flag of a row in MethodDef: a method whose allocated bytes are its caller's.
const BYTES_OF_CALLER: u64 = 1 << 22;
/// The first bits of MethodDef and MemberRef tokens.
const METHOD_DEF: u32 = 0x0600_0000;
const MEMBER_REF: u32 = 0x0A00_0000;

/// The id that a probe passes: 40 bits of the module's key, a 0, a bit for a method whose bytes are its caller's, and the method's
/// row in MethodDef (22 bits). A probe around a call passes a 1, a bit for a call that waits, and the row of the called method in
/// MemberRef (22 bits).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct MethodId(pub u64);

impl MethodId {
    /// The last row in MemberRef that an id has room for.
    pub const MAX_CALL_SITE: u32 = WAITS as u32 - 1;

    /// The last row in MethodDef that an id has room for.
    pub const MAX_METHOD: u32 = BYTES_OF_CALLER as u32 - 1;

    /// The id of a row in MethodDef, which has 22 bits.
    pub fn new(module_key: u64, row: u32) -> Self {
        Self(module_key << ROW_BITS | u64::from(row))
    }

    /// The same id without the flag for methods whose bytes are their callers', or with it. A call site has no such flag.
    #[must_use]
    pub fn with_own_bytes(self, are_own: bool) -> Self {
        if self.is_call_site() {
            return self;
        }
        Self(if are_own { self.0 & !BYTES_OF_CALLER } else { self.0 | BYTES_OF_CALLER })
    }

    /// Whether the bytes that the method allocates are its own. Those of a call site are its own, too.
    pub fn has_own_bytes(self) -> bool {
        self.is_call_site() || self.0 & BYTES_OF_CALLER == 0
    }

    /// The id of a called method, by its row in MemberRef. `None` if the row has more than 22 bits.
    pub fn call_site(module_key: u64, row: u32, waits: bool) -> Option<Self> {
        let kind = CALL_SITE | if waits { WAITS } else { 0 };
        (row <= Self::MAX_CALL_SITE).then_some(Self(module_key << ROW_BITS | kind | u64::from(row)))
    }

    /// The key of the module.
    pub fn module_key(self) -> u64 {
        self.0 >> ROW_BITS
    }

    /// Whether the method is one that a call site calls, a row in MemberRef.
    pub fn is_call_site(self) -> bool {
        self.0 & CALL_SITE != 0
    }

    /// Whether the call waits.
    pub fn waits(self) -> bool {
        self.is_call_site() && self.0 & WAITS != 0
    }

    /// The row in MethodDef, or in MemberRef for a call site.
    pub fn row(self) -> u32 {
        (self.0 & (WAITS - 1)) as u32
    }

    /// The token in the module.
    pub fn token(self) -> u32 {
        (if self.is_call_site() { MEMBER_REF } else { METHOD_DEF }) | self.row()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_and_row_come_back() {
        for (key, row) in [(0, 1), (0x98_7654_3210, 0x12), (0xFF_FFFF_FFFF, 0x3F_FFFF)] {
            let id = MethodId::new(key, row);
            assert_eq!((id.module_key(), id.row(), id.token()), (key, row, 0x0600_0000 + row));
            assert!(!id.is_call_site() && !id.waits() && id.has_own_bytes());
            let of_caller = id.with_own_bytes(false);
            assert_eq!((of_caller.module_key(), of_caller.row(), of_caller.with_own_bytes(true)), (key, row, id));
            assert!(!of_caller.is_call_site() && !of_caller.waits() && !of_caller.has_own_bytes());
        }
        assert_eq!(MethodId::new(0x98_7654_3210, 0x12).0, 0x9876_5432_1000_0012);
    }

    #[test]
    fn what_is_called_is_told_apart() {
        for (key, row, waits) in [(0, 1, true), (0x98_7654_3210, 0x12, false), (0xFF_FFFF_FFFF, 0x3F_FFFF, true)] {
            let id = MethodId::call_site(key, row, waits).unwrap();
            assert_eq!((id.module_key(), id.row(), id.token()), (key, row, 0x0A00_0000 + row));
            assert!(id.is_call_site() && id.waits() == waits && id.has_own_bytes());
            assert_eq!(id.with_own_bytes(false), id);
        }
        assert_eq!(MethodId::call_site(0x98_7654_3210, 0x12, true).unwrap().0, 0x9876_5432_10C0_0012);
        assert_eq!(MethodId::call_site(0, 0x40_0000, true), None);
    }
}
