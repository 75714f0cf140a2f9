//! The signal handler that takes samples.
//!
//! The signal is the one by which the runtime interrupts its threads, `SIGRTMIN`: the runtime blocks it in its own `SIGSEGV`
//! handler, on whose small stack no other handler has room. What is not the sampler's goes to the runtime's handler.
//!
//! The handler allocates nothing, takes no lock, uses no thread-local state but `errno`, and calls nothing that is not
//! async-signal-safe.

use std::{
    cell::{RefCell, UnsafeCell},
    ffi::{c_int, c_void},
    ops::Range,
    ptr::{null, null_mut},
    sync::{
        Mutex, PoisonError,
        atomic::{
            AtomicBool, AtomicI32, AtomicI64, AtomicPtr, AtomicU64, AtomicUsize,
            Ordering::{Acquire, Relaxed, Release, SeqCst},
        },
    },
    time::Duration,
};

use super::{
    event,
    ring::Ring,
    walk::{self, Code, Registers, Stack},
};
use crate::tree::own_cpu_time;

/// The most threads that are sampled at the same time.
pub(in crate::sampler) const MAX_THREADS: usize = 1 << 16;
/// Upper half of the value that comes with the sampler's signals; the lower half is the thread's place.
const MARK: usize = 0x1157_5A4E;

/// A sample that stands for more ns than these is late. Timers are checked at the kernel's ticks, every 10 ms at most.
const LATE: i64 = 20_000_000;
/// CPU time in ns that a profile must not lack in silence.
const MUCH: i64 = 1_000_000_000;

/// A sampled thread.
pub(in crate::sampler) struct Thread {
    /// Its id; 0 once it has ended.
    pub(in crate::sampler) id: AtomicI32,
    pub(in crate::sampler) ring: Ring,
    /// Of its signal handler alone.
    window: UnsafeCell<Window>,
    /// Its CPU time behind its last sample, in ns.
    pub(in crate::sampler) cpu: AtomicI64,
    /// The CPU time for which it has samples, in ns: the time of its first clock signal less a period, and whole periods.
    credited: AtomicI64,
    /// Whether a signal is under way to it.
    pub(in crate::sampler) is_asked: AtomicBool,
}

// SAFETY: all fields but the window are atomic, or have these traits. The handler of the thread with `id` alone uses the window.
unsafe impl Sync for Thread {}

impl Thread {
    pub(in crate::sampler) fn new(id: i32) -> Option<Self> {
        Some(Self {
            id: id.into(),
            ring: Ring::new()?,
            window: UnsafeCell::default(),
            cpu: 0.into(),
            credited: 0.into(),
            is_asked: false.into(),
        })
    }

    /// Prepares it for another thread.
    pub(in crate::sampler) fn reuse(&self, id: i32) {
        self.cpu.store(0, Relaxed);
        self.is_asked.store(false, Relaxed);
        self.id.store(id, Release);
    }

    /// Sets the CPU time from which samples count, in ns.
    pub(in crate::sampler) fn set_credited(&self, cpu: i64) {
        self.credited.store(cpu, Relaxed);
    }

    /// Whether it has run so long without a sample that signals cannot only be late.
    pub(in crate::sampler) fn owes(&self, cpu: i64) -> bool {
        cpu - self.credited.load(Relaxed) > MUCH
    }

    /// The number of whole periods since the last sample that a sample at this CPU time stands for. 0 if another clock was first.
    fn credit(&self, cpu: i64) -> u64 {
        let period = PERIOD.load(Relaxed).max(1);
        let credited = self.credited.load(Relaxed);
        let periods = ((cpu - credited) / period).max(0);
        self.credited.store(credited + periods * period, Relaxed);
        periods as u64
    }
}

/// The threads by place. They are never freed: a signal may be under way to each of them.
static THREADS: [AtomicPtr<Thread>; MAX_THREADS] = [const { AtomicPtr::new(null_mut()) }; MAX_THREADS];
/// The code ranges, sorted.
static CODE: AtomicPtr<Table> = AtomicPtr::new(null_mut());
/// The number of handlers that may use the table.
static INSIDE: AtomicUsize = AtomicUsize::new(0);
/// The CPU time between two samples of a thread, in ns.
static PERIOD: AtomicI64 = AtomicI64::new(0);
/// The number of samples that came late.
static LATE_SAMPLES: AtomicU64 = AtomicU64::new(0);
static IS_ON: AtomicBool = AtomicBool::new(false);
/// The handler that was there before.
static BEFORE: AtomicPtr<libc::sigaction> = AtomicPtr::new(null_mut());

/// The ranges of code that walks accept, sorted.
#[derive(Default)]
pub(in crate::sampler) struct Table {
    pub(in crate::sampler) code: Vec<Range<usize>>,
    /// Code by on-stack replacement.
    pub(in crate::sampler) replacements: Vec<Range<usize>>,
    /// All other code of the methods that were replaced.
    pub(in crate::sampler) replaced: Vec<Range<usize>>,
}

fn contains(ranges: &[Range<usize>], address: usize) -> bool {
    let after = ranges.partition_point(|range| range.start <= address);
    after.checked_sub(1).and_then(|index| ranges.get(index)).is_some_and(|range| address < range.end)
}

impl Code for Table {
    fn has(&self, address: usize) -> bool {
        contains(&self.code, address)
    }

    fn is_replacement(&self, address: usize) -> bool {
        contains(&self.replacements, address)
    }

    fn is_replaced(&self, address: usize) -> bool {
        contains(&self.replaced, address)
    }
}

/// The signal.
pub(in crate::sampler) fn number() -> c_int {
    libc::SIGRTMIN()
}

/// The value that the signals of the thread at a place carry.
pub(in crate::sampler) fn value_of(place: usize) -> usize {
    MARK << 32 | place
}

/// Puts a thread at a place.
pub(in crate::sampler) fn set_thread(place: usize, thread: &'static Thread) {
    if let Some(slot) = THREADS.get(place) {
        slot.store(std::ptr::from_ref(thread).cast_mut(), Release);
    }
}

/// Publishes new code ranges. Frees the old ones, unless a handler may still read them.
pub(in crate::sampler) fn set_code(table: Table) {
    static OLD: Mutex<Vec<usize>> = Mutex::new(Vec::new());
    let old = CODE.swap(Box::into_raw(Box::new(table)), SeqCst);
    let mut all = OLD.lock().unwrap_or_else(PoisonError::into_inner);
    all.extend((!old.is_null()).then(|| old.expose_provenance()));
    // A handler that begins from now on reads the new table.
    if INSIDE.load(SeqCst) == 0 {
        for table in all.drain(..) {
            // SAFETY: it came from a box, and no handler has it.
            drop(unsafe { Box::from_raw(std::ptr::with_exposed_provenance_mut::<Table>(table)) });
        }
    }
}

/// Starts and stops the taking of samples. The handler stays installed: signals may be under way, and their default ends the process.
pub(in crate::sampler) fn set_on(is_on: bool) {
    IS_ON.store(is_on, SeqCst);
}

/// Sets the CPU time between two samples of a thread.
pub(in crate::sampler) fn set_period(period: Duration) {
    PERIOD.store(period.as_nanos() as i64, Relaxed);
}

/// The number of samples that came late since the last call.
pub(in crate::sampler) fn take_late() -> u64 {
    LATE_SAMPLES.swap(0, Relaxed)
}

/// Whether samples are taken.
pub(in crate::sampler) fn is_on() -> bool {
    IS_ON.load(Relaxed)
}

/// Installs the handler in front of the runtime's.
pub(in crate::sampler) fn install() -> Result<(), String> {
    static ONCE: Mutex<bool> = Mutex::new(false);
    let mut is_installed = ONCE.lock().unwrap_or_else(PoisonError::into_inner);
    if *is_installed {
        return Ok(());
    }
    // SAFETY: the structures are plain data, and the calls read and write them. The old one is published before a handler needs it.
    unsafe {
        let mut segv = std::mem::zeroed::<libc::sigaction>();
        let mut before = std::mem::zeroed::<libc::sigaction>();
        let failed = || std::io::Error::last_os_error().to_string();
        if libc::sigaction(number(), null(), &mut before) != 0 || libc::sigaction(libc::SIGSEGV, null(), &mut segv) != 0 {
            return Err(failed());
        }
        if before.sa_sigaction == libc::SIG_DFL || before.sa_sigaction == libc::SIG_IGN {
            return Err("the runtime does not use the signal SIGRTMIN, which a sampler shares with it".to_owned());
        }
        if segv.sa_sigaction != libc::SIG_DFL && libc::sigismember(&segv.sa_mask, number()) == 0 {
            return Err(
                "the runtime does not block SIGRTMIN while it handles SIGSEGV, so a sample could end the program".to_owned()
            );
        }
        let before = Box::leak(Box::new(before));
        let mut ours = *before;
        ours.sa_sigaction = handle as *const () as usize;
        ours.sa_flags |= libc::SA_SIGINFO | libc::SA_RESTART;
        BEFORE.store(before, SeqCst);
        if libc::sigaction(number(), &ours, null_mut()) != 0 {
            return Err(failed());
        }
    }
    *is_installed = true;
    Ok(())
}

/// The part of `siginfo_t` that comes with timers, queued signals and files, on 64-bit Linux.
#[repr(C)]
struct Queued {
    signal: c_int,
    error: c_int,
    code: c_int,
    _padding: c_int,
    /// A timer's id, or the sender's process.
    from: c_int,
    /// A timer's overruns, or the sender's user.
    _rest: c_int,
    /// The value of a timer or sender; the lower half is the descriptor of a file.
    value: usize,
}

/// The sender of a sampler's signal.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Source {
    Timer,
    Event,
    /// The sampler's thread.
    Sampler,
}

extern "C" fn handle(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel passes both structures. `errno` is the interrupted code's, which must not see a change.
    unsafe {
        let errno = libc::__errno_location();
        let saved = *errno;
        let queued = &*info.cast::<Queued>();
        let (is_marked, low) = (queued.value >> 32 == MARK, queued.value & 0xFFFF_FFFF);
        let source = match queued.code {
            libc::SI_TIMER if is_marked => Some((Source::Timer, low)),
            // From `rt_tgsigqueueinfo` of this process.
            libc::SI_QUEUE if is_marked && queued.from == libc::getpid() => Some((Source::Sampler, low)),
            // A file that is ready. Nobody else may ask for this signal from a file: it is not passed on.
            1.. => Some((Source::Event, low)),
            _ => None,
        };
        match source {
            Some((source, low)) => {
                INSIDE.fetch_add(1, SeqCst);
                let place = if source == Source::Event { event::place_of(low) } else { Some(low) };
                place.iter().for_each(|place| take_in_thread(*place, source, context.cast()));
                INSIDE.fetch_sub(1, SeqCst);
                if place.is_some() && source == Source::Event {
                    event::arm(low, PERIOD.load(Relaxed) as u64);
                }
            }
            None => pass_on(signal, info, context),
        }
        *errno = saved;
    }
}

/// Calls the handler that was there before.
///
/// # Safety
/// The arguments must be those of a signal handler.
unsafe fn pass_on(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    let before = BEFORE.load(Acquire);
    // SAFETY: it is set before the handler is installed, and was the system's own structure.
    unsafe {
        let before = &*before;
        if before.sa_flags & libc::SA_SIGINFO != 0 {
            let call: extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) = std::mem::transmute(before.sa_sigaction);
            call(signal, info, context);
        } else {
            let call: extern "C" fn(c_int) = std::mem::transmute(before.sa_sigaction);
            call(signal);
        }
    }
}

/// Takes a sample of this thread, if it is at the place.
///
/// # Safety
/// `context` must be the interrupted thread's, from the kernel.
unsafe fn take_in_thread(place: usize, source: Source, context: *const libc::ucontext_t) {
    // SAFETY: threads and tables are valid or null; the kernel passes the context.
    let (thread, code, registers) = unsafe {
        let thread = THREADS.get(place).map_or(null_mut(), |slot| slot.load(Acquire));
        let (Some(thread), Some(code)) = (thread.as_ref(), CODE.load(SeqCst).as_ref()) else { return };
        // The place may have another thread by now.
        if libc::syscall(libc::SYS_gettid) != libc::c_long::from(thread.id.load(Acquire)) {
            return;
        }
        (thread, code, registers_of(&*context))
    };
    thread.is_asked.store(false, Relaxed);
    take(thread, source, code, registers);
    // A thread has not run because it took a sample.
    thread.cpu.store(own_cpu_time(), Relaxed);
}

fn take(thread: &Thread, source: Source, code: &Table, registers: Registers) {
    let cpu = own_cpu_time();
    if !is_on() {
        thread.set_credited(cpu);
        return;
    }
    let weight = if source == Source::Sampler { 1 } else { thread.credit(cpu) };
    if weight == 0 {
        return;
    }
    let in_kernel = if source == Source::Event { weight - 1 } else { 0 };
    if source == Source::Timer && weight as i64 * PERIOD.load(Relaxed) > LATE {
        LATE_SAMPLES.fetch_add(weight - 1, Relaxed);
    }
    // SAFETY: this is the handler of the thread, and its signal is blocked in it.
    let window = unsafe { &mut *thread.window.get() };
    window.start = NOWHERE;
    let stack = OwnStack { sp: registers.sp, window: window.into() };
    // An event has passed over periods that ended in the kernel. Their caller is not known any more.
    if in_kernel > 0
        && let Some(writer) = thread.ring.begin(in_kernel)
    {
        writer.end(walk::End::Outermost, std::iter::empty());
    }
    let Some(mut writer) = thread.ring.begin(weight - in_kernel) else { return };
    writer.address(registers.pc);
    let end = walk::walk(registers, &stack, code, &mut |address| writer.address(address));
    let top = (0..crate::sampler::prologue::TOP_WORDS / 2).map_while(|index| stack.pair(registers.sp + 16 * index));
    writer.end(end, top.flat_map(|(one, other)| [one, other]));
}

#[cfg(target_arch = "x86_64")]
fn registers_of(context: &libc::ucontext_t) -> Registers {
    let register = |number: c_int| context.uc_mcontext.gregs[number as usize] as usize;
    Registers { pc: register(libc::REG_RIP), sp: register(libc::REG_RSP), fp: register(libc::REG_RBP) }
}

#[cfg(target_arch = "aarch64")]
fn registers_of(context: &libc::ucontext_t) -> Registers {
    let machine = &context.uc_mcontext;
    let register = |number: usize| machine.regs[number] as usize;
    Registers { pc: machine.pc as usize, sp: machine.sp as usize, fp: register(29) }
}

/// The words of a window. It lies within one page, so that either all of it can be read or nothing.
const WINDOW_WORDS: usize = 512;
/// The start of a window that was not read.
const NOWHERE: usize = usize::MAX;

/// A part of a stack, as it was when the kernel read it.
struct Window {
    start: usize,
    words: [usize; WINDOW_WORDS],
}

impl Default for Window {
    fn default() -> Self {
        Self { start: NOWHERE, words: [0; WINDOW_WORDS] }
    }
}

impl Window {
    /// The word at an address, a multiple of its size.
    fn word(&mut self, at: usize) -> Option<usize> {
        let start = at & !(size_of_val(&self.words) - 1);
        if self.start != start {
            self.start = NOWHERE;
            if !read_memory(start, &mut self.words) {
                return None;
            }
            self.start = start;
        }
        self.words.get((at - start) / size_of::<usize>()).copied()
    }
}

/// This thread's stack from the stack pointer on. The kernel reads it: no list of mappings has its end for certain, since the
/// system joins neighbours, and places change hands.
struct OwnStack<'w> {
    sp: usize,
    window: RefCell<&'w mut Window>,
}

impl Stack for OwnStack<'_> {
    fn pair(&self, at: usize) -> Option<(usize, usize)> {
        const WORD: usize = size_of::<usize>();
        let second = at.checked_add(WORD).filter(|_| at >= self.sp && at.is_multiple_of(WORD))?;
        let mut window = self.window.borrow_mut();
        Some((window.word(at)?, window.word(second)?))
    }
}

/// The file `/proc/self/mem`, where the system forbids `process_vm_readv`; -1 elsewhere.
static MEMORY: AtomicI32 = AtomicI32::new(-1);

/// Finds a way to read memory.
pub(in crate::sampler) fn prepare_memory() -> Result<(), String> {
    let (there, mut read) = ([1_u8], [0_u8]);
    let mut can_read = || read_memory(there.as_ptr().expose_provenance(), &mut read);
    if can_read() {
        return Ok(());
    }
    // SAFETY: the path ends with a zero.
    let opened = unsafe { libc::open(c"/proc/self/mem".as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC) };
    MEMORY.store(if opened < 0 { -1 } else { event::moved(opened) }, Relaxed);
    if can_read() {
        return Ok(());
    }
    Err("the system forbids process_vm_readv and /proc/self/mem, without which stacks cannot be read".to_owned())
}

/// Has the kernel copy memory of this process. Returns whether all of it could be read. Async-signal-safe.
pub(in crate::sampler) fn read_memory<T: Copy>(at: usize, to: &mut [T]) -> bool {
    let size = size_of_val(to);
    let file = MEMORY.load(Relaxed);
    if file >= 0 {
        // SAFETY: the kernel checks the address, and writes to `to` only.
        return unsafe { libc::pread(file, to.as_mut_ptr().cast(), size, at as libc::off_t) == size as isize };
    }
    let local = libc::iovec { iov_base: to.as_mut_ptr().cast(), iov_len: size };
    let remote = libc::iovec { iov_base: std::ptr::with_exposed_provenance_mut(at), iov_len: size };
    // SAFETY: the kernel checks the addresses, and writes to `to` only.
    unsafe { libc::process_vm_readv(libc::getpid(), &local, 1, &remote, 1, 0) == size as isize }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_read_or_refused() {
        let (there, mut read) = ([1_u64, 2, 3], [0_u64; 3]);
        assert!(read_memory(there.as_ptr().expose_provenance(), &mut read) && read == there);
        assert!(!read_memory(8, &mut read));
        prepare_memory().expect("there is a way");
    }

    #[test]
    fn ranges_are_searched() {
        let table = Table { code: vec![10..20, 20..30, 50..60], ..Table::default() };
        let found: Vec<usize> = (0..70).filter(|address| table.has(*address)).collect();
        assert_eq!(found, (10..30).chain(50..60).collect::<Vec<_>>());
        assert!(!table.is_replacement(10) && !table.is_replaced(10));
    }
}
