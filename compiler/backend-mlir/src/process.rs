//! The compiler's side of the worker process. It starts the worker, sends the module, supervises
//! the worker, and explains why it ended.

use crate::backend::WORKER;
use crate::protocol::{self, WorkerRequest, unframe};
use bnnc_base::diagnostics::NO_WORKER;
use bnnc_base::fault::Fault;
use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// The largest response in bytes. A longer one is an error, even if the worker's memory limit would
/// allow it.
const LONGEST_ANSWER: u64 = 1 << 30;
/// The number of bytes after which diagnostics of the worker are cut off.
const LONGEST_COMPLAINT: u64 = 1 << 16;
/// The signal that operating systems send to end a process when the machine runs out of memory.
const KILL: i32 = 9;
/// Signals that do not mean a crash, because they come from outside the process: hangup, interrupt,
/// termination, and the CPU time limit.
const FROM_OUTSIDE: [i32; 4] = [1, 2, 15, 24];
/// The number of characters that a message quotes from a worker's diagnostics.
const QUOTED: usize = 600;
/// After the worker has sent its response, the interval between two checks of whether it has ended.
const GLANCE: Duration = Duration::from_millis(2);

/// A worker and its limits.
#[derive(Clone, Debug)]
pub struct Worker {
    /// The executable. It must support [`crate::protocol::SUBCOMMAND`].
    pub program: PathBuf,
    /// The limit on the worker's address space in bytes.
    pub memory: u64,
    /// The time limit for one module.
    pub time: Duration,
}

/// The exit status of a worker, and the output that it wrote.
struct Outcome {
    status: ExitStatus,
    answer: Vec<u8>,
    complaint: String,
}

impl Worker {
    /// Lowers a module in a worker. A crash of the worker does not affect this process.
    ///
    /// # Errors
    /// Fails if the worker cannot be started, rejects the module, ends early, or exceeds its limits
    /// on memory or time. It also fails if the response is malformed or too long.
    pub fn lower(&self, text: &str, target: crate::protocol::CodeTarget) -> Result<Vec<u8>, Fault> {
        let request = WorkerRequest {
            target,
            memory: self.memory,
        };
        let mut child = Command::new(&self.program)
            .args(request.arguments())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| {
                limit(format!(
                    "cannot start the MLIR worker {}: {error}",
                    self.program.display()
                ))
            })?;
        let outcome = self.converse(&mut child, text)?;
        if !outcome.status.success() {
            return Err(self.ended(&outcome));
        }
        let artefact = unframe(&outcome.answer).map(<[u8]>::to_vec);
        artefact.ok_or_else(|| self.no_worker(&outcome))
    }

    /// Sends the module to the worker, and waits until the worker ends. Kills the worker if it
    /// exceeds the time limit, or if its response is too long.
    fn converse(&self, child: &mut Child, text: &str) -> Result<Outcome, Fault> {
        let deadline = Instant::now() + self.time;
        if let Some(mut input) = child.stdin.take() {
            let text = text.to_owned();
            // A failed write is ignored, because a worker that ends early closes the pipe, and its
            // exit status gives the reason.
            std::thread::spawn(move || input.write_all(text.as_bytes()));
        }
        let most = self.memory.min(LONGEST_ANSWER);
        let answer = child.stdout.take().map(|pipe| drain(pipe, most + 1));
        let complaint = child.stderr.take().map(|pipe| drain(pipe, LONGEST_COMPLAINT));
        let (Some(answer), Some(complaint)) = (answer, complaint) else {
            return Err(Fault::Bug("the MLIR worker was started without pipes".to_owned()));
        };
        let answer = answer.recv_timeout(self.time);
        let is_late = answer == Err(RecvTimeoutError::Timeout);
        let answer = answer.unwrap_or_default();
        let is_long = answer.len() as u64 > most;
        let ended = match is_late || is_long {
            true => None,
            false => {
                end(child, deadline).map_err(|error| limit(format!("the MLIR worker was lost: {error}")))?
            }
        };
        let Some(status) = ended else {
            // If the worker has already ended, killing it and waiting for it have no effect.
            let _ = child.kill();
            let _ = child.wait();
            return Err(limit(match is_long {
                true => format!("the output of the MLIR worker has more than {most} bytes"),
                false => format!(
                    "MLIR did not lower a program in {} seconds",
                    self.time.as_secs_f64()
                ),
            }));
        };
        let complaint = complaint.recv_timeout(Duration::from_secs(1)).unwrap_or_default();
        Ok(Outcome {
            status,
            answer,
            complaint: String::from_utf8_lossy(&complaint).into_owned(),
        })
    }

    /// Returns the error for an executable that is not a worker of this version. The environment variable may name such an executable by
    /// mistake.
    fn no_worker(&self, outcome: &Outcome) -> Fault {
        limit(format!(
            "{} is not an MLIR worker of this version; the environment variable {WORKER} can name one{}",
            self.program.display(),
            quoted(&outcome.complaint)
        ))
    }

    /// Returns the error for a worker that failed.
    fn ended(&self, outcome: &Outcome) -> Fault {
        let complaint = quoted(&outcome.complaint);
        let exhausted = [
            "out of memory",
            "bad_alloc",
            "memory allocation of",
            "Cannot allocate",
        ];
        let mebibytes = self.memory >> 20;
        if exhausted.iter().any(|words| outcome.complaint.contains(words)) {
            return limit(format!(
                "to lower a program, MLIR needs more than {mebibytes} MiB, or more memory than this process may use{complaint}"
            ));
        }
        // Rust does not report the type of the exception. LLVM and MLIR do not throw exceptions
        // themselves, so it must come from the C++ library, and is usually `bad_alloc`.
        if outcome.complaint.contains("foreign exception") {
            return limit(format!(
                "MLIR stopped with a C++ exception, probably because it needs more than the allowed {mebibytes} MiB{complaint}"
            ));
        }
        match (signal(outcome.status), outcome.status.code()) {
            (Some(KILL), _) => limit(format!(
                "signal {KILL} stopped the MLIR worker, probably because the system ran out of memory{complaint}"
            )),
            (Some(signal), _) if FROM_OUTSIDE.contains(&signal) => limit(format!(
                "another process stopped the MLIR worker by signal {signal}{complaint}"
            )),
            (Some(signal), _) => Fault::Bug(format!(
                "MLIR crashed while lowering a program: signal {signal}{complaint}"
            )),
            (None, Some(protocol::MISUNDERSTOOD)) => self.no_worker(outcome),
            (None, Some(code)) => Fault::Bug(format!("MLIR rejected a module: status {code}{complaint}")),
            (None, None) => Fault::Bug(format!("the MLIR worker ended without a status{complaint}")),
        }
    }
}

/// Waits until a process ends or the deadline passes. A process may still be running after it has
/// closed its pipes.
fn end(child: &mut Child, deadline: Instant) -> io::Result<Option<ExitStatus>> {
    loop {
        match child.try_wait()? {
            None if Instant::now() < deadline => std::thread::sleep(GLANCE),
            ended => return Ok(ended),
        }
    }
}

/// Reads a pipe to its end in a separate thread, so that the two processes never wait for each
/// other.
fn drain(pipe: impl Read + Send + 'static, most: u64) -> Receiver<Vec<u8>> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let mut pipe = pipe;
        // If a read fails, the response is truncated and is then rejected as malformed.
        let _ = pipe.by_ref().take(most).read_to_end(&mut bytes);
        // After a time-out, the receiver no longer exists, so a failed send is ignored.
        let _ = sender.send(bytes);
        let _ = io::copy(&mut pipe, &mut io::sink());
    });
    receiver
}

fn quoted(complaint: &str) -> String {
    let complaint = complaint.trim();
    match complaint.char_indices().nth(QUOTED) {
        _ if complaint.is_empty() => String::new(),
        Some((end, _)) => format!(": {} ...", &complaint[..end]),
        None => format!(": {complaint}"),
    }
}

#[cfg(unix)]
fn signal(status: ExitStatus) -> Option<i32> {
    use std::os::unix::process::ExitStatusExt;
    status.signal()
}

#[cfg(not(unix))]
fn signal(_: ExitStatus) -> Option<i32> {
    None
}

/// Returns the error of a worker that cannot lower a program.
fn limit(why: String) -> Fault {
    Fault::limit(&NO_WORKER, why)
}
