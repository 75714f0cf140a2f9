//! The ways to record a live program, and each program by each of them.

use std::io::Write as _;

use super::{
    attach::{attach, attached},
    *,
};

/// A way to record a live program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Way {
    /// `run --live --hooks`
    Hooks,
    /// `run --live`
    Rewrite,
    /// `attach`, before `Main` runs.
    Attach,
}

impl Way {
    pub(super) const ALL: [Self; 3] = [Self::Hooks, Self::Rewrite, Self::Attach];
}

impl Work {
    /// Runs a program to its end while all its methods are recorded. Returns its output, the messages of `ilinst`, and its exit
    /// code as a shell has it. The profile is alone in [`Work::profiles`].
    pub(super) fn recorded_by(
        &self,
        way: Way,
        runtime: &Runtime,
        options: &[&str],
        app: &Path,
        arguments: &[&str],
    ) -> (String, String, Option<i32>) {
        // In .NET 10, runtime-async is a preview.
        const RUNTIME_ASYNC: (&str, &str) = ("DOTNET_RuntimeAsync", "1");
        let _ = fs::remove_dir_all(self.profiles(runtime));
        let of_way: &[&str] = match way {
            Way::Hooks => &["--calls=none"],
            Way::Rewrite => &["--calls=none", "--rewrite"],
            Way::Attach => &["--for=1h"],
        };
        let options = [&["--all"], of_way, options].concat();
        if way != Way::Attach {
            let mut command = self.live(runtime, &options, app, arguments);
            return said(&output(command.env(RUNTIME_ASYNC.0, RUNTIME_ASYNC.1)));
        }
        let hook = self.folder.join("hook/waits.dll");
        compile(&root().join("tests/live/waits.cs"), &hook, References::All, &[]).expect("there is a compiler");
        let mut command = runtime.program(app, &self.folder);
        command.args(arguments).env("DOTNET_STARTUP_HOOKS", &hook).env(RUNTIME_ASYNC.0, RUNTIME_ASYNC.1);
        let mut child = tests::waiting(&mut command);
        let profiles = self.profiles(runtime);
        let name = profiles.file_name().and_then(|name| name.to_str()).expect("it has a name");
        let recording = attached(&mut attach(self, child.id(), name, &options));
        child.stdin.take().expect("a pipe").write_all(b"go\n").expect("it reads");
        let ended = child.wait_with_output().expect("it ends");
        let (text, _, code) = said(&ended);
        let (_, errors, _) = said(&recording.wait_with_output().expect("it ends"));
        (text, errors, code.or_else(|| ended.status.signal().map(|signal| 128 + signal)))
    }
}
