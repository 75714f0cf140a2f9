//! The table of threads.

use std::fmt::Write;

use identity::Visible;

use crate::model::Profile;

impl Profile {
    /// The threads as text, or those one after another that shared a tree: how long they ran and waited, and their CPU time.
    pub fn thread_table(&self) -> String {
        let mut text = String::new();
        let _ = writeln!(text, "{:>12} {:>7} {:>12} {:>12} {:>12}  thread", "running ms", "%", "waiting ms", "CPU ms", "calls");
        for row in self.thread_rows() {
            let cpu = row.cpu_ms.map(|cpu| format!("{cpu:.3}")).unwrap_or_default();
            let (running, percent, waiting) = (row.running_ms, row.running_percent, row.waiting_ms);
            let _ = write!(text, "{running:>12.3} {percent:>7.2} {waiting:>12.3} {cpu:>12} {:>12}  ", row.calls);
            let _ = writeln!(text, "{}", Visible(row.name));
        }
        text
    }
}
