//! Which rows belong to which: what the tables say child by child, turned around so that it is found without a scan.

use std::collections::BTreeMap;

use ecma335::{
    Metadata, Rid, Table, Token,
    schema::{self, Row},
};

/// Rows by what they belong to, in their own order.
pub(crate) struct ParentIndex(Vec<(u32, u32)>);

impl ParentIndex {
    /// Turns a column around: `parent` gives a row's parent as any number.
    pub(crate) fn new<R: Row>(metadata: &Metadata<'_>, parent: impl Fn(&R) -> u32) -> Self {
        let mut pairs: Vec<(u32, u32)> = metadata.tables.rows::<R>().map(|(rid, row)| (parent(&row), rid.get())).collect();
        pairs.sort_unstable();
        Self(pairs)
    }

    /// The rows of a parent.
    pub(crate) fn of<R: Row>(&self, parent: u32) -> impl Iterator<Item = Rid<R>> + '_ {
        let start = self.0.partition_point(|(each, _)| *each < parent);
        self.0.iter().skip(start).take_while(move |(each, _)| *each == parent).map(|(_, rid)| Rid::new(*rid))
    }

    /// The first row of a parent.
    pub(crate) fn first<R: Row>(&self, metadata: &Metadata<'_>, parent: u32) -> Option<R> {
        self.of::<R>(parent).next().and_then(|rid| metadata.row(rid).ok())
    }
}

macro_rules! by_parent {
    ($($(#[$doc:meta])* $name:ident = $table:ident by $row:ident => $parent:expr;)*) => {
        /// All that belongs to something, by the number of what it belongs to: a row's, or a token's for coded indices.
        pub(crate) struct ByParent { $($(#[$doc])* pub(crate) $name: ParentIndex,)* }

        impl ByParent {
            /// Reads them all.
            pub(crate) fn new(metadata: &Metadata<'_>) -> Self {
                Self { $($name: ParentIndex::new::<schema::$table>(metadata, |$row| $parent),)* }
            }
        }
    };
}
by_parent! {
    /// Attributes by token.
    attributes = CustomAttribute by row => number(row.parent.token());
    /// Constants by token.
    constants = Constant by row => number(row.parent.token());
    /// Marshalling by token.
    marshals = FieldMarshal by row => number(row.parent.token());
    /// Permissions by token.
    permissions = DeclSecurity by row => number(row.parent.token());
    /// Layouts by TypeDef.
    layouts = ClassLayout by row => row.parent.get();
    /// Offsets by Field.
    offsets = FieldLayout by row => row.field.get();
    /// Data by Field.
    data = FieldRva by row => row.field.get();
    /// Interfaces by TypeDef.
    interfaces = InterfaceImpl by row => row.class.get();
    /// Overrides by TypeDef.
    overrides = MethodImpl by row => row.class.get();
    /// Imports by token.
    imports = ImplMap by row => number(row.member_forwarded.token());
    /// Nested types by TypeDef.
    nested = NestedClass by row => row.enclosing_class.get();
    /// Generic parameters by token.
    generics = GenericParam by row => number(row.owner.token());
    /// Constraints by GenericParam.
    constraints = GenericParamConstraint by row => row.owner.get();
    /// Accessors by token.
    accessors = MethodSemantics by row => number(row.association.token());
    /// Lists of properties by TypeDef.
    properties = PropertyMap by row => row.parent.get();
    /// Lists of events by TypeDef.
    events = EventMap by row => row.parent.get();
}

fn number(token: Option<Token>) -> u32 {
    token.map_or(0, |token| token.0)
}

/// The rows that a list column gives a row: from its own start to where the next row's begin (II.22), through the
/// pointer table where there is one.
pub(crate) fn list_rows<O: Row, C: Row>(metadata: &Metadata<'_>, owner: Rid<O>, start: impl Fn(&O) -> u32) -> Vec<Rid<C>> {
    let pointers = match C::TABLE {
        Table::Field => Some(Table::FieldPtr),
        Table::MethodDef => Some(Table::MethodPtr),
        Table::Param => Some(Table::ParamPtr),
        Table::Event => Some(Table::EventPtr),
        Table::Property => Some(Table::PropertyPtr),
        _ => None,
    };
    let pointers = pointers.filter(|table| metadata.tables.count(*table) > 0);
    let total = metadata.tables.count(pointers.unwrap_or(C::TABLE));
    let Ok(row) = metadata.row(owner) else { return Vec::new() };
    let end = metadata.row(Rid::<O>::new(owner.get() + 1)).map_or(total + 1, |next| start(&next));
    let rows = start(&row).max(1)..end.min(total + 1);
    rows.filter_map(|rid| match pointers {
        Some(table) => metadata.tables.cells(table, rid).and_then(|cells| cells.first().copied()),
        None => Some(rid),
    })
    .map(Rid::new)
    .collect()
}

/// The owner of every row that a list column gives an owner.
pub(crate) fn list_owners<O: Row, C: Row>(metadata: &Metadata<'_>, start: impl Fn(&O) -> u32) -> BTreeMap<Rid<C>, Rid<O>> {
    let owners = 1..=metadata.tables.count(O::TABLE);
    owners
        .map(Rid::<O>::new)
        .flat_map(|owner| list_rows(metadata, owner, &start).into_iter().map(move |child| (child, owner)))
        .collect()
}
