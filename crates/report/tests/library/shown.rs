//! Views as text.

use profile::{Profile, rows::SortBy};
use report::{
    TextOptions,
    views::{ViewOptions, Wanted, view},
};

/// Returns a view as text.
pub(crate) fn shown(profile: &Profile, wanted: &Wanted, options: ViewOptions) -> String {
    let names = profile.display_names();
    let (view, count) = view(profile, wanted, &options, &names, &|_| true);
    view.csv(std::io::sink()).expect("nothing fails");
    view.text(profile, count, &TextOptions::default())
}

/// Returns the table of methods as text.
pub(crate) fn table(profile: &Profile, sort: SortBy) -> String {
    shown(profile, &Wanted::Methods, ViewOptions { sort, ..ViewOptions::default() })
}

/// Returns the call tree as text.
pub(crate) fn tree(profile: &Profile, fold_recursion: bool) -> String {
    shown(profile, &Wanted::Tree, ViewOptions { fold_recursion, ..ViewOptions::default() })
}
