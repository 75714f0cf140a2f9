//! The owners of rows: the runs that list columns define, through the pointer tables if there are any (II.22).
//!
//! A run ends where the run of the next row begins. If their starts ascend, all runs together are as long as their
//! table. Runs that go back and forth could take too long. So once their total exceeds a few times the table, the
//! remaining runs count as empty.

use std::{marker::PhantomData, ops::Range};

use crate::{
    list_cache::Shape,
    metadata::Metadata,
    schema::{Owner, Row, Table},
    token::Rid,
};

/// The owner of every row of a table.
#[derive(Clone, Debug)]
pub struct ListOwners<O, C> {
    owners: Vec<Rid<O>>,
    children: PhantomData<fn() -> C>,
}

impl<O, C> ListOwners<O, C> {
    /// The owner of a row. None if no list contains it.
    pub fn owner_of(&self, child: Rid<C>) -> Option<Rid<O>> {
        let index = (child.get() as usize).checked_sub(1)?;
        self.owners.get(index).copied().filter(|owner| !owner.is_none())
    }

    /// The owners in the order of the rows. Number 0 means that no list contains the row.
    pub fn as_slice(&self) -> &[Rid<O>] {
        &self.owners
    }

    /// The rows that have an owner, each with its owner, in order.
    pub fn iter(&self) -> impl Iterator<Item = (Rid<C>, Rid<O>)> {
        let rows = (1..).map(Rid::new).zip(self.owners.iter().copied());
        rows.filter(|(_, owner)| !owner.is_none())
    }
}

/// The maximum total length of a list's runs, in multiples of its table.
const TIMES: u64 = 4;

impl Metadata<'_> {
    /// The rows of an owner: from the row in its list column to that of the next owner. Empty if the owner does not
    /// exist.
    pub fn children<O: Owner<C>, C: Row>(&self, owner: Rid<O>) -> impl Iterator<Item = Rid<C>> {
        self.run::<O, C>(owner).filter_map(|number| self.pointed_to(number))
    }

    /// The owner of every row, as from [`owner`](Self::owner).
    pub fn owners<O: Owner<C>, C: Row>(&self) -> ListOwners<O, C> {
        let mut owners = vec![Rid::NONE; self.tables.count(C::TABLE) as usize];
        for owner in (1..=self.tables.count(O::TABLE)).map(Rid::<O>::new) {
            for child in self.children(owner) {
                let child: Rid<C> = child;
                if let Some(slot) = (child.get() as usize).checked_sub(1).and_then(|index| owners.get_mut(index)) {
                    *slot = owner;
                }
            }
        }
        ListOwners { owners, children: PhantomData }
    }

    /// The owner of one row: the last one whose list contains it, if any.
    pub fn owner<O: Owner<C>, C: Row>(&self, child: Rid<C>) -> Option<Rid<O>> {
        let index = (child.get() as usize).checked_sub(1).filter(|_| child.get() <= self.tables.count(C::TABLE))?;
        if self.pointers::<C>().is_none() && self.shape::<O, C>().ascends {
            // Only the run of the last owner that begins at or before the row can contain it.
            let (mut low, mut high) = (0, self.tables.count(O::TABLE));
            while low < high {
                let middle = high - (high - low) / 2;
                let begins = self.run_start::<O, C>(Rid::new(middle)).is_some_and(|start| start <= child.get());
                if begins { low = middle } else { high = middle - 1 }
            }
            return Some(Rid::new(low)).filter(|owner| !owner.is_none());
        }
        let list = self.lists.get(C::TABLE as usize)?;
        let owners = list.owners.get_or_init(|| self.owners::<O, C>().owners.iter().map(|owner| owner.get()).collect());
        owners.get(index).copied().map(Rid::new).filter(|owner| !owner.is_none())
    }

    /// The runs of a list, computed once.
    fn shape<O: Owner<C>, C: Row>(&self) -> Shape {
        let look = || {
            let (mut shape, mut last) = (Shape { end: self.tables.count(O::TABLE) + 1, ascends: true }, 0);
            let mut left = TIMES * u64::from(self.run_end::<C>());
            for owner in 1..shape.end {
                let start = self.run_start::<O, C>(Rid::new(owner)).unwrap_or(0);
                shape.ascends &= last <= start;
                // The run of the preceding owner ends at `start`.
                let Some(rest) = left.checked_sub(start.min(self.run_end::<C>()).saturating_sub(last).into()) else {
                    return Shape { end: owner - 1, ascends: false };
                };
                (left, last) = (rest, start);
            }
            shape
        };
        self.lists.get(C::TABLE as usize).map_or(Shape { end: 0, ascends: false }, |list| *list.shape.get_or_init(look))
    }

    /// The row numbers of an owner's run, in the pointer table if there is one.
    fn run<O: Owner<C>, C: Row>(&self, owner: Rid<O>) -> Range<u32> {
        let end = self.run_end::<C>();
        let Some(start) = self.run_start::<O, C>(owner).filter(|_| owner.get() < self.shape::<O, C>().end) else { return 0..0 };
        start..self.run_start::<O, C>(Rid::new(owner.get() + 1)).unwrap_or(end).min(end)
    }

    /// The first row of a run. A list column of 0 means row 1.
    fn run_start<O: Owner<C>, C: Row>(&self, owner: Rid<O>) -> Option<u32> {
        self.row(owner).ok().map(|row| row.list().get().max(1))
    }

    /// The number after the last row that lists may name.
    fn run_end<C: Row>(&self) -> u32 {
        1 + self.tables.count(self.pointers::<C>().unwrap_or(C::TABLE))
    }

    /// The pointer table of a list's rows, if it is in use.
    fn pointers<C: Row>(&self) -> Option<Table> {
        C::TABLE.pointers().filter(|pointers| self.tables.count(*pointers) > 0)
    }

    fn pointed_to<C: Row>(&self, number: u32) -> Option<Rid<C>> {
        match self.pointers::<C>() {
            Some(pointers) => self.tables.cells(pointers, number)?.first().copied().map(Rid::new),
            None => Some(Rid::new(number)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        builder::MetadataBuilder,
        cursor::Cursor,
        image::Image,
        schema::{Blob, Field, FieldPtr, Str, TypeDef, TypeDefOrRef},
        token::FileOffset,
    };

    fn with_sample(work: impl FnOnce(&Metadata<'_>)) {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../samples/hello/bin/hello.exe");
        let bytes = std::fs::read(path).unwrap();
        let image = Image::parse(&bytes).unwrap();
        work(&Metadata::parse(image.metadata().unwrap()).unwrap());
    }

    /// Adds three fields, pointers to all fields with these three in another order, and types whose fields begin at
    /// those rows.
    fn with_types(metadata: &Metadata<'_>, pointers: Option<[u32; 3]>, starts: &[u32]) -> Vec<u8> {
        let old = metadata.tables.count(Field::TABLE);
        let mut builder = MetadataBuilder::new(metadata);
        for _ in 0..3 {
            builder.add(&Field { flags: 0, name: Str(1), signature: Blob(1) }).unwrap();
        }
        for field in pointers.into_iter().flat_map(|new| (1..=old).chain(new.map(|number| old + number))) {
            builder.add(&FieldPtr { field: Rid::new(field) }).unwrap();
        }
        for start in starts {
            let (field_list, method_list) = (Rid::new(*start), Rid::NONE);
            let (name, namespace, extends) = (Str(1), Str(0), TypeDefOrRef::default());
            builder.add(&TypeDef { flags: 0, name, namespace, extends, field_list, method_list }).unwrap();
        }
        builder.finish().unwrap().to_vec()
    }

    #[test]
    fn rows_lie_between_two_starts_or_where_pointers_lead() {
        with_sample(|metadata| {
            let (old_types, old) = (metadata.tables.count(TypeDef::TABLE), metadata.tables.count(Field::TABLE));
            for pointers in [None, Some([3, 1, 2])] {
                // Of the three types, the second has no fields.
                let bytes = with_types(metadata, pointers, &[old + 1, old + 3, old + 3]);
                let metadata = Metadata::parse(Cursor::new(&bytes, FileOffset(0))).unwrap();
                let [a, b, c] = pointers.unwrap_or([1, 2, 3]);
                let owners = metadata.owners::<TypeDef, Field>();
                for (number, fields) in [(1, &[a, b][..]), (2, &[]), (3, &[c])] {
                    let owner = Rid::<TypeDef>::new(old_types + number);
                    let children: Vec<Rid<Field>> = metadata.children(owner).collect();
                    assert_eq!(children, fields.iter().map(|field| Rid::new(old + field)).collect::<Vec<_>>(), "{pointers:?}");
                    for field in children {
                        assert_eq!((owners.owner_of(field), metadata.owner(field)), (Some(owner), Some(owner)), "{pointers:?}");
                    }
                }
                assert_eq!(metadata.children::<TypeDef, Field>(Rid::new(old_types + 4)).count(), 0);
                assert_eq!(owners.owner_of(Rid::new(old + 4)), None);
            }
        });
    }

    #[test]
    fn whoever_asks_gets_the_same_owner() {
        with_sample(|metadata| {
            let old = metadata.tables.count(Field::TABLE);
            let starts: [&[u32]; 5] = [&[0], &[0, 0], &[old + 2, 0, old + 3], &[old + 3, old + 1], &[old + 2, old + 9, 2]];
            for (pointers, starts) in [None, Some([3, 1, 2]), Some([2, 9, 2])].iter().flat_map(|p| starts.map(|s| (*p, s))) {
                let bytes = with_types(metadata, pointers, starts);
                let metadata = Metadata::parse(Cursor::new(&bytes, FileOffset(0))).unwrap();
                let owners = metadata.owners::<TypeDef, Field>();
                for field in (0..=old + 9).map(Rid::<Field>::new) {
                    let types = (1..=metadata.tables.count(TypeDef::TABLE)).rev().map(Rid::<TypeDef>::new);
                    let is_there = (1..=old + 3).contains(&field.get());
                    let last = types.filter(|_| is_there).find(|owner| metadata.children(*owner).any(|child| child == field));
                    assert_eq!(
                        (owners.owner_of(field), metadata.owner(field)),
                        (last, last),
                        "{field:?}: {pointers:?}, {starts:?}"
                    );
                }
            }
        });
    }
}
