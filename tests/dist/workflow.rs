//! `.github/workflows/release.yml`: runs its commands unchanged and in order, and passes artifacts between jobs. Programs that
//! compile, install or talk to GitHub are replaced by stand-ins, which check their arguments.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use tests::{ilinst, root, said, scratch, workflow_steps, write_command, xtask};

use crate::VERSION;

/// A stand-in for cargo: xtask's build of the tool for macOS is left in cargo's folder.
const CARGO: &str = r#"
if [ "$1" = xtask ]; then shift; exec "$XTASK" "$@"; fi
[ "$*" = "build --profile shipped --locked --package ilinst --target $TARGET" ] || exit 9
mkdir -p "$CARGO_TARGET_DIR/$TARGET/shipped" && echo "for $TARGET" > "$CARGO_TARGET_DIR/$TARGET/shipped/ilinst""#;
/// A stand-in for apt-get, which records the requested packages.
const APT_GET: &str = r#"
[ "$1" = install ] || exit 0
shift
for package; do case $package in -*) continue;; esac; echo "$package" >> "$ASKED_FOR"; done"#;
const RUSTUP: &str = r#"[ "$*" = "target add $TARGET" ] || exit 9"#;
const GH: &str = r#"
[ "$1 $2 $3 $4 $5 $6 $7 $8" = "release create $GITHUB_REF_NAME --repo us/ilinst --verify-tag --draft --notes-file" ] || exit 9
[ -s "$9" ] || exit 9
shift 9
for file; do [ -s "$file" ] && basename "$file" >> "$ASKED_FOR"; done"#;
const DOTNET: &str = r#"
[ "$1 $2 $4 $6 $7 $8" = "nuget push --source --skip-duplicate --api-key a-key" ] || exit 9
[ -s "$3" ] && basename "$3" >> "$ASKED_FOR""#;

/// Returns a stand-in for xtask, which gets a built tool instead of building one.
fn xtask_with(tool: &Path) -> String {
    let xtask = xtask();
    let program = [xtask.get_program()].into_iter().chain(xtask.get_args()).map(|word| format!("'{}'", word.display()));
    let program = program.collect::<Vec<_>>().join(" ");
    format!(
        "here=$PWD task=$1; shift; for word; do shift; case $word in\n\
         --target) ;; win-x64|linux-arm64) set -- \"$@\" --tool \"$word=$STAND_IN\";; linux-x64) set -- \"$@\" --tool \"$word={}\";;\n\
         osx-*=*) set -- \"$@\" \"${{word%%=*}}=$here/${{word#*=}}\";; dist) set -- \"$@\" \"$here/dist\";;\n\
         --native) export CARGO_TARGET_DIR=\"$here/target\"; set -- \"$@\" \"$word\";; *) set -- \"$@\" \"$word\";; esac; done\n\
         if [ $task = dist ]; then set -- \"$@\" --output \"$here/target/dist\"; fi\n\
         cd '{}' && exec {program} $task \"$@\"",
        tool.display(),
        root().display()
    )
}

/// Returns a job's part of the file.
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
    fn run(&self, job: &str, (platform, target): (&str, &str), variables: &[(&str, &str)]) {
        let path = format!("{}:{}", self.commands.display(), env::var("PATH").expect("there is a PATH"));
        for (_, command) in workflow_steps(job) {
            let command = command.replace("${{ matrix.platform }}", platform);
            assert!(!command.contains("${{"), "{command}");
            let mut shell = Command::new("sh");
            shell.args(["-e", "-c", &command]).current_dir(&self.folder).env("PATH", &path).env("TARGET", target);
            shell.env("ASKED_FOR", &self.asked_for).env("XTASK", self.commands.join("xtask"));
            shell.env("STAND_IN", self.commands.join("stand-in"));
            shell.env("GITHUB_REF_NAME", format!("v{VERSION}")).env("GITHUB_REPOSITORY", "us/ilinst");
            shell.env("GITHUB_OUTPUT", self.folder.join("output")).env_remove("NUGET_API_KEY").envs(variables.iter().copied());
            let (text, errors, code) = said(&shell.output().expect("the shell starts"));
            assert_eq!(code, Some(0), "{command}\n{text}{errors}");
        }
    }

    /// Returns the requests of the job to stand-ins.
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
    let scripts = [("cargo", CARGO), ("apt-get", APT_GET), ("rustup", RUSTUP), ("gh", GH), ("dotnet", DOTNET), ("xtask", &xtask)];
    for (name, script) in scripts {
        write_command(&commands.join(name), script);
    }
    const LINUX: (&str, &str) = ("", "");

    let check = Machine::new(&all, "check");
    let text = job(&workflow, "check");
    assert!(text.contains("version: \"${{ steps.check.outputs.version }}\"") && text.contains("id: check"), "{text}");
    check.run(text, LINUX, &[]);
    let output = fs::read_to_string(check.folder.join("output")).expect("the step has an output");
    assert_eq!(output, format!("version={VERSION}\n"));

    let dist = Machine::new(&all, "dist");
    let text = job(&workflow, "macos");
    assert!(text.contains("platform: [osx-arm64, osx-x64]"), "{text}");
    assert!(text.contains("{ name: \"${{ matrix.platform }}\", path: \"target/native/${{ matrix.platform }}/ilinst\" }"));
    // By name: `upload-artifact` and `download-artifact` create folders with these names.
    for (platform, target) in [("osx-arm64", "aarch64-apple-darwin"), ("osx-x64", "x86_64-apple-darwin")] {
        let mac = Machine::new(&all, platform);
        mac.run(text, (platform, target), &[]);
        let artifact = dist.folder.join("target/macos").join(platform);
        fs::create_dir_all(&artifact).expect("a folder can be made");
        let built = mac.folder.join("target/native").join(platform).join("ilinst");
        fs::copy(built, artifact.join("ilinst")).expect("it was built");
    }
    let text = job(&workflow, "dist");
    assert!(text.contains("with: { path: target/macos, pattern: \"osx-*\" }"), "{text}");
    assert!(text.contains("with: { name: dist, path: target/dist }"), "{text}");
    dist.run(text, LINUX, &[]);
    assert_eq!(dist.asked_for(), ["ca-certificates", "git", "cargo-web", "rustc-web", "gcc", "libc6-dev"]);

    let release = Machine::new(&all, "release");
    for name in ["provenance", "sbom", "release", "nuget"] {
        let text = job(&workflow, name);
        assert!(text.contains("with: { name: dist, path: dist }"), "{text}");
    }
    fs::rename(dist.folder.join("target/dist"), release.folder.join("dist")).expect("it was packed");
    release.run(job(&workflow, "release"), LINUX, &[]);
    let mut released = release.asked_for();
    released.sort();
    let packages = [format!("Ilinst.MSBuild.{VERSION}.nupkg"), format!("ilinst.{VERSION}.nupkg")];
    let mut expected = [&packages[..], &["SHA256SUMS".to_owned()]].concat();
    let sbom = job(&workflow, "sbom");
    for path in [
        "subject-path: \"dist/ilinst-${{ needs.check.outputs.version }}-${{ matrix.triple }}.${{ matrix.archive }}\"",
        "sbom-path: \"dist/ilinst-${{ needs.check.outputs.version }}-${{ matrix.triple }}.cdx.json\"",
    ] {
        assert!(sbom.contains(path), "{sbom}");
    }
    for platform in [
        "aarch64-apple-darwin",
        "aarch64-unknown-linux-gnu",
        "x86_64-apple-darwin",
        "x86_64-pc-windows-gnu",
        "x86_64-unknown-linux-gnu",
    ] {
        let kind = if platform.contains("windows") { "zip" } else { "tar.gz" };
        assert!(sbom.contains(&format!("{{ triple: {platform}, archive: {kind} }}")), "{sbom}");
        expected.extend(["cdx.json", kind].map(|kind| format!("ilinst-{VERSION}-{platform}.{kind}")));
    }
    expected.sort();
    assert_eq!(released, expected);

    // The same files on another machine are published only with the key.
    let nuget = Machine::new(&all, "nuget");
    fs::rename(release.folder.join("dist"), nuget.folder.join("dist")).expect("it is there");
    let text = job(&workflow, "nuget");
    nuget.run(text, LINUX, &[("NUGET_API_KEY", "")]);
    assert!(nuget.asked_for().is_empty());
    nuget.run(text, LINUX, &[("NUGET_API_KEY", "a-key")]);
    assert_eq!(nuget.asked_for(), packages);

    // A file that was changed between the jobs is not released.
    fs::write(nuget.folder.join("dist").join(&packages[0]), "another").expect("it can be written");
    let mut command = tests::xtask();
    command.args(["release", "nuget"]).arg(nuget.folder.join("dist")).env("NUGET_API_KEY", "a-key");
    let (_, errors, code) = said(&command.output().expect("xtask starts"));
    assert!(code == Some(1) && errors.contains("has SHA-256"), "{errors}");
}
