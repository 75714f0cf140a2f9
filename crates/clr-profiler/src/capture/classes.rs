//! A table of the classes of captured objects, with lock-free lookup.

use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering::Acquire, Ordering::Relaxed, Ordering::Release};

use crate::{functions, info::Id, plan::Class};

const SLOTS: usize = 1 << 14;
/// The number of slots that are searched for a class.
const PROBES: usize = 16;

struct Known {
    id: Id,
    generation: u32,
    class: Class,
    /// The number of the class's type description; 0 until it is requested.
    number: AtomicU32,
}

static TABLE: [AtomicPtr<Known>; SLOTS] = [const { AtomicPtr::new(std::ptr::null_mut()) }; SLOTS];
static GENERATION: AtomicU32 = AtomicU32::new(0);

/// Invalidates the table: ids may mean other classes from now on.
pub(super) fn forget() {
    GENERATION.fetch_add(1, Relaxed);
}

/// The way to read objects of a class.
pub(super) fn of(id: Id) -> Option<&'static Class> {
    find(id).map(|known| &known.class)
}

/// The number of a class in the profile.
pub(super) fn number(id: Id) -> Option<u32> {
    let known = find(id)?;
    match known.number.load(Relaxed) {
        0 => {
            // A panic must not unwind into the program.
            let number = std::panic::catch_unwind(|| functions::number_of_class(id)).ok()??;
            known.number.store(number, Relaxed);
            Some(number)
        }
        number => Some(number),
    }
}

/// Entries are never freed, even if their slots are reused.
fn find(id: Id) -> Option<&'static Known> {
    let generation = GENERATION.load(Relaxed);
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
    add(id, generation, free?)
}

#[cold]
fn add(id: Id, generation: u32, slot: &AtomicPtr<Known>) -> Option<&'static Known> {
    // A panic must not unwind into the program.
    let class = std::panic::catch_unwind(|| functions::class(id)).ok()??;
    let known: &'static Known = Box::leak(Box::new(Known { id, generation, class, number: AtomicU32::new(0) }));
    slot.store(std::ptr::from_ref(known).cast_mut(), Release);
    Some(known)
}
