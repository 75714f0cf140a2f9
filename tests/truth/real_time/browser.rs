//! .NET for browsers, by Node and by Chromium: one thread, a clock of large steps, and an end that nobody is told of.

use std::{
    collections::BTreeMap,
    fs,
    io::{BufRead as _, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use base64ct::{Base64, Encoding as _};
use serde_json::Value;
use tests::{
    Browser, References, Report, browser_program, compile, instrument, pack_as_webcil, put_browser_net, require, root, said,
    scratch,
};

/// The step of a page's clock, where it is not isolated from others.
const STEP_NS: f64 = 100_000.0;
/// In points of percent.
const WITHIN: f64 = 5.0;
const METHODS: [&str; 2] = ["Page::Heavy", "Page::Light"];

/// The program, as it was compiled and as it was woven: folders that a page can load.
struct Pages {
    original: PathBuf,
    woven: PathBuf,
}

impl Pages {
    fn make(name: &str, is_webcil: bool, options: &[&str]) -> Option<Self> {
        let folder = scratch(&format!("truth-page-{name}"));
        let (original, woven) = (folder.join("original"), folder.join("woven"));
        let program = original.join("Page.exe");
        compile(&root().join("tests/truth/real_time/programs/Page.cs"), &program, References::All, &[])?;
        fs::rename(&program, program.with_extension("dll")).expect("it can be renamed");
        let mut arguments: Vec<&dyn AsRef<std::ffi::OsStr>> = vec![&original, &"-o", &woven, &"-q"];
        arguments.extend(options.iter().map(|option| option as &dyn AsRef<std::ffi::OsStr>));
        instrument(&arguments);
        for folder in [&original, &woven] {
            if is_webcil {
                pack_as_webcil(folder)?;
            }
            put_browser_net(folder, "Page")?;
        }
        Some(Self { original, woven })
    }
}

/// Returns the program's own record: calls of a method, and how long they took in ns.
fn record(output: &str) -> BTreeMap<String, [f64; 2]> {
    let of_line = |line: &str| {
        let words: Vec<&str> = line.split(' ').collect();
        let [name, calls, time] = words[..] else { panic!("{line}") };
        (name.to_owned(), [calls, time].map(|word| word.parse().expect("a number")))
    };
    output.lines().map(of_line).collect()
}

/// Runs the program, and waits 1.2 s for its last profile: in mode count there is one each 500 ms, in others 100 ms after a call.
fn run_in_node(folder: &Path, variables: &[(&str, &str)]) -> String {
    let mut command = browser_program(folder);
    command.env("LINGER_MS", "1200").envs(variables.iter().copied());
    let (output, errors, code) = said(&command.output().expect("Node starts"));
    assert_eq!((errors.as_str(), code), ("", Some(5)), "{output}");
    output
}

fn file_that_ends(folder: &Path, ending: &str) -> Option<PathBuf> {
    let files = fs::read_dir(folder).expect("it is there").flatten().map(|file| file.path());
    files.into_iter().find(|path| path.to_string_lossy().ends_with(ending))
}

/// Holds a report against the program's own record of the same run: each run is compiled anew, and takes another time.
fn check(truth: &BTreeMap<String, [f64; 2]>, report: &Report, wrong: &mut Vec<String>) {
    let share = |times: [f64; 2]| times[0] * 100.0 / (times[0] + times[1]);
    let said = share(METHODS.map(|method| truth[method][1]));
    let found = share(METHODS.map(|method| report.sum(method, "selfMs")));
    println!("Heavy has {said:.1} %, the report says {found:.1}");
    if (said - found).abs() > WITHIN {
        wrong.push(format!("Heavy has {said:.1} %, the report says {found:.1}"));
    }
    for method in METHODS {
        if report.calls(method) as f64 != truth[method][0] {
            wrong.push(format!("{} calls of {method}, the report says {}", truth[method][0], report.calls(method)));
        }
    }
    let step: Vec<f64> = limits(report).iter().filter_map(|limit| number_behind(limit, "the clock ticks every ")).collect();
    if !matches!(step[..], [step] if (step - STEP_NS).abs() < STEP_NS / 100.0) {
        wrong.push(format!("the clock's step is said to be {step:?} ns"));
    }
    let probes = report.document["probesMs"].as_f64().unwrap_or_default();
    if probes <= 0.0 {
        wrong.push("no time of probes is subtracted".to_owned());
    }
    if report.end != "still running" {
        wrong.push("a living page is not said to run".to_owned());
    }
}

fn limits(report: &Report) -> Vec<String> {
    let limits = report.document["limits"].as_array().cloned().unwrap_or_default();
    limits.iter().filter_map(|limit| limit.as_str().map(str::to_owned)).collect()
}

fn number_behind(text: &str, words: &str) -> Option<f64> {
    text.strip_prefix(words)?.split(' ').next()?.parse().ok()
}

#[test]
#[ignore = "needs .NET, Node and a download"]
fn probes_are_subtracted_by_a_clock_of_large_steps() {
    let Some(pages) = Pages::make("node", false, &["--all"]) else { return };
    let coarse = [("CLOCK_STEP_MS", "0.1")];
    let truth = record(&run_in_node(&pages.woven, &coarse));
    let path = file_that_ends(&pages.woven, ".ilprof").expect("there is a profile");
    let mut wrong = Vec::new();
    check(&truth, &Report::with(&path, &[]).expect("it is a profile"), &mut wrong);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
#[ignore = "needs .NET, Node and a download"]
fn each_mode_has_a_profile_without_threads() {
    let Some(pages) = Pages::make("modes", false, &[]) else { return };
    let truth = record(&run_in_node(&pages.original, &[]));
    for (mode, as_mode) in [("sampled", "exact"), ("trace", "trace"), ("count", "count")] {
        run_in_node(&pages.woven, &[("ILINST_MODE", mode), ("ILINST_LOG", "/run.log")]);
        let path = file_that_ends(&pages.woven, ".ilprof").expect("there is a profile");
        let report = Report::with(&path, &[]).expect("it is a profile");
        assert_eq!(report.document["mode"], as_mode);
        let runtime = report.document["runtime"].as_str().unwrap_or_default();
        assert!(runtime.contains(", browser"), "{runtime}");
        METHODS.iter().for_each(|method| assert_eq!(report.calls(method) as f64, truth[*method][0], "{mode}: {method}"));
        let log = fs::read_to_string(pages.woven.join("run.log")).expect("there is a log");
        assert_eq!(log.contains("mode exact: a sampler needs threads"), mode == "sampled", "{log}");
        fs::remove_file(path).expect("it can be removed");
        fs::remove_file(pages.woven.join("run.log")).expect("it can be removed");
    }
}

#[test]
#[ignore = "needs .NET, Node and a download"]
fn the_coverage_preset_has_its_file_without_an_end() {
    let Some(pages) = Pages::make("coverage", false, &["--preset", "coverage"]) else { return };
    let truth = record(&run_in_node(&pages.woven, &[]));
    let path = file_that_ends(&pages.woven, ".coverage.tsv").expect("there is a file");
    let lines = fs::read_to_string(path).expect("it is text");
    for method in METHODS {
        let line = lines.lines().find(|line| line.contains(method)).unwrap_or_else(|| panic!("{lines}"));
        assert_eq!(line.split('\t').next(), Some(truth[method][0].to_string().as_str()), "{lines}");
    }
}

#[test]
#[ignore = "needs .NET, Chromium and a download"]
fn a_page_has_its_counts_and_times() {
    let mut wrong = Vec::new();
    for (name, is_webcil) in [("plain", false), ("webcil", true)] {
        let Some(pages) = Pages::make(name, is_webcil, &["--all"]) else { return };
        let Some(mut browser) = Browser::start(name, 800, 600) else { return };
        let Some(truth) = visit(&mut browser, &pages.original) else { return };
        let Some(of_woven) = visit(&mut browser, &pages.woven) else { return };
        let report = report_of(&pages, &browser.eval("read('.ilprof')"));
        METHODS.iter().for_each(|method| assert_eq!(truth[*method][0], of_woven[*method][0], "{name}: {method}"));
        let mut of_page = Vec::new();
        check(&of_woven, &report, &mut of_page);
        wrong.extend(of_page.iter().map(|wrong| format!("{name}: {wrong}")));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
#[ignore = "needs .NET, Chromium and a download"]
fn blazors_script_starts_a_program_with_variables_and_has_its_profile() {
    let Some(pages) = Pages::make("blazor", false, &[]) else { return };
    let Some(mut browser) = Browser::start("blazor", 800, 600) else { return };
    let Some(server) = Server::start(&pages.woven) else { return };
    browser.visit(&format!("http://127.0.0.1:{}/blazor.html", server.port));
    browser.wait("lines.length == 2");
    let truth = record(browser.eval("lines.join('\\n')").as_str().expect("it is text"));
    let report = report_of(&pages, &browser.eval("profile()"));
    METHODS.iter().for_each(|method| assert_eq!(report.calls(method) as f64, truth[*method][0], "{method}"));
}

fn report_of(pages: &Pages, profile: &Value) -> Report {
    let path = pages.woven.join("page.ilprof");
    let bytes = Base64::decode_vec(profile.as_str().expect("it is text")).expect("it is base 64");
    fs::write(&path, bytes).expect("it can be written");
    Report::with(&path, &[]).expect("it is a profile")
}

/// Opens the page of a folder, waits for the program's end, and returns its record.
fn visit(browser: &mut Browser, folder: &Path) -> Option<BTreeMap<String, [f64; 2]>> {
    let server = Server::start(folder)?;
    browser.visit(&format!("http://127.0.0.1:{}/page.html", server.port));
    browser.wait("window.code !== undefined");
    assert_eq!(browser.eval("window.code"), 5, "{:#?}", browser.complaints);
    Some(record(browser.eval("lines.join('\\n')").as_str().expect("it is text")))
}

/// Python's server of a folder's files; dropping it ends it.
struct Server {
    process: Child,
    port: u16,
}

impl Server {
    fn start(folder: &Path) -> Option<Self> {
        let mut command = Command::new(require("ILINST_PYTHON")?);
        command.args(["-u", "-m", "http.server", "0", "--bind", "127.0.0.1", "--directory"]).arg(folder);
        let mut process = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("Python starts");
        let mut line = String::new();
        BufReader::new(process.stdout.take().expect("it is piped")).read_line(&mut line).expect("it says its port");
        let port = line.split("port ").nth(1).and_then(|rest| rest.split(' ').next()?.parse().ok());
        Some(Self { process, port: port.unwrap_or_else(|| panic!("{line}")) })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
