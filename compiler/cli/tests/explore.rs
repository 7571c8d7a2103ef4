//! Tests the server of `bnnc explore` over plain sockets, and its page in a headless browser.

mod browser;

use browser::Browser;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// `KL(N(.3, .5) || Laplace(0, 1))`, computed with the mean of the folded normal distribution. `NORMAL` is `KL(N(.3, .5) || N(0, 1))`.
const LAPLACE: f64 = 0.43602856;
const NORMAL: f64 = 0.36314718;

/// A running `bnnc explore`.
struct Server {
    child: Child,
    port: u16,
}

impl Server {
    fn start() -> Server {
        let mut child = Command::new(env!("CARGO_BIN_EXE_bnnc"))
            .args(["explore", "--port", "0", "--threads", "1"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the binary starts");
        let mut line = String::new();
        let output = child.stdout.take().expect("a pipe");
        BufReader::new(output)
            .read_line(&mut line)
            .expect("it prints its address");
        let port = line.trim().strip_prefix("http://127.0.0.1:");
        let port = port.and_then(|rest| rest.strip_suffix('/')?.parse().ok());
        let port = port.unwrap_or_else(|| panic!("`{line}` is no address"));
        Server { child, port }
    }

    fn send(&self, bytes: &[u8]) -> String {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).expect("it listens");
        stream
            .set_read_timeout(Some(Duration::from_secs(60)))
            .expect("a timeout");
        // A write error is ignored, because a server that rejects a request early may close the connection while the test is still
        // writing.
        let _ = stream.write_all(bytes);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        String::from_utf8_lossy(&answer).into_owned()
    }

    fn get(&self, path: &str) -> (String, String) {
        let request = format!("GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\n\r\n", self.port);
        let answer = self.send(request.as_bytes());
        let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
        let status = head.split(' ').nth(1).unwrap_or_default().to_owned();
        (status, body.to_owned())
    }

    fn json(&self, path: &str) -> serde_json::Value {
        let (status, body) = self.get(path);
        assert_eq!(status, "200", "{path}: {body}");
        serde_json::from_str(&body).expect("it is JSON")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn responses_hold_the_numbers_of_the_compiler() {
    let server = Server::start();
    let question = server.json("/api/question?q=Normal(0.3,0.5)&p=Laplace(0,1)&n=3&m=16");
    let exact = question["quadrature"].as_f64().expect("a number");
    assert!((exact - 3.0 * LAPLACE).abs() < 3e-8, "{exact}");
    let best = &server.json("/api/question?q=Normal(0.3,0.5)&p=Normal(0,1)")["ways"]["best"];
    assert!(
        (best["value"].as_f64().expect("a closed form") - NORMAL).abs() < 1e-8,
        "{best}"
    );
    for way in ["direct", "sums", "law"] {
        let path = format!("/api/measure?q=Normal(0.3,0.5)&p=Laplace(0,1)&n=3&m=16&r=200&way={way}");
        let found = server.json(&path);
        let (mean, error) = (found["mean"].as_f64(), found["error"].as_f64());
        let (mean, error) = mean.zip(error).expect("numbers");
        assert!(
            error > 0.0 && (mean - 3.0 * LAPLACE).abs() < 4.5 * error,
            "{way}: {mean} ± {error}"
        );
        assert_eq!(
            server.json(&path)["values"],
            found["values"],
            "the same seed gives the same numbers"
        );
    }
}

#[test]
fn requests_beyond_a_limit_are_rejected_with_the_limit() {
    let server = Server::start();
    let asked = "/api/measure?q=Normal(0.3,0.5)&p=Laplace(0,1)&way=direct";
    for (more, limit) in [
        ("&n=0", "from 1 to 100000"),
        ("&n=100001", "from 1 to 100000"),
        ("&m=99999999", "from 1 to 1048576"),
        ("&r=1", "from 2 to 1000"),
        ("&taylor=13", "from 0 to 12"),
        ("&n=100000&m=1000000", "the limit is 2097152"),
        ("&way=best&n=x", "from 1 to 100000"),
        ("&seed=x", "`seed` must be an integer"),
    ] {
        let (status, body) = server.get(&format!("{asked}{more}"));
        assert_eq!((&*status, body.contains(limit)), ("400", true), "{more}: {body}");
    }
    for (path, why) in [
        ("/api/measure?p=Normal()", "`q` is missing"),
        ("/api/question?q=Normal(0,-1)&p=Normal()", "cannot be -1"),
        (
            "/api/question?q=Nobody()&p=Normal()",
            "there is no posterior family",
        ),
        (
            "/api/measure?q=Normal()&p=Normal()&way=x",
            "there is no estimator",
        ),
    ] {
        let (status, body) = server.get(path);
        assert_eq!((&*status, body.contains(why)), ("400", true), "{path}: {body}");
    }
}

#[test]
fn only_loopback_and_existing_paths_are_served() {
    let server = Server::start();
    let (status, page) = server.get("/");
    assert_eq!(status, "200");
    for outside in ["http://", "https://", "src="] {
        let namespace = page.replace("http://www.w3.org/2000/svg", "");
        assert!(!namespace.contains(outside), "the page names {outside}");
    }
    assert_eq!(server.get("/nothing").0, "404");
    assert_eq!(server.get("/../etc/passwd").0, "404");
    let own = format!("Host: 127.0.0.1:{}", server.port);
    for (request, status) in [
        (format!("POST / HTTP/1.1\r\n{own}\r\n\r\n"), "405"),
        (format!("DELETE /api/question HTTP/1.1\r\n{own}\r\n\r\n"), "405"),
        (
            "GET / HTTP/1.1\r\nHost: rebound.example\r\n\r\n".to_owned(),
            "403",
        ),
        ("GET / HTTP/1.1\r\n\r\n".to_owned(), "403"),
        (
            format!("GET / HTTP/1.1\r\n{own}\r\nSec-Fetch-Site: cross-site\r\n\r\n"),
            "403",
        ),
        (format!("GET / HTTP/3\r\n{own}\r\n\r\n"), "400"),
        (format!("GET /%zz HTTP/1.1\r\n{own}\r\n\r\n"), "400"),
        (
            format!("GET / HTTP/1.1\r\n{own}\r\nX: {}\r\n\r\n", "y".repeat(20_000)),
            "431",
        ),
    ] {
        let answer = server.send(request.as_bytes());
        assert!(
            answer.starts_with(&format!("HTTP/1.1 {status} ")),
            "{request:.60}: {answer:.200}"
        );
    }
    // The server accepts connections only on the loopback address, not on any other address of the
    // machine.
    let outside = std::net::UdpSocket::bind("0.0.0.0:0").and_then(|socket| {
        socket.connect("192.0.2.1:9")?;
        socket.local_addr()
    });
    if let Ok(outside) = outside.map(|address| address.ip())
        && !outside.is_loopback()
        && !outside.is_unspecified()
    {
        assert!(
            TcpStream::connect((outside, server.port)).is_err(),
            "{outside} answers"
        );
    }
}

#[test]
fn malformed_requests_do_not_stop_the_server() {
    let server = Server::start();
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    for length in [0, 1, 3, 64, 1000, 9000] {
        let garbage: Vec<u8> = (0..length)
            .map(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (state >> 56) as u8
            })
            .collect();
        let mut ended = garbage.clone();
        ended.extend(b"\r\n\r\n");
        assert!(!server.send(&ended).contains("200 OK"));
        // The test sends only the first part of the request's head.
        let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, server.port)).expect("it listens");
        let _ = (&stream).write_all(&garbage);
    }
    for query in [
        "q=%00&p=%00",
        "q=((((((((&p=Normal()",
        "q=Normal(&p=Normal()",
        "&&&===&q",
        "q=\"&p='",
    ] {
        assert_eq!(server.get(&format!("/api/question?{query}")).0, "400", "{query}");
    }
    assert_eq!(server.get("/").0, "200");
}

#[test]
fn an_occupied_port_is_a_diagnostic() {
    let server = Server::start();
    let output = Command::new(env!("CARGO_BIN_EXE_bnnc"))
        .args(["explore", "--port", &server.port.to_string()])
        .output()
        .expect("the binary starts");
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{text}");
    assert!(text.contains("E0611") && text.contains("--port 0"), "{text}");
}

/// Returns the address of a page for `q` and `p`. Its settings let a debug build compute all
/// numbers quickly.
fn address(server: &Server, q: &str, p: &str) -> String {
    format!("http://127.0.0.1:{}/#q={q}&p={p}&m=64&r=16", server.port)
}

const DONE: &str = "document.body.dataset.state === 'done'";

/// Parses an estimate with its error, such as `0.4361 ± 0.012`.
fn estimate(text: &str) -> (f64, f64) {
    let parts = text.split_once(" ± ");
    let numbers =
        parts.and_then(|(mean, error)| Some((mean.trim().parse().ok()?, error.trim().parse().ok()?)));
    numbers.unwrap_or_else(|| panic!("`{text}` is no estimate"))
}

#[test]
fn the_page_shows_the_chosen_distributions() {
    let Some(program) = browser::find() else { return };
    let server = Server::start();
    let mut page = Browser::start(&program, "shows");
    page.open(&address(&server, "Normal(0.3,0.5)", "Laplace(0,1)"));
    page.wait(DONE);
    assert_eq!(page.text("#exact"), format!("{LAPLACE:.8}"));
    assert_eq!(page.text("#source"), "quadrature");
    for way in ["direct", "sums", "law"] {
        let (mean, error) = estimate(&page.text(&format!("#estimate-{way}")));
        assert!(
            error > 0.0 && (mean - LAPLACE).abs() < 5.0 * error,
            "{way}: {mean} ± {error}"
        );
    }
    let drawn = "['estimates', 'variances', 'seconds', 'before', 'after', 'densities'].every(id => \
                 document.querySelectorAll(`#${id} svg *`).length > 10)";
    assert_eq!(page.evaluate(drawn), serde_json::json!(true));
    assert!(page.text("#nodes-before").contains("need gradients"));
    let before = page.text("#sizes");

    // The test selects another prior with the keyboard. For this prior, the KL divergence has a
    // closed form.
    page.keys("document.querySelector('#prior-family')", "Norm");
    page.wait("document.querySelector('#exact').innerText.startsWith('0.363')");
    page.wait(DONE);
    assert_eq!(page.text("#exact"), format!("{NORMAL:.8}"));
    assert_eq!(page.text("#source"), "closed form");
    assert!(page.text("#choice").contains("exact"), "{}", page.text("#choice"));
    assert_ne!(page.text("#sizes"), before);
    let held = page.evaluate("location.hash").to_string();
    assert!(held.contains("p=Normal"), "{held}");

    // A click fixes a parameter, so that the page needs fewer gradients.
    let learned = page.text("#nodes-before");
    page.click("document.querySelector('#q button.hold')");
    page.wait("location.hash.includes('fixed')");
    page.wait(DONE);
    assert_ne!(page.text("#nodes-before"), learned);

    // The address of the page is enough to restore the same numbers.
    let address = page
        .evaluate("location.href")
        .as_str()
        .unwrap_or_default()
        .to_owned();
    let shown = page.text("#facts");
    page.open("about:blank");
    page.open(&address);
    page.wait(DONE);
    assert_eq!(page.text("#facts"), shown);
    assert!(page.screenshot().len() > 20_000, "the picture is empty");
    let own = format!(
        "performance.getEntriesByType('resource').every(entry => entry.name.startsWith('http://127.0.0.1:{}/') || \
         entry.name.startsWith('data:'))",
        server.port
    );
    assert_eq!(page.evaluate(&own), serde_json::json!(true));
    assert_eq!(page.complaints, Vec::<String>::new());
}

#[test]
fn the_page_shows_why_a_divergence_is_infinite() {
    let Some(program) = browser::find() else { return };
    let server = Server::start();
    let mut page = Browser::start(&program, "infinite");
    page.open(&address(&server, "Gamma(2,1)", "Beta(1,1)"));
    page.wait("document.body.dataset.state === 'rejected'");
    let reported = page.text("#report");
    assert!(
        reported.contains("error[E03") && reported.contains("infinite"),
        "{reported}"
    );
    assert_eq!(
        page.evaluate("document.querySelector('#answer').hidden"),
        serde_json::json!(true)
    );
    // A parameter outside its support is also rejected. Afterwards, the page accepts valid inputs again.
    page.open(&address(&server, "Normal(0,-1)", "Normal(0,1)"));
    page.wait("document.querySelector('#report').innerText.includes('cannot be -1')");
    page.click(
        "[...document.querySelectorAll('#examples button')].find(it => it.innerText === 'closed form')",
    );
    page.wait(DONE);
    assert_eq!(page.text("#exact"), format!("{NORMAL:.8}"));
    assert_eq!(
        page.evaluate("document.querySelector('#rejection').hidden"),
        serde_json::json!(true)
    );
    assert_eq!(page.complaints, Vec::<String>::new());
}
