//! The files that are mutated, the commands that read them, and how these may end.

use crate::corpus::{ARRAYS, SMALL, SPLITS, TABLE, programs};
use crate::mutate::{self, Random};
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A kind of file that is mutated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Programs,
    Data,
    Folders,
    Executables,
}

impl Kind {
    pub const ALL: [Kind; 4] = [Kind::Programs, Kind::Data, Kind::Folders, Kind::Executables];

    pub fn name(&self) -> &'static str {
        match self {
            Kind::Programs => "programs",
            Kind::Data => "data",
            Kind::Folders => "folders",
            Kind::Executables => "executables",
        }
    }
}

/// How a run ended.
pub enum End {
    /// With a status that the manual names.
    Status(i32),
    /// With a panic, a signal, after too long, or for want of memory.
    Failure(String),
}

/// Seconds of processor time that a run may take.
const SECONDS: u32 = 10;
/// KiB of address space that a run may take.
const KIBIBYTES: u32 = 2 << 20;

/// Files of one kind, in a folder of their own.
pub struct Subject {
    pub kind: Kind,
    binary: PathBuf,
    folder: PathBuf,
    programs: Vec<String>,
}

impl Subject {
    /// Writes what is mutated. `None`, with a line that says why, where it cannot be made.
    pub fn prepare(kind: Kind, binary: &Path, root: &Path) -> Option<Subject> {
        let folder = root.join(kind.name());
        fs::create_dir_all(&folder).expect("the folder is created");
        let subject = Subject {
            kind,
            binary: binary.to_path_buf(),
            folder,
            programs: programs(),
        };
        subject.restore();
        for (at, (_, program)) in SMALL.iter().enumerate() {
            let (name, out) = (format!("{at}.bnn"), format!("out{at}"));
            fs::write(subject.folder.join(&name), program).expect("the program is written");
            let arguments: Vec<&str> = match kind {
                Kind::Programs | Kind::Data => continue,
                Kind::Folders => vec!["run", &name, "--out", &out],
                Kind::Executables => vec!["build", &name, "-o", &out],
            };
            let why = match subject.end_of(binary, &arguments) {
                End::Status(0) => continue,
                End::Status(status) => format!("status {status}"),
                End::Failure(what) => what,
            };
            println!(
                "no {}: `bnnc {}` ended with {why}",
                kind.name(),
                arguments.join(" ")
            );
            return None;
        }
        Some(subject)
    }

    /// Writes the data files as they are.
    fn restore(&self) {
        for (name, text) in [("d.csv", TABLE), ("d.json", ARRAYS), ("splits.json", SPLITS)] {
            fs::write(self.folder.join(name), text).expect("the file is written");
        }
    }

    /// Makes a mutant and runs it.
    pub fn run(&self, random: &mut Random) -> End {
        match self.kind {
            Kind::Programs => self.program(random),
            Kind::Data => self.data(random),
            Kind::Folders => self.folder(random),
            Kind::Executables => self.executable(random),
        }
    }

    fn program(&self, random: &mut Random) -> End {
        let [text, other] = [(); 2].map(|()| &self.programs[random.below(self.programs.len())]);
        fs::write(self.folder.join("m.bnn"), mutate::text(random, text, other))
            .expect("the mutant is written");
        let commands: &[&[&str]] = &[
            &["check", "m.bnn"],
            &["check", "m.bnn"],
            &["emit", "loops", "m.bnn"],
            &["fmt", "m.bnn"],
        ];
        self.end_of(&self.binary, random.of(commands))
    }

    fn data(&self, random: &mut Random) -> End {
        self.restore();
        let (file, program) = random.of(SMALL);
        fs::write(self.folder.join("m.bnn"), program).expect("the program is written");
        let changed = if program.contains("splits.json") {
            random.of(&[file, "splits.json"])
        } else {
            file
        };
        let path = self.folder.join(changed);
        let text = fs::read_to_string(&path).expect("the file is read");
        let mutant = match random.below(2) {
            0 => mutate::bytes(random, text.as_bytes()),
            _ => mutate::text(random, &text, TABLE).into_bytes(),
        };
        fs::write(&path, mutant).expect("the mutant is written");
        self.end_of(&self.binary, &["run", "m.bnn", "--threads", "1", "--json"])
    }

    fn folder(&self, random: &mut Random) -> End {
        let at = random.below(SMALL.len());
        let name = random.of(&["program.json", "posterior.safetensors", "result.json"]);
        let path = self.folder.join(format!("out{at}")).join(name);
        let Ok(whole) = fs::read(&path) else {
            return End::Status(0);
        };
        let mutant = match (random.below(2), std::str::from_utf8(&whole)) {
            (0, Ok(text)) => mutate::text(random, text, text).into_bytes(),
            _ => mutate::bytes(random, &whole),
        };
        fs::write(&path, &mutant).expect("the mutant is written");
        fs::write(self.folder.join("mutant"), &mutant).expect("the mutant is written");
        let end = self.end_of(
            &self.binary,
            &["predict", &format!("out{at}"), "--data", SMALL[at].0],
        );
        fs::write(&path, whole).expect("the file is restored");
        end
    }

    fn executable(&self, random: &mut Random) -> End {
        let at = random.below(SMALL.len());
        let whole = fs::read(self.folder.join(format!("out{at}"))).expect("the executable is read");
        let path = self.folder.join("mutant");
        // The program stands at the end; the runtime before it is machine code, which nothing checks.
        let part = whole.len() - random.below(whole.len() / 50);
        let mutant = [&whole[..part], &mutate::bytes(random, &whole[part..])].concat();
        fs::write(&path, mutant).expect("the mutant is written");
        let permissions = fs::metadata(self.folder.join(format!("out{at}")))
            .expect("it exists")
            .permissions();
        fs::set_permissions(&path, permissions).expect("the mutant can be run");
        self.end_of(&path, &["--threads", "1", "--json"])
    }

    /// Copies the files of the mutant that was run last.
    pub fn keep(&self, mutant: u64) {
        let kept = self
            .folder
            .with_file_name(format!("{}-{mutant}", self.kind.name()));
        fs::create_dir_all(&kept).expect("the folder is created");
        for name in ["m.bnn", "d.csv", "d.json", "splits.json", "mutant"] {
            if self.folder.join(name).exists() {
                fs::copy(self.folder.join(name), kept.join(name)).expect("the file is copied");
            }
        }
    }

    /// Runs a command under limits of time and memory.
    fn end_of(&self, binary: &Path, arguments: &[&str]) -> End {
        let script = format!("ulimit -v {KIBIBYTES}; ulimit -t {SECONDS}; exec \"$@\"");
        let output = Command::new("timeout")
            .args(["120", "sh", "-c", &script, "sh"])
            .arg(binary)
            .args(arguments)
            .current_dir(&self.folder)
            .env("NO_COLOR", "1")
            .stdin(Stdio::null())
            .output()
            .expect("the command starts");
        let text = String::from_utf8_lossy(&output.stderr);
        let line = |part: &str| {
            text.lines()
                .find(|line| line.contains(part))
                .unwrap_or("")
                .trim()
                .to_owned()
        };
        match (output.status.code(), output.status.signal()) {
            (Some(status @ (0..=4 | 130)), _) => End::Status(status),
            (Some(101), _) => End::Failure(format!("panic: {}", line("panicked"))),
            (Some(124 | 137), _) => End::Failure(format!("hang: {}", arguments.join(" "))),
            (Some(134), _) | (None, Some(6)) => End::Failure(format!("abort: {}", line("memory allocation"))),
            (status, signal) => {
                End::Failure(format!("status {status:?}, signal {signal:?}: {}", line("error")))
            }
        }
    }
}
