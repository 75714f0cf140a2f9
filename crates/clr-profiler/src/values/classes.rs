//! A table of the classes of captured objects, with lock-free lookup.

use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering::Acquire, Ordering::Relaxed, Ordering::Release};

use super::described;
use crate::{abi::runtime::Id, function::ObjectLayout, worlds::InHook};

const SLOTS: usize = 1 << 14;
/// The number of slots that are searched for a class.
const PROBES: usize = 16;

struct Known {
    id: Id,
    generation: u32,
    layout: ObjectLayout,
    /// The number of the class's type description; 0 until it is requested.
    number: AtomicU32,
}

static TABLE: [AtomicPtr<Known>; SLOTS] = [const { AtomicPtr::new(std::ptr::null_mut()) }; SLOTS];
/// The number of module unloads so far: class ids may mean other classes afterwards.
static GENERATION: AtomicU32 = AtomicU32::new(0);

/// A module was unloaded.
pub(crate) fn forget_classes() {
    GENERATION.fetch_add(1, Relaxed);
}

/// The generation of class ids. What was learned in an earlier one no longer holds.
pub(super) fn generation() -> u32 {
    GENERATION.load(Relaxed)
}

/// How objects of a class lie in memory.
pub(super) fn object_layout(hook: InHook<'_>, id: Id) -> Option<&'static ObjectLayout> {
    find(hook, id).map(|known| &known.layout)
}

/// The number of a class in the profile.
pub(super) fn number_of_class(hook: InHook<'_>, id: Id) -> Option<u32> {
    let known = find(hook, id)?;
    match known.number.load(Relaxed) {
        0 => {
            // A panic must not unwind into the program.
            let number = std::panic::catch_unwind(|| described::number_of_class(hook, id)).ok()??;
            known.number.store(number, Relaxed);
            Some(number)
        }
        number => Some(number),
    }
}

/// Entries are never freed, even if their slots are reused.
fn find(hook: InHook<'_>, id: Id) -> Option<&'static Known> {
    let generation = generation();
    // Fibonacci hashing; the lowest bits of addresses are zeros.
    let first = (id >> 3).wrapping_mul(0x9E37_79B9_7F4A_7C15_u64 as usize) >> (usize::BITS - SLOTS.ilog2());
    let mut free = None;
    for slot in (0..PROBES).filter_map(|probe| TABLE.get((first + probe) % SLOTS)) {
        // SAFETY: entries of the table are never freed.
        match unsafe { slot.load(Acquire).as_ref() } {
            Some(known) if known.generation != generation => free = free.or(Some(slot)),
            Some(known) if known.id == id => return Some(known),
            Some(_) => {}
            None => {
                free = free.or(Some(slot));
                break;
            }
        }
    }
    add(hook, id, generation, free?)
}

#[cold]
fn add(hook: InHook<'_>, id: Id, generation: u32, slot: &AtomicPtr<Known>) -> Option<&'static Known> {
    // A panic must not unwind into the program.
    let layout = std::panic::catch_unwind(|| described::object_layout(hook, id)).ok()??;
    let known: &'static Known = Box::leak(Box::new(Known { id, generation, layout, number: AtomicU32::new(0) }));
    slot.store(std::ptr::from_ref(known).cast_mut(), Release);
    Some(known)
}
