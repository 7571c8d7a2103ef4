//! Finds smaller Laplace approximations that fit into a memory limit. The cost model is evaluated for each
//! candidate.

use super::{peaks, trained};
use bnnc_abi::code::Artifact;
use bnnc_abi::manifest::{InferenceBlock, Manifest, Work};
use bnnc_abi::methods::laplace::{Laplace, Over, Score, Smaller, Structure, Weights};
use bnnc_abi::plan::Plan;
use bnnc_methods::laplace::memory;
use std::sync::Arc;

/// If a size fits but the next larger size does not, at most this number of still larger sizes is tried. A larger subnetwork uses smaller blocks
/// of rows, so it may need less memory. A larger size can therefore fit even if a smaller size does not.
const ABOVE: usize = 64;

/// A smaller approximation that fits into the memory limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Offer {
    /// A subnetwork of this size. A subnetwork with one more weight would not fit.
    Subnetwork {
        /// The number of weights in the subnetwork.
        size: usize,
        /// The options of the program that request the subnetwork.
        options: String,
    },
    /// A subnetwork of the requested size, whose weights are chosen by a score that needs less memory. The text contains the options
    /// that request this subnetwork.
    Chosen(String),
    /// A kernel with this number of rows. The rows are chosen at random. A kernel with one more row would not
    /// fit.
    Rows(usize),
    /// A diagonal precision for the same weights.
    Diagonal,
}

/// Returns the approximations that could replace an inference block and would fit into `limit` bytes. The manifest must contain the schemas of the
/// data.
pub fn offers(manifest: &Manifest, infer: &InferenceBlock, limit: u64) -> Vec<Offer> {
    let position = manifest.infers.iter().position(|own| own.name == infer.name);
    let (Some(position), Some(laplace)) = (position, infer.laplace()) else {
        return Vec::new();
    };
    let mut room = Room {
        manifest: manifest.clone(),
        position,
        limit,
    };
    let mut offers = Vec::new();
    let mut most = 0;
    for by in scores(laplace) {
        let of_size = |size| as_subnetwork(infer, laplace, (size, &by));
        let wanted = wanted(laplace);
        let size = room.largest(wanted, &of_size);
        // A cheaper score is offered only if it allows more weights.
        if size > most {
            most = size;
            let options = written(laplace, (size, &by));
            let is_whole = size == wanted && laplace.options.over.is_subnetwork();
            offers.push(match is_whole {
                true => Offer::Chosen(options),
                false => Offer::Subnetwork { size, options },
            });
        }
    }
    if let Structure::Functional(chosen) = laplace.options.structure {
        let all = trained(manifest, infer)
            .unwrap_or(0)
            .min(chosen.unwrap_or(usize::MAX));
        let rows = room.largest(all.saturating_sub(1), &|rows| with_rows(infer, laplace, rows));
        offers.extend((rows > 0).then_some(Offer::Rows(rows)));
    }
    match &laplace.smaller {
        Some(smaller) if laplace.independent && room.fits(as_diagonal(infer, laplace, smaller)) => {
            offers.push(Offer::Diagonal);
        }
        Some(_) | None => {}
    }
    offers
}

/// Returns the size of the requested subnetwork. If the program does not request a subnetwork, returns the number of weights that a subnetwork could
/// choose from.
fn wanted(laplace: &Laplace) -> usize {
    match &laplace.smaller {
        Some(smaller) => Weights::count(&smaller.weights),
        None => memory::selected(laplace),
    }
}

/// Returns the scores that may be used to rank the weights: the requested score and the cheapest
/// score.
fn scores(laplace: &Laplace) -> Vec<Score> {
    match &laplace.options.over {
        Over::Subnetwork { by, .. } if *by == Score::Marginal => vec![Score::Marginal, Score::Diagonal],
        Over::Subnetwork { by, .. } => vec![by.clone()],
        Over::All | Over::LastLayer | Over::Names(_) => match (laplace.options.structure, &laplace.smaller) {
            (Structure::Diagonal, _) | (_, None) => Vec::new(),
            (_, Some(_)) => vec![Score::Diagonal],
        },
    }
}

/// Returns the options of a program that request a subnetwork of this size.
fn written(laplace: &Laplace, (size, by): (usize, &Score)) -> String {
    let by = match by {
        Score::Diagonal if !laplace.options.over.is_subnetwork() => String::new(),
        score => format!(", by = {}", score.word()),
    };
    let structure = match laplace.options.structure {
        Structure::Full | Structure::Diagonal => "",
        Structure::Kronecker | Structure::LowRank(_) | Structure::Functional(_) => "structure = full, ",
    };
    format!("{structure}over = subnetwork({size}{by})")
}

/// Returns the inference block with a subnetwork of this size.
fn as_subnetwork(infer: &InferenceBlock, laplace: &Laplace, (size, by): (usize, &Score)) -> InferenceBlock {
    let mut laplace = laplace.clone();
    let mut infer = infer.clone();
    if let Some(smaller) = laplace.smaller.take() {
        let planned = |plan: &Plan| planned(&laplace, plan);
        let (selected, squares) = (planned(&smaller.selected), planned(&smaller.squares));
        of_all(&mut infer, &mut laplace, &smaller);
        laplace.programs.selected = Some(selected);
        laplace.programs.squares = Some(squares);
        laplace.options.structure = Structure::Full;
    }
    if *by != Score::Marginal {
        laplace.programs.jacobian = None;
    }
    laplace.options.over = Over::Subnetwork {
        size: size as f64,
        by: by.clone(),
    };
    infer.work = Work::Laplace(Box::new(laplace));
    infer
}

/// Returns the inference block with a kernel that has this number of rows.
fn with_rows(infer: &InferenceBlock, laplace: &Laplace, rows: usize) -> InferenceBlock {
    let mut laplace = laplace.clone();
    let mut infer = infer.clone();
    laplace.options.structure = Structure::Functional(Some(rows));
    infer.work = Work::Laplace(Box::new(laplace));
    infer
}

/// Returns the inference block with a diagonal precision for the same weights.
fn as_diagonal(infer: &InferenceBlock, laplace: &Laplace, smaller: &Smaller) -> InferenceBlock {
    let mut laplace = laplace.clone();
    let mut infer = infer.clone();
    let squares = planned(&laplace, &smaller.diagonal);
    let spread = planned(&laplace, &smaller.spread);
    without_jacobians(&mut laplace);
    laplace.programs.squares = Some(squares);
    laplace.programs.spread = Some(spread);
    laplace.options.structure = Structure::Diagonal;
    infer.work = Work::Laplace(Box::new(laplace));
    infer
}

/// Makes all weights random instead of only those of a subnetwork, and removes the programs that compute whole Jacobians.
fn of_all(infer: &mut InferenceBlock, laplace: &mut Laplace, smaller: &Smaller) {
    infer.predict = planned(laplace, &smaller.predict);
    infer.sites = planned(laplace, &smaller.sites);
    laplace.weights.clone_from(&smaller.weights);
    laplace.programs.products = smaller.products.as_ref().map(|plan| planned(laplace, plan));
    without_jacobians(laplace);
}

/// Removes the programs that are needed only for whole Jacobians and Kronecker factors.
fn without_jacobians(laplace: &mut Laplace) {
    laplace.blocks = Vec::new();
    let programs = &mut laplace.programs;
    programs.jacobian = None;
    programs.factors = None;
    programs.rotated = None;
}

/// Returns a program with this plan, so that its memory can be predicted. The code in the result belongs to another program, but is never
/// run.
fn planned(laplace: &Laplace, plan: &Plan) -> Artifact {
    Artifact {
        plan: Arc::new(plan.clone()),
        code: laplace.programs.rows.code.clone(),
    }
}

/// An inference block, given by its position in the list of inference blocks, and the memory limit.
struct Room {
    manifest: Manifest,
    position: usize,
    limit: u64,
}

impl Room {
    /// Returns whether the peak memory of an inference block stays within the limit if the block
    /// runs at this position in the program.
    fn fits(&mut self, infer: InferenceBlock) -> bool {
        self.manifest.infers[self.position] = infer;
        let peak = peaks(&self.manifest, self.manifest.infers.iter())
            .get(self.position)
            .copied()
            .flatten();
        peak.is_some_and(|peak| peak.bytes <= self.limit)
    }

    /// Searches for the largest size, up to `all`, with which an inference block fits into the memory
    /// limit. If a size fits but the next size does not, up to [`ABOVE`]
    /// larger sizes are tried. Returns 0 if the block does not fit with size 1.
    fn largest(&mut self, all: usize, of_size: &dyn Fn(usize) -> InferenceBlock) -> usize {
        let mut found = 0;
        let mut start = Some(1).filter(|one| *one <= all && self.fits(of_size(*one)));
        while let Some(fitting) = start {
            found = self.end_of(fitting, all, of_size);
            let above = (1..=ABOVE).rev().map(|step| found + found * step / ABOVE);
            let mut above = above.filter(|size| *size > found && *size <= all);
            start = above.find(|size| self.fits(of_size(*size)));
        }
        found
    }

    /// Searches by bisection between `fitting` and `all` for a size with which the block fits. If the result is not `all`, the block does not
    /// fit with the next larger size.
    fn end_of(&mut self, fitting: usize, all: usize, of_size: &dyn Fn(usize) -> InferenceBlock) -> usize {
        let (mut fits, mut fails) = (fitting, all + 1);
        while fails - fits > 1 {
            let middle = fits + (fails - fits) / 2;
            match self.fits(of_size(middle)) {
                true => fits = middle,
                false => fails = middle,
            }
        }
        fits
    }
}
