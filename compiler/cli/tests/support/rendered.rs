//! Compares diagnostics as a terminal shows them with snapshots. The snapshot
//! `tests/rendered/CODE.TEST.snap` contains the first diagnostic of a code in a test.
//!
//! With the environment variable `INSTA_UPDATE=always`, tests rewrite the snapshots.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Mutex;

/// Compares the first diagnostic with the code `code` in `text` to its snapshot. If `masked` is
/// true, `#` replaces numbers, because they depend on the machine.
pub fn hold(code: &str, text: &str, masked: bool) {
    static HELD: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    let thread = std::thread::current();
    let test = thread.name().unwrap_or_default().replace("::", ".");
    let name = format!("{code}.{test}");
    let is_first = HELD.lock().is_ok_and(|mut held| held.insert(name.clone()));
    let Some(diagnostic) = of_code(code, text).filter(|_| is_first) else {
        return;
    };
    let shown = without_folder(&diagnostic);
    let shown = if masked { mask(&shown) } else { shown };
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/rendered"));
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(name, shown));
}

/// Returns the first diagnostic with the code `code`: its heading, and the lines of source, notes
/// and helps below the heading.
pub fn of_code(code: &str, text: &str) -> Option<String> {
    let mut lines = text
        .lines()
        .skip_while(|line| !line.contains(&format!("[{code}]")));
    let head = lines.next()?;
    let below = lines.take_while(|line| line.starts_with([' ', '-']));
    Some(
        [head]
            .into_iter()
            .chain(below)
            .map(|line| format!("{line}\n"))
            .collect(),
    )
}

/// Removes the path of the test's folder, because the name of the folder differs between runs.
fn without_folder(text: &str) -> String {
    let temporary = format!("{}/", std::env::temp_dir().display());
    let mut parts = text.split(&temporary);
    let mut shown = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        shown.push_str(part.split_once('/').map_or(part, |(_, rest)| rest));
    }
    shown
}

/// Replaces numbers by `#`, except in source lines, in positions and in codes.
pub fn mask(text: &str) -> String {
    let is_source = |line: &str| {
        line.trim_start()
            .starts_with(|first: char| first.is_ascii_digit())
    };
    let is_kept = |line: &str| is_source(line) || line.contains("-[");
    let masked = |line: &str| match is_kept(line) {
        true => format!("{line}\n"),
        false => format!("{}\n", numbers_masked(line)),
    };
    text.lines().map(masked).collect()
}

fn numbers_masked(line: &str) -> String {
    let mut shown = String::new();
    let mut before = ' ';
    for character in line.chars() {
        let is_digit = character.is_ascii_digit() && !(before.is_alphanumeric() || before == '_');
        let goes_on = before == '#' && (character.is_ascii_digit() || character == '.' || character == '%');
        match (is_digit || goes_on, before) {
            (true, '#') => {}
            (true, _) => {
                shown.push('#');
                before = '#';
            }
            (false, _) => {
                shown.push(character);
                before = character;
            }
        }
    }
    shown
}
