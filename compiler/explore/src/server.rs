//! The server of the explorer accepts connections on the loopback interface, and has a single queue
//! of requests for the compiler.

use super::answers::ServedAnswers;
use super::http::{self, HttpRequest, Response};
use super::limits;
use bnnc_base::threads::STACK;
use std::net::{TcpListener, TcpStream};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::time::Duration;

/// A request that waits for the compiler.
struct Job {
    request: HttpRequest,
    stream: TcpStream,
}

/// Serves requests until the process ends.
///
/// # Errors
/// Fails if threads cannot be started.
pub fn serve(listener: &TcpListener, answers: ServedAnswers) -> std::io::Result<()> {
    let port = listener.local_addr()?.port();
    let answers = Arc::new(answers);
    let (queue, jobs) = sync_channel(limits::WAITING);
    let compiler = answers.clone();
    // The compiler recurses on deep graphs, so its thread has the same stack size as the main
    // thread of the command line.
    std::thread::Builder::new()
        .name("compiler".to_owned())
        .stack_size(STACK)
        .spawn(move || work(&jobs, &compiler))?;
    let open = Arc::new(AtomicUsize::new(0));
    loop {
        let mut stream = match listener.accept() {
            Ok((stream, _)) => stream,
            // The client has already closed the connection, or the process has too many open files.
            Err(_) => {
                std::thread::sleep(Duration::from_millis(10));
                continue;
            }
        };
        let _ = stream.set_write_timeout(Some(limits::PATIENCE));
        if open.fetch_add(1, Ordering::SeqCst) >= limits::CONNECTIONS {
            open.fetch_sub(1, Ordering::SeqCst);
            http::write(&mut stream, &busy());
            continue;
        }
        let (counted, answers, queue) = (open.clone(), answers.clone(), queue.clone());
        let started = std::thread::Builder::new().spawn(move || {
            receive(stream, port, &answers, &queue);
            counted.fetch_sub(1, Ordering::SeqCst);
        });
        if started.is_err() {
            open.fetch_sub(1, Ordering::SeqCst);
        }
    }
}

fn busy() -> Response {
    Response::error("503 Service Unavailable", "too many requests at once; try again")
}

/// Answers a request at once, or adds the request to the queue for the compiler.
fn receive(mut stream: TcpStream, port: u16, answers: &ServedAnswers, queue: &SyncSender<Job>) {
    let request = match http::read(&mut stream, port) {
        Ok(Some(request)) => request,
        Ok(None) => return,
        Err(response) => {
            http::write(&mut stream, &response);
            return;
        }
    };
    if let Some(response) = answers.quick(&request) {
        http::write(&mut stream, &response);
        return;
    }
    match queue.try_send(Job { request, stream }) {
        Ok(()) => {}
        Err(TrySendError::Full(mut job) | TrySendError::Disconnected(mut job)) => {
            http::write(&mut job.stream, &busy());
        }
    }
}

/// Processes one request at a time, so that simultaneous requests do not distort the measured
/// times.
fn work(jobs: &Receiver<Job>, answers: &ServedAnswers) {
    for mut job in jobs {
        if has_gone(&job.stream) {
            continue;
        }
        let answered = catch_unwind(AssertUnwindSafe(|| answers.slow(&job.request)));
        let response = answered.unwrap_or_else(|_| {
            Response::error(
                "500 Internal Server Error",
                "bug in bnnc: see the terminal that serves this page",
            )
        });
        // A client that reads slowly must not delay other requests.
        std::thread::spawn(move || http::write(&mut job.stream, &response));
    }
}

/// Returns whether the client has closed the connection while its request was waiting. The page closes the connection when the user changes
/// the question.
fn has_gone(stream: &TcpStream) -> bool {
    if stream.set_nonblocking(true).is_err() {
        return true;
    }
    let mut byte = [0];
    let gone = match stream.peek(&mut byte) {
        Ok(count) => count == 0,
        Err(error) => error.kind() != std::io::ErrorKind::WouldBlock,
    };
    gone || stream.set_nonblocking(false).is_err()
}
