//! Implements the subset of HTTP/1.1 that the page needs: `GET` requests, with one request per
//! connection.

use super::limits;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Instant;

/// A request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpRequest {
    /// The decoded path.
    pub path: String,
    /// The decoded parameters after the `?`, in order.
    pub query: Vec<(String, String)>,
}

impl HttpRequest {
    /// Returns the value of a parameter, or `None` if the request does not have this parameter.
    pub fn value(&self, key: &str) -> Option<&str> {
        self.query
            .iter()
            .find(|(known, _)| known == key)
            .map(|(_, value)| &**value)
    }
}

/// A response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response {
    /// The status code and its text.
    pub status: &'static str,
    /// The content type of the body.
    pub content: &'static str,
    /// The body.
    pub body: String,
}

impl Response {
    /// Creates an HTML response.
    pub fn page(body: &str) -> Response {
        Response {
            status: "200 OK",
            content: "text/html; charset=utf-8",
            body: body.to_owned(),
        }
    }

    /// Creates a JSON response.
    pub fn json(value: &serde_json::Value) -> Response {
        Response {
            status: "200 OK",
            content: "application/json",
            body: value.to_string(),
        }
    }

    /// Creates an error response with the reason.
    pub fn error(status: &'static str, why: &str) -> Response {
        Response {
            status,
            content: "text/plain; charset=utf-8",
            body: format!("{why}\n"),
        }
    }
}

/// The content security policy. The page may use only its own scripts and styles, and connect only
/// to this server. Other pages must not embed it in a frame.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:; \
                      connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Sends a response. If the client has closed the connection, nothing is reported.
pub fn write(stream: &mut TcpStream, response: &Response) {
    let Response {
        status,
        content,
        body,
    } = response;
    let allow = if status.starts_with("405") {
        "Allow: GET\r\n"
    } else {
        ""
    };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {content}\r\nContent-Length: {}\r\n{allow}Cache-Control: no-store\r\n\
         Content-Security-Policy: {POLICY}\r\nX-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\n\
         Connection: close\r\n\r\n",
        body.len()
    );
    let sent = stream
        .write_all(head.as_bytes())
        .and_then(|()| stream.write_all(body.as_bytes()));
    if sent.is_ok() {
        let _ = stream.shutdown(std::net::Shutdown::Write);
    }
}

/// Reads a request, and checks that it names this server as its host. Returns `None` if the client
/// did not send anything.
///
/// # Errors
/// Fails if the request is invalid. The error is the response to the client.
pub fn read(stream: &mut TcpStream, port: u16) -> Result<Option<HttpRequest>, Response> {
    match head(stream)? {
        Some(head) => parse(&head, port).map(Some),
        None => Ok(None),
    }
}

/// Reads the head of a request: the bytes up to the first empty line.
fn head(stream: &mut TcpStream) -> Result<Option<Vec<u8>>, Response> {
    let until = Instant::now() + limits::PATIENCE;
    let mut head = Vec::new();
    let mut piece = [0; 1024];
    loop {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() || stream.set_read_timeout(Some(left)).is_err() {
            return Err(Response::error(
                "408 Request Timeout",
                "the request took too long",
            ));
        }
        let count = match stream.read(&mut piece) {
            Ok(0) if head.is_empty() => return Ok(None),
            Ok(0) => return Err(malformed("the request is not complete")),
            Ok(count) => count,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(_) => {
                return Err(Response::error(
                    "408 Request Timeout",
                    "the request took too long",
                ));
            }
        };
        let searched = head.len().saturating_sub(3);
        head.extend_from_slice(&piece[..count]);
        let end = head[searched..].windows(4).position(|four| four == b"\r\n\r\n");
        if let Some(end) = end {
            head.truncate(searched + end);
            return Ok(Some(head));
        }
        if head.len() > limits::HEAD {
            let why = format!("the head of a request has at most {} bytes", limits::HEAD);
            return Err(Response::error("431 Request Header Fields Too Large", &why));
        }
    }
}

fn malformed(why: &str) -> Response {
    Response::error("400 Bad Request", why)
}

fn parse(head: &[u8], port: u16) -> Result<HttpRequest, Response> {
    let head = std::str::from_utf8(head).map_err(|_| malformed("the request is not text"))?;
    let mut lines = head.split("\r\n");
    let words: Vec<&str> = lines.next().unwrap_or_default().split(' ').collect();
    let [method, target, "HTTP/1.1" | "HTTP/1.0"] = words[..] else {
        return Err(malformed("expected `GET PATH HTTP/1.1`"));
    };
    let mut headers = Vec::new();
    for line in lines {
        let (name, value) = line
            .split_once(':')
            .ok_or_else(|| malformed("a header is `Name: value`"))?;
        headers.push((name.to_ascii_lowercase(), value.trim()));
    }
    guard(&headers, port)?;
    if method != "GET" {
        return Err(Response::error("405 Method Not Allowed", "only GET is supported"));
    }
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let pairs = query.split('&').filter(|pair| !pair.is_empty());
    let pair = |pair: &str| {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        Some((decoded(key)?, decoded(value)?))
    };
    let query: Option<Vec<(String, String)>> = pairs.map(pair).collect();
    let bad = || malformed("the path is not text in percent encoding");
    Ok(HttpRequest {
        path: decoded(path).ok_or_else(bad)?,
        query: query.ok_or_else(bad)?,
    })
}

/// Rejects requests with a body, with another host name (which an attacker could send by DNS
/// rebinding), or from pages of other sites. A link from another site to this server is allowed.
fn guard(headers: &[(String, &str)], port: u16) -> Result<(), Response> {
    let mut hosts = headers
        .iter()
        .filter(|(name, _)| name == "host")
        .map(|(_, value)| *value);
    let known = [format!("127.0.0.1:{port}"), format!("localhost:{port}")];
    let is_ours = match (hosts.next(), hosts.next()) {
        (Some(host), None) => known.iter().any(|known| known.eq_ignore_ascii_case(host)),
        _ => false,
    };
    if !is_ours {
        let why = format!("this server accepts requests only for {}", known[0]);
        return Err(Response::error("403 Forbidden", &why));
    }
    let crosses = |(name, value): &(String, &str)| name == "sec-fetch-site" && *value == "cross-site";
    let navigates = |(name, value): &(String, &str)| name == "sec-fetch-mode" && *value == "navigate";
    if headers.iter().any(crosses) && !headers.iter().any(navigates) {
        return Err(Response::error(
            "403 Forbidden",
            "requests from pages of other sites are not allowed",
        ));
    }
    let has_body = |(name, value): &(String, &str)| {
        name == "transfer-encoding" || name == "content-length" && *value != "0"
    };
    if headers.iter().any(has_body) {
        return Err(malformed("a request must not have a body"));
    }
    Ok(())
}

/// Decodes percent encoding and `+`.
fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        match first {
            b'%' => {
                let (digits, after) = rest.split_at_checked(2)?;
                // This check is needed because the integer parser would also accept a sign in place
                // of the first digit.
                if !digits.iter().all(u8::is_ascii_hexdigit) {
                    return None;
                }
                bytes.push(u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?);
                rest = after;
            }
            b'+' => bytes.push(b' '),
            byte => bytes.push(*byte),
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(text: &str) -> &'static str {
        match parse(text.as_bytes(), 8000) {
            Ok(_) => "200",
            Err(response) => &response.status[..3],
        }
    }

    #[test]
    fn requests_are_parsed() {
        let request = parse(
            b"GET /a%20b?q=N(0%2C1)&p=x+y&n HTTP/1.1\r\nHost: localhost:8000",
            8000,
        );
        let request = request.expect("it is a request");
        assert_eq!(request.path, "/a b");
        assert_eq!(request.value("q"), Some("N(0,1)"));
        assert_eq!(request.value("p"), Some("x y"));
        assert_eq!(request.value("n"), Some(""));
        assert_eq!(request.value("m"), None);
    }

    #[test]
    fn malformed_requests_are_rejected() {
        let host = "Host: 127.0.0.1:8000";
        assert_eq!(status(&format!("GET / HTTP/1.1\r\n{host}")), "200");
        assert_eq!(status("GET / HTTP/1.1\r\nhost:LOCALHOST:8000"), "200");
        for line in [
            "",
            "GET",
            "GET /",
            "GET / HTTP/2",
            "GET  / HTTP/1.1",
            "GET / HTTP/1.1 x",
        ] {
            assert_eq!(status(&format!("{line}\r\n{host}")), "400", "{line}");
        }
        for path in ["/%", "/%f", "/%zz", "/%ff", "/?a=%+1"] {
            assert_eq!(status(&format!("GET {path} HTTP/1.1\r\n{host}")), "400", "{path}");
        }
        assert_eq!(status(&format!("GET / HTTP/1.1\r\n{host}\r\nnonsense")), "400");
        assert_eq!(
            status(&format!("GET / HTTP/1.1\r\n{host}\r\nContent-Length: 3")),
            "400"
        );
        assert_eq!(status(&format!("POST / HTTP/1.1\r\n{host}")), "405");
    }

    #[test]
    fn other_hosts_and_other_sites_are_rejected() {
        for host in [
            "",
            "Host: evil.example:8000",
            "Host: 127.0.0.1:80",
            "Host: 127.0.0.1",
        ] {
            assert_eq!(
                status(&format!("GET / HTTP/1.1\r\nAccept: x\r\n{host}")),
                if host.is_empty() { "400" } else { "403" }
            );
        }
        let host = "Host: 127.0.0.1:8000";
        assert_eq!(status("GET / HTTP/1.1"), "403");
        assert_eq!(status(&format!("GET / HTTP/1.1\r\n{host}\r\n{host}")), "403");
        let cross = "Sec-Fetch-Site: cross-site";
        assert_eq!(status(&format!("GET / HTTP/1.1\r\n{host}\r\n{cross}")), "403");
        let link = "Sec-Fetch-Mode: navigate";
        assert_eq!(
            status(&format!("GET / HTTP/1.1\r\n{host}\r\n{cross}\r\n{link}")),
            "200"
        );
    }
}
