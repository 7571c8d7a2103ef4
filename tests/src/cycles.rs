//! The import cycles between the files of a crate.

use crate::files;
use crate::imports::{Import, of_file};
use std::collections::{BTreeMap, BTreeSet};

/// The largest number of files in a cycle. With each further file, the search for the fewest upward
/// imports takes twice as much time and memory.
const MOST_FILES: usize = 16;

/// Files that import each other, directly or through other files of the cycle.
#[derive(Debug, PartialEq, Eq)]
pub struct Cycle {
    /// The paths of the files, sorted.
    pub files: Vec<String>,
    /// The number of pairs of files whose imports point upwards, in the order of the files that
    /// makes this number smallest. Without these imports, the files would not form a cycle.
    pub upward: usize,
}

/// Returns the import cycles between the files of a folder that contains the sources of a crate.
/// Tests are left out. Only paths that begin with `crate` or `super` are regarded as imports,
/// because a module may use its own submodules.
///
/// # Panics
/// Panics if a cycle has more than 16 files.
pub fn cycles(folder: &str) -> Vec<Cycle> {
    let files = files::under(folder, &["rs"]);
    let sources = files.iter().filter(|file| !file.is_test());
    let imports: Vec<Import> = sources
        .flat_map(|file| {
            let lines: Vec<&str> = file.lines().into_iter().map(|(_, line)| line).collect();
            of_file(folder, &file.path, &lines.join("\n"))
        })
        .collect();
    cycles_of(
        &files.iter().map(|file| file.path.clone()).collect::<Vec<_>>(),
        folder,
        &imports,
    )
}

fn cycles_of(files: &[String], folder: &str, imports: &[Import]) -> Vec<Cycle> {
    let modules: BTreeMap<Vec<String>, &String> = files
        .iter()
        .map(|file| {
            (
                crate::imports::module(file.strip_prefix(folder).unwrap_or(file)),
                file,
            )
        })
        .collect();
    let target = |path: &[String]| (0..=path.len()).rev().find_map(|end| modules.get(&path[..end]));
    let mut arrows: BTreeMap<&String, BTreeSet<&String>> = BTreeMap::new();
    for import in imports {
        if let Some(to) = target(&import.to).filter(|to| ***to != import.file) {
            arrows.entry(&import.file).or_default().insert(to);
        }
    }
    let reached: BTreeMap<&String, BTreeSet<&String>> = arrows
        .keys()
        .map(|file| (*file, reachable(&arrows, file)))
        .collect();
    let mut left: BTreeSet<&String> = arrows.keys().copied().collect();
    let mut cycles = Vec::new();
    while let Some(first) = left.pop_first() {
        let is_mutual = |other: &&String| {
            reached[first].contains(*other) && reached.get(*other).is_some_and(|back| back.contains(first))
        };
        let members: Vec<&String> = std::iter::once(first)
            .chain(left.iter().copied().filter(|other| is_mutual(other)))
            .collect();
        left.retain(|file| !members.contains(file));
        if members.len() > 1 {
            cycles.push(Cycle {
                upward: fewest_upward(&members, &arrows),
                files: members.into_iter().cloned().collect(),
            });
        }
    }
    cycles
}

fn reachable<'a>(
    arrows: &BTreeMap<&'a String, BTreeSet<&'a String>>,
    from: &'a String,
) -> BTreeSet<&'a String> {
    let mut reached = BTreeSet::new();
    let mut open = vec![from];
    while let Some(file) = open.pop() {
        for next in arrows.get(file).into_iter().flatten() {
            if reached.insert(*next) {
                open.push(next);
            }
        }
    }
    reached
}

/// Returns the smallest number of imports that point upwards, over all orders of the files. The
/// files are placed from the bottom to the top. If a file imports a file that is placed later, this
/// import points upwards. For the files that are placed next, only the set of files already placed
/// matters, not their order. The search therefore goes through all sets of files.
fn fewest_upward(members: &[&String], arrows: &BTreeMap<&String, BTreeSet<&String>>) -> usize {
    assert!(
        members.len() <= MOST_FILES,
        "a cycle of {} files: {members:?}",
        members.len()
    );
    let imported: Vec<u32> = members
        .iter()
        .map(|file| {
            let place = |(at, other): (usize, &&String)| u32::from(arrows[*file].contains(*other)) << at;
            members.iter().enumerate().map(place).sum()
        })
        .collect();
    let mut fewest = vec![u32::MAX; 1 << members.len()];
    fewest[0] = 0;
    for placed in 0..fewest.len() as u32 {
        for (at, imported) in imported
            .iter()
            .enumerate()
            .filter(|(at, _)| (placed >> at) & 1 == 0)
        {
            let with = placed | (1 << at);
            let upward = fewest[placed as usize] + (imported & !with).count_ones();
            fewest[with as usize] = fewest[with as usize].min(upward);
        }
    }
    fewest.last().map_or(0, |fewest| *fewest as usize)
}

#[cfg(test)]
mod tests {
    use super::{Cycle, cycles_of};
    use crate::imports::of_file;

    fn of(files: &[(&str, &str)]) -> Vec<Cycle> {
        let paths: Vec<String> = files.iter().map(|(path, _)| (*path).to_owned()).collect();
        let imports: Vec<_> = files
            .iter()
            .flat_map(|(path, text)| of_file("src", path, text))
            .collect();
        cycles_of(&paths, "src", &imports)
    }

    #[test]
    fn files_in_layers_have_no_cycle() {
        let files = [
            ("src/a.rs", "use crate::b::B;\nuse crate::c::C;"),
            ("src/b.rs", "use crate::c::C;"),
            ("src/c.rs", ""),
        ];
        assert_eq!(of(&files), []);
    }

    #[test]
    fn the_fewest_upward_imports_of_a_cycle_are_counted() {
        // Without the import of `a` by `c`, the files would be in layers.
        let ring = [
            ("src/a.rs", "use crate::b::B;"),
            ("src/b.rs", "use crate::c::C;"),
            ("src/c.rs", "use crate::a::{A, Other};"),
            ("src/d.rs", "use crate::a::A;"),
        ];
        let files = ["src/a.rs", "src/b.rs", "src/c.rs"].map(str::to_owned).to_vec();
        assert_eq!(of(&ring), [Cycle { files, upward: 1 }]);
        // Two files that both import a third file, and that the third file imports.
        let star = [
            ("src/a/mod.rs", "use crate::b::B;\nuse super::c::C;"),
            ("src/b.rs", "use crate::a::A;"),
            ("src/c.rs", "fn f() { crate::a::g() }"),
        ];
        let found: Vec<usize> = of(&star).iter().map(|cycle| cycle.upward).collect();
        assert_eq!(found, [2]);
    }
}
