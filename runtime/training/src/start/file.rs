//! Starts from safetensors files. A file contains either sites by name, on the declared scale, or
//! the states that a run wrote.

use bnnc_abi::manifest::{InferenceBlock, StartFile, StartSite};
use bnnc_base::diagnostic::Diagnostic;
use bnnc_base::shape::{Shape, Sizes};
use bnnc_core::diagnostics;
use bnnc_core::states::StateValues;
use safetensors::tensor::{Dtype, SafeTensors, TensorView};
use std::collections::BTreeSet;

/// The maximum number of errors that are listed. Further errors are only counted.
const LINES: usize = 12;

/// Returns the states that a file contains. The values of a site are transformed to the
/// unconstrained scale by the bijector of its support.
///
/// # Errors
/// Fails if the file cannot be read, a value lies outside its support, or a tensor is missing,
/// unknown, or of a wrong shape or type.
pub fn read(infer: &InferenceBlock, file: &StartFile, split: usize) -> Result<StateValues, Diagnostic> {
    let fail = |why: &str| diagnostics::no_start_file(&infer.name, &file.path, &[why.to_owned()]);
    let bytes = bnnc_data::file::whole(&file.path).map_err(|error| fail(&error.to_string()))?;
    let tensors = SafeTensors::deserialize(&bytes).map_err(|error| fail(&error.to_string()))?;
    let mut reading = Reading {
        file,
        tensors: &tensors,
        values: StateValues::new(),
        faults: Vec::new(),
    };
    match reading.run_of(infer).map_err(|runs| {
        let runs = runs.join(", ");
        fail(&format!(
            "it holds the inferences {runs}, but not `{}`",
            infer.name
        ))
    })? {
        Some(run) => reading.states(infer, &run, split),
        None => reading.sites(),
    }
    let mut faults = reading.faults;
    if faults.is_empty() {
        return Ok(reading.values);
    }
    let more = faults.len().saturating_sub(LINES);
    if more > 0 {
        faults.truncate(LINES);
        faults.push(format!("and {more} more of this kind"));
    }
    Err(diagnostics::no_start_file(&infer.name, &file.path, &faults))
}

struct Reading<'a> {
    file: &'a StartFile,
    tensors: &'a SafeTensors<'a>,
    values: StateValues,
    /// The errors that were found, one line for each error.
    faults: Vec<String>,
}

impl Reading<'_> {
    /// If the file was written by a run, returns the inference block whose states are read. Returns `None`
    /// if the file contains sites. If the file contains states of several inference blocks, but no states
    /// of `infer`, the error lists these blocks.
    fn run_of(&self, infer: &InferenceBlock) -> Result<Option<String>, Vec<String>> {
        let is_site = |name: &&str| self.file.sites.iter().any(|site| site.site == **name);
        if self.tensors.names().iter().any(|name| is_site(&&**name)) {
            return Ok(None);
        }
        let is_state = |name: &str| infer.states.iter().any(|state| state.name == name);
        let runs: BTreeSet<&str> = self
            .tensors
            .names()
            .into_iter()
            .filter_map(|name| name.split_once('/'))
            .filter(|(_, state)| is_state(state.split('#').next().unwrap_or(state)))
            .map(|(run, _)| run)
            .collect();
        match (runs.contains(&*infer.name), runs.len()) {
            (_, 0) => Ok(None),
            (true, _) => Ok(Some(infer.name.clone())),
            (false, 1) => Ok(runs.first().map(|run| (*run).to_owned())),
            (false, _) => Err(runs.into_iter().map(str::to_owned).collect()),
        }
    }

    /// Reads the states that a run wrote. The states are already on the unconstrained scale, so
    /// they are not transformed.
    fn states(&mut self, infer: &InferenceBlock, run: &str, split: usize) {
        for site in self.file.sites.iter().filter(|site| site.moves) {
            let name = format!("{run}/{}", site.state);
            let of_split = format!("{name}#{split}");
            let view = self
                .tensors
                .tensor(&of_split)
                .or_else(|_| self.tensors.tensor(&name));
            let shape = infer.states.iter().find(|state| state.name == site.state);
            let (Ok(view), Some(state)) = (view, shape) else {
                self.faults.push(format!("`{name}` is missing"));
                continue;
            };
            if let Some(values) = self.numbers(&name, &view, &state.shape) {
                match values.iter().find(|value| !value.is_finite()) {
                    Some(value) => self.faults.push(format!("`{name}` holds {value}")),
                    None => {
                        self.values.insert(site.state.clone(), values);
                    }
                }
            }
        }
    }

    /// Reads all sites by their names. The values in the file are on the declared scale.
    fn sites(&mut self) {
        let file = self.file;
        for site in &file.sites {
            match self.tensors.tensor(&site.site) {
                Ok(view) => self.site(site, &view),
                Err(_) if site.moves => self.faults.push(format!(
                    "the file has no `{}`, which is {}",
                    site.site,
                    shape_text(&site.shape)
                )),
                Err(_) => {}
            }
        }
        let known = |name: &str| file.sites.iter().any(|site| site.site == name);
        let mut unknown: Vec<&str> = self.tensors.names();
        unknown.retain(|name| !known(name));
        unknown.sort_unstable();
        let lines = unknown
            .iter()
            .map(|name| format!("the model has no parameter `{name}`"));
        self.faults.extend(lines);
    }

    fn site(&mut self, site: &StartSite, view: &TensorView<'_>) {
        let Some(values) = self.numbers(&site.site, view, &site.shape) else {
            return;
        };
        let last = site.shape.resolve(&Sizes::default()).last().copied().unwrap_or(1);
        match site.support.outside(last, &values) {
            Some(at) => self.faults.push(format!(
                "element {at} of `{}` is {}, which is outside {}",
                site.site, values[at], site.support
            )),
            None if site.moves => {
                let state = site.support.inverse(last, &values);
                self.values.insert(site.state.clone(), state);
            }
            None => {}
        }
    }

    /// Returns the numbers of a tensor if it has the wanted shape. If the shape differs, records an
    /// error.
    fn numbers(&mut self, name: &str, view: &TensorView<'_>, wanted: &Shape) -> Option<Vec<f64>> {
        if view.shape() != wanted.resolve(&Sizes::default()) {
            let found = Shape::fixed(view.shape());
            self.faults.push(format!(
                "`{name}` is {}, expected {}",
                shape_text(&found),
                shape_text(wanted)
            ));
            return None;
        }
        let data = view.data();
        let numbers: Vec<f64> = match view.dtype() {
            Dtype::F64 => words(data, f64::from_le_bytes),
            Dtype::F32 => words(data, |word| f64::from(f32::from_le_bytes(word))),
            Dtype::F16 => words(data, |word| half(u16::from_le_bytes(word))),
            Dtype::BF16 => words(data, |word| {
                f64::from(f32::from_bits(u32::from(u16::from_le_bytes(word)) << 16))
            }),
            other => {
                self.faults.push(format!(
                    "`{name}` holds {other:?}, expected F64, F32, F16 or BF16"
                ));
                return None;
            }
        };
        Some(numbers)
    }
}

fn shape_text(shape: &Shape) -> String {
    match shape.rank() {
        0 => "a number".to_owned(),
        _ => format!("of shape {shape}"),
    }
}

fn words<const N: usize>(data: &[u8], number: impl Fn([u8; N]) -> f64) -> Vec<f64> {
    let (words, _) = data.as_chunks::<N>();
    words.iter().map(|word| number(*word)).collect()
}

/// Converts a number in the 16-bit format of IEEE 754.
fn half(bits: u16) -> f64 {
    let sign = if bits >> 15 == 1 { -1.0 } else { 1.0 };
    let (exponent, fraction) = (i32::from(bits >> 10 & 31), f64::from(bits & 1023) / 1024.0);
    let size = match exponent {
        0 => fraction * 2f64.powi(-14),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1.0 + fraction) * 2f64.powi(exponent - 15),
    };
    sign * size
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The examples are 1, 2, the largest number, the smallest normal number, the smallest positive
    /// number, and 1/3.
    #[test]
    fn half_precision_matches_the_examples_of_the_format() {
        let known = [
            (0x3C00, 1.0),
            (0xC000, -2.0),
            (0x7BFF, 65504.0),
            (0x0400, 2f64.powi(-14)),
            (0x0001, 2f64.powi(-24)),
            (0x3555, 0.333_251_953_125),
            (0x7C00, f64::INFINITY),
            (0x8000, -0.0),
        ];
        for (bits, value) in known {
            assert_eq!(half(bits).to_bits(), f64::to_bits(value), "{bits:x}");
        }
        assert!(half(0x7C01).is_nan());
    }
}
