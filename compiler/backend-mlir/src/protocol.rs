//! The protocol of a worker process. The worker receives the options as arguments, and the module
//! on standard input. The worker writes a header and the artefact to standard output, and
//! diagnostics to standard error.

/// The subcommand that makes an executable run as a worker.
pub const SUBCOMMAND: &str = "__mlir-worker";

/// The exit status for invalid arguments. An executable that is not a worker also ends with this
/// status if it is started as one.
pub const MISUNDERSTOOD: i32 = 2;

/// The beginning of a response. It is followed by the length of the artefact in eight bytes, with
/// the lowest byte first.
pub const HEADER: &[u8] = b"bnnc-mlir-worker 1\n";

bnnc_base::named! {
    /// The form to which a module is lowered.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum CodeTarget {
        /// A relocatable object for the host processor. The code uses all extensions of this processor.
        Object = "object",
        /// The assembly of a GPU module. The text of the module contains the name of the GPU.
        Ptx = "ptx",
    }
}

/// The request for which a worker is started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkerRequest {
    /// The form of the result.
    pub target: CodeTarget,
    /// The limit on the worker's address space in bytes.
    pub memory: u64,
}

impl WorkerRequest {
    /// Returns the request as arguments of a worker.
    pub fn arguments(self) -> [String; 3] {
        [
            SUBCOMMAND.to_owned(),
            self.target.name().to_owned(),
            self.memory.to_string(),
        ]
    }

    /// Parses the arguments after the subcommand. Returns `None` if the arguments are not valid.
    pub fn parse(arguments: &[String]) -> Option<WorkerRequest> {
        let [target, memory] = arguments else {
            return None;
        };
        Some(WorkerRequest {
            target: CodeTarget::from_name(target)?,
            memory: memory.parse().ok()?,
        })
    }
}

/// Wraps an artefact in a response.
pub fn frame(artefact: &[u8]) -> Vec<u8> {
    [HEADER, &(artefact.len() as u64).to_le_bytes(), artefact].concat()
}

/// Returns the artefact in a response. Returns `None` if the response is malformed or incomplete.
pub fn unframe(answer: &[u8]) -> Option<&[u8]> {
    let (length, artefact) = answer.strip_prefix(HEADER)?.split_first_chunk::<8>()?;
    (u64::from_le_bytes(*length) == artefact.len() as u64).then_some(artefact)
}

#[cfg(test)]
mod tests {
    use super::{CodeTarget, WorkerRequest, frame, unframe};

    #[test]
    fn requests_and_responses_round_trip() {
        let request = WorkerRequest {
            target: CodeTarget::Object,
            memory: 7,
        };
        assert_eq!(WorkerRequest::parse(&request.arguments()[1..]), Some(request));
        assert_eq!(WorkerRequest::parse(&["object".to_owned()]), None);
        let answer = frame(b"code");
        assert_eq!(unframe(&answer), Some(&b"code"[..]));
        assert_eq!(unframe(&answer[..answer.len() - 1]), None);
        assert_eq!(unframe(b"code"), None);
    }
}
