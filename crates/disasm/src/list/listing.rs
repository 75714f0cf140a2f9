//! The listing of a module.

use ecma335::{Error, Image, Metadata};
use weave::Tracker;

use super::{
    attributes::{self, Attribute},
    decisions::Decisions,
    literals::{self, Literal},
    module::Module,
    options::{Options, Sort},
    references::{self, Reference},
    structure::Structure,
};

/// The requested parts. A part that was not requested is none.
pub struct Listing<'a, 'm> {
    pub(crate) module: Module<'a, 'm>,
    pub(crate) sort: Sort,
    pub(crate) methods: Option<MethodListing>,
    /// The references.
    pub references: Option<Vec<Reference>>,
    /// String literals.
    pub strings: Option<Vec<Literal>>,
    /// Custom attributes.
    pub attributes: Option<Vec<Attribute>>,
}

/// The information on methods besides their names.
pub(crate) struct MethodListing {
    pub(crate) as_tree: bool,
    pub(crate) decisions: Decisions,
    pub(crate) structure: Structure,
}

impl<'a, 'm> Listing<'a, 'm> {
    /// Reads the requested parts. The decisions on methods depend on this tracker.
    ///
    /// # Errors
    /// If a name cannot be read. An unreadable signature or body counts as missing.
    pub fn read(image: &'m Image<'a>, metadata: &'m Metadata<'a>, options: &Options, tracker: &Tracker) -> Result<Self, Error> {
        let (module, sort) = (Module::new(image, metadata)?, options.sort);
        let methods = options.methods.as_ref().map(|methods| {
            let decisions = Decisions::new(image, metadata, methods, tracker)?;
            Ok::<_, Error>(MethodListing { as_tree: methods.as_tree, decisions, structure: Structure::new(&module)? })
        });
        Ok(Self {
            methods: methods.transpose()?,
            references: options.references.then(|| references::read(&module, options.members, sort)).transpose()?,
            strings: options.strings.then(|| literals::read(&module, sort)),
            attributes: options.attributes.then(|| attributes::read(&module, sort)).transpose()?,
            module,
            sort,
        })
    }
}
