//! What a worker process is told and answers: options as arguments, the module on standard input, the artefact on standard
//! output between a header and nothing, diagnostics on standard error.

/// The subcommand that makes an executable a worker.
pub const SUBCOMMAND: &str = "__mlir-worker";

/// The exit status where the arguments are not understood, of a worker and of whatever else is started with them.
pub const MISUNDERSTOOD: i32 = 2;

/// What an answer begins with; the length of the artefact follows in eight bytes, lowest first.
pub const HEADER: &[u8] = b"bnnc-mlir-worker 1\n";

/// What is made of a module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// A relocatable object for the processor at hand, with every extension that it has.
    Object,
    /// The assembly of a module for graphics processors, which names its processor.
    Ptx,
}

impl Target {
    /// Every target.
    pub const ALL: [Target; 2] = [Target::Object, Target::Ptx];

    /// As an argument.
    pub fn name(self) -> &'static str {
        match self {
            Target::Object => "object",
            Target::Ptx => "ptx",
        }
    }

    /// The target with this name.
    pub fn from_name(name: &str) -> Option<Target> {
        Target::ALL.into_iter().find(|target| target.name() == name)
    }
}

/// What a worker does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// The result.
    pub target: Target,
    /// Bytes of addresses that it may use.
    pub memory: u64,
}

impl Request {
    /// As arguments.
    pub fn arguments(self) -> [String; 3] {
        [
            SUBCOMMAND.to_owned(),
            self.target.name().to_owned(),
            self.memory.to_string(),
        ]
    }

    /// From the arguments after the subcommand.
    pub fn parse(arguments: &[String]) -> Option<Request> {
        let [target, memory] = arguments else {
            return None;
        };
        Some(Request {
            target: Target::from_name(target)?,
            memory: memory.parse().ok()?,
        })
    }
}

/// An answer around an artefact.
pub fn frame(artefact: &[u8]) -> Vec<u8> {
    [HEADER, &(artefact.len() as u64).to_le_bytes(), artefact].concat()
}

/// The artefact of an answer, if it is one, and whole.
pub fn unframe(answer: &[u8]) -> Option<&[u8]> {
    let (length, artefact) = answer.strip_prefix(HEADER)?.split_first_chunk::<8>()?;
    (u64::from_le_bytes(*length) == artefact.len() as u64).then_some(artefact)
}

#[cfg(test)]
mod tests {
    use super::{Request, Target, frame, unframe};

    #[test]
    fn requests_and_answers_come_through_whole() {
        let request = Request {
            target: Target::Object,
            memory: 7,
        };
        assert_eq!(Request::parse(&request.arguments()[1..]), Some(request));
        assert_eq!(Request::parse(&["object".to_owned()]), None);
        let answer = frame(b"code");
        assert_eq!(unframe(&answer), Some(&b"code"[..]));
        assert_eq!(unframe(&answer[..answer.len() - 1]), None);
        assert_eq!(unframe(b"code"), None);
    }
}
