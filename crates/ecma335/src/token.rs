//! Row numbers, tokens and addresses. Each has its own type, so that they cannot be confused.

use std::{fmt, hash::Hash, marker::PhantomData};

use scroll::{Pread, Pwrite};

use crate::schema::Table;

/// A row number, counted from 1; 0 means none (II.22).
pub struct Rid<T> {
    number: u32,
    table: PhantomData<fn() -> T>,
}

impl<T> Rid<T> {
    /// No row.
    pub const NONE: Self = Self::new(0);

    /// The row with this number, from 1.
    pub const fn new(number: u32) -> Self {
        Self { number, table: PhantomData }
    }

    /// The number, from 1; 0 means none.
    pub const fn get(self) -> u32 {
        self.number
    }

    /// Whether it is 0 and names no row.
    pub const fn is_none(self) -> bool {
        self.number == 0
    }
}

impl<T> Clone for Rid<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for Rid<T> {}
impl<T> PartialEq for Rid<T> {
    fn eq(&self, other: &Self) -> bool {
        self.number == other.number
    }
}
impl<T> Eq for Rid<T> {}
impl<T> PartialOrd for Rid<T> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl<T> Ord for Rid<T> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.number.cmp(&other.number)
    }
}
impl<T> Hash for Rid<T> {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.number.hash(state);
    }
}
impl<T> Default for Rid<T> {
    fn default() -> Self {
        Self::NONE
    }
}
impl<T> fmt::Debug for Rid<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.number)
    }
}

/// A metadata token: a table in the top byte, a row number in the other three (III.1.9).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Token(pub u32);

impl Token {
    /// The table byte of a user string's token. It is no table's number.
    pub const USER_STRING: u8 = 0x70;

    /// The token of a row.
    pub const fn new(table: Table, rid: u32) -> Self {
        Self((table as u32) << 24 | rid & 0x00FF_FFFF)
    }

    /// The table byte: a [`Table`]'s number, or [`USER_STRING`](Self::USER_STRING).
    pub const fn kind(self) -> u8 {
        (self.0 >> 24) as u8
    }

    /// The table, if the top byte is a table's number.
    pub fn table(self) -> Option<Table> {
        Table::from_number(self.kind())
    }

    /// The row number, or the offset into #US of a string token.
    pub const fn rid(self) -> u32 {
        self.0 & 0x00FF_FFFF
    }

    /// The row number, if the token is of this table.
    pub fn rid_in<R: crate::schema::Row>(self) -> Option<Rid<R>> {
        (self.kind() == R::TABLE as u8).then_some(Rid::new(self.rid()))
    }
}

impl<R: crate::schema::Row> From<Rid<R>> for Token {
    fn from(rid: Rid<R>) -> Self {
        Self::new(R::TABLE, rid.get())
    }
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "0x{:08x}", self.0)
    }
}
impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// An address relative to the load address of the image (II.25).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug, Pread, Pwrite)]
pub struct Rva(pub u32);

impl fmt::Display for Rva {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "0x{:x}", self.0)
    }
}

/// A position in the file, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct FileOffset(pub u64);

impl fmt::Display for FileOffset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "0x{:x}", self.0)
    }
}
