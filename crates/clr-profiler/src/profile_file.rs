//! The profile's file: a mapping that grows by pieces, so that it is whole at any moment, however the program ends
//! (docs/profile-format.md).

#[cfg(unix)]
use std::fs::TryLockError;
use std::{
    fs::{File, OpenOptions},
    io,
    mem::ManuallyDrop,
    path::{Path, PathBuf},
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{
            AtomicI64, AtomicU32, AtomicU64, Ordering::Acquire, Ordering::Relaxed, Ordering::Release, Ordering::SeqCst, fence,
        },
    },
};

use memmap2::{MmapMut, MmapOptions};
use profile::layout::{self, BLOCK, CHUNK_HEADER};

use crate::forked;

/// What each chunk begins with.
#[repr(C)]
pub(crate) struct Chunk {
    kind: AtomicU32,
    size: u32,
    address: u64,
    tree: u64,
    tree_number: u64,
    /// How many bytes are in use.
    pub(crate) used: AtomicU64,
}

/// What a chunk holds.
#[derive(Clone, Copy)]
pub(crate) enum ChunkKind {
    Nodes = 1,
    Names = 2,
    Statistics = 3,
    Phase = 6,
    Descriptions = 9,
    Calls = 10,
    PhaseDetails = 11,
}

/// What the file says of the whole run.
pub(crate) struct Start<'s> {
    pub(crate) ticks_per_second: u64,
    pub(crate) now: i64,
    pub(crate) histogram_shift: u32,
    pub(crate) max_nodes: u32,
    /// Whether a file of its very name is replaced.
    pub(crate) replaces: bool,
    /// Whether values of the program's will be in it.
    pub(crate) has_values: bool,
    /// The program's name, its runtime, its path.
    pub(crate) strings: [&'s str; 3],
}

/// Flags of the header.
pub(crate) mod flag {
    pub(crate) const CLEAN_EXIT: u32 = 1;
    pub(crate) const UNHANDLED_EXCEPTION: u32 = 2;
    pub(crate) const NAMES_COMPLETE: u32 = 4;
    pub(crate) const INCOMPLETE: u32 = 32;
}

const FIRST_SIZE: usize = 256 << 10;
const LARGEST_SIZE: usize = 4 << 20;
/// Strings of names are cut to so many bytes.
const MAX_STRING: usize = 4096;
/// Between the year 1 and 1970, in 100 ns.
const UNIX_EPOCH: u64 = 621_355_968_000_000_000;

/// What of a file is mapped. It stays, unless somebody knows that no thread has an address there.
pub(crate) struct Pieces(ManuallyDrop<Vec<MmapMut>>);

impl Pieces {
    /// Unmaps them.
    ///
    /// # Safety
    /// Nobody may go there from now on.
    pub(crate) unsafe fn unmap(self) {
        ManuallyDrop::into_inner(self.0);
    }
}

struct Profile {
    file: File,
    pieces: Pieces,
    size: u64,
    header: *mut u8,
    next: *mut u8,
    end: *mut u8,
    names: *mut Chunk,
    /// Null if there are none.
    descriptions: *mut Chunk,
    is_full: bool,
    /// All there are.
    chunks: Vec<*mut Chunk>,
    paused_since: AtomicI64,
}

// SAFETY: its pointers are to the mapping, which stays for as long as this does.
unsafe impl Send for Profile {}

static PROFILE: Mutex<Option<Profile>> = Mutex::new(None);

fn profile() -> MutexGuard<'static, Option<Profile>> {
    static NONE: Mutex<Option<Profile>> = Mutex::new(None);
    let profile = if forked::is_child() { &NONE } else { &PROFILE };
    profile.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes the file, with its header and a first chunk of names. If it cannot be made, nothing is left of it.
pub(crate) fn create(path: &Path, start: &Start<'_>) -> io::Result<PathBuf> {
    let (file, path) = create_unused(path, start.replaces, start.has_values)?;
    let null = std::ptr::null_mut::<u8>();
    let mut made = Profile {
        file,
        pieces: Pieces(ManuallyDrop::new(Vec::new())),
        size: 0,
        header: null,
        next: null,
        end: null,
        names: null.cast(),
        descriptions: null.cast(),
        is_full: false,
        chunks: Vec::new(),
        paused_since: 0.into(),
    };
    let failure = || io::Error::other("it cannot be mapped");
    made.grow(BLOCK).inspect_err(|_| {
        // There was no room for it.
        let _ = std::fs::remove_file(&path);
    })?;
    let header = made.take_blocks(1).ok_or_else(failure)?;
    made.header = header;
    // SAFETY: the header is a block of zeros that is ours; it is aligned.
    let bytes = unsafe { std::slice::from_raw_parts_mut(header, BLOCK) };
    fill(bytes, start);
    made.names = made.take_chunk(ChunkKind::Names, 0, 0, CHUNK_HEADER).ok_or_else(failure)?;
    *profile() = Some(made);
    Ok(path)
}

/// A file that was not there: of this name, or with a number. One that is there of this very name goes, if it is to be replaced, and
/// no process that lives writes to it.
fn create_unused(path: &Path, replaces: bool, has_values: bool) -> io::Result<(File, PathBuf)> {
    prepare(path)?;
    // Held until the file has its own.
    let _lock = path.parent().and_then(lock_folder);
    if replaces && !is_in_use(path) {
        let _ = std::fs::remove_file(path);
    }
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        // The umask takes away more. Values of the program's are for its owner alone.
        options.mode(if has_values { 0o600 } else { 0o644 });
    }
    for number in 1..1000 {
        let candidate = match (number, path.file_stem()) {
            (1, _) | (_, None) => path.to_owned(),
            (_, Some(stem)) => path.with_file_name(format!("{}-{number}.ilprof", stem.display())),
        };
        match options.open(&candidate) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            made => {
                let made = made?;
                // For as long as the process lives, no other one replaces it.
                #[cfg(unix)]
                let _ = made.try_lock();
                return Ok((made, candidate));
            }
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

/// Makes the folder of a profile.
///
/// # Errors
/// If that cannot be done, or what is there already is no file.
pub(crate) fn prepare(path: &Path) -> io::Result<()> {
    if std::fs::symlink_metadata(path).is_ok_and(|there| !there.is_file()) {
        return Err(io::Error::other("it is there, and no regular file; name another by ILINST_OUTPUT"));
    }
    path.parent().map_or(Ok(()), make_folder)
}

/// The lock that says, as to the tracker, that nobody else chooses a name in a folder; not waited for for ever, as it may be held by
/// what knows nothing of that. Windows needs no locks, which are others' there too: it removes no file that is mapped.
#[cfg(unix)]
fn lock_folder(folder: &Path) -> Option<File> {
    let folder = File::open(folder).ok()?;
    let mut tries = 0;
    while tries < 1000 && matches!(folder.try_lock(), Err(TryLockError::WouldBlock)) {
        std::thread::sleep(std::time::Duration::from_millis(1));
        tries += 1;
    }
    Some(folder)
}

#[cfg(not(unix))]
fn lock_folder(_folder: &Path) -> Option<File> {
    None
}

/// Whether a process that lives writes to a file, or that cannot be known.
fn is_in_use(path: &Path) -> bool {
    #[cfg(unix)]
    return OpenOptions::new().read(true).write(true).open(path).map_or_else(
        |error| error.kind() != io::ErrorKind::NotFound,
        |file| matches!(file.try_lock(), Err(TryLockError::WouldBlock)),
    );
    #[cfg(not(unix))]
    return !path.exists();
}

/// Others may not write to a folder that is made.
fn make_folder(folder: &Path) -> io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o755);
    builder.recursive(true).create(folder)
}

fn fill(header: &mut [u8], start: &Start<'_>) {
    let mut put = |at: usize, bytes: &[u8]| header[at..at + bytes.len()].copy_from_slice(bytes);
    let time = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    put(layout::VERSION_AT, &2_u32.to_le_bytes());
    put(layout::PID_AT, &std::process::id().to_le_bytes());
    put(layout::POINTER_SIZE_AT, &(size_of::<usize>() as u32).to_le_bytes());
    put(layout::HEADER_SIZE_AT, &(BLOCK as u32).to_le_bytes());
    put(layout::TICKS_AT, &start.ticks_per_second.to_le_bytes());
    put(layout::START_AT, &start.now.to_le_bytes());
    put(layout::END_AT, &start.now.to_le_bytes());
    put(layout::TIME_AT, &(UNIX_EPOCH + (time.as_nanos() / 100) as u64).to_le_bytes());
    put(layout::MAX_NODES_AT, &start.max_nodes.to_le_bytes());
    put(layout::HISTOGRAM_SHIFT_AT, &start.histogram_shift.to_le_bytes());
    put(layout::CPU_AT, &(-1_i64).to_le_bytes());
    let mut at = layout::STRINGS_AT;
    for text in start.strings {
        let text = cut(text, 1200);
        put(at, &(text.len() as u32).to_le_bytes());
        put(at + 4, text.as_bytes());
        at += 4 + text.len();
    }
    put(0, layout::MAGIC);
}

/// A chunk of zeros behind its header, of which so many bytes are in use.
pub(crate) fn take(kind: ChunkKind, tree: u64, tree_number: u64, used: usize) -> Option<*mut Chunk> {
    profile().as_mut()?.take_chunk(kind, tree, tree_number, used)
}

/// The same of as many blocks as are in use, which is filled before anybody sees it.
pub(crate) fn take_filled(kind: ChunkKind, tree: u64, used: usize, fill: impl FnOnce(*mut Chunk)) -> Option<*mut Chunk> {
    let mut profile = profile();
    let profile = profile.as_mut()?;
    let chunk: *mut Chunk = profile.take_blocks(used.div_ceil(BLOCK))?.cast();
    fill(chunk);
    profile.describe(chunk, kind, tree, 0, used);
    Some(chunk)
}

/// All chunks of a kind.
pub(crate) fn chunks_of(kind: ChunkKind) -> Vec<*mut Chunk> {
    let profile = profile();
    let all = profile.iter().flat_map(|profile| &profile.chunks).copied();
    // SAFETY: chunks stay mapped.
    all.filter(|chunk| unsafe { (**chunk).kind.load(Relaxed) } == kind as u32).collect()
}

/// Whether a chunk is there.
pub(crate) fn is_chunk(address: *mut Chunk) -> bool {
    profile().as_ref().is_some_and(|profile| profile.chunks.contains(&address))
}

/// A tree's first chunk: the tree is in it.
pub(crate) fn take_first(tree_number: u64) -> Option<*mut Chunk> {
    let mut profile = profile();
    let profile = profile.as_mut()?;
    let chunk: *mut Chunk = profile.take_blocks(1)?.cast();
    let tree = (chunk.addr() + CHUNK_HEADER) as u64;
    profile.describe(chunk, ChunkKind::Nodes, tree, tree_number, layout::FIRST_NODE);
    Some(chunk)
}

/// Writes a record of names: its kind, what it is about, and strings.
pub(crate) fn write_name(kind: u8, about: &[u8], strings: &[&str]) {
    let mut record = vec![kind];
    record.extend(about);
    strings.iter().for_each(|text| put_string(&mut record, text));
    write_record(ChunkKind::Names, &record);
}

pub(crate) fn put_string(to: &mut Vec<u8>, text: &str) {
    let text = cut(text, MAX_STRING);
    to.extend((text.len() as u32).to_le_bytes());
    to.extend(text.as_bytes());
}

/// Writes a record behind the others of its kind.
pub(crate) fn write_record(kind: ChunkKind, record: &[u8]) {
    let mut profile = profile();
    let Some(profile) = profile.as_mut() else { return };
    let chunk = match kind {
        ChunkKind::Names => profile.names,
        _ => profile.descriptions,
    };
    // SAFETY: the chunk is mapped; who writes to it has the lock.
    unsafe {
        let mut chunk = chunk;
        // Behind it stays a zero: the end of the records.
        let mut used = if chunk.is_null() { BLOCK } else { (*chunk).in_use() };
        if used + record.len() + 1 > BLOCK {
            let Some(new) = profile.take_chunk(kind, 0, 0, CHUNK_HEADER) else { return };
            (chunk, used) = (new, CHUNK_HEADER);
            match kind {
                ChunkKind::Names => profile.names = new,
                _ => profile.descriptions = new,
            }
        }
        let to: *mut u8 = chunk.byte_add(used).cast();
        std::ptr::copy_nonoverlapping(record.as_ptr(), to, record.len());
        (*chunk).used.fetch_add(record.len() as u64, Release);
    }
}

impl Chunk {
    /// How many bytes of a chunk of one block are in use; it is full if the file says what cannot be, as others can write to it.
    pub(crate) fn in_use(&self) -> usize {
        let used = self.used.load(Acquire) as usize;
        if (CHUNK_HEADER..=BLOCK).contains(&used) { used } else { BLOCK }
    }

    /// Whether a tree is in it.
    pub(crate) fn begins_tree(&self) -> bool {
        self.tree == std::ptr::from_ref(self).addr() as u64 + CHUNK_HEADER as u64
    }
}

/// A place in the header.
fn header_i64(header: *mut u8, at: usize) -> &'static AtomicI64 {
    // SAFETY: the header is mapped for ever, and its numbers are at multiples of their size.
    unsafe { &*header.add(at).cast() }
}

fn header_u32(header: *mut u8, at: usize) -> &'static AtomicU32 {
    // SAFETY: as of `header_i64`.
    unsafe { &*header.add(at).cast() }
}

/// Says that the program runs still.
pub(crate) fn look(now: i64, cpu: Option<i64>) {
    if let Some(profile) = profile().as_ref() {
        header_i64(profile.header, layout::END_AT).store(now, Relaxed);
        header_i64(profile.header, layout::PROCESSES_AT).fetch_add(1, Relaxed);
        if let Some(cpu) = cpu {
            header_i64(profile.header, layout::CPU_AT).store(cpu, Relaxed);
        }
    }
}

/// What who gives commands writes into the header, and what is answered there, are from here on: the number of the last
/// command, the command, the number of the last one that was carried out, whether recording is paused, a name, and the number of
/// the last command that was begun: whoever takes a command back looks there afterwards.
const COMMANDED: usize = layout::CONTROL_AT;
const COMMAND: usize = COMMANDED + 4;
const CARRIED_OUT: usize = COMMANDED + 8;
const STATE: usize = COMMANDED + 12;
const NAME: usize = COMMANDED + 16;
const BEGUN: usize = NAME + 4 + MAX_NAME;
const MAX_NAME: usize = profile::Control::MAX_NAME;
/// How many pauses there were, and when.
const PAUSES: usize = 8192;
const MAX_PAUSES: i64 = 2000;

/// Carries out what is commanded, with a name, if there is something new.
pub(crate) fn obey(carry_out: impl FnOnce(u32, &str) -> bool) {
    // Not while it is carried out: what is done then takes of the file.
    let Some(header) = profile().as_ref().map(|profile| profile.header) else { return };
    let [commanded, command, carried_out, begun] = [COMMANDED, COMMAND, CARRIED_OUT, BEGUN].map(|at| header_u32(header, at));
    let (number, last) = (commanded.load(Acquire), carried_out.load(Relaxed));
    if number == last {
        return;
    }
    // One of the two sees the other: who gives up, that it is begun; or this, that it was taken back.
    begun.store(number, SeqCst);
    fence(SeqCst);
    if commanded.load(SeqCst) != number {
        begun.store(last, Release);
        return;
    }
    let mut name = [0; MAX_NAME];
    // Others can write to the file: the length is checked before it is used.
    let length = header_u32(header, NAME).load(Relaxed) as usize;
    let name = name.get_mut(..length).unwrap_or_default();
    // SAFETY: the header is mapped, and has as much there.
    unsafe { std::ptr::copy_nonoverlapping(header.add(NAME + 4), name.as_mut_ptr(), name.len()) };
    if carry_out(command.load(Relaxed), &String::from_utf8_lossy(name)) {
        carried_out.store(number, Release);
    }
}

/// Notes that recording pauses, or goes on; beyond the number of pauses that there is room for, their sum alone is kept. Whether
/// that is new.
pub(crate) fn pause(is_paused: bool, now: i64) -> bool {
    let profile = profile();
    let Some(Profile { header, paused_since, .. }) = profile.as_ref() else { return false };
    let state = header_u32(*header, STATE);
    if state.swap(is_paused.into(), Relaxed) == u32::from(is_paused) {
        return false;
    }
    let count = header_i64(*header, PAUSES);
    let pair = |index: i64| [8, 16].map(|at| header_i64(*header, PAUSES + at + 16 * index as usize));
    if is_paused {
        paused_since.store(now, Relaxed);
        let index = count.load(Relaxed);
        if (0..MAX_PAUSES).contains(&index) {
            pair(index)[0].store(now, Relaxed);
            count.store(index + 1, Release);
        }
    } else {
        header_i64(*header, layout::PAUSED_AT).fetch_add(now - paused_since.load(Relaxed), Relaxed);
        let count = count.load(Relaxed);
        if (1..=MAX_PAUSES).contains(&count) {
            // The end of the last one; what is there already is an earlier one's.
            let _ = pair(count - 1)[1].compare_exchange(0, now, Relaxed, Relaxed);
        }
    }
    true
}

/// Says what the probes cost, in ticks: within a call's own time, beside it, and of that a look at the clock.
pub(crate) fn set_cost(inside: f64, outside: f64, clock: f64) {
    if let Some(profile) = profile().as_ref() {
        for (at, cost) in [(layout::PROBE_INSIDE_AT, inside), (layout::PROBE_OUTSIDE_AT, outside), (COST_OF_CLOCK_AT, clock)] {
            header_i64(profile.header, at).store(cost.to_bits() as i64, Relaxed);
        }
    }
}

const COST_OF_CLOCK_AT: usize = layout::PROBE_OUTSIDE_AT + 8;

/// Sets and clears flags.
pub(crate) fn change_flags(set: u32, clear: u32) {
    if let Some(profile) = profile().as_ref() {
        profile.change_flags(set, clear);
    }
}

/// The end: what is behind the last chunk is cut off, where that can be done. Gives what is mapped still, if there was a file.
pub(crate) fn end(now: i64) -> Option<Pieces> {
    // What comes behind the end finds none.
    let mut profile = profile().take()?;
    header_i64(profile.header, layout::END_AT).store(now, Relaxed);
    profile.change_flags(flag::CLEAN_EXIT | flag::NAMES_COMPLETE, 0);
    if cfg!(unix) {
        let unused = profile.end.addr() - profile.next.addr();
        profile.end = profile.next;
        profile.size -= unused as u64;
        // Longer than need be is no damage.
        let _ = profile.file.set_len(profile.size);
    }
    Some(profile.pieces)
}

impl Profile {
    fn take_chunk(&mut self, kind: ChunkKind, tree: u64, tree_number: u64, used: usize) -> Option<*mut Chunk> {
        let chunk: *mut Chunk = self.take_blocks(1)?.cast();
        self.describe(chunk, kind, tree, tree_number, used);
        Some(chunk)
    }

    fn describe(&mut self, chunk: *mut Chunk, kind: ChunkKind, tree: u64, tree_number: u64, used: usize) {
        // SAFETY: it is a block of zeros that was just taken.
        unsafe {
            (*chunk).size = used.max(1).next_multiple_of(BLOCK) as u32;
            (*chunk).address = chunk.addr() as u64;
            (*chunk).tree = tree;
            (*chunk).tree_number = tree_number;
            (*chunk).used.store(used as u64, Relaxed);
            // Last, for who reads the file meanwhile.
            (*chunk).kind.store(kind as u32, Release);
        }
        self.chunks.push(chunk);
    }

    /// Some that lie one behind the other. What is left of a piece that is too short, nobody has.
    fn take_blocks(&mut self, count: usize) -> Option<*mut u8> {
        let size = count * BLOCK;
        if self.end.addr() - self.next.addr() < size && (self.is_full || self.grow(size).is_err()) {
            if !self.is_full {
                self.is_full = true;
                self.change_flags(flag::INCOMPLETE, 0);
            }
            return None;
        }
        let taken = self.next;
        // SAFETY: there are as many blocks there, which are behind no other.
        self.next = unsafe { taken.add(size) };
        Some(taken)
    }

    /// Allocates some of the file behind what is there, and maps it.
    fn grow(&mut self, needed: usize) -> io::Result<()> {
        let mut size = FIRST_SIZE;
        while size < LARGEST_SIZE && size as u64 <= self.size || size < needed {
            size *= 2;
        }
        allocate(&self.file, self.size, size)?;
        // SAFETY: the file is ours; who cuts it short meanwhile harms a program that reads or writes it, as with any mapping.
        let mut map = unsafe { MmapOptions::new().offset(self.size).len(size).map_mut(&self.file)? };
        self.size += size as u64;
        self.next = map.as_mut_ptr();
        self.pieces.0.push(map);
        // SAFETY: that is the mapping's end.
        self.end = unsafe { self.next.add(size) };
        Ok(())
    }

    fn change_flags(&self, set: u32, clear: u32) {
        // SAFETY: as of `header_i64`.
        let flags: &AtomicU32 = unsafe { &*self.header.add(layout::FLAGS_AT).cast() };
        let _ = flags.fetch_update(Relaxed, Relaxed, |flags| Some(flags & !clear | set));
    }
}

/// What is mapped is allocated, so that writing to it cannot fail when the disk is full.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn allocate(file: &File, from: u64, size: usize) -> io::Result<()> {
    use std::os::fd::AsRawFd;
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the limit is the call's to write.
    let is_limited = unsafe { libc::getrlimit(libc::RLIMIT_FSIZE, &mut limit) } == 0;
    // Beyond it, growing a file is a signal that ends the process.
    if is_limited && from + size as u64 > limit.rlim_cur {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    for _ in 0..100 {
        // SAFETY: the file is open.
        match unsafe { libc::posix_fallocate(file.as_raw_fd(), from as libc::off_t, size as libc::off_t) } {
            0 => return Ok(()),
            // A signal came between: a runtime stops its threads by them.
            libc::EINTR => {}
            error => return Err(io::Error::from_raw_os_error(error)),
        }
    }
    Err(io::ErrorKind::Interrupted.into())
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn allocate(file: &File, from: u64, size: usize) -> io::Result<()> {
    file.set_len(from + size as u64)
}

pub(crate) fn cut(text: &str, most: usize) -> &str {
    let end = (0..=most.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
    &text[..end.unwrap_or(0)]
}
