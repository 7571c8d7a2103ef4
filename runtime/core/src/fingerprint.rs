//! The inputs that determine the results of a run. An interrupted run can be resumed only if these
//! inputs are unchanged.

use crate::sources::Sources;
use bnnc_abi::manifest::{Manifest, Start};
use bnnc_abi::method::Phase;
use bnnc_abi::method::declare::OptionGroup;
use bnnc_abi::methods::sampling::{ChainOptions, Sampling, Steps, Transition};
use bnnc_base::checksum::Checksum;
use bnnc_base::diagnostic::Diagnostic;
use bnnc_data::file::files_of;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::path::Path;

/// The name of the fact that stores the version of bnnc.
const VERSION: &str = "the version of bnnc";

/// The facts that identify a run. Each fact has a name and a value.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fingerprint {
    /// The facts whose values must be unchanged.
    facts: BTreeMap<String, String>,
    /// The checksums of texts and files whose contents must be unchanged.
    contents: BTreeMap<String, String>,
    /// The number of draws per chain of each inference block. A resumed run may have more draws.
    draws: BTreeMap<String, u64>,
    /// The names of the inference blocks. The names of files in the checkpoint begin with these
    /// names.
    infers: Vec<String>,
}

impl Fingerprint {
    /// Returns the facts of a manifest: the version, the seed, the backend, the inference blocks,
    /// the precision, and the contents of the data files. If `sources` has already read a file, the
    /// checksum covers the content that was read.
    ///
    /// # Errors
    /// Fails if a data file cannot be read.
    pub fn of(manifest: &Manifest, sources: &Sources) -> Result<Fingerprint, Diagnostic> {
        let mut print = Fingerprint::default();
        print.fact(VERSION, env!("CARGO_PKG_VERSION"));
        print.fact("the seed", &manifest.seed.to_string());
        print.fact("the backend", &manifest.backend);
        for infer in &manifest.infers {
            let name = &infer.name;
            let method = format!("{} in {}", infer.method, infer.precision);
            print.fact(&format!("the inference `{name}`"), &method);
            print.infer(name);
            if let Some(sampling) = infer.sampling() {
                print.sampling(name, sampling, is_needed(manifest, name));
            }
            if let Some(Start::File(file)) = &infer.start {
                let what = format!("the file that `{name}` starts from");
                print.contents.insert(what, checksum_of(&file.path)?.to_string());
            }
        }
        for spec in &manifest.data {
            for (number, path) in files_of(spec).into_iter().enumerate() {
                let file = path.file_name().unwrap_or_default().to_string_lossy();
                let mut name = format!("`{file}` of `{}`", spec.name);
                if print.contents.contains_key(&name) {
                    // Files in different folders may have the same name. The second file then gets
                    // a longer name.
                    name = format!("`{file}`, file {} of `{}`,", number + 1, spec.name);
                }
                let checksum = match sources.checksum(&spec.name, &path) {
                    Some(read) => read,
                    None => checksum_of(&path)?,
                };
                print.contents.insert(name, checksum.to_string());
            }
        }
        Ok(print)
    }

    /// Adds the facts of a sampler. If another inference block uses the results (`is_needed`), the
    /// number of draws must not change. More draws would change the results of the other block.
    fn sampling(&mut self, infer: &str, sampling: &Sampling, is_needed: bool) {
        self.fact(
            &format!("the chains of `{infer}`"),
            &format!(
                "{} with {} warm-up iterations, keeping every {}",
                sampling.options.chains, sampling.options.warmup, sampling.options.thin
            ),
        );
        let draws = sampling.options.draws as u64;
        if is_stretched(&sampling.transition) || is_needed {
            self.fact(&format!("the draws of `{infer}`"), &draws.to_string());
        } else {
            self.draws(infer, draws);
        }
    }

    /// Returns whether this version of bnnc made the run.
    pub fn is_of_this_version(&self) -> bool {
        self.facts
            .get(VERSION)
            .is_none_or(|version| version == env!("CARGO_PKG_VERSION"))
    }

    /// Adds the name of an inference block that writes files to the checkpoint.
    pub fn infer(&mut self, name: &str) {
        self.infers.push(name.to_owned());
    }

    /// Returns the names of the inference blocks that write files to the checkpoint.
    pub fn infers(&self) -> &[String] {
        &self.infers
    }

    /// Adds a fact. Diagnostics use the name as the subject of a sentence.
    pub fn fact(&mut self, name: &str, value: &str) {
        self.facts.insert(name.to_owned(), value.to_owned());
    }

    /// Adds a text. Diagnostics use the name as the subject of a sentence.
    pub fn text(&mut self, name: &str, text: &str) {
        self.content(name, Checksum::of(text.as_bytes()));
    }

    /// Adds the known checksum of some content.
    pub fn content(&mut self, name: &str, checksum: Checksum) {
        self.contents.insert(name.to_owned(), checksum.to_string());
    }

    /// Adds the settings `ITEM.KEY=VALUE` of the command line, except numbers of draws that a
    /// resumed run may increase.
    pub fn settings(&mut self, settings: &[String]) {
        for setting in settings {
            let (key, value) = setting.split_once('=').unwrap_or((setting, ""));
            let parts = key.rsplit_once('.');
            let may_grow =
                parts.is_some_and(|(infer, option)| is_extensible(option) && self.draws.contains_key(infer));
            if !may_grow {
                self.fact(&format!("`--set {key}`"), value);
            }
        }
    }

    /// Sets the number of draws per chain of an inference block. A resumed run may increase this
    /// number.
    pub fn draws(&mut self, infer: &str, draws: u64) {
        self.draws.insert(infer.to_owned(), draws);
    }

    /// Returns the checksum of everything that must be unchanged when a run is resumed. The
    /// checksum does not cover `draws`, because a resumed run may increase the number of draws.
    pub fn checksum(&self) -> Checksum {
        let mut checksum = Checksum::default();
        for (name, value) in self.facts.iter().chain(&self.contents) {
            for text in [name, value] {
                checksum.add(&(text.len() as u64).to_le_bytes());
                checksum.add(text.as_bytes());
            }
        }
        checksum
    }

    /// Returns the reasons why a run with the fingerprint `now` cannot resume a run with the
    /// fingerprint `self`. Each reason is one line.
    pub fn differences(&self, now: &Fingerprint) -> Vec<String> {
        let facts = changes(&self.facts, &now.facts).map(|(name, then, now)| {
            format!("{name}: {} in the earlier run, {} now", given(then), given(now))
        });
        let contents = changes(&self.contents, &now.contents).map(|(name, then, now)| match (then, now) {
            (_, None) => format!("{name} is not used now"),
            (None, _) => format!("{name} was not used in the earlier run"),
            (Some(_), Some(_)) => format!("{name} has changed"),
        });
        let fewer = self.draws.iter().filter_map(|(infer, then)| {
            let now = now.draws.get(infer).filter(|now| *now < then)?;
            Some(format!(
                "`{infer}.draws` was {then}; `--resume` can raise it but not lower it to {now}"
            ))
        });
        facts.chain(contents).chain(fewer).collect()
    }
}

/// Returns whether another inference block uses the results of this block.
fn is_needed(manifest: &Manifest, name: &str) -> bool {
    manifest.infers.iter().any(|infer| infer.needs().contains(&name))
}

/// Returns every key whose values differ between two maps, together with both values.
fn changes<'a>(
    then: &'a BTreeMap<String, String>,
    now: &'a BTreeMap<String, String>,
) -> impl Iterator<Item = (&'a str, Option<&'a String>, Option<&'a String>)> {
    let names: BTreeSet<&String> = then.keys().chain(now.keys()).collect();
    let both = names
        .into_iter()
        .map(|name| (name.as_str(), then.get(name), now.get(name)));
    both.filter(|(_, then, now)| then != now)
}

fn given(value: Option<&String>) -> &str {
    value.map_or("not given", String::as_str)
}

/// Returns whether the step sizes of a sampler depend on the planned number of iterations.
fn is_stretched(transition: &Transition) -> bool {
    matches!(transition.part().schedule(), Steps::Cyclical { .. })
}

/// Returns whether a resumed run may have a larger value of this sampler option.
fn is_extensible(option: &str) -> bool {
    ChainOptions::record(option).is_some_and(|record| record.phase == Phase::Resume)
}

fn checksum_of(path: &Path) -> Result<Checksum, Diagnostic> {
    let read = File::open(path).and_then(bnnc_data::source::checksum);
    read.map_err(|error| bnnc_data::diagnostics::unreadable(path, &error))
}
