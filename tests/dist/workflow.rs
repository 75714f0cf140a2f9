//! `.github/workflows/release.yml`: its commands in their order, as they stand there, and what one job gives the next.
//! What compiles, installs or talks to GitHub has a stand-in, which checks what it is asked for.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use tests::{ilinst, root, said, scratch, workflow_steps, write_command, xtask};

use crate::VERSION;

/// A build of the tool for macOS leaves it where cargo would.
const CARGO: &str = r#"
if [ "$1" = xtask ]; then shift; exec "$XTASK" "$@"; fi
[ "$*" = "+stable build --profile shipped --locked --package ilinst --target $TARGET" ] || exit 9
mkdir -p "target/$TARGET/shipped" && echo "for $TARGET" > "target/$TARGET/shipped/ilinst""#;
/// Debian has what is installed: lists of packages say so, where they are.
const APT_GET: &str = r#"
[ "$1" = install ] || exit 0
shift
for package; do case $package in -*) continue;; esac; echo "$package" >> "$ASKED_FOR"; done"#;
const RUSTUP: &str = r#"[ "$*" = "toolchain install stable --profile minimal --target $TARGET" ] || exit 9"#;
const GH: &str = r#"
[ "$1 $2 $3 $4 $5 $6 $7" = "release create v0 --repo us/ilinst --verify-tag --draft" ] || exit 9
shift 7
for file; do [ -s "$file" ] && basename "$file" >> "$ASKED_FOR"; done"#;

/// What xtask would build is given to it instead.
fn xtask_with(tool: &Path) -> String {
    let xtask = xtask();
    let program = [xtask.get_program()].into_iter().chain(xtask.get_args()).map(|word| format!("'{}'", word.display()));
    let program = program.collect::<Vec<_>>().join(" ");
    format!(
        "here=$PWD; for word; do shift; case $word in\n\
         --target) ;; win-x64|linux-arm64) set -- \"$@\" --tool \"$word=$STAND_IN\";; linux-x64) set -- \"$@\" --tool \"$word={}\";;\n\
         osx-*=*) set -- \"$@\" \"${{word%%=*}}=$here/${{word#*=}}\";; *) set -- \"$@\" \"$word\";; esac; done\n\
         cd '{}' && exec {program} \"$@\" --output \"$here/target/dist\"",
        tool.display(),
        root().display()
    )
}

/// A job's part of the file.
fn job<'w>(workflow: &'w str, name: &str) -> &'w str {
    let start = workflow.find(&format!("\n  {name}:\n")).expect("there is such a job") + 1;
    let rest = &workflow[start..];
    let next = rest.match_indices("\n  ").find(|(at, _)| rest.as_bytes()[at + 3].is_ascii_lowercase()).map(|(at, _)| at);
    &rest[..next.unwrap_or(rest.len())]
}

/// A machine that runs one job.
struct Machine {
    folder: PathBuf,
    commands: PathBuf,
    asked_for: PathBuf,
}

impl Machine {
    fn new(all: &Path, name: &str) -> Self {
        let folder = all.join(name);
        fs::create_dir_all(&folder).expect("a folder can be made");
        Self { folder, commands: all.join("commands"), asked_for: all.join(format!("{name} asked for")) }
    }

    /// Runs the commands of a job.
    fn run(&self, job: &str, target: &str) {
        let path = format!("{}:{}", self.commands.display(), env::var("PATH").expect("there is a PATH"));
        for (_, command) in workflow_steps(job) {
            let command = command.replace("${{ matrix.target }}", target);
            assert!(!command.contains("${{"), "{command}");
            let mut shell = Command::new("sh");
            shell.args(["-e", "-c", &command]).current_dir(&self.folder).env("PATH", &path).env("TARGET", target);
            shell.env("ASKED_FOR", &self.asked_for).env("XTASK", self.commands.join("xtask"));
            shell.env("STAND_IN", self.commands.join("stand-in"));
            shell.env("GITHUB_REF_NAME", "v0").env("GITHUB_REPOSITORY", "us/ilinst");
            let (text, errors, code) = said(&shell.output().expect("the shell starts"));
            assert_eq!(code, Some(0), "{command}\n{text}{errors}");
        }
    }

    /// What its job asked a stand-in for.
    fn asked_for(&self) -> Vec<String> {
        fs::read_to_string(&self.asked_for).unwrap_or_default().lines().map(str::to_owned).collect()
    }
}

#[test]
#[ignore = "needs crates.io"]
fn each_job_finds_what_the_one_before_has_made() {
    let workflow = fs::read_to_string(root().join(".github/workflows/release.yml")).expect("it is there");
    let all = scratch("dist-workflow");
    let commands = all.join("commands");
    fs::create_dir(&commands).expect("a folder can be made");
    fs::write(commands.join("stand-in"), "a program for another machine\n").expect("it can be written");
    let xtask = xtask_with(ilinst().get_program().as_ref());
    for (name, script) in [("cargo", CARGO), ("apt-get", APT_GET), ("rustup", RUSTUP), ("gh", GH), ("xtask", &xtask)] {
        write_command(&commands.join(name), script);
    }

    let dist = Machine::new(&all, "dist");
    // By name: `upload-artifact` and `download-artifact` of all of them make folders of these.
    for (platform, target) in [("osx-arm64", "aarch64-apple-darwin"), ("osx-x64", "x86_64-apple-darwin")] {
        let text = job(&workflow, "macos");
        assert!(text.contains(&format!("{{ platform: {platform}, target: {target} }}")), "{text}");
        assert!(text.contains("{ name: \"${{ matrix.platform }}\", path: \"target/${{ matrix.target }}/shipped/ilinst\" }"));
        let mac = Machine::new(&all, platform);
        mac.run(text, target);
        let artifact = dist.folder.join("target/macos").join(platform);
        fs::create_dir_all(&artifact).expect("a folder can be made");
        fs::copy(mac.folder.join("target").join(target).join("shipped/ilinst"), artifact.join("ilinst")).expect("it was built");
    }
    let text = job(&workflow, "dist");
    assert!(text.contains("with: { path: target/macos }") && text.contains("with: { name: dist, path: target/dist }"), "{text}");
    dist.run(text, "");
    assert_eq!(dist.asked_for(), ["ca-certificates", "git", "cargo-web", "rustc-web", "gcc", "libc6-dev"]);

    let release = Machine::new(&all, "release");
    let text = job(&workflow, "release");
    assert!(text.contains("with: { name: dist, path: dist }"), "{text}");
    fs::rename(dist.folder.join("target/dist"), release.folder.join("dist")).expect("it was packed");
    release.run(text, "");
    let mut released = release.asked_for();
    released.sort();
    let platforms = [
        "aarch64-apple-darwin",
        "aarch64-unknown-linux-gnu",
        "x86_64-apple-darwin",
        "x86_64-pc-windows-gnu",
        "x86_64-unknown-linux-gnu",
    ];
    let mut expected = vec![format!("Ilinst.MSBuild.{VERSION}.nupkg"), "SHA256SUMS".into(), format!("ilinst.{VERSION}.nupkg")];
    for platform in platforms {
        let kind = if platform.contains("windows") { "zip" } else { "tar.gz" };
        expected.extend(["cdx.json", kind].map(|kind| format!("ilinst-{VERSION}-{platform}.{kind}")));
    }
    expected.sort();
    assert_eq!(released, expected);
}
