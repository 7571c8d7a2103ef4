//! Executes the programs and the shell commands of the book in `docs/`, as a reader would.
//!
//! Each page has its own folder, with a copy of `docs/data` under the name `data`. Only the tour
//! starts in an empty folder. A program with the mark `run` is executed with few steps. The test
//! that is ignored by default executes it in full, and also compares its output with the output on
//! the page.

#[allow(dead_code, reason = "the tests of the book's links use the rest")]
#[path = "../../../../tests/src/book.rs"]
mod book;
mod output;
mod quick;
mod schema;
#[path = "../support/mod.rs"]
mod support;

use book::{FencedBlock, Page};
use schema::Schema;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::thread;

/// The page that a reader can follow from any folder, without a checkout.
const TOUR: &str = "tour.md";

/// The files of `examples/` that programs in the book read.
const EXAMPLES: &[&str] = &[
    "digits/data/train-images.gz",
    "digits/data/train-labels.gz",
    "digits/data/test-images.gz",
    "digits/data/test-labels.gz",
    "kin8nm/data/kin8nm.csv.gz",
];

/// The two ways to execute the programs of the book: quickly or in full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Extent {
    /// Programs run with few steps and draws, and their output is not compared.
    Quick,
    /// Programs run with the steps on the page, and their output must match the page.
    Full,
}

#[test]
fn programs_of_the_book_run() {
    assert!(run(Extent::Quick) >= 40, "the book has programs");
}

#[test]
#[ignore = "minutes; `.ci/examples` runs it in release"]
fn programs_of_the_book_print_what_it_shows() {
    assert!(run(Extent::Full) >= 40, "the book has programs");
}

#[test]
fn the_page_of_the_language_has_every_other_spelling() {
    let page = support::root().join("docs/src/reference/language.md");
    let page = fs::read_to_string(page).expect("the page of the language");
    let line = page.lines().find(|line| line.contains("earlier spelling"));
    let line = line.expect("the page lists earlier spellings");
    for (spelling, word) in bnnc_base::spellings::TABLE {
        for name in [spelling, word] {
            assert!(line.contains(&format!("`{name}`")), "{name} is not on the page");
        }
    }
}

#[test]
fn the_page_of_the_command_line_has_every_command_and_option() {
    let page = support::root().join("docs/src/reference/command-line.md");
    let page = fs::read_to_string(page).expect("the page of the command line");
    let mut missing = Vec::new();
    let help = support::run(["--help"]).stdout;
    let commands = help.split("Commands:").nth(1).expect("a list of commands");
    for line in commands
        .lines()
        .skip(1)
        .take_while(|line| !line.trim().is_empty())
    {
        let name = line.split_whitespace().next().unwrap_or_default();
        if name != "help" && !page.contains(&format!("`bnnc {name}")) {
            missing.push(format!("bnnc {name}"));
        }
    }
    for command in ["run", "predict", "build"] {
        let help = support::run([command, "--help"]).stdout;
        let options = help.split_whitespace().filter_map(|word| word.strip_prefix("--"));
        for option in options.map(|option| option.trim_end_matches(|letter: char| !letter.is_alphanumeric()))
        {
            let is_word = option
                .chars()
                .all(|letter| letter.is_ascii_lowercase() || letter == '-');
            if is_word && option != "help" && !page.contains(&format!("`--{option}")) {
                missing.push(format!("bnnc {command} --{option}"));
            }
        }
    }
    assert!(
        missing.is_empty(),
        "docs/src/reference/command-line.md lacks {missing:?}"
    );
}

/// Executes the blocks of all pages. Returns the number of programs that were executed.
fn run(extent: Extent) -> usize {
    let schema = Schema::read(&support::root().join("docs/src/reference/result.schema.json"));
    let pages = Mutex::new(book::pages(&support::root()));
    let (faults, count) = (Mutex::new(Vec::new()), Mutex::new(0));
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while let Some(page) = next(&pages) {
                    let mut reader = Reader::new(&page, extent, &schema);
                    reader.follow();
                    *count.lock().expect("a count") += reader.count;
                    faults.lock().expect("a list").extend(reader.faults);
                }
            });
        }
    });
    let mut faults = faults.into_inner().expect("a list");
    faults.sort();
    assert!(faults.is_empty(), "\n{}\n", faults.join("\n\n"));
    count.into_inner().expect("a count")
}

fn next(pages: &Mutex<Vec<Page>>) -> Option<Page> {
    pages.lock().expect("a list of pages").pop()
}

/// A reader of one page, who executes its blocks in a separate folder.
struct Reader<'b> {
    page: &'b Page,
    extent: Extent,
    schema: &'b Schema,
    folder: PathBuf,
    /// The number of programs that were executed.
    count: usize,
    faults: Vec<String>,
}

impl<'b> Reader<'b> {
    fn new(page: &'b Page, extent: Extent, schema: &'b Schema) -> Reader<'b> {
        let top = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("book-{extent:?}"));
        let name = page.path.replace('/', "-");
        let folder = top.join(name.trim_end_matches(".md")).join("docs");
        let above = folder.parent().expect("a folder");
        let _ = fs::remove_dir_all(above);
        fs::create_dir_all(&folder).expect("a folder");
        Reader {
            page,
            extent,
            schema,
            folder,
            count: 0,
            faults: Vec::new(),
        }
    }

    /// Copies the data of the book and of the examples to the paths that the programs of the page
    /// read.
    fn unpack(&self) {
        let data = self.folder.join("data");
        copy_folder(&support::root().join("docs/data"), &data);
        for file in EXAMPLES {
            let copy = self.folder.join("../examples").join(file);
            fs::create_dir_all(copy.parent().expect("a folder")).expect("a folder");
            fs::copy(support::root().join("examples").join(file), copy).expect("a copy");
        }
    }

    fn follow(&mut self) {
        let blocks = self.page.blocks();
        if self.page.path != TOUR && blocks.iter().any(|block| block.language != "text") {
            self.unpack();
        }
        let mut shown = String::new();
        for block in &blocks {
            match block.language.as_str() {
                "bnn" if block.has("run") || block.values("file").count() > 0 => shown = self.program(block),
                "sh" => shown = self.shell(block),
                "text" if self.extent == Extent::Full && !block.has("other") => {
                    let missing = output::missing(&block.text, &shown);
                    let place = self.place(block);
                    let lines = missing
                        .iter()
                        .map(|line| format!("{place}: the output has no line like\n{line}"));
                    self.faults.extend(lines);
                }
                _ => {}
            }
        }
    }

    fn place(&self, block: &FencedBlock) -> String {
        format!("docs/src/{}:{}", self.page.path, block.line)
    }

    /// Writes the program of a block to a file. If the block has the mark `run`, runs the program
    /// and returns its output.
    fn program(&mut self, block: &FencedBlock) -> String {
        let stem = self
            .page
            .path
            .rsplit('/')
            .next()
            .unwrap_or_default()
            .replace(".md", ".bnn");
        let name = block.values("file").next().unwrap_or(&stem).to_owned();
        let path = self.folder.join(&name);
        fs::write(&path, &block.text).expect("the program is written");
        if !block.has("run") {
            return String::new();
        }
        self.count += 1;
        let mut command = self.command(env!("CARGO_BIN_EXE_bnnc"));
        command.arg("run").arg(&name);
        match self.extent {
            Extent::Full => {}
            Extent::Quick => {
                command.args(["--json", "--threads", "1"]);
                for setting in quick::settings(&block.text) {
                    command.args(["--set", &setting]);
                }
            }
        }
        let output = command.output().expect("bnnc starts");
        let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
        let wanted = block.values("status").next().unwrap_or("0");
        if output.status.code().map(|status| status.to_string()).as_deref() != Some(wanted) {
            let place = self.place(block);
            self.faults.push(format!("{place}: {}\n{stderr}", output.status));
        } else if self.extent == Extent::Quick && wanted == "0" {
            let place = self.place(block);
            let found = self.schema.faults(&stdout);
            self.faults
                .extend(found.iter().map(|fault| format!("{place}: {fault}")));
        }
        stderr + &stdout
    }

    /// Runs shell commands and returns their output.
    fn shell(&mut self, block: &FencedBlock) -> String {
        let mut command = self.command("sh");
        let output = command
            .args(["-e", "-c", &block.text])
            .output()
            .expect("a shell starts");
        let shown = text(&output.stderr) + &text(&output.stdout);
        let wanted = block.values("status").next().unwrap_or("0");
        if output.status.code().map(|status| status.to_string()).as_deref() != Some(wanted) {
            let place = self.place(block);
            self.faults.push(format!("{place}: {}\n{shown}", output.status));
        }
        shown
    }

    /// Returns a command that runs in the folder of the page and finds `bnnc` in its search path.
    fn command(&self, program: &str) -> Command {
        let binaries = Path::new(env!("CARGO_BIN_EXE_bnnc")).parent().expect("a folder");
        let path = std::env::var("PATH").unwrap_or_default();
        let mut command = Command::new(program);
        command
            .current_dir(&self.folder)
            .stdin(Stdio::null())
            .env("NO_COLOR", "1");
        command.env("PATH", format!("{}:{path}", binaries.display()));
        command
    }
}

/// Copies a folder with its subfolders.
fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("a folder").flatten() {
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        match from.is_dir() {
            true => copy_folder(&from, &to),
            false => drop(fs::copy(from, to).expect("a copy")),
        }
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
