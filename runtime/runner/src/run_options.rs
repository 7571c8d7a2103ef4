//! The options `--set` and `--only`. They select parts of a run after compilation.

use bnnc_abi::artefact::Built;
use bnnc_abi::diagnostics::{no_infer, no_setting};
use bnnc_abi::manifest::{InferenceBlock, Manifest};
use bnnc_abi::method::{self, OptionDef, Phase};
use bnnc_abi::run_options::OptionConflict;
use bnnc_abi::schema::Schema;
use bnnc_base::diagnostic::Diagnostic;
use bnnc_command::diagnostics::{self, FixedReason};
use std::collections::{HashMap, HashSet};

/// Sets options of inference blocks, and adds them to the recorded options of the build. All words are
/// checked, so that every error is reported.
pub fn set(built: &mut Built, words: &[String]) -> Result<(), Vec<Diagnostic>> {
    let set = words.iter().map(|word| set_one(&mut built.manifest, word));
    let faults: Vec<Diagnostic> = set.filter_map(Result::err).map(|found| *found).collect();
    if !faults.is_empty() {
        return Err(faults);
    }
    for word in words {
        let target = |word: &str| word.split('=').next().unwrap_or_default().trim().to_owned();
        let known = &mut built.origin.settings;
        known.retain(|old| target(old) != target(word));
        known.push(word.clone());
    }
    Ok(())
}

fn set_one(manifest: &mut Manifest, word: &str) -> Result<(), Box<Diagnostic>> {
    let parts = word
        .split_once('=')
        .and_then(|(target, value)| Some((target.split_once('.')?, value.trim())));
    let Some(((item, key), value)) = parts else {
        return Err(Box::new(no_setting(word)));
    };
    let (item, key) = (item.trim(), key.trim());
    if manifest.data.iter().any(|spec| spec.name == item) {
        return Err(Box::new(diagnostics::decided_setting(
            item,
            key,
            FixedReason::Data,
        )));
    }
    let names: Vec<String> = manifest.infers.iter().map(|infer| infer.name.clone()).collect();
    let infer = manifest.infers.iter_mut().find(|infer| infer.name == item);
    let infer = infer.ok_or_else(|| diagnostics::no_settable(item, names.iter().map(String::as_str)))?;
    let option = option(infer, key)?;
    if option.phase == Phase::Compile {
        return Err(Box::new(diagnostics::decided_setting(
            item,
            key,
            FixedReason::Code,
        )));
    }
    let words = || diagnostics::decided_setting(item, key, FixedReason::Words);
    let (expected, allows) = option.kind.number().ok_or_else(words)?;
    let number = number(value).ok_or_else(|| diagnostics::bad_number(item, key, &expected, None))?;
    if !allows(number) {
        return Err(Box::new(diagnostics::bad_number(
            item,
            key,
            &expected,
            Some(number),
        )));
    }
    infer
        .check_applies(key)
        .map_err(|found| conflict(infer, &found))?;
    match infer.set_option(key, number) {
        true => Ok(()),
        false => Err(Box::new(words())),
    }
}

/// Returns the definition of an option. The option belongs to the method that an inference block uses.
fn option(infer: &InferenceBlock, key: &str) -> Result<&'static OptionDef, Box<Diagnostic>> {
    match method::lookup(infer.method) {
        Some(method) => method
            .option(key)
            .ok_or_else(|| Box::new(diagnostics::no_option(method, key))),
        None => Err(Box::new(no_setting(key))),
    }
}

/// Parses a number in the syntax of programs.
fn number(text: &str) -> Option<f64> {
    let is_digit = |c: char| c.is_ascii_digit() || "+-.eE".contains(c);
    let number: Option<f64> = text.chars().all(is_digit).then(|| text.parse().ok())?;
    number.filter(|number| number.is_finite())
}

fn conflict(infer: &InferenceBlock, found: &OptionConflict) -> Box<Diagnostic> {
    Box::new(diagnostics::options_apart(
        &infer.name,
        &found.message,
        &found.help,
    ))
}

/// Returns one diagnostic for each inference block whose options cannot be combined on these data.
pub fn apart(manifest: &Manifest, schemas: &HashMap<String, Schema>) -> Vec<Diagnostic> {
    let infers = manifest.infers.iter();
    let conflicts = infers.filter_map(|infer| {
        let found = infer.check(schemas.get(&infer.data)?).err()?;
        Some(*conflict(infer, &found))
    });
    conflicts.collect()
}

/// Returns the names of the inference blocks to run. The result contains the blocks in `only` and
/// all blocks that they need. If `only` is empty, all blocks are run.
pub fn chosen(manifest: &Manifest, only: &[String]) -> Result<HashSet<String>, Vec<Diagnostic>> {
    let names: Vec<&str> = manifest.infers.iter().map(|infer| &*infer.name).collect();
    let unknown = only.iter().filter(|name| !names.contains(&name.as_str()));
    let faults: Vec<Diagnostic> = unknown.map(|name| no_infer(name, &names)).collect();
    if !faults.is_empty() {
        return Err(faults);
    }
    let mut chosen: HashSet<String> = match only {
        [] => names.iter().map(|name| (*name).to_owned()).collect(),
        only => only.iter().cloned().collect(),
    };
    // In reverse order, an inference block comes before the blocks that it needs.
    for infer in manifest.infers.iter().rev() {
        if chosen.contains(&infer.name) {
            chosen.extend(infer.needs().into_iter().map(str::to_owned));
        }
    }
    Ok(chosen)
}

/// Removes the inference blocks that are not chosen, and the data that no chosen block reads.
pub fn keep(manifest: &mut Manifest, chosen: &HashSet<String>) {
    manifest.infers.retain(|infer| chosen.contains(&infer.name));
    let infers = &manifest.infers;
    manifest
        .data
        .retain(|spec| infers.iter().any(|infer| infer.data == spec.name));
    for compare in &mut manifest.compares {
        compare.infers.retain(|name| chosen.contains(name));
    }
    manifest.compares.retain(|compare| !compare.infers.is_empty());
}
