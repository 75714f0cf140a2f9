//! Limits the depth of paths in formats that write each path from its outermost call. The size of such an output grows with the
//! square of a tree's depth. Recursion is then folded into its outermost call. Paths that are still too long end in one frame
//! that stands for all deeper calls.

use std::fmt;

use names::MethodId;
use profile::{
    Profile,
    model::{CallTree, Function, Node, Notes, Source},
};

use crate::Export;

/// Paths are written unchanged while their names take at most `PER_PATH` bytes on average, or at most `AT_LEAST` bytes in total.
const PER_PATH: usize = 2048;
const AT_LEAST: usize = 32 << 20;

/// How the paths were shortened; the default value if they were not.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Cut {
    /// Whether calls of a method by itself are part of its outermost call.
    pub is_folded: bool,
    /// The number of calls in the longest path, and the number of longer paths that were added up in the frame below it.
    pub deeper: Option<(usize, usize)>,
}

impl fmt::Display for Cut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_folded {
            f.write_str("calls of a method by itself are added to the outermost call")?;
        }
        if let Some((limit, paths)) = self.deeper {
            let and = if self.is_folded { "; " } else { "" };
            write!(f, "{and}{paths} call paths of more than {limit} calls are added up as '{}'", frame(limit))?;
        }
        Ok(())
    }
}

/// Returns the name of the frame that stands for all calls below the limit.
fn frame(limit: usize) -> String {
    format!("[deeper than {limit} calls]")
}

/// A profile, its phases by their names, and what was cut.
pub(crate) type Shortened = (Profile, Vec<(String, Profile)>, Cut);

/// Returns the profile and its phases with shortened paths, and how these were shortened. Returns `None` if all paths are short
/// enough.
pub(crate) fn cut(export: &Export<'_>) -> Option<Shortened> {
    let is_short = export.max_depth.map_or_else(|| affordable(export.profile).is_none(), |limit| limit == 0);
    if is_short {
        return None;
    }
    let (mut profile, mut phases, mut cut) = (export.profile.clone(), export.phases.to_vec(), Cut::default());
    let limit = export.max_depth.or_else(|| {
        let before = paths(&profile);
        let recursive = profile.recursive();
        profile.trees.iter_mut().for_each(|tree| *tree = tree.folded(&recursive));
        for (_, phase) in &mut phases {
            let recursive = phase.recursive();
            phase.trees.iter_mut().for_each(|tree| *tree = tree.folded(&recursive));
        }
        cut.is_folded = paths(&profile) < before;
        affordable(&profile)
    });
    if let Some(limit) = limit {
        let deeper = elide(&mut profile, limit);
        for (_, phase) in &mut phases {
            elide(phase, limit);
        }
        cut.deeper = (deeper > 0).then_some((limit, deeper));
    }
    (cut != Cut::default()).then_some((profile, phases, cut))
}

fn paths(profile: &Profile) -> usize {
    profile.trees.iter().map(|tree| tree.nodes.len()).sum()
}

/// Returns the number of calls a path may have for all paths to fit. Returns `None` if they fit unchanged.
fn affordable(profile: &Profile) -> Option<usize> {
    let names: Vec<usize> = profile.functions.iter().map(|function| function.full_name().len() + 1).collect();
    // By depth: the bytes of the paths that end there.
    let mut sizes: Vec<usize> = Vec::new();
    for tree in &profile.trees {
        let mut lengths: Vec<(usize, usize)> = Vec::with_capacity(tree.nodes.len());
        for node in &tree.nodes {
            let (depth, length) = node.caller.and_then(|caller| lengths.get(caller)).copied().unwrap_or_default();
            let length = length + names.get(node.function).copied().unwrap_or(1);
            lengths.push((depth + 1, length));
            if sizes.len() <= depth {
                sizes.push(0);
            }
            sizes[depth] += length;
        }
    }
    let room = AT_LEAST.max(PER_PATH.saturating_mul(paths(profile)));
    // By depth: the bytes of all paths down to that depth.
    let sums: Vec<usize> = sizes
        .iter()
        .scan(0_usize, |sum, size| {
            *sum = sum.saturating_add(*size);
            Some(*sum)
        })
        .collect();
    if sums.last().is_none_or(|all| *all <= room) {
        return None;
    }
    // Paths that end at the limit may gain the frame below, and are then written once more.
    let fits = sums.iter().zip(&sizes).take_while(|(sum, size)| sum.saturating_add(**size) <= room).count();
    Some(fits.max(1))
}

/// Replaces all calls below the limit by one frame. Returns the number of paths that it replaces.
fn elide(profile: &mut Profile, limit: usize) -> usize {
    let function = profile.functions.len();
    let source = Source { method: frame(limit), ..Source::default() };
    profile.functions.push(Function { method_id: MethodId::new(0, 0), name: None, source: Some(source), module: None });
    let mut deeper = 0;
    for tree in &mut profile.trees {
        *tree = elided(tree, function, limit, &mut deeper);
    }
    deeper
}

fn elided(tree: &CallTree, function: usize, limit: usize, deeper: &mut usize) -> CallTree {
    let mut kept = CallTree { values: vec![Vec::new(); tree.values.len()], nodes: Vec::new(), notes: Vec::new(), ..tree.clone() };
    // The new index of each node, and the depth and the replacement frame of each kept node.
    let mut places: Vec<usize> = Vec::with_capacity(tree.nodes.len());
    let (mut depths, mut below): (Vec<usize>, Vec<Option<usize>>) = (Vec::new(), Vec::new());
    for (index, node) in tree.nodes.iter().enumerate() {
        let caller = node.caller.and_then(|caller| places.get(caller).copied());
        let depth = caller.map_or(0, |caller| depths[caller]) + 1;
        let is_deeper = depth > limit;
        *deeper += usize::from(is_deeper);
        let place = match caller.filter(|_| is_deeper) {
            Some(frame) if depths[frame] > limit => Some(frame),
            Some(last) => below[last],
            None => None,
        };
        let place = place.unwrap_or_else(|| {
            let function = if is_deeper { function } else { node.function };
            kept.nodes.push(Node { function, caller });
            kept.notes.push(if is_deeper { Notes::default() } else { tree.notes.get(index).copied().unwrap_or_default() });
            kept.values.iter_mut().for_each(|values| values.push(0));
            depths.push(depth);
            below.push(None);
            if let Some(caller) = caller.filter(|_| is_deeper) {
                below[caller] = Some(kept.nodes.len() - 1);
            }
            kept.nodes.len() - 1
        });
        for (sums, values) in kept.values.iter_mut().zip(&tree.values) {
            sums[place] = sums[place].saturating_add(values.get(index).copied().unwrap_or_default());
        }
        places.push(place);
    }
    kept
}
