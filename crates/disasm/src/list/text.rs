//! A listing as text.

use std::io::{self, Write};

use names::Visible;

use super::{attributes, listing::Listing, literals, module::Module, outline, references, tree::Tree};

/// Prints a listing, with the sizes of methods' IL if `il_size`.
///
/// # Errors
/// If writing fails.
pub fn print(listing: &Listing<'_, '_>, il_size: bool, out: &mut impl Write) -> io::Result<()> {
    let (module, sort) = (&listing.module, listing.sort);
    if let Some(methods) = &listing.methods {
        let decisions = &methods.decisions;
        if methods.as_tree {
            writeln!(out, "{}", Visible(module.metadata.display_name()))?;
            if let Some((tool, options)) = &decisions.mark {
                writeln!(out, "{}", Visible(format_args!("instrumented by {tool} {options}")))?;
            }
            if let Some(refusal) = decisions.refusal.as_ref().filter(|_| decisions.mark.is_none()) {
                writeln!(out, "cannot be instrumented: {}", Visible(refusal))?;
            }
            let nodes = Tree::new((sort, il_size), module, decisions, &methods.structure).nodes();
            outline::print(&nodes, "", out)?;
            decisions.summary().map(|summary| writeln!(out, "{summary}")).transpose()?;
        } else {
            for rid in module.sorted(&module.all_methods(), sort) {
                let line = module.method_line(rid, decisions, il_size, |method| Module::full_signature(module, method));
                writeln!(out, "{}", Visible(line))?;
            }
        }
    }
    listing.references.as_ref().map(|references| references::print(references, out)).transpose()?;
    listing.strings.as_ref().map(|strings| literals::print(strings, out)).transpose()?;
    listing.attributes.as_ref().map(|attributes| attributes::print(attributes, out)).transpose()?;
    Ok(())
}
