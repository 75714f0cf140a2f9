//! Methods whose calls are only counted in some runs. Their time is part of their callers' time there, so it is in all runs that
//! are compared: otherwise the same program would seem to have moved time from one method to another. The time of runtime-async
//! methods that are only counted is no caller's.

use std::borrow::Cow;

use crate::model::{Profile, SampleType};

/// Returns by profile and function whether a run only counted calls of the method. `method_of` has the method of each function.
pub(super) fn counted_methods(profiles: &[&Profile], method_of: &[Vec<usize>], methods: usize) -> Vec<Vec<bool>> {
    let mut is_counted = vec![false; methods];
    for (profile, method_of) in profiles.iter().zip(method_of) {
        let suspended = profile.runtime_async_functions();
        for (function, (counted, method)) in profile.flat_by_function(SampleType::COUNTED).iter().zip(method_of).enumerate() {
            let is_callers = *counted > 0 && !suspended.contains(&function);
            if let Some(is_counted) = is_counted.get_mut(*method).filter(|_| is_callers) {
                *is_counted = true;
            }
        }
    }
    let of_function = |method: &usize| is_counted.get(*method).copied().unwrap_or_default();
    method_of.iter().map(|methods| methods.iter().map(of_function).collect()).collect()
}

/// Returns the profile as if it had only counted the calls of these functions. A path without a caller keeps its time.
pub(super) fn as_counted<'p>(profile: &'p Profile, is_counted: &[bool]) -> Cow<'p, Profile> {
    if !is_counted.contains(&true) {
        return Cow::Borrowed(profile);
    }
    let mut profile = profile.clone();
    let place = |sample_type| profile.sample_types.iter().position(|measured| *measured == sample_type);
    let moved: Vec<usize> =
        [SampleType::WALL, SampleType::PROBES, SampleType::UNCERTAINTY].into_iter().filter_map(place).collect();
    let (calls, counted) = (place(SampleType::CALLS), place(SampleType::COUNTED));
    for tree in &mut profile.trees {
        for (index, node) in tree.nodes.iter().enumerate().rev() {
            let Some(caller) = node.caller.filter(|_| is_counted.get(node.function).copied().unwrap_or_default()) else {
                continue;
            };
            for place in &moved {
                let Some(values) = tree.values.get_mut(*place) else { continue };
                let value = values.get_mut(index).map(std::mem::take).unwrap_or_default();
                values.get_mut(caller).into_iter().for_each(|sum| *sum = sum.saturating_add(value));
            }
            let all = calls.and_then(|place| tree.values.get(place)?.get(index)).copied().unwrap_or_default();
            let of_path = counted.and_then(|place| tree.values.get_mut(place)?.get_mut(index));
            of_path.into_iter().for_each(|counted| *counted = all);
        }
    }
    for (statistics, _) in profile.statistics.iter_mut().zip(is_counted).filter(|(_, is_counted)| **is_counted) {
        *statistics = None;
    }
    Cow::Owned(profile)
}

#[cfg(test)]
mod tests {
    use names::MethodId;

    use super::*;
    use crate::{
        model::{CallTree, Function, Node, Notes},
        statistics::Statistics,
    };

    #[test]
    fn time_of_a_counted_method_is_its_callers() {
        let function = |row| Function { method_id: MethodId::new(1, row), name: None, source: None, module: None };
        let node = |function, caller| Node { function, caller };
        let profile = Profile {
            sample_types: vec![SampleType::CALLS, SampleType::WALL, SampleType::PROBES, SampleType::COUNTED],
            functions: (0..3).map(function).collect(),
            trees: vec![CallTree {
                // 0 -> 1 -> 1 -> 2, and 1 beside it.
                nodes: vec![node(0, None), node(1, Some(0)), node(1, Some(1)), node(2, Some(2)), node(1, None)],
                notes: vec![Notes::default(); 5],
                values: vec![vec![1, 5, 5, 5, 2], vec![100, 20, 30, 40, 7], vec![1, 2, 3, 4, 5], vec![0; 5]],
                ..CallTree::default()
            }],
            statistics: vec![None, Some(Box::new(Statistics::of_first(3))), None],
            ..Profile::default()
        };
        let folded = as_counted(&profile, &[false, true, false]);
        let expected: [&[i64]; 4] = [&[1, 5, 5, 5, 2], &[150, 0, 0, 40, 7], &[6, 0, 0, 4, 5], &[0, 5, 5, 0, 0]];
        assert_eq!(folded.trees[0].values, expected);
        assert!(folded.statistics[1].is_none());
        assert!(matches!(as_counted(&profile, &[false; 3]), Cow::Borrowed(_)));
    }
}
