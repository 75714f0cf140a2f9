//! Watches the files that a process opens: a process that ends at once is gone before it can be asked for its modules.

use std::path::{Path, PathBuf};

#[cfg(target_os = "linux")]
use nix::sys::inotify::{AddWatchFlags, InitFlags, Inotify, WatchDescriptor};

/// Files that are watched.
pub(crate) struct Opened {
    #[cfg(target_os = "linux")]
    watched: Option<(Inotify, Vec<(WatchDescriptor, PathBuf)>)>,
}

impl Opened {
    /// Watches files; where the system cannot, none.
    #[cfg(target_os = "linux")]
    pub(crate) fn watch<'p>(paths: impl Iterator<Item = &'p Path>) -> Self {
        let inotify = Inotify::init(InitFlags::IN_NONBLOCK | InitFlags::IN_CLOEXEC).ok();
        let watch =
            |inotify: &Inotify, path: &Path| Some((inotify.add_watch(path, AddWatchFlags::IN_OPEN).ok()?, path.to_owned()));
        let watched = inotify.map(|inotify| {
            let watches = paths.filter_map(|path| watch(&inotify, path)).collect();
            (inotify, watches)
        });
        Self { watched }
    }

    #[cfg(not(target_os = "linux"))]
    pub(crate) fn watch<'p>(_: impl Iterator<Item = &'p Path>) -> Self {
        Self {}
    }

    /// Those that were opened.
    #[cfg(target_os = "linux")]
    pub(crate) fn take(self) -> Vec<PathBuf> {
        let Some((inotify, watches)) = self.watched else { return Vec::new() };
        let mut opened = Vec::new();
        while let Ok(events) = inotify.read_events() {
            let paths = events.iter().filter_map(|event| watches.iter().find(|(watch, _)| *watch == event.wd));
            opened.extend(paths.map(|(_, path)| path.clone()));
        }
        opened
    }

    #[cfg(not(target_os = "linux"))]
    pub(crate) fn take(self) -> Vec<PathBuf> {
        Vec::new()
    }
}
