//! Pages in headless Chromium, driven by its DevTools protocol over two pipes.

use std::{
    fs,
    io::{BufRead as _, BufReader, Write as _},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

use serde_json::{Value, json};

use crate::{require, scratch, until};

/// A browser with one page; dropping it ends the browser.
pub struct Browser {
    process: Child,
    commands: ChildStdin,
    messages: BufReader<ChildStdout>,
    /// The page's session.
    session: Option<String>,
    last: u64,
    /// The page's console messages, uncaught exceptions, and network requests.
    pub complaints: Vec<String>,
    profile: PathBuf,
}

impl Browser {
    /// Starts a browser with a window of this size in pixels. Returns `None` without one, as [`require`] does.
    pub fn start(name: &str, width: u32, height: u32) -> Option<Self> {
        let chromium = require("ILINST_CHROMIUM")?;
        let profile = scratch(&format!("browser-{name}"));
        // Chromium reads commands from descriptor 3 and writes messages to 4.
        let mut command = Command::new("sh");
        command.args(["-c", "exec \"$@\" 3<&0 4>&1 </dev/null >/dev/null 2>&1", "sh"]).arg(chromium);
        command.args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"]);
        command.args(["--disable-background-networking", "--disable-component-update", "--disable-sync", "--hide-scrollbars"]);
        command.args(["--disable-dev-shm-usage", "--force-device-scale-factor=1", "--remote-debugging-pipe"]);
        command.arg(format!("--window-size={width},{height}")).arg(format!("--user-data-dir={}", profile.display()));
        command.arg("about:blank").stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command.spawn().expect("the browser starts");
        let commands = process.stdin.take().expect("it is piped");
        let messages = BufReader::new(process.stdout.take().expect("it is piped"));
        let mut browser = Self { process, commands, messages, session: None, last: 0, complaints: Vec::new(), profile };
        let page = browser.call("Target.createTarget", &json!({ "url": "about:blank" }));
        let attached = browser.call("Target.attachToTarget", &json!({ "targetId": page["targetId"], "flatten": true }));
        browser.session = attached["sessionId"].as_str().map(str::to_owned);
        for domain in ["Page", "Runtime", "Network", "Log"] {
            browser.call(&format!("{domain}.enable"), &json!({}));
        }
        browser.resize(width, height);
        Some(browser)
    }

    /// Resizes the window, in pixels.
    pub fn resize(&mut self, width: u32, height: u32) {
        let metrics = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false });
        self.call("Emulation.setDeviceMetricsOverride", &metrics);
    }

    /// Opens a file, and waits until it is loaded; `hash` is the part behind `#`.
    pub fn open(&mut self, file: &Path, hash: &str) {
        let file = file.canonicalize().expect("the page is there");
        // A change of the hash alone would not reload the page.
        self.call("Page.navigate", &json!({ "url": "about:blank" }));
        self.call("Page.navigate", &json!({ "url": format!("file://{}#{hash}", file.display()) }));
        self.wait("document.readyState === 'complete' && location.protocol === 'file:'");
    }

    /// Opens a page of a server.
    pub fn visit(&mut self, address: &str) {
        self.call("Page.navigate", &json!({ "url": address }));
        self.wait("document.readyState === 'complete' && location.protocol === 'http:'");
    }

    /// Returns the value of an expression as JSON.
    pub fn eval(&mut self, expression: &str) -> Value {
        let asked = json!({ "expression": expression, "returnByValue": true, "awaitPromise": true });
        let answer = self.call("Runtime.evaluate", &asked);
        assert!(answer.get("exceptionDetails").is_none(), "{expression}: {answer:#}");
        answer["result"]["value"].clone()
    }

    /// Waits until an expression is true.
    pub fn wait(&mut self, expression: &str) {
        until(expression, || (self.eval(expression) == true).then_some(()));
    }

    /// Waits until the requested frame has been drawn.
    pub fn settle(&mut self) {
        self.eval("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))");
    }

    /// Clicks at a point of the window.
    pub fn click_at(&mut self, x: f64, y: f64) {
        for kind in ["mouseMoved", "mousePressed", "mouseReleased"] {
            let buttons = u32::from(kind == "mousePressed");
            let (button, count) = if kind == "mouseMoved" { ("none", 0) } else { ("left", 1) };
            let event = json!({ "type": kind, "x": x, "y": y, "button": button, "buttons": buttons, "clickCount": count });
            self.call("Input.dispatchMouseEvent", &event);
        }
        self.settle();
    }

    /// Clicks in the middle of the first element that matches a selector.
    pub fn click(&mut self, selector: &str) {
        let place = self.eval(&format!(
            "(() => {{ const box = document.querySelector({}).getBoundingClientRect();
             return [box.x + box.width / 2, box.y + box.height / 2]; }})()",
            json!(selector)
        ));
        self.click_at(place[0].as_f64().expect("a number"), place[1].as_f64().expect("a number"));
    }

    /// Presses a key, by its name in `KeyboardEvent.key`.
    pub fn key(&mut self, key: &str) {
        let code = match key {
            "Enter" => 13,
            "Escape" => 27,
            "Tab" => 9,
            "End" => 35,
            "Home" => 36,
            "ArrowLeft" => 37,
            "ArrowUp" => 38,
            "ArrowRight" => 39,
            "ArrowDown" => 40,
            _ => key.to_uppercase().bytes().next().unwrap_or_default(),
        };
        let text = if key.chars().count() == 1 { key } else { "" };
        let event = |kind: &str| json!({ "type": kind, "key": key, "text": text, "windowsVirtualKeyCode": code });
        self.call("Input.dispatchKeyEvent", &event(if text.is_empty() { "rawKeyDown" } else { "keyDown" }));
        self.call("Input.dispatchKeyEvent", &json!({ "type": "keyUp", "key": key, "windowsVirtualKeyCode": code }));
        self.settle();
    }

    /// Types text into the focused element.
    pub fn type_text(&mut self, text: &str) {
        self.call("Input.insertText", &json!({ "text": text }));
        self.settle();
    }

    /// Sets the preferred colour scheme, `dark` or `light`.
    pub fn prefer(&mut self, scheme: &str) {
        let features = json!([{ "name": "prefers-color-scheme", "value": scheme }]);
        self.call("Emulation.setEmulatedMedia", &json!({ "features": features }));
    }

    /// Returns a picture of the window, as a PNG in Base64.
    pub fn picture(&mut self) -> String {
        let picture = self.call("Page.captureScreenshot", &json!({ "format": "png", "optimizeForSpeed": false }));
        picture["data"].as_str().expect("a picture").to_owned()
    }

    /// Sends a command, and waits for its answer.
    pub fn call(&mut self, method: &str, params: &Value) -> Value {
        self.last += 1;
        let mut command = json!({ "id": self.last, "method": method, "params": params });
        if let Some(session) = &self.session {
            command["sessionId"] = session.as_str().into();
        }
        let mut bytes = command.to_string().into_bytes();
        bytes.push(0);
        self.commands.write_all(&bytes).expect("the browser listens");
        loop {
            let mut message = Vec::new();
            self.messages.read_until(0, &mut message).expect("the browser answers");
            assert_eq!(message.pop(), Some(0), "{method}: the browser ended");
            let message: Value = serde_json::from_slice(&message).expect("it is JSON");
            if message["id"] == self.last {
                assert!(message.get("error").is_none(), "{method}: {}", message["error"]);
                return message["result"].clone();
            }
            self.note(&message);
        }
    }

    /// Records complaints: events that a page must not cause.
    fn note(&mut self, message: &Value) {
        let params = &message["params"];
        let complaint = match message["method"].as_str().unwrap_or_default() {
            "Runtime.exceptionThrown" => params["exceptionDetails"].to_string(),
            "Runtime.consoleAPICalled" => params["args"].to_string(),
            "Log.entryAdded" => params["entry"].to_string(),
            "Network.requestWillBeSent" => match params["request"]["url"].as_str().unwrap_or_default() {
                url if url.starts_with("file:") || url.starts_with("about:") || url.starts_with("data:") => return,
                url => format!("asked for {url}"),
            },
            _ => return,
        };
        println!("the page: {complaint}");
        self.complaints.push(complaint);
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = fs::remove_dir_all(&self.profile);
    }
}
