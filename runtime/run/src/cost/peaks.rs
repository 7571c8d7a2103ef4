//! For each inference block, the peak memory of the run while this block runs. The peak includes the results of
//! earlier blocks.

use crate::cost::{computing, data, kept_of, multiplies, predictions};
use bnnc_abi::manifest::{InferenceBlock, Manifest, Start};
use bnnc_core::memory::sum;
use bnnc_kernels::matmul;
use std::collections::{HashMap, HashSet};

/// The peak memory of an inference block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Peak {
    /// The number of all bytes that are in use at the peak.
    pub bytes: u64,
    /// The number of these bytes that belong to the results of earlier inference blocks.
    pub earlier: u64,
}

/// Returns the number of bytes that the results of earlier inference blocks take at the peak of `infer`.
pub fn earlier(manifest: &Manifest, infer: &InferenceBlock) -> u64 {
    let at = manifest.infers.iter().position(|own| own.name == infer.name);
    let peak = at.and_then(|at| *peaks(manifest, manifest.infers.iter()).get(at)?);
    peak.map_or(0, |peak| peak.earlier)
}

/// Returns whether an inference block fits into `limit` bytes if only this block and the blocks that it needs are run.
pub fn fits_alone(manifest: &Manifest, infer: &InferenceBlock, limit: u64) -> bool {
    let mut wanted = HashSet::from([&*infer.name]);
    // Every inference block comes after the blocks that it needs.
    for infer in manifest.infers.iter().rev() {
        if wanted.contains(&*infer.name) {
            wanted.extend(infer.needs());
        }
    }
    let alone = manifest
        .infers
        .iter()
        .filter(|infer| wanted.contains(&*infer.name));
    let is_within = |peak: &Option<Peak>| peak.is_none_or(|peak| peak.bytes <= limit);
    peaks(manifest, alone).iter().all(is_within)
}

/// Returns the peak of each inference block, in the order in which the blocks run. Returns `None` if the data of a block are not known.
pub(super) fn peaks<'a>(
    manifest: &Manifest,
    infers: impl Iterator<Item = &'a InferenceBlock>,
) -> Vec<Option<Peak>> {
    // The bytes that the data and the results of earlier inference blocks take so far.
    let (mut kept, mut found) = (0, 0);
    let mut read = HashSet::new();
    let (mut workspace, mut packed) = (0, 0);
    let mut iterates: HashMap<String, usize> = HashMap::new();
    let mut members: HashMap<String, usize> = HashMap::new();
    let mut peak = |infer: &InferenceBlock| -> Option<Peak> {
        let spec = manifest.data.iter().find(|spec| spec.name == infer.data)?;
        let schema = manifest.schemas.get(&infer.data)?;
        let method = bnnc_methods::of(infer);
        let planned = method.iterates(schema.train, &|name| iterates.get(name).copied().unwrap_or(0));
        iterates.insert(infer.name.clone(), planned);
        let before = match &infer.start {
            Some(Start::Infer(name)) => members.get(name).copied().unwrap_or(1),
            Some(Start::File(_)) | None => 1,
        };
        let several = method.members(before);
        members.insert(infer.name.clone(), several);
        let planned = method.planned(planned, several);
        let data = data(spec, schema);
        let splits = schema.splits.max(1) as u64;
        let is_read = !read.insert(infer.data.clone());
        let reading = match is_read {
            true => 0,
            false => sum(&[kept, found, data.file, data.table]),
        };
        if !is_read {
            // If there are several splits, the table stays in memory. If there is only one split, the rows stay in memory
            // instead.
            kept += if splits > 1 { data.table } else { data.rows };
        }
        if multiplies(infer) {
            workspace = matmul::WORKSPACE_BYTES as u64;
        }
        packed = method.packed(infer.examples(schema.train)).max(packed);
        let results = predictions(infer, schema) + if splits > 1 { data.rows } else { 0 };
        // During the last split, the posteriors of all other splits are in memory, and the predictions of the previous split.
        let held = kept_of(infer, (infer.examples(schema.train), planned));
        let others = sum(&[(splits - 1).saturating_mul(held), (splits - 1).min(1) * results]);
        let cutting = match (splits > 1, is_read) {
            (true, _) => data.parts + data.rows,
            (false, false) => data.parts + data.table,
            (false, true) => 0,
        };
        let own = if splits > 1 { data.rows } else { 0 };
        let working = sum(&[
            workspace,
            packed,
            computing(manifest, infer, schema, planned),
            own,
        ]);
        let earlier = found;
        found = sum(&[found, splits.saturating_mul(held), results]);
        Some(Peak {
            bytes: reading.max(sum(&[kept, earlier, others, cutting.max(working)])),
            earlier,
        })
    };
    infers.map(&mut peak).collect()
}
