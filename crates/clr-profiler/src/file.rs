//! The profile's file: a mapping that grows by pieces. It is complete at any moment, whichever way the program ends
//! (docs/profile-format.md).

pub(crate) mod descriptions;

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

use little_endian::{ByteOrder, LE, PutNumbers};
use memmap2::{MmapMut, MmapOptions};
pub(crate) use profile_format::ChunkKind;
use profile_format::{
    ClockKind, NameKind, RecordingMode,
    chunk::HEADER as CHUNK_HEADER,
    control,
    header::{self as layout, BLOCK, MAX_STRING as MAX_HEADER_STRING},
    names::MAX_STRING,
    node,
};

use crate::{process::forked, worlds::MayWait};

/// The header of each chunk.
#[repr(C)]
pub(crate) struct Chunk {
    kind: AtomicU32,
    size: u32,
    address: u64,
    tree: u64,
    tree_number: u64,
    /// The number of used bytes.
    pub(crate) used: AtomicU64,
}

/// Facts about the whole run, in the file's header.
pub(crate) struct Start<'s> {
    pub(crate) clock: ClockKind,
    pub(crate) ticks_per_second: u64,
    pub(crate) now: i64,
    pub(crate) histogram_shift: u32,
    pub(crate) max_nodes: u32,
    /// Whether an existing file of this name is replaced.
    pub(crate) replaces: bool,
    pub(crate) contents: Contents,
    /// The program's name, its runtime, and its path.
    pub(crate) strings: [&'s str; 3],
}

/// Contents of the file that not each profile has.
#[derive(Clone, Copy, Default)]
pub(crate) struct Contents {
    /// Values of the program.
    pub(crate) has_values: bool,
    /// The bytes that calls allocate.
    pub(crate) has_allocations: bool,
}

/// Flags of the header.
pub(crate) mod flag {
    use profile_format::HeaderFlags;

    pub(crate) const ALLOCATIONS: u32 = HeaderFlags::ALLOCATIONS.bits();
    pub(crate) const CLEAN_EXIT: u32 = HeaderFlags::CLEAN_EXIT.bits();
    pub(crate) const UNHANDLED_EXCEPTION: u32 = HeaderFlags::UNHANDLED_EXCEPTION.bits();
    pub(crate) const NAMES_COMPLETE: u32 = HeaderFlags::NAMES_COMPLETE.bits();
    pub(crate) const DISK_FULL: u32 = HeaderFlags::DISK_FULL.bits();
}

const FIRST_SIZE: usize = 256 << 10;
const LARGEST_SIZE: usize = 4 << 20;
/// The time from year 1 to 1970, in 100 ns.
const UNIX_EPOCH: u64 = 621_355_968_000_000_000;

/// The mapped pieces of a file. They stay mapped, unless a caller knows that no thread uses their addresses.
pub(crate) struct Pieces(ManuallyDrop<Vec<MmapMut>>);

impl Pieces {
    /// Unmaps the pieces.
    ///
    /// # Safety
    /// No thread may access them from now on.
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
    /// Null if there is none.
    descriptions: *mut Chunk,
    is_full: bool,
    /// All chunks.
    chunks: Vec<*mut Chunk>,
    paused_since: AtomicI64,
}

// SAFETY: its pointers are into the mapping, which lives at least as long.
unsafe impl Send for Profile {}

static PROFILE: Mutex<Option<Profile>> = Mutex::new(None);

fn profile() -> MutexGuard<'static, Option<Profile>> {
    static NONE: Mutex<Option<Profile>> = Mutex::new(None);
    let profile = if forked::is_child() { &NONE } else { &PROFILE };
    profile.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Creates the file, with its header and a first chunk of names. On failure, the file is removed.
pub(crate) fn create(may: impl MayWait, path: &Path, start: &Start<'_>) -> io::Result<PathBuf> {
    let (file, path) = create_unused(may, path, start.replaces, start.contents.has_values)?;
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
        // The disk had no space for it.
        let _ = std::fs::remove_file(&path);
    })?;
    let header = made.take_blocks(1).ok_or_else(failure)?;
    made.header = header;
    // SAFETY: the header is a zeroed, aligned block owned by this profile.
    let bytes = unsafe { std::slice::from_raw_parts_mut(header, BLOCK) };
    fill(bytes, start);
    made.names = made.take_chunk(ChunkKind::Names, 0, 0, CHUNK_HEADER).ok_or_else(failure)?;
    *profile() = Some(made);
    Ok(path)
}

/// Creates a new file, with this name or a number added. A file of exactly this name is removed first, if it is to be
/// replaced and no live process writes to it.
fn create_unused(may: impl MayWait, path: &Path, replaces: bool, has_values: bool) -> io::Result<(File, PathBuf)> {
    prepare_folder(may, path)?;
    // Held until the file has its own lock.
    let _lock = path.parent().and_then(lock_folder);
    if replaces && !is_in_use(path) {
        let _ = std::fs::remove_file(path);
    }
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        // The umask removes further rights. Only the owner may read values of the program.
        options.mode(if has_values { 0o600 } else { 0o644 });
    }
    #[cfg(not(unix))]
    let _ = has_values;
    for number in 1..1000 {
        let candidate = match (number, path.file_stem()) {
            (1, _) | (_, None) => path.to_owned(),
            (_, Some(stem)) => path.with_file_name(format!("{}-{number}.ilprof", stem.display())),
        };
        match options.open(&candidate) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            made => {
                let made = made?;
                // No other process replaces the file while this lock is held.
                #[cfg(unix)]
                let _ = made.try_lock();
                return Ok((made, candidate));
            }
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

/// Creates the folder of a profile.
///
/// # Errors
/// If the folder cannot be created, or if an existing entry of the profile's name is not a file.
pub(crate) fn prepare_folder(_: impl MayWait, path: &Path) -> io::Result<()> {
    if std::fs::symlink_metadata(path).is_ok_and(|there| !there.is_file()) {
        return Err(io::Error::other("it is there, and no regular file; name another by ILINST_OUTPUT"));
    }
    path.parent().map_or(Ok(()), make_folder)
}

/// The lock that the tracker also takes while it chooses a name in a folder. The wait is limited, as unrelated
/// processes may hold it. Windows needs no such lock, which would affect others: it removes no mapped file.
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

/// Whether a live process writes to a file, or this cannot be determined.
fn is_in_use(path: &Path) -> bool {
    #[cfg(unix)]
    return OpenOptions::new().read(true).write(true).open(path).map_or_else(
        |error| error.kind() != io::ErrorKind::NotFound,
        |file| matches!(file.try_lock(), Err(TryLockError::WouldBlock)),
    );
    #[cfg(not(unix))]
    return !path.exists();
}

/// Others may not write to a created folder.
fn make_folder(folder: &Path) -> io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o755);
    builder.recursive(true).create(folder)
}

fn fill(header: &mut [u8], start: &Start<'_>) {
    let time = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    for (at, number) in [
        (layout::VERSION_AT, layout::VERSION),
        (layout::CLOCK_AT, start.clock.number()),
        (layout::PID_AT, std::process::id()),
        (layout::POINTER_SIZE_AT, size_of::<usize>() as u32),
        (layout::SIZE_AT, BLOCK as u32),
        (layout::MAX_NODES_AT, start.max_nodes),
        (layout::HISTOGRAM_SHIFT_AT, start.histogram_shift),
        (layout::FLAGS_AT, if start.contents.has_allocations { flag::ALLOCATIONS } else { 0 }),
    ] {
        LE::write_u32(&mut header[at..], number);
    }
    for (at, number) in [
        (layout::TICKS_PER_SECOND_AT, start.ticks_per_second),
        (layout::START_AT, start.now.cast_unsigned()),
        (layout::END_AT, start.now.cast_unsigned()),
        (layout::TIME_AT, UNIX_EPOCH + (time.as_nanos() / 100) as u64),
        (layout::CPU_AT, (-1_i64).cast_unsigned()),
        (layout::MAGIC_AT, layout::MAGIC),
    ] {
        LE::write_u64(&mut header[at..], number);
    }
    let mut at = layout::STRINGS_AT;
    for text in start.strings {
        let text = cut(text, MAX_HEADER_STRING);
        LE::write_u32(&mut header[at..], text.len() as u32);
        header[at + 4..][..text.len()].copy_from_slice(text.as_bytes());
        at += 4 + text.len();
    }
}

/// A chunk, zeroed after its header, with this number of used bytes.
pub(crate) fn take(kind: ChunkKind, tree: u64, tree_number: u64, used: usize) -> Option<*mut Chunk> {
    profile().as_mut()?.take_chunk(kind, tree, tree_number, used)
}

/// A chunk of as many blocks as are used. It is filled before readers see it.
pub(crate) fn take_filled(kind: ChunkKind, tree: u64, used: usize, fill: impl FnOnce(*mut Chunk)) -> Option<*mut Chunk> {
    let mut profile = profile();
    let profile = profile.as_mut()?;
    let chunk: *mut Chunk = profile.take_blocks(used.div_ceil(BLOCK))?.cast();
    fill(chunk);
    profile.describe(chunk, kind, tree, 0, used);
    Some(chunk)
}

/// All chunks of a kind.
pub(crate) fn chunks_of(_: impl MayWait, kind: ChunkKind) -> Vec<*mut Chunk> {
    let profile = profile();
    let all = profile.iter().flat_map(|profile| &profile.chunks).copied();
    // SAFETY: chunks stay mapped.
    all.filter(|chunk| unsafe { (**chunk).kind.load(Relaxed) } == kind.number()).collect()
}

/// Whether a chunk begins at this address.
pub(crate) fn is_chunk(address: *mut Chunk) -> bool {
    profile().as_ref().is_some_and(|profile| profile.chunks.contains(&address))
}

/// The first chunk of a tree, which contains the tree.
pub(crate) fn take_first(tree_number: u64) -> Option<*mut Chunk> {
    let mut profile = profile();
    let profile = profile.as_mut()?;
    let chunk: *mut Chunk = profile.take_blocks(1)?.cast();
    let tree = (chunk.addr() + CHUNK_HEADER) as u64;
    profile.describe(chunk, ChunkKind::Nodes, tree, tree_number, node::FIRST_AT);
    Some(chunk)
}

/// Writes a name record: its kind, its subject, and strings.
pub(crate) fn write_name(kind: NameKind, about: &[u8], strings: &[&str]) {
    let mut record = vec![kind.number()];
    record.extend(about);
    strings.iter().for_each(|text| put_string(&mut record, text));
    write_record(RecordKind::Name, &record);
}

pub(crate) fn put_string(to: &mut Vec<u8>, text: &str) {
    let text = cut(text, MAX_STRING);
    to.put_u32(text.len() as u32);
    to.extend(text.as_bytes());
}

/// The kind of a record that shares a chunk with others.
#[derive(Clone, Copy)]
pub(crate) enum RecordKind {
    Name,
    Description,
}

/// Appends a record to the others of its kind.
pub(crate) fn write_record(kind: RecordKind, record: &[u8]) {
    let mut profile = profile();
    let Some(profile) = profile.as_mut() else { return };
    let (chunk_kind, mut chunk) = match kind {
        RecordKind::Name => (ChunkKind::Names, profile.names),
        RecordKind::Description => (ChunkKind::Descriptions, profile.descriptions),
    };
    // SAFETY: the chunk is mapped; writers hold the lock.
    unsafe {
        // A zero after the last record marks the end.
        let mut used = if chunk.is_null() { BLOCK } else { (*chunk).in_use() };
        if used + record.len() + 1 > BLOCK {
            let Some(new) = profile.take_chunk(chunk_kind, 0, 0, CHUNK_HEADER) else { return };
            (chunk, used) = (new, CHUNK_HEADER);
            match kind {
                RecordKind::Name => profile.names = new,
                RecordKind::Description => profile.descriptions = new,
            }
        }
        let to: *mut u8 = chunk.byte_add(used).cast();
        std::ptr::copy_nonoverlapping(record.as_ptr(), to, record.len());
        (*chunk).used.fetch_add(record.len() as u64, Release);
    }
}

impl Chunk {
    /// The number of used bytes of a one-block chunk. An impossible number counts as full, as other processes can
    /// write to the file.
    pub(crate) fn in_use(&self) -> usize {
        let used = self.used.load(Acquire) as usize;
        if (CHUNK_HEADER..=BLOCK).contains(&used) { used } else { BLOCK }
    }

    /// Whether the chunk contains a tree.
    pub(crate) fn begins_tree(&self) -> bool {
        self.tree == std::ptr::from_ref(self).addr() as u64 + CHUNK_HEADER as u64
    }
}

/// A field of the header.
fn header_i64(header: *mut u8, at: usize) -> &'static AtomicI64 {
    // SAFETY: the header stays mapped, and its fields are aligned.
    unsafe { &*header.add(at).cast() }
}

fn header_u32(header: *mut u8, at: usize) -> &'static AtomicU32 {
    // SAFETY: as in `header_i64`.
    unsafe { &*header.add(at).cast() }
}

/// Records that the program still runs, and the frequency of its clock as it is known by now.
pub(crate) fn record_progress(_: impl MayWait, now: i64, ticks_per_second: u64, cpu: Option<i64>) {
    if let Some(profile) = profile().as_ref() {
        header_i64(profile.header, layout::TICKS_PER_SECOND_AT).store(ticks_per_second.cast_signed(), Relaxed);
        header_i64(profile.header, layout::END_AT).store(now, Relaxed);
        header_i64(profile.header, layout::PROCESSES_AT).fetch_add(1, Relaxed);
        if let Some(cpu) = cpu {
            header_i64(profile.header, layout::CPU_AT).store(cpu, Relaxed);
        }
    }
}

/// Control fields of the header start here: the number of the last command, the command, the number of the last
/// completed one, whether recording is paused, a name, and the number of the last started command. A client that
/// cancels a command reads the latter afterwards.
const COMMANDED: usize = layout::CONTROL_AT + control::SEQUENCE_AT;
const COMMAND: usize = layout::CONTROL_AT + control::COMMAND_AT;
const CARRIED_OUT: usize = layout::CONTROL_AT + control::ACKNOWLEDGED_AT;
const STATE: usize = layout::CONTROL_AT + control::PAUSED_AT;
const NAME: usize = layout::CONTROL_AT + control::NAME_AT;
const BEGUN: usize = layout::CONTROL_AT + control::BEGUN_AT;
const MAX_NAME: usize = control::MAX_NAME;
/// The maximum number of pauses with times.
const PAUSES: usize = layout::PAUSES_AT;
const MAX_PAUSES: i64 = layout::MAX_PAUSES as i64;

/// Executes a new command, with its name, if there is one.
pub(crate) fn execute_command(_: impl MayWait, carry_out: impl FnOnce(u32, &str) -> bool) {
    // The lock is not held during the command, which uses the file itself.
    let Some(header) = profile().as_ref().map(|profile| profile.header) else { return };
    let [commanded, command, carried_out, begun] = [COMMANDED, COMMAND, CARRIED_OUT, BEGUN].map(|at| header_u32(header, at));
    let (number, last) = (commanded.load(Acquire), carried_out.load(Relaxed));
    if number == last {
        return;
    }
    // One side sees the other's write: a cancelling client sees that the command has started, or this code sees the
    // cancellation.
    begun.store(number, SeqCst);
    fence(SeqCst);
    if commanded.load(SeqCst) != number {
        begun.store(last, Release);
        return;
    }
    let mut name = [0; MAX_NAME];
    // Other processes can write to the file, so the length is checked first.
    let length = header_u32(header, NAME).load(Relaxed) as usize;
    let name = name.get_mut(..length).unwrap_or_default();
    // SAFETY: the header is mapped and contains that many bytes.
    unsafe { std::ptr::copy_nonoverlapping(header.add(NAME + 4), name.as_mut_ptr(), name.len()) };
    if carry_out(command.load(Relaxed), &String::from_utf8_lossy(name)) {
        carried_out.store(number, Release);
    }
}

/// Records that recording pauses or resumes. When the list of pauses is full, only their total time is kept. Returns
/// whether the state changed.
pub(crate) fn record_pause(_: impl MayWait, is_paused: bool, now: i64) -> bool {
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
            // The end of the last pause; a value already there ended an earlier one.
            let _ = pair(count - 1)[1].compare_exchange(0, now, Relaxed, Relaxed);
        }
    }
    true
}

/// Records the overhead per call in ticks: inside a call's own time, outside it, and the part for reading the clock.
pub(crate) fn set_cost(inside: f64, outside: f64, clock: f64) {
    if let Some(profile) = profile().as_ref() {
        for (at, cost) in [(layout::PROBE_INSIDE_AT, inside), (layout::PROBE_OUTSIDE_AT, outside), (layout::CLOCK_READ_AT, clock)]
        {
            header_i64(profile.header, at).store(cost.to_bits() as i64, Relaxed);
        }
    }
}

/// Records the mode of measurement.
pub(crate) fn set_mode(mode: RecordingMode) {
    if let Some(profile) = profile().as_ref() {
        header_u32(profile.header, layout::MODE_AT).store(mode.number(), Relaxed);
    }
}

/// Records the number of samples that were lost, of those that came late, and of threads without samples.
pub(crate) fn set_sample_losses(lost: u64, late: u64, unsampled_threads: u64) {
    if let Some(profile) = profile().as_ref() {
        for (at, number) in
            [(layout::LOST_SAMPLES_AT, lost), (layout::LATE_SAMPLES_AT, late), (layout::UNSAMPLED_THREADS_AT, unsampled_threads)]
        {
            header_i64(profile.header, at).store(number as i64, Relaxed);
        }
    }
}

/// Whether recording is paused.
pub(crate) fn is_paused() -> bool {
    profile().as_ref().is_some_and(|profile| header_u32(profile.header, STATE).load(Relaxed) != 0)
}

/// Sets and clears flags.
pub(crate) fn change_flags(set: u32, clear: u32) {
    if let Some(profile) = profile().as_ref() {
        profile.change_flags(set, clear);
    }
}

/// Ends the file, and truncates it after the last chunk where possible. Returns the mapped pieces, if there was a
/// file.
pub(crate) fn finish(_: impl MayWait, now: i64) -> Option<Pieces> {
    // Later calls find no profile.
    let mut profile = profile().take()?;
    header_i64(profile.header, layout::END_AT).store(now, Relaxed);
    profile.change_flags(flag::CLEAN_EXIT | flag::NAMES_COMPLETE, 0);
    if cfg!(unix) {
        let unused = profile.end.addr() - profile.next.addr();
        profile.end = profile.next;
        profile.size -= unused as u64;
        // A longer file is harmless.
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
        // SAFETY: it is a new, zeroed block.
        unsafe {
            (*chunk).size = used.max(1).next_multiple_of(BLOCK) as u32;
            (*chunk).address = chunk.addr() as u64;
            (*chunk).tree = tree;
            (*chunk).tree_number = tree_number;
            (*chunk).used.store(used as u64, Relaxed);
            // Written last, as readers may run at the same time.
            (*chunk).kind.store(kind.number(), Release);
        }
        self.chunks.push(chunk);
    }

    /// Contiguous blocks. The rest of a piece that is too short stays unused.
    fn take_blocks(&mut self, count: usize) -> Option<*mut u8> {
        let size = count * BLOCK;
        if self.end.addr() - self.next.addr() < size && (self.is_full || self.grow(size).is_err()) {
            if !self.is_full {
                self.is_full = true;
                self.change_flags(flag::DISK_FULL, 0);
            }
            return None;
        }
        let taken = self.next;
        // SAFETY: that many blocks are free there.
        self.next = unsafe { taken.add(size) };
        Some(taken)
    }

    /// Extends the file and maps the new part.
    fn grow(&mut self, needed: usize) -> io::Result<()> {
        let mut size = FIRST_SIZE;
        while size < LARGEST_SIZE && size as u64 <= self.size || size < needed {
            size *= 2;
        }
        allocate(&self.file, self.size, size)?;
        // SAFETY: the file belongs to this process. A process that truncates it harms its users, as with any mapping.
        let mut map = unsafe { MmapOptions::new().offset(self.size).len(size).map_mut(&self.file)? };
        self.size += size as u64;
        self.next = map.as_mut_ptr();
        self.pieces.0.push(map);
        // SAFETY: this is the end of the mapping.
        self.end = unsafe { self.next.add(size) };
        Ok(())
    }

    fn change_flags(&self, set: u32, clear: u32) {
        // SAFETY: as in `header_i64`.
        let flags: &AtomicU32 = unsafe { &*self.header.add(layout::FLAGS_AT).cast() };
        let _ = flags.fetch_update(Relaxed, Relaxed, |flags| Some(flags & !clear | set));
    }
}

/// Mapped parts are allocated on disk, so that a full disk cannot make a write fail.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn allocate(file: &File, from: u64, size: usize) -> io::Result<()> {
    use std::os::fd::AsRawFd;
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the call writes the limit.
    let is_limited = unsafe { libc::getrlimit(libc::RLIMIT_FSIZE, &mut limit) } == 0;
    // Growth of a file beyond the limit raises a signal that ends the process.
    if is_limited && from + size as u64 > limit.rlim_cur {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    for _ in 0..100 {
        // SAFETY: the file is open.
        match unsafe { libc::posix_fallocate(file.as_raw_fd(), from as libc::off_t, size as libc::off_t) } {
            0 => return Ok(()),
            // Interrupted by a signal: a runtime stops its threads by signals.
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
