//! Comparisons of profiles of several modes: numbers that a mode does not measure are unknown, not zero.

use profile::{
    Profile,
    compare::{CompareOptions, Comparison, Metric, Verdict},
};
use report::compare::{markdown, text};

use crate::builder;

/// Samples of CPU time: 20, 30 and 50 %, then one method with more.
const SAMPLES: [&str; 2] = [
    "profile mode=4 end=100000 cpu=100000000\nmethod 1 T::Main\nmethod 2 T::Load\nmethod 3 T::Save\ntree\n Main calls=0 start=20 total=20000 \
     cpu=20000000\n  Load calls=0 start=30 total=30000 cpu=30000000\n  Save calls=0 start=50 total=50000 cpu=50000000\n",
    "profile mode=4 end=130000 cpu=130000000\nmethod 1 T::Main\nmethod 2 T::Load\nmethod 3 T::Save\ntree\n Main calls=0 start=20 total=20000 \
     cpu=20000000\n  Load calls=0 start=60 total=60000 cpu=60000000\n  Save calls=0 start=50 total=50000 cpu=50000000\n",
];
const EXACT: &str =
    "profile end=100000\nmethod 1 T::Main\nmethod 2 T::Load\ntree\n Main calls=1 total=100000\n  Load calls=9 total=50000\n";
const COUNTS: [&str; 2] = [
    "profile mode=2 end=100000\nmethod 1 T::Main\nmethod 2 T::Load\ncounter Main calls=1\ncounter Load calls=10\n",
    "profile mode=2 end=100000\nmethod 1 T::Main\nmethod 2 T::Load\ncounter Main calls=1\ncounter Load calls=20\n",
];

fn compare(base: &str, new: &str, by: Metric) -> Comparison {
    let [base, new] = [base, new].map(|text| Profile::parse(&builder::build(text)).expect("it is a profile"));
    Comparison::new(&[base], &[new], &CompareOptions { by, threshold_percent: None })
}

/// The verdict on a method.
fn verdict(comparison: &Comparison, name: &str) -> Verdict {
    comparison.methods.iter().find(|method| method.name == name).expect("it is compared").verdict
}

#[test]
fn samples_have_times_and_no_calls() {
    let comparison = compare(SAMPLES[0], SAMPLES[1], Metric::SelfTime);
    assert_eq!(
        ["T.Main", "T.Load", "T.Save"].map(|name| verdict(&comparison, name)),
        [Verdict::Same, Verdict::Slower, Verdict::Same]
    );
    for method in &comparison.methods {
        let unknown = [Metric::Calls, Metric::Average, Metric::Exceptions, Metric::Waiting];
        assert!(unknown.iter().all(|metric| method.metric(*metric).is_none()));
    }
    let load = comparison.methods.iter().find(|method| method.name == "T.Load").expect("it is compared");
    let times = [Metric::SelfTime, Metric::Cpu].map(|metric| load.metric(metric).map(|change| (change.base, change.new)));
    assert_eq!(times, [Some((30.0, 60.0)); 2]);
    assert_eq!(comparison.program.keys().copied().collect::<Vec<_>>(), ["running", "elapsed", "cpu"]);
    let shown = text(&comparison, 10);
    assert!(!shown.contains("calls") && !shown.contains("modes"), "{shown}");
}

#[test]
fn counts_have_calls_and_no_times() {
    let comparison = compare(COUNTS[0], COUNTS[1], Metric::Calls);
    assert_eq!(["T.Main", "T.Load"].map(|name| verdict(&comparison, name)), [Verdict::Same, Verdict::Slower]);
    assert_eq!(comparison.program.keys().copied().collect::<Vec<_>>(), ["elapsed"]);
    for method in &comparison.methods {
        assert!([Metric::SelfTime, Metric::Total, Metric::Waiting].iter().all(|metric| method.metric(*metric).is_none()));
    }
}

#[test]
fn runs_of_several_modes_are_reported() {
    let comparison = compare(SAMPLES[0], EXACT, Metric::SelfTime);
    assert_eq!(comparison.modes, ["--sample", "ILINST_MODE=exact"]);
    let note = "the runs were measured in different modes (--sample, ILINST_MODE=exact), whose times do not compare";
    assert!(text(&comparison, 10).contains(note) && markdown(&comparison, 10).contains(note));
    // A method that one side does not have is new or gone, whatever it was measured by.
    assert_eq!(["T.Main", "T.Save"].map(|name| verdict(&comparison, name)), [Verdict::Slower, Verdict::Gone]);
}
