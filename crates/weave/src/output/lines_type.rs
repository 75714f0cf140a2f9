//! The type that holds the address of a module's counters of lines: a static field, and the static constructor that asks the
//! tracker for it. It comes after all other types of the module, so that no row changes its number.

use ecma335::{
    Error, ErrorKind, Metadata, MetadataBuilder, MethodBody, OpCode, Rid, Rva, Table, Token,
    element::{ElementType, convention},
    flags::type_attributes,
    schema::{Field, MethodDef, TypeDef, TypeDefOrRef},
};
use ilrewrite::{TokenProvider as _, TypeName};
use little_endian::PutNumbers;
use names::LINES_TYPE;

use super::embed::{Embedded, POINTERS, Tokens};
use crate::probes::{hook_values::core_library, tracker::Tracker};

/// The type, before it is added.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LinesType {
    ty: Rid<TypeDef>,
    field: Rid<Field>,
    constructor: Rid<MethodDef>,
}

/// The references that its constructor needs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LinesRefs {
    /// `System.Object`
    pub(crate) object: Token,
    /// `native int WhenCounting(int64, int32)`
    pub(crate) open: Token,
}

/// `abstract sealed beforefieldinit`: with the last one, no code checks at each access whether the constructor has run.
const TYPE_FLAGS: u32 = type_attributes::ABSTRACT | type_attributes::SEALED | type_attributes::BEFORE_FIELD_INIT;
/// `assembly static initonly`: JIT compilers take such a field for a constant, once it is set.
const FIELD_FLAGS: u16 = 0x0033;
/// `private static hidebysig specialname rtspecialname`
const CONSTRUCTOR_FLAGS: u16 = 0x1891;

impl LinesType {
    /// The type behind those of a module, and those that are embedded in it.
    pub(crate) fn behind(metadata: &Metadata<'_>, embedded: Option<&Embedded<'_>>) -> Self {
        let own = || [Table::TypeDef, Table::Field, Table::MethodDef].map(|table| metadata.tables.count(table));
        let [types, fields, methods] = embedded.map_or_else(own, Embedded::counts_after);
        Self { ty: Rid::new(types + 1), field: Rid::new(fields + 1), constructor: Rid::new(methods + 1) }
    }

    /// The field with the address.
    pub(crate) fn field(self) -> Token {
        self.field.into()
    }

    /// Whether a module can have the type: it refers to the core library, its members are found by their places, and no list of
    /// members begins behind the type's.
    pub(crate) fn fits(metadata: &Metadata<'_>) -> bool {
        let end = |table| metadata.tables.count(table) + 1;
        let [fields, methods, params] = [Table::Field, Table::MethodDef, Table::Param].map(end);
        core_library(metadata).is_some()
            && POINTERS.iter().all(|table| metadata.tables.count(*table) == 0)
            && metadata
                .tables
                .rows()
                .all(|(_, row): (_, TypeDef)| row.field_list.get() <= fields && row.method_list.get() <= methods)
            && metadata.tables.rows().all(|(_, row): (_, MethodDef)| row.param_list.get() <= params)
    }
}

impl LinesRefs {
    /// Asks for the references.
    ///
    /// # Errors
    /// If a table or heap is full.
    pub(crate) fn ask(tokens: &mut Tokens<'_, '_>, metadata: &Metadata<'_>, tracker: &Tracker) -> Result<Self, Error> {
        let assembly =
            core_library(metadata).ok_or_else(|| Error::new(ErrorKind::Unsupported("a module without core library")))?;
        let object = tokens.named_type(&TypeName { assembly, namespace: "System".into(), name: "Object".into() })?;
        let open = tokens.named_method(&tracker.open_lines())?;
        Ok(Self { object, open })
    }
}

/// The type with all that its constructor passes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NewLines {
    pub(crate) ty: LinesType,
    pub(crate) refs: LinesRefs,
    pub(crate) module_key: u64,
    pub(crate) count: u32,
}

impl NewLines {
    /// Adds the type's rows, and returns the body of its constructor, which starts at `start`.
    ///
    /// # Errors
    /// If a table or heap is full.
    pub(crate) fn add_to(self, builder: &mut MetadataBuilder<'_, '_>, start: Rva) -> Result<Vec<u8>, Error> {
        let Self { ty: LinesType { ty: own, field: own_field, constructor: own_constructor }, refs, module_key, count } = self;
        let LinesRefs { object, open } = refs;
        let (name, namespace) = (builder.string(LINES_TYPE)?, builder.string("")?);
        let extends = TypeDefOrRef::new(object).unwrap_or_default();
        let (field_list, method_list) = (own_field, own_constructor);
        let ty = builder.add(&TypeDef { flags: TYPE_FLAGS, name, namespace, extends, field_list, method_list })?;
        let (name, signature) = (builder.string("Counters")?, builder.blob(&[convention::FIELD, ElementType::I as u8])?);
        let field = builder.add(&Field { flags: FIELD_FLAGS, name, signature })?;
        let mut il = Vec::new();
        OpCode::LdcI8.put(&mut il);
        il.put_u64(module_key);
        OpCode::LdcI4.put(&mut il);
        il.put_u32(count);
        OpCode::Call.put(&mut il);
        il.put_u32(open.0);
        OpCode::Stsfld.put(&mut il);
        il.put_u32(field.0);
        OpCode::Ret.put(&mut il);
        let mut bytes = Vec::new();
        let body = MethodBody {
            is_tiny: true,
            max_stack: 8,
            init_locals: false,
            local_var_sig: Token::default(),
            il: &il,
            il_offset: Default::default(),
            clauses: Vec::new(),
        };
        body.write(&mut bytes);
        let (name, signature) = (builder.string(".cctor")?, builder.blob(&[0x00, 0x00, ElementType::Void as u8])?);
        let param_list = Rid::new(builder.counts()[Table::Param as usize] + 1);
        let row = MethodDef { rva: start.0, impl_flags: 0, flags: CONSTRUCTOR_FLAGS, name, signature, param_list };
        let constructor = builder.add(&row)?;
        debug_assert_eq!([ty, field, constructor], [own.into(), own_field.into(), own_constructor.into()]);
        Ok(bytes)
    }
}
