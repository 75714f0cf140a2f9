//! Measures the overhead of hooks, which readers subtract. A thread of the profiler measures it with a tree in no
//! file, through the same stubs that the program calls.

use super::super::{calls, owners};
use crate::{
    file,
    function::Function,
    process::clock,
    worlds::{InHook, OnOwnThread},
};

static CALLER: Function = Function::unknown(1);
/// Two functions, called in turn.
pub(crate) static CALLEES: [Function; 2] = [Function::unknown(2), Function::unknown(3)];

const CALLS_PER_ROUND: usize = 120;
/// A round that took more than this multiple of the shortest one was preempted.
const MAX_BY_LEAST: i64 = 2;
const ENOUGH: usize = 64;

/// The measurements so far, in ticks per round.
pub(crate) struct Calibration {
    /// Enters and leaves one of two functions, chosen by its number.
    pair: fn(usize),
    rounds: Vec<Round>,
}

#[derive(Clone, Copy)]
struct Round {
    inside: i64,
    pairs: i64,
    clock: i64,
}

impl Calibration {
    /// Measures a function that enters and leaves one of [`CALLEES`], on this thread.
    pub(crate) fn new(_: OnOwnThread, pair: fn(usize)) -> Self {
        owners::own_tree_of_no_file();
        // SAFETY: this thread runs no code of the program, so no collection moves its objects.
        calls::enter(unsafe { InHook::new() }, CALLER.method_id, 0);
        // A warm-up round, so that cache misses do not count.
        Round::measure(pair);
        Self { pair, rounds: Vec::new() }
    }

    /// Measures further rounds until there are enough, and writes the current result.
    pub(crate) fn measure_more(&mut self) {
        if self.rounds.len() >= ENOUGH {
            return;
        }
        self.rounds.extend((0..8).map(|_| Round::measure(self.pair)));
        let least = self.rounds.iter().map(Round::all).min().unwrap_or_default();
        let undisturbed: Vec<&Round> = self.rounds.iter().filter(|round| round.all() <= MAX_BY_LEAST * least).collect();
        let mean = |part: fn(&Round) -> i64| {
            let sum: i64 = undisturbed.iter().map(|round| part(round)).sum();
            sum as f64 / (undisturbed.len() * CALLS_PER_ROUND) as f64
        };
        let pair = mean(|round| round.pairs);
        let inside = mean(|round| round.inside).min(pair);
        file::set_cost(inside, pair - inside, mean(|round| round.clock));
    }
}

impl Round {
    fn measure(pair: fn(usize)) -> Self {
        let before = calls::ticks_of_callees();
        let begin = clock::now();
        for index in 0..CALLS_PER_ROUND {
            pair(index % 2);
        }
        let middle = clock::now();
        for _ in 0..CALLS_PER_ROUND {
            std::hint::black_box(clock::now());
        }
        let clock = clock::now() - middle;
        Self { inside: calls::ticks_of_callees() - before, pairs: middle - begin, clock }
    }

    fn all(&self) -> i64 {
        self.pairs + self.clock
    }
}
