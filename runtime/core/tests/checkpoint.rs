//! Whatever interrupts a run, it resumes with bit-identical results. If a run cannot be resumed,
//! the reason is reported.

#![allow(clippy::unwrap_used)]

use bnnc_abi::data::{DataSpec, Divisor, Format, Test};
use bnnc_abi::manifest::Manifest;
use bnnc_abi::methods::sampling::DrawStorage;
use bnnc_base::checksum::Checksum;
use bnnc_base::diagnostic::Diagnostic;
use bnnc_base::source::{SourceId, Span};
use bnnc_core::checkpoint::{ChainFile, ChainId, Checkpoint, Opening};
use bnnc_core::fingerprint::Fingerprint;
use bnnc_core::sources::Sources;
use bnnc_core::store::{ChainStore, RecordLayout};
use bnnc_math::philox;
use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

const LAYOUT: RecordLayout = RecordLayout { dim: 3, stats: 1 };
const WARMUP: usize = 5;
const DRAWS: usize = 20;
const ID: ChainId<'static> = ChainId {
    infer: "x",
    split: 0,
    chain: 1,
};

/// Returns an empty folder for one test.
fn folder(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("bnnc-checkpoint-{}-{name}", std::process::id()));
    let _ = fs::remove_dir_all(&path);
    fs::create_dir_all(&path).unwrap();
    path
}

/// A random walk as a chain. Its next state depends on the whole previous state.
#[derive(Clone, Copy, Default)]
struct Walk {
    iteration: usize,
    position: [f64; 3],
}

impl Walk {
    fn step(&mut self) {
        for (element, coordinate) in self.position.iter_mut().enumerate() {
            let noise = philox::normal(7, [0, 0, self.iteration as u32], element as u64);
            *coordinate = (0.9 * *coordinate + noise).sin();
        }
        self.iteration += 1;
    }

    fn save(&self) -> Vec<u8> {
        self.position
            .iter()
            .flat_map(|number| number.to_le_bytes())
            .collect()
    }

    fn restore(&mut self, bytes: &[u8]) {
        for (to, from) in self.position.iter_mut().zip(bytes.chunks_exact(8)) {
            *to = f64::from_le_bytes(from.try_into().unwrap());
        }
    }
}

/// The iterations at which a chain commits, and the iteration at which it is killed.
#[derive(Clone, Copy)]
struct Plan {
    draws: usize,
    /// The number of iterations between commits.
    commit: usize,
    /// The process ends before this iteration, without a commit.
    killed: usize,
}

const WHOLE: Plan = Plan {
    draws: DRAWS,
    commit: 3,
    killed: usize::MAX,
};

/// Runs a chain in the same way as a sampler does. Returns `None` if the chain is killed.
fn drive(mut file: ChainFile, plan: Plan) -> Option<ChainStore> {
    let mut walk = Walk::default();
    if let Some(resumed) = file.resumed() {
        walk.restore(&resumed.sampler);
        walk.iteration = resumed.iteration;
    }
    while walk.iteration < WARMUP + plan.draws {
        if walk.iteration == plan.killed {
            return None;
        }
        walk.step();
        if walk.iteration > WARMUP {
            file.append(&walk.position, &[walk.iteration as f64]).unwrap();
        }
        if walk.iteration.is_multiple_of(plan.commit) {
            file.commit(walk.iteration, walk.save()).unwrap();
        }
    }
    Some(file.finish(walk.iteration, || walk.save()).unwrap())
}

fn print() -> Fingerprint {
    let mut print = Fingerprint::default();
    print.fact("the seed", "1");
    print.draws("x", DRAWS as u64);
    print.infer("x");
    print.infer("y");
    print
}

fn open(out: &Path, how: Opening) -> Result<ChainFile, Diagnostic> {
    Checkpoint::open(out, &print(), how)?.chain(ID, LAYOUT, DrawStorage::Disk)
}

fn numbers(store: &ChainStore) -> Vec<f64> {
    store.records(0..store.len()).unwrap()
}

/// Returns the draws of a chain that is never interrupted, computed from the definition of the
/// chain.
fn expected(draws: usize) -> Vec<f64> {
    let mut walk = Walk::default();
    let mut all = Vec::new();
    for iteration in 1..=WARMUP + draws {
        walk.step();
        if iteration > WARMUP {
            all.extend(walk.position);
            all.push(iteration as f64);
        }
    }
    all
}

fn draws_of(out: &Path) -> PathBuf {
    out.join("checkpoint").join("x-0-1.draws")
}

fn state_of(out: &Path) -> PathBuf {
    out.join("checkpoint").join("x-0-1.chain")
}

/// Resumes a chain, and checks its draws and the state of its sampler. Returns the iteration at
/// which the chain continues, or the code of the diagnostic.
fn resumed_at(out: &Path) -> Result<usize, &'static str> {
    let checkpoint = Checkpoint::open(out, &print(), Opening::Resume).map_err(|found| found.code.id)?;
    let mut file = checkpoint
        .chain(ID, LAYOUT, DrawStorage::Memory)
        .map_err(|found| found.code.id)?;
    let Some(resumed) = file.resumed() else {
        return Ok(0);
    };
    let mut walk = Walk::default();
    (0..resumed.iteration).for_each(|_| walk.step());
    assert_eq!(resumed.sampler, walk.save());
    let records = resumed.iteration.saturating_sub(WARMUP);
    assert_eq!(file.len(), records);
    let size = fs::metadata(draws_of(out)).unwrap().len() as usize;
    assert_eq!(
        size,
        40 + records * (LAYOUT.width() + 1) * 8,
        "what comes after is cut off"
    );
    Ok(resumed.iteration)
}

/// Returns the path and the content of each file of a checkpoint.
fn snapshot(out: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let entries = fs::read_dir(out.join("checkpoint")).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    paths
        .map(|path| (path.clone(), fs::read(&path).unwrap()))
        .collect()
}

fn put_back(files: &[(PathBuf, Vec<u8>)]) {
    for (path, bytes) in files {
        fs::write(path, bytes).unwrap();
    }
}

/// Resumes a chain and runs it to the end. Returns the draws, or the code of the diagnostic.
fn resume(out: &Path) -> Result<Vec<f64>, &'static str> {
    let file = open(out, Opening::Resume).map_err(|found| found.code.id)?;
    Ok(numbers(&drive(file, WHOLE).unwrap()))
}

#[test]
fn a_chain_killed_at_any_iteration_resumes_to_the_same_draws() {
    let out = folder("killed");
    let often = [3, 5, 6, 14].map(|killed| (1, killed));
    let seldom = (0..WARMUP + DRAWS).map(|killed| (9, killed));
    for (commit, killed) in often.into_iter().chain(seldom) {
        let plan = Plan {
            commit,
            killed,
            ..WHOLE
        };
        assert!(drive(open(&out, Opening::New).unwrap(), plan).is_none());
        // The resumed chain is killed a second time, before its end.
        let again = Plan {
            killed: killed + 4,
            ..plan
        };
        drive(open(&out, Opening::Resume).unwrap(), again);
        assert_eq!(resume(&out).unwrap(), expected(DRAWS), "killed at {killed}");
    }
}

/// The test above can fail: a chain that continues from a wrong state yields different draws.
#[test]
fn a_chain_that_forgot_its_state_is_noticed() {
    let out = folder("forgot");
    killed_late(&out);
    let mut file = open(&out, Opening::Resume).unwrap();
    file.resumed().unwrap();
    let mut walk = Walk {
        iteration: 20,
        ..Walk::default()
    };
    while walk.iteration < WARMUP + DRAWS {
        walk.step();
        file.append(&walk.position, &[walk.iteration as f64]).unwrap();
    }
    let store = file.finish(walk.iteration, || walk.save()).unwrap();
    assert_eq!(store.len(), DRAWS);
    assert_ne!(numbers(&store), expected(DRAWS));
}

#[test]
fn a_finished_chain_is_only_read() {
    let out = folder("finished");
    drive(open(&out, Opening::New).unwrap(), WHOLE).unwrap();
    let bytes = fs::read(draws_of(&out)).unwrap();
    for _ in 0..3 {
        assert_eq!(resume(&out).unwrap(), expected(DRAWS));
        assert_eq!(fs::read(draws_of(&out)).unwrap(), bytes);
    }
}

#[test]
fn more_draws_continue_where_fewer_ended() {
    let out = folder("more");
    drive(open(&out, Opening::New).unwrap(), WHOLE).unwrap();
    let mut more = print();
    more.draws("x", 50);
    let checkpoint = Checkpoint::open(&out, &more, Opening::Resume).unwrap();
    let file = checkpoint.chain(ID, LAYOUT, DrawStorage::Memory).unwrap();
    let store = drive(file, Plan { draws: 50, ..WHOLE }).unwrap();
    assert_eq!(numbers(&store), expected(50));
    drop(checkpoint);
    let fewer = Checkpoint::open(&out, &print(), Opening::Resume).unwrap_err();
    assert_eq!(fewer.code.id, "E0511");
    assert_eq!(
        fewer.notes,
        ["`x.draws` was 50; `--resume` can raise it but not lower it to 20"]
    );
}

/// Writes the files that a killed chain leaves behind: two saved states, and draws that were
/// written after each of them.
fn killed_late(out: &Path) {
    let plan = Plan {
        killed: 22,
        commit: 10,
        ..WHOLE
    };
    assert!(drive(open(out, Opening::New).unwrap(), plan).is_none());
}

#[test]
fn a_damaged_state_falls_back_to_the_one_before() {
    let out = folder("state");
    killed_late(&out);
    let files = snapshot(&out);
    assert_eq!(resumed_at(&out), Ok(20));
    let bytes = fs::read(state_of(&out)).unwrap();
    let damage = |damaged: &[u8]| {
        put_back(&files);
        fs::write(state_of(&out), damaged).unwrap();
        assert_eq!(resumed_at(&out), Ok(10));
    };
    for length in 0..bytes.len() {
        damage(&bytes[..length]);
    }
    for at in 0..bytes.len() {
        let mut changed = bytes.clone();
        changed[at] ^= 0x40;
        damage(&changed);
    }
    assert_eq!(resume(&out).unwrap(), expected(DRAWS));
    // A damaged state must never replace the intact state before it.
    killed_late(&out);
    fs::write(state_of(&out), "").unwrap();
    let plan = Plan {
        killed: 12,
        commit: 1,
        ..WHOLE
    };
    assert!(drive(open(&out, Opening::Resume).unwrap(), plan).is_none());
    fs::write(state_of(&out), "").unwrap();
    assert_eq!(resume(&out).unwrap(), expected(DRAWS));
}

#[test]
fn a_process_killed_between_two_renames_leaves_the_state_before() {
    let out = folder("renames");
    killed_late(&out);
    fs::remove_file(state_of(&out)).unwrap();
    fs::write(out.join("checkpoint").join("x-0-1.chain.99.tmp"), "half").unwrap();
    assert_eq!(resume(&out).unwrap(), expected(DRAWS));
    assert!(!out.join("checkpoint").join("x-0-1.chain.99.tmp").exists());
}

/// Other programs use names such as `weights.old` and `config.json` for files in a folder
/// `checkpoint`. A run must not delete them.
#[test]
fn files_that_no_run_wrote_stay() {
    let out = folder("mine");
    let checkpoint = out.join("checkpoint");
    fs::create_dir(&checkpoint).unwrap();
    let mine = [
        "config.json",
        "weights.old",
        "x-notes.fit",
        "x-0-1-2.draws",
        "x-1.json",
        "y.tmp",
        "z-0-1.draws",
        "z-0.fit",
        "z-0.fit.17.tmp",
    ];
    for name in mine {
        fs::write(checkpoint.join(name), "mine").unwrap();
    }
    for how in [Opening::New, Opening::Resume, Opening::Overwrite] {
        for name in ["x-0.fit", "x-0-1.chain.17.tmp"] {
            fs::write(checkpoint.join(name), "a run's").unwrap();
        }
        drop(Checkpoint::open(&out, &print(), how).unwrap());
        assert!(!checkpoint.join("x-0-1.chain.17.tmp").exists());
        assert_eq!(checkpoint.join("x-0.fit").exists(), how == Opening::Resume);
        for name in mine {
            assert!(checkpoint.join(name).exists(), "{name}");
        }
    }
}

#[cfg(unix)]
#[test]
fn links_are_not_followed() {
    let out = folder("links");
    let (checkpoint, victim) = (out.join("checkpoint"), out.join("victim"));
    fs::create_dir(&checkpoint).unwrap();
    fs::write(&victim, "mine").unwrap();
    for name in ["x-0-1.draws", "x-0-1.chain", "y-0.fit"] {
        std::os::unix::fs::symlink(&victim, checkpoint.join(name)).unwrap();
    }
    let opened = Checkpoint::open(&out, &print(), Opening::New).unwrap();
    opened.keep("y", 0, &1.5).unwrap();
    drive(opened.chain(ID, LAYOUT, DrawStorage::Disk).unwrap(), WHOLE).unwrap();
    drop(opened);
    let lock = checkpoint.join("lock");
    fs::remove_file(&lock).unwrap();
    std::os::unix::fs::symlink(&victim, &lock).unwrap();
    let found = Checkpoint::open(&out, &print(), Opening::Overwrite).unwrap_err();
    assert_eq!(found.code.id, "E0515");
    assert_eq!(fs::read_to_string(&victim).unwrap(), "mine");
}

#[test]
fn another_run_is_replaced_only_on_request() {
    let out = folder("other");
    killed_late(&out);
    let mut other = Fingerprint::default();
    other.fact("the seed", "2");
    let found = Checkpoint::open(&out, &other, Opening::New).unwrap_err();
    assert_eq!(found.code.id, "E0514");
    assert!(
        found
            .notes
            .contains(&"the seed: 1 in the earlier run, 2 now".to_owned()),
        "{found:?}"
    );
    assert_eq!(resume(&out).unwrap(), expected(DRAWS), "nothing was lost");
    drop(Checkpoint::open(&out, &other, Opening::Overwrite).unwrap());
    assert!(!draws_of(&out).exists());
}

#[test]
fn states_that_are_both_damaged_are_an_error() {
    let out = folder("both");
    killed_late(&out);
    fs::write(state_of(&out), "x").unwrap();
    fs::write(state_of(&out).with_extension("chain.old"), "").unwrap();
    assert_eq!(resume(&out), Err("E0510"));
    fs::remove_file(state_of(&out)).unwrap();
    assert_eq!(resume(&out), Err("E0510"));
    // A new run ignores the damaged states of the earlier run.
    assert!(drive(open(&out, Opening::New).unwrap(), WHOLE).is_some());
}

#[test]
fn draws_truncated_at_any_byte_are_drawn_again_or_an_error() {
    let out = folder("draws");
    killed_late(&out);
    let files = snapshot(&out);
    let bytes = fs::read(draws_of(&out)).unwrap();
    let (header, record) = (40, (LAYOUT.width() + 1) * 8);
    // The two saved states are from the iterations 10 and 20.
    let needed = |iteration: usize| header + (iteration - WARMUP) * record;
    assert!(
        bytes.len() == needed(20),
        "the last two iterations were held back"
    );
    for length in 0..=bytes.len() {
        put_back(&files);
        fs::write(draws_of(&out), &bytes[..length]).unwrap();
        let expected = match length {
            _ if length < needed(10) => Err("E0510"),
            _ if length < needed(20) => Ok(10),
            _ => Ok(20),
        };
        assert_eq!(resumed_at(&out), expected, "cut at {length}");
    }
    put_back(&files);
    fs::write(draws_of(&out), &bytes[..needed(20) - 1]).unwrap();
    assert_eq!(resume(&out).unwrap(), expected(DRAWS));
    put_back(&files);
    fs::write(draws_of(&out), [&bytes[..], &[1, 2, 3]].concat()).unwrap();
    assert_eq!(resume(&out).unwrap(), expected(DRAWS));
    put_back(&files);
    fs::write(draws_of(&out), &bytes[..needed(10) - 1]).unwrap();
    let checkpoint = Checkpoint::open(&out, &print(), Opening::Resume).unwrap();
    let short = checkpoint.chain(ID, LAYOUT, DrawStorage::Memory).unwrap_err();
    let name = draws_of(&out).file_name().unwrap().to_string_lossy().into_owned();
    assert!(short.message.contains(&name), "{}", short.message);
    drop(checkpoint);
    fs::remove_file(draws_of(&out)).unwrap();
    assert_eq!(resume(&out), Err("E0510"));
}

/// Draws or states of another chain are rejected if their files are renamed to the files of this
/// chain. Files of another run are also rejected.
#[test]
fn files_of_another_chain_are_an_error() {
    let out = folder("swapped");
    let other = ChainId { chain: 2, ..ID };
    let checkpoint = Checkpoint::open(&out, &print(), Opening::New).unwrap();
    for id in [ID, other] {
        drive(checkpoint.chain(id, LAYOUT, DrawStorage::Disk).unwrap(), WHOLE).unwrap();
    }
    drop(checkpoint);
    let of = |chain: usize, extension: &str| out.join("checkpoint").join(format!("x-0-{chain}.{extension}"));
    let files = snapshot(&out);
    for swapped in [&["draws"][..], &["chain"], &["draws", "chain"]] {
        for extension in swapped {
            fs::copy(of(2, extension), of(1, extension)).unwrap();
        }
        let _ = fs::remove_file(of(1, "chain.old"));
        assert_eq!(resume(&out), Err("E0510"), "{swapped:?}");
        put_back(&files);
    }
    fs::copy(of(2, "draws"), of(1, "draws")).unwrap();
    let checkpoint = Checkpoint::open(&out, &print(), Opening::Resume).unwrap();
    let found = checkpoint.chain(ID, LAYOUT, DrawStorage::Memory).unwrap_err();
    assert!(
        found.message.contains("the draws of another chain"),
        "{}",
        found.message
    );
    drop(checkpoint);
    put_back(&files);
    let elsewhere = folder("elsewhere");
    let mut print = print();
    print.fact("the seed", "2");
    let checkpoint = Checkpoint::open(&elsewhere, &print, Opening::New).unwrap();
    drive(checkpoint.chain(ID, LAYOUT, DrawStorage::Disk).unwrap(), WHOLE).unwrap();
    for extension in ["draws", "chain"] {
        let from = elsewhere.join("checkpoint").join(format!("x-0-1.{extension}"));
        fs::copy(from, of(1, extension)).unwrap();
    }
    assert_eq!(resume(&out), Err("E0510"), "of another seed");
    put_back(&files);
    assert_eq!(resume(&out).unwrap(), expected(DRAWS));
}

#[test]
fn another_run_is_not_continued() {
    let out = folder("another");
    killed_late(&out);
    let mut now = Fingerprint::default();
    now.fact("the backend", "reference");
    now.text("the program", "model M() {}");
    now.draws("x", DRAWS as u64);
    let found = Checkpoint::open(&out, &now, Opening::Resume).unwrap_err();
    assert_eq!(found.code.id, "E0511");
    assert_eq!(
        found.notes,
        [
            "the backend: not given in the earlier run, reference now",
            "the seed: 1 in the earlier run, not given now",
            "the program was not used in the earlier run",
        ]
    );
    now = print();
    now.fact("the seed", "2");
    let found = Checkpoint::open(&out, &now, Opening::Resume).unwrap_err();
    assert_eq!(found.notes, ["the seed: 1 in the earlier run, 2 now"]);
    // The rejected checkpoint must be unchanged, so its own chain can still be resumed.
    assert_eq!(resume(&out).unwrap(), expected(DRAWS));
}

#[test]
fn a_garbled_fingerprint_is_an_error() {
    let out = folder("print");
    killed_late(&out);
    let path = out.join("checkpoint").join("run.json");
    let text = fs::read_to_string(&path).unwrap();
    for length in 0..text.len() {
        fs::write(&path, &text[..length]).unwrap();
        assert_eq!(resume(&out), Err("E0510"), "cut at {length}");
    }
    fs::remove_file(&path).unwrap();
    assert!(!Checkpoint::is_in(&out));
    assert_eq!(resume(&out).unwrap(), expected(DRAWS), "without one it begins");
}

#[test]
fn a_folder_belongs_to_one_run_at_a_time() {
    let out = folder("lock");
    let checkpoint = Checkpoint::open(&out, &print(), Opening::New).unwrap();
    for how in [Opening::New, Opening::Resume, Opening::Overwrite] {
        let found = Checkpoint::open(&out, &print(), how).unwrap_err();
        assert_eq!(found.code.id, "E0512");
    }
    let copy = checkpoint.clone();
    drop(checkpoint);
    assert!(Checkpoint::open(&out, &print(), Opening::Resume).is_err());
    drop(copy);
    assert!(Checkpoint::open(&out, &print(), Opening::Resume).is_ok());
}

#[test]
fn a_new_run_replaces_the_old_one_and_nothing_else() {
    let out = folder("new");
    killed_late(&out);
    let checkpoint = Checkpoint::open(&out, &print(), Opening::New).unwrap();
    checkpoint.keep("y", 0, &1.5).unwrap();
    drop(checkpoint);
    let notes = out.join("checkpoint").join("notes.txt");
    fs::write(&notes, "mine").unwrap();
    let checkpoint = Checkpoint::open(&out, &print(), Opening::New).unwrap();
    assert_eq!(checkpoint.kept::<f64>("y", 0), None);
    assert!(!draws_of(&out).exists());
    assert!(notes.exists());
}

#[test]
fn the_result_of_a_training_is_kept() {
    let out = folder("kept");
    let found = (vec![0.1, f64::MIN_POSITIVE, -0.0, f64::NAN], 3_usize);
    let checkpoint = Checkpoint::open(&out, &print(), Opening::New).unwrap();
    assert_eq!(checkpoint.kept::<(Vec<f64>, usize)>("y", 2), None);
    checkpoint.keep("y", 2, &found).unwrap();
    let kept: (Vec<f64>, usize) = checkpoint.kept("y", 2).unwrap();
    let bits = |numbers: &[f64]| numbers.iter().map(|number| number.to_bits()).collect::<Vec<_>>();
    assert_eq!((bits(&kept.0), kept.1), (bits(&found.0), found.1));
    assert_eq!(checkpoint.kept::<(Vec<f64>, usize)>("y", 1), None);
    let path = out.join("checkpoint").join("y-2.fit");
    let bytes = fs::read(&path).unwrap();
    for length in 0..bytes.len() {
        fs::write(&path, &bytes[..length]).unwrap();
        assert_eq!(checkpoint.kept::<(Vec<f64>, usize)>("y", 2), None);
    }
}

#[test]
fn no_file_stays_without_a_folder() {
    let checkpoint = Checkpoint::none();
    for keep in [DrawStorage::Memory, DrawStorage::Disk] {
        let file = checkpoint.chain(ID, LAYOUT, keep).unwrap();
        assert!(!file.is_due());
        assert_eq!(numbers(&drive(file, WHOLE).unwrap()), expected(DRAWS));
    }
    checkpoint.keep("y", 0, &1.0).unwrap();
    assert_eq!(checkpoint.kept::<f64>("y", 0), None);
    let mine = format!("bnnc-{}-", std::process::id());
    let left = fs::read_dir(std::env::temp_dir()).unwrap().filter(|entry| {
        let name = entry.as_ref().unwrap().file_name();
        name.to_string_lossy().starts_with(&mine) && name.to_string_lossy().ends_with(".draws")
    });
    assert_eq!(left.count(), 0);
}

#[test]
fn commits_are_due_after_a_time() {
    let out = folder("time");
    let checkpoint = Checkpoint::open(&out, &print(), Opening::New).unwrap();
    // The time between commits is two seconds, so that a pause of a busy machine does not cause a
    // commit.
    let mut file = checkpoint
        .clone()
        .every(Duration::from_secs(2))
        .chain(ID, LAYOUT, DrawStorage::Memory)
        .unwrap();
    assert!(!file.is_due());
    let mut file_now = checkpoint
        .clone()
        .every(Duration::ZERO)
        .chain(ChainId { chain: 2, ..ID }, LAYOUT, DrawStorage::Memory)
        .unwrap();
    assert!(file_now.is_due());
    file_now.commit(0, Vec::new()).unwrap();
    assert!(file_now.is_due());
    while !file.is_due() {
        std::thread::sleep(Duration::from_millis(5));
    }
    file.commit(0, Vec::new()).unwrap();
    assert!(!file.is_due());
}

fn spec(file: &Path) -> DataSpec {
    DataSpec {
        name: "rows".to_owned(),
        span: Span::new(SourceId(0), 0, 0),
        format: Format::Csv,
        files: vec![file.to_path_buf()],
        inputs: Vec::new(),
        target: None,
        test: Test::None,
        validation: 0.0,
        standardise_inputs: false,
        standardise_target: false,
        normalise_channels: false,
        divisor: Divisor::Count,
        scale: 1.0,
        limit: None,
        shared: None,
        rotate: Vec::new(),
        outliers: None,
    }
}

#[test]
fn a_fingerprint_changes_with_the_data() {
    let file = folder("data").join("rows.csv");
    let of = |text: &str, seed: u64| {
        fs::write(&file, text).unwrap();
        let manifest = Manifest {
            program: "program.bnn".to_owned(),
            seed,
            backend: "cranelift".to_owned(),
            data: vec![spec(&file)],
            infers: Vec::new(),
            compares: Vec::new(),
            schemas: HashMap::new(),
        };
        Fingerprint::of(&manifest, &Sources::default()).unwrap()
    };
    let then = of("x,y\n1,2\n", 1);
    assert!(then.differences(&of("x,y\n1,2\n", 1)).is_empty());
    let now = then.differences(&of("x,y\n1,3\n", 1));
    assert_eq!(now, ["`rows.csv` of `rows` has changed"]);
    assert_eq!(
        then.differences(&of("x,y\n1,2\n", 9)),
        ["the seed: 1 in the earlier run, 9 now"]
    );
    // A missing data file is an error.
    fs::remove_file(&file).unwrap();
    let manifest = Manifest {
        program: String::new(),
        seed: 0,
        backend: String::new(),
        data: vec![spec(&file)],
        infers: Vec::new(),
        compares: Vec::new(),
        schemas: HashMap::new(),
    };
    assert!(Fingerprint::of(&manifest, &Sources::default()).is_err());
}

/// The expected checksums are the test vectors that Fowler, Noll and Vo published for 64-bit
/// FNV-1a.
#[test]
fn checksums_are_the_published_ones() {
    assert_eq!(Checksum::of(b"").value(), 0xcbf2_9ce4_8422_2325);
    assert_eq!(Checksum::of(b"a").value(), 0xaf63_dc4c_8601_ec8c);
    assert_eq!(Checksum::of(b"foobar").value(), 0x8594_4171_f739_67e8);
}
