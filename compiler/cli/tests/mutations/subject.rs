//! Mutates files, runs commands that read these files, and checks the results of the commands.

use crate::corpus::{ARRAYS, SMALL, SPLITS, TABLE, programs};
use crate::mutate::{self, Random};
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The name of the folder for the mutant of a run folder.
const MUTANT: &str = "mutant";

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

/// The result of a command.
pub enum End {
    /// The command exited with a status that the manual lists.
    Status(i32),
    /// The command ended with a panic or a signal, reached the time limit, or ran out of memory.
    Failure(String),
}

/// The processor time that a command may take, in seconds.
const SECONDS: u32 = 10;
/// Two times in seconds for a run of many steps. The run is interrupted after the first time. If it
/// is still running when the second time has passed, it is killed.
const INTERRUPTED: [&str; 2] = ["10", "60"];
/// The address space that a command may use, in KiB.
const KIBIBYTES: u32 = 2 << 20;

/// The files of one kind, in a separate folder.
pub struct Subject {
    pub kind: Kind,
    binary: PathBuf,
    folder: PathBuf,
    programs: Vec<String>,
}

impl Subject {
    /// Writes the original source files of the mutants. If this fails, prints the reason and
    /// returns `None`.
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
            let (name, out, appended) = (format!("{at}.bnn"), format!("out{at}"), format!("appended{at}"));
            fs::write(subject.folder.join(&name), program).expect("the program is written");
            let commands = match kind {
                Kind::Programs | Kind::Data => continue,
                Kind::Folders => vec![vec!["run", &name, "--out", &out]],
                Kind::Executables => vec![
                    vec!["build", &name, "-o", &out],
                    vec!["build", &name, "--no-linker", "-o", &appended],
                ],
            };
            for arguments in commands {
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
        }
        Some(subject)
    }

    /// Writes the original data files.
    fn restore(&self) {
        for (name, text) in [("d.csv", TABLE), ("d.json", ARRAYS), ("splits.json", SPLITS)] {
            fs::write(self.folder.join(name), text).expect("the file is written");
        }
    }

    /// Makes a mutant and runs a command on it.
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
        let at = random.below(SMALL.len());
        fs::write(self.folder.join("m.bnn"), SMALL[at].1).expect("the program is written");
        self.change_data(random, at);
        self.end_of(&self.binary, &["run", "m.bnn", "--threads", "1", "--json"])
    }

    /// Mutates a data file of a small program, and runs the program.
    fn change_data(&self, random: &mut Random, at: usize) {
        self.restore();
        let (file, program) = SMALL[at];
        let changed = if program.contains("splits.json") {
            random.of(&[file, "splits.json"])
        } else {
            file
        };
        let path = self.folder.join(changed);
        let whole = fs::read(&path).expect("the file is read");
        fs::write(&path, mutated(random, &whole)).expect("the mutant is written");
    }

    /// Mutates one file of a run folder, and then either predicts from this folder or resumes its
    /// run.
    fn folder(&self, random: &mut Random) -> End {
        let at = random.below(SMALL.len());
        let mutant = self.folder.join(MUTANT);
        let _ = fs::remove_dir_all(&mutant);
        let mut files = Vec::new();
        copy(&self.folder.join(format!("out{at}")), &mutant, &mut files);
        files.sort();
        let is_read = |path: &&PathBuf| {
            let kinds = ["json", "safetensors", "fit", "draws", "chain", "training"];
            kinds
                .iter()
                .any(|kind| path.extension().is_some_and(|extension| extension == *kind))
        };
        let files: Vec<&PathBuf> = files.iter().filter(is_read).collect();
        let changed = random.of(&files);
        let whole = fs::read(changed).expect("the file is read");
        fs::write(changed, mutated(random, &whole)).expect("the mutant is written");
        let program = format!("{at}.bnn");
        match random.below(2) {
            0 => self.end_of(&self.binary, &["predict", MUTANT, "--data", SMALL[at].0]),
            _ => self.end_of(&self.binary, &["run", &program, "--resume", MUTANT]),
        }
    }

    /// Mutates the program inside an executable, the options of the executable, or its data.
    fn executable(&self, random: &mut Random) -> End {
        let at = random.below(SMALL.len());
        self.restore();
        let linked = self.folder.join(format!("out{at}"));
        match random.below(3) {
            0 => self.bundle(random, at),
            1 => {
                let options = options(random, SMALL[at].1);
                fs::write(self.folder.join("m.options"), options.join(" ")).expect("the options are written");
                let options: Vec<&str> = options.iter().map(String::as_str).collect();
                self.end_with(
                    &[
                        "timeout",
                        "--preserve-status",
                        "-s",
                        "INT",
                        "-k",
                        INTERRUPTED[1],
                        INTERRUPTED[0],
                    ],
                    &linked,
                    &options,
                )
            }
            _ => {
                self.change_data(random, at);
                self.end_of(&linked, &["--threads", "1", "--json"])
            }
        }
    }

    /// Mutates bytes of a program that is appended to `bnnc-runner`. The bytes of the runner itself
    /// stay unchanged, because no checksum protects its machine code.
    fn bundle(&self, random: &mut Random, at: usize) -> End {
        let appended = self.folder.join(format!("appended{at}"));
        let whole = fs::read(&appended).expect("the executable is read");
        let runner = fs::metadata(self.binary.with_file_name("bnnc-runner")).expect("the runner exists");
        let (runner, program) = whole.split_at(runner.len() as usize);
        let path = self.folder.join(MUTANT);
        fs::write(&path, [runner, &mutate::bytes(random, program)].concat()).expect("the mutant is written");
        let permissions = fs::metadata(appended).expect("it exists").permissions();
        fs::set_permissions(&path, permissions).expect("the mutant can be run");
        self.end_of(&path, &["--threads", "1", "--json"])
    }

    /// Copies the files of the last mutant.
    pub fn keep(&self, mutant: u64) {
        let kept = self
            .folder
            .with_file_name(format!("{}-{mutant}", self.kind.name()));
        fs::create_dir_all(&kept).expect("the folder is created");
        for name in ["m.bnn", "m.options", "d.csv", "d.json", "splits.json", MUTANT] {
            let path = self.folder.join(name);
            if path.is_dir() {
                copy(&path, &kept.join(name), &mut Vec::new());
            } else if path.exists() {
                fs::copy(path, kept.join(name)).expect("the file is copied");
            }
        }
    }

    /// Runs a command with limits on processor time and memory.
    fn end_of(&self, binary: &Path, arguments: &[&str]) -> End {
        let limit = format!("ulimit -t {SECONDS}; exec \"$@\"");
        self.end_with(&["timeout", "120", "sh", "-c", &limit, "sh"], binary, arguments)
    }

    /// Runs a command with a limit on memory. `before` is the command line of another program,
    /// which starts the command.
    fn end_with(&self, before: &[&str], binary: &Path, arguments: &[&str]) -> End {
        let output = Command::new("sh")
            .args(["-c", &format!("ulimit -v {KIBIBYTES}; exec \"$@\""), "sh"])
            .args(before)
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

/// Returns the content of a file with random changes to its bytes or to its words.
fn mutated(random: &mut Random, whole: &[u8]) -> Vec<u8> {
    match (random.below(2), std::str::from_utf8(whole)) {
        (0, Ok(text)) => mutate::text(random, text, TABLE).into_bytes(),
        _ => mutate::bytes(random, whole),
    }
}

/// Copies a folder, and adds the files of the copy to `files`.
fn copy(from: &Path, to: &Path, files: &mut Vec<PathBuf>) {
    fs::create_dir_all(to).expect("the folder is created");
    for entry in fs::read_dir(from).expect("the folder is read").flatten() {
        let (path, to) = (entry.path(), to.join(entry.file_name()));
        if path.is_dir() {
            copy(&path, &to, files);
        } else {
            fs::copy(path, &to).expect("the file is copied");
            files.push(to);
        }
    }
}

/// Returns random options for the executable of a program. They either set options of the program's
/// inferences to numbers of any size, or consist of arbitrary words.
fn options(random: &mut Random, program: &str) -> Vec<String> {
    let infers: Vec<(&str, &str)> = program
        .lines()
        .filter_map(|line| line.strip_prefix("infer ")?.split('(').next()?.split_once(" = "))
        .collect();
    let mut words = Vec::new();
    for _ in 0..1 + random.below(3) {
        let (infer, method) = random.of(&infers);
        let method = bnnc_abi::method::ALL.iter().find(|known| known.name == method);
        let options = method.map_or(&[][..], |method| method.options);
        let number = random.of(mutate::NUMBERS);
        let option = options
            .get(random.below(options.len()))
            .map_or("epochs", |option| option.name);
        let more = match random.below(8) {
            0 => ["--threads", number].map(str::to_owned),
            1 => ["--seed", number].map(str::to_owned),
            2 => ["--max-memory", number].map(str::to_owned),
            3 => ["--only", infer].map(str::to_owned),
            // The system cannot start a command if an argument contains a NUL character.
            4 => {
                let text = mutate::text(random, "v.epochs=5", program);
                ["--set".to_owned(), text.replace('\0', " ")]
            }
            _ => ["--set".to_owned(), format!("{infer}.{option}={number}")],
        };
        words.extend(more);
    }
    words
}
