//! Chromium, driven through two pipes: without a port, which another program could have.

use std::env;
use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

/// The longest wait for an answer before the test fails, even on a machine that does ten other things.
const PATIENCE: Duration = Duration::from_secs(300);

/// The name of a Chromium that runs here.
fn found() -> Option<&'static str> {
    let names = ["chromium", "chromium-browser", "google-chrome"];
    let runs = |name: &&str| {
        let version = Command::new(name).arg("--version").output();
        version.is_ok_and(|output| output.status.success())
    };
    names.into_iter().find(runs)
}

/// The source of axe-core 4, whose path is in `MAYHAP_AXE`.
pub(crate) fn axe() -> Option<String> {
    let Ok(path) = env::var("MAYHAP_AXE") else {
        eprintln!("SKIPPED: MAYHAP_AXE does not name axe.min.js");
        return None;
    };
    Some(fs::read_to_string(path).expect("MAYHAP_AXE names a file"))
}

/// A browser with one page.
pub(crate) struct Browser {
    child: Child,
    requests: File,
    answers: Receiver<Value>,
    last_id: u64,
    session: Option<String>,
    /// The events that the browser has sent.
    events: Vec<Value>,
    // Removed when the browser has ended.
    _folder: tempfile::TempDir,
}

impl Browser {
    /// Starts a browser with an empty page, if there is one here.
    pub(crate) fn start() -> Option<Browser> {
        let Some(name) = found() else {
            eprintln!("SKIPPED: there is no chromium to open pages in");
            return None;
        };
        let folder = tempfile::tempdir().expect("a folder");
        let pipes = ["in", "out"].map(|name| folder.path().join(name));
        let made = Command::new("mkfifo").args(&pipes).status();
        assert!(made.expect("mkfifo runs").success());
        // The shell gives the browser the two descriptors that it expects, and becomes the browser.
        let child = Command::new("sh")
            .args(["-c", r#"exec "$0" "$@" 3<"$IN" 4>"$OUT""#, name])
            .args(["--headless=new", "--no-sandbox", "--disable-gpu"])
            .args(["--disable-dev-shm-usage", "--no-first-run", "--lang=en"])
            .args(["--remote-debugging-pipe", "about:blank"])
            .arg(format!(
                "--user-data-dir={}",
                folder.path().join("profile").display()
            ))
            .env("IN", &pipes[0])
            .env("OUT", &pipes[1])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("a shell");
        // Each end waits for the other, in the order of the shell.
        let requests = File::options().write(true).open(&pipes[0]).expect("a pipe");
        let answers = File::open(&pipes[1]).expect("a pipe");
        let (send, receive) = channel();
        thread::spawn(move || {
            for message in BufReader::new(answers).split(0) {
                let Ok(message) = message else { return };
                let value = serde_json::from_slice(&message).expect("JSON");
                if send.send(value).is_err() {
                    return;
                }
            }
        });
        let mut browser = Browser {
            child,
            requests,
            answers: receive,
            last_id: 0,
            session: None,
            events: Vec::new(),
            _folder: folder,
        };
        browser.attach();
        Some(browser)
    }

    fn attach(&mut self) {
        let target = self.call("Target.createTarget", json!({ "url": "about:blank" }));
        let attach = json!({ "targetId": target["targetId"], "flatten": true });
        let session = self.call("Target.attachToTarget", attach);
        self.session = session["sessionId"].as_str().map(String::from);
        for domain in ["Runtime", "Log", "Network", "Page", "DOM"] {
            self.call(&format!("{domain}.enable"), json!({}));
        }
        let enabled = json!({ "enabled": true });
        self.call("Page.setLifecycleEventsEnabled", enabled);
    }

    /// Sets the width of the screen and a light or dark page, for a reader who prefers little motion.
    pub(crate) fn look(&mut self, width: u32, scheme: &str) {
        let screen =
            json!({ "width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600 });
        self.call("Emulation.setDeviceMetricsOverride", screen);
        let media = json!({ "features": [
            { "name": "prefers-color-scheme", "value": scheme },
            { "name": "prefers-reduced-motion", "value": "reduce" },
        ] });
        self.call("Emulation.setEmulatedMedia", media);
    }

    /// Opens an address, and waits until it is loaded.
    pub(crate) fn open(&mut self, address: &str) {
        // From another page: changing only the fragment would load nothing.
        self.load("about:blank");
        self.load(address);
    }

    /// Waits until this very document is loaded.
    fn load(&mut self, address: &str) {
        let loader = self.call("Page.navigate", json!({ "url": address }))["loaderId"].clone();
        let is_loaded = |event: &Value| {
            let params = &event["params"];
            event["method"] == "Page.lifecycleEvent"
                && params["name"] == "load"
                && params["loaderId"] == loader
        };
        while !self.events.iter().any(is_loaded) {
            self.next();
        }
    }

    /// Returns the next message; messages that are not answers are kept.
    fn next(&mut self) -> Option<Value> {
        let message = self.answers.recv_timeout(PATIENCE);
        let message = message.expect("chromium runs and answers");
        if message.get("id").is_some() {
            return Some(message);
        }
        self.events.push(message);
        None
    }

    /// Calls a method of the protocol, and returns its result.
    pub(crate) fn call(&mut self, method: &str, params: Value) -> Value {
        self.last_id += 1;
        let mut request = json!({ "id": self.last_id, "method": method, "params": params });
        if let Some(session) = &self.session {
            request["sessionId"] = session.as_str().into();
        }
        let mut bytes = serde_json::to_vec(&request).expect("JSON");
        bytes.push(0);
        self.requests.write_all(&bytes).expect("chromium runs");
        loop {
            let Some(answer) = self.next() else { continue };
            if answer["id"] == self.last_id {
                assert!(answer.get("error").is_none(), "{method}: {answer}");
                return answer["result"].clone();
            }
        }
    }

    /// Runs the body of an async function in the page, and returns its result.
    #[track_caller]
    pub(crate) fn run(&mut self, body: &str) -> Value {
        let result = self.call(
            "Runtime.evaluate",
            json!({
                "expression": format!("(async () => {{ {body} }})()"),
                "awaitPromise": true,
                "returnByValue": true,
                "userGesture": true,
            }),
        );
        let failed = result.get("exceptionDetails");
        assert!(failed.is_none(), "{body}: {failed:?}");
        result["result"]["value"].clone()
    }

    /// Presses a key such as `Enter` or `Tab`.
    pub(crate) fn press(&mut self, key: &str) {
        let (text, code) = match key {
            "Enter" => ("\r", 13),
            " " => (" ", 32),
            _ => ("", 9),
        };
        let event = |kind: &str| json!({ "type": kind, "key": key, "text": text, "windowsVirtualKeyCode": code });
        self.call("Input.dispatchKeyEvent", event("keyDown"));
        let mut up = event("keyUp");
        up.as_object_mut().expect("an object").remove("text");
        self.call("Input.dispatchKeyEvent", up);
    }

    /// Types text where the focus is.
    pub(crate) fn type_text(&mut self, text: &str) {
        self.call("Input.insertText", json!({ "text": text }));
    }

    /// Gives a file to an input.
    pub(crate) fn choose_file(&mut self, selector: &str, file: &Path) {
        let document = self.call("DOM.getDocument", json!({}));
        let query = json!({ "nodeId": document["root"]["nodeId"], "selector": selector });
        let node = self.call("DOM.querySelector", query);
        let files = json!({ "nodeId": node["nodeId"], "files": [file] });
        self.call("DOM.setFileInputFiles", files);
    }

    /// Returns the rules of axe-core that the page breaks, each with an element that does.
    pub(crate) fn broken_rules(&mut self, axe: &str) -> Value {
        self.run(&format!(
            r#"{axe};
            const found = await window.axe.run({{ resultTypes: ["violations"] }});
            return found.violations.map((rule) => `${{rule.id}}: ${{rule.nodes[0].html}}`);"#
        ))
    }

    /// Returns the requested addresses, and everything on the console.
    pub(crate) fn noises(&self) -> (Vec<String>, Vec<&Value>) {
        let of = |method: &str| {
            let method = method.to_string();
            self.events
                .iter()
                .filter(move |event| event["method"] == method)
        };
        let address = |event: &Value| event["params"]["request"]["url"].as_str().map(String::from);
        let requests = of("Network.requestWillBeSent").filter_map(address);
        let consoles = [
            "Runtime.consoleAPICalled",
            "Runtime.exceptionThrown",
            "Log.entryAdded",
        ];
        (
            requests.collect(),
            consoles.into_iter().flat_map(of).collect(),
        )
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // Its own child, by its handle; it may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
