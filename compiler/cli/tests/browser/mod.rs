//! A headless Chromium. Tests control it through the pipe of its debugging protocol, with real
//! clicks and keys, and read the texts that the page shows.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// The longest time that the browser may take for one command.
const PATIENCE: Duration = Duration::from_secs(60);

/// The names of Chromium on the systems where it can be installed.
const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "chrome"];

/// A page of a browser.
pub struct Browser {
    child: Child,
    input: ChildStdin,
    messages: Receiver<Value>,
    profile: PathBuf,
    session: String,
    next: u64,
    /// The error messages of the page.
    pub complaints: Vec<String>,
}

/// Finds the browser of this machine. If there is none, prints a note, or fails the test if
/// `BNNC_BROWSER=required` is set.
pub fn find() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path)
        .flat_map(|folder| NAMES.map(|name| folder.join(name)))
        .find(|candidate| candidate.is_file());
    if found.is_none() {
        let required = std::env::var("BNNC_BROWSER").is_ok_and(|value| value == "required");
        assert!(
            !required,
            "BNNC_BROWSER=required, but there is no chromium on the path"
        );
        eprintln!(
            "note: there is no chromium on the path, so the page of `bnnc explore` was not tested in a browser"
        );
    }
    found
}

impl Browser {
    /// Starts a browser with an empty profile and an empty page.
    pub fn start(program: &Path, name: &str) -> Browser {
        let profile = std::env::temp_dir().join(format!("bnnc-browser-{name}-{}", std::process::id()));
        let flags = "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-dev-shm-usage \
                     --disable-background-networking --disable-component-update --disable-sync --mute-audio \
                     --hide-scrollbars --window-size=1440,1000 --remote-debugging-pipe";
        // The browser reads commands from descriptor 3 and writes results to descriptor 4.
        let line = format!(
            "exec \"$0\" {flags} --user-data-dir=\"$1\" about:blank 3<&0 4>&1 </dev/null >/dev/null 2>&1"
        );
        let mut child = Command::new("sh")
            .arg("-c")
            .arg(line)
            .arg(program)
            .arg(&profile)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the shell starts");
        let input = child.stdin.take().expect("a pipe");
        let mut output = BufReader::new(child.stdout.take().expect("a pipe"));
        let (sender, messages) = channel();
        std::thread::spawn(move || {
            let mut message = Vec::new();
            while output.read_until(0, &mut message).is_ok_and(|count| count > 0) {
                message.pop();
                let value = serde_json::from_slice(&message).unwrap_or(Value::Null);
                message.clear();
                if sender.send(value).is_err() {
                    break;
                }
            }
        });
        let mut browser = Browser {
            child,
            input,
            messages,
            profile,
            session: String::new(),
            next: 0,
            complaints: Vec::new(),
        };
        let target = browser.command("Target.createTarget", json!({ "url": "about:blank" }));
        let attach = json!({ "targetId": target["targetId"], "flatten": true });
        let attached = browser.command("Target.attachToTarget", attach);
        browser.session = attached["sessionId"].as_str().expect("a session").to_owned();
        for domain in ["Page.enable", "Runtime.enable", "Log.enable"] {
            browser.command(domain, json!({}));
        }
        browser
    }

    /// Sends a command and waits for its result.
    pub fn command(&mut self, method: &str, params: Value) -> Value {
        let result = self.ask(method, params);
        result.unwrap_or_else(|error| panic!("{method}: {error}"))
    }

    fn ask(&mut self, method: &str, params: Value) -> Result<Value, Value> {
        self.next += 1;
        let mut message = json!({ "id": self.next, "method": method, "params": params });
        if !self.session.is_empty() {
            message["sessionId"] = json!(self.session);
        }
        let sent = self.input.write_all(format!("{message}\0").as_bytes());
        sent.expect("the browser listens");
        let until = Instant::now() + PATIENCE;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let answer = match self.messages.recv_timeout(left) {
                Ok(answer) => answer,
                Err(RecvTimeoutError::Timeout) => panic!("no answer to {method}"),
                Err(RecvTimeoutError::Disconnected) => panic!("the browser has gone before {method}"),
            };
            if answer["id"] == json!(self.next) {
                return match answer.get("error") {
                    Some(error) => Err(error.clone()),
                    None => Ok(answer["result"].clone()),
                };
            }
            self.note(&answer);
        }
    }

    fn note(&mut self, event: &Value) {
        match event["method"].as_str() {
            Some("Runtime.exceptionThrown") => {
                let details = &event["params"]["exceptionDetails"];
                self.complaints.push(format!(
                    "{} {}",
                    details["text"], details["exception"]["description"]
                ));
            }
            // The browser also logs error responses of the server as network errors. The page shows
            // these responses to the user, so they are not errors of the page.
            Some("Log.entryAdded") if event["params"]["entry"]["source"] != json!("network") => {
                self.complaints.push(event["params"]["entry"]["text"].to_string());
            }
            _ => {}
        }
    }

    /// Opens a page.
    pub fn open(&mut self, url: &str) {
        self.command("Page.navigate", json!({ "url": url }));
    }

    /// Returns the value of an expression in the page.
    pub fn evaluate(&mut self, expression: &str) -> Value {
        let params = json!({ "expression": expression, "returnByValue": true, "awaitPromise": true });
        let result = self.command("Runtime.evaluate", params);
        assert!(result.get("exceptionDetails").is_none(), "{expression}: {result}");
        result["result"]["value"].clone()
    }

    /// Returns the text of an element as the page shows it.
    pub fn text(&mut self, selector: &str) -> String {
        let value = self.evaluate(&format!("document.querySelector({selector:?}).innerText"));
        value.as_str().unwrap_or_default().to_owned()
    }

    /// Waits until an expression in the page is true. Before the page is loaded, the expression
    /// does not have a value.
    pub fn wait(&mut self, expression: &str) {
        let until = Instant::now() + 3 * PATIENCE;
        let params = json!({ "expression": expression, "returnByValue": true });
        while !self
            .ask("Runtime.evaluate", params.clone())
            .is_ok_and(|result| result["result"]["value"] == json!(true))
        {
            let body = "document.body.dataset.state + ': ' + document.body.innerText.slice(0, 600)";
            if Instant::now() > until {
                panic!("{expression} did not become true: {}", self.evaluate(body));
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Clicks on the middle of an element.
    pub fn click(&mut self, element: &str) {
        let middle = format!(
            "(() => {{ const it = {element}; it.scrollIntoView({{ block: 'center' }}); const box = it.getBoundingClientRect(); \
             return [box.x + box.width / 2, box.y + box.height / 2]; }})()"
        );
        let middle = self.evaluate(&middle);
        for kind in ["mouseMoved", "mousePressed", "mouseReleased"] {
            let params =
                json!({ "type": kind, "x": middle[0], "y": middle[1], "button": "left", "clickCount": 1 });
            self.command("Input.dispatchMouseEvent", params);
        }
    }

    /// Moves the focus to an element, and types a text into it.
    pub fn keys(&mut self, element: &str, text: &str) {
        self.evaluate(&format!("{element}.focus()"));
        for key in text.chars() {
            let text = key.to_string();
            self.command(
                "Input.dispatchKeyEvent",
                json!({ "type": "keyDown", "key": text, "text": text }),
            );
            self.command("Input.dispatchKeyEvent", json!({ "type": "keyUp", "key": text }));
        }
    }

    /// Returns a screenshot of the whole page.
    pub fn screenshot(&mut self) -> String {
        let params = json!({ "format": "png", "captureBeyondViewport": true });
        let picture = self.command("Page.captureScreenshot", params);
        picture["data"].as_str().unwrap_or_default().to_owned()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.profile);
    }
}
