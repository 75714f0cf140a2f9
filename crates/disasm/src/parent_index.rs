//! Indexes from parent to child rows. The tables store the parent in each child, so a lookup would need a scan.

use ecma335::{
    Metadata, Rid, Token,
    schema::{self, Row},
};

/// Rows by their parents, in their own order.
pub struct ParentIndex(Vec<(u32, u32)>);

impl ParentIndex {
    /// Inverts a column. `parent` gives a row's parent as any number.
    pub fn new<R: Row>(metadata: &Metadata<'_>, parent: impl Fn(&R) -> u32) -> Self {
        let mut pairs: Vec<(u32, u32)> = metadata.tables.rows::<R>().map(|(rid, row)| (parent(&row), rid.get())).collect();
        pairs.sort_unstable();
        Self(pairs)
    }

    /// The rows of a parent.
    pub fn children<R: Row>(&self, parent: u32) -> impl Iterator<Item = Rid<R>> + '_ {
        let start = self.0.partition_point(|(each, _)| *each < parent);
        self.0.iter().skip(start).take_while(move |(each, _)| *each == parent).map(|(_, rid)| Rid::new(*rid))
    }

    /// The first row of a parent.
    pub fn first<R: Row>(&self, metadata: &Metadata<'_>, parent: u32) -> Option<R> {
        self.children::<R>(parent).next().and_then(|rid| metadata.row(rid).ok())
    }
}

macro_rules! by_parent {
    ($($(#[$doc:meta])* $name:ident = $table:ident by $row:ident => $parent:expr;)*) => {
        /// All indexes by the parent's number: a row number, or a token for coded indices.
        pub struct ByParent { $($(#[$doc])* pub $name: ParentIndex,)* }

        impl ByParent {
            /// Makes all indexes.
            pub fn new(metadata: &Metadata<'_>) -> Self {
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
