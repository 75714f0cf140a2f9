//! A method's number among all woven ones.

/// How many bits are the row; the module's key is above them.
const ROW_BITS: u32 = 24;
/// Of these: what call sites call, and that it waits.
const CALL_SITE: u64 = 1 << 23;
const WAITS: u64 = 1 << 22;

/// The id that a probe passes: 40 bits of its module's key, then the method's row in MethodDef.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct MethodId(pub u64);

impl MethodId {
    /// Of a row in MethodDef; row numbers have 24 bits.
    pub fn new(module_key: u64, row: u32) -> Self {
        Self(module_key << ROW_BITS | u64::from(row))
    }

    /// The key of its module.
    pub fn module_key(self) -> u64 {
        self.0 >> ROW_BITS
    }

    /// Its row in MethodDef, or in MemberRef.
    pub fn row(self) -> u32 {
        let bits = if self.is_call_site() { WAITS } else { CALL_SITE };
        (self.0 & (bits - 1)) as u32
    }

    /// Its token in its module.
    pub fn token(self) -> u32 {
        if self.is_call_site() { 0x0A00_0000 | self.row() } else { 0x0600_0000 | self.row() }
    }

    /// Whether it is what call sites call: its row is in MemberRef then.
    pub fn is_call_site(self) -> bool {
        self.0 & CALL_SITE != 0
    }

    /// Whether it waits.
    pub fn waits(self) -> bool {
        self.0 & (CALL_SITE | WAITS) == CALL_SITE | WAITS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_and_row_come_back() {
        for (key, row) in [(0, 1), (0x98_7654_3210, 0x12), (0xFF_FFFF_FFFF, 0x7F_FFFF)] {
            let id = MethodId::new(key, row);
            assert_eq!((id.module_key(), id.row(), id.token()), (key, row, 0x0600_0000 + row));
        }
        assert_eq!(MethodId::new(0x98_7654_3210, 0x12).0, 0x9876_5432_1000_0012);
    }
}
