//! Predictions that integrate over weights, computed in blocks of rows.

use crate::collapsed::around::Around;
use crate::collapsed::boxes::Boxes;
use crate::collapsed::choice::{chosen, scores};
use crate::collapsed::classes::ScoredClasses;
use crate::collapsed::function::{LocationDist, LocationFunction, Spot, tolerance};
use crate::collapsed::local::{LocalProgram, LocationBlock, program};
use crate::collapsed::moves::{Sets, across, to_base};
use crate::collapsed::normals::MarginalNormals;
use crate::collapsed::pieces::{self, RowPlace};
use crate::collapsed::published::Published;
use crate::collapsed::{FoundBox, classes, diagnostics, memory, sampled};
use bnnc_abi::manifest::InferenceBlock;
use bnnc_abi::methods::collapsed::{Collapsed, LocationForm};
use bnnc_abi::methods::laplace::Likelihood;
use bnnc_base::fault::Fault;
use bnnc_core::context::{Context, Stop};
use bnnc_core::forecast::{Forecaster, Take};
use bnnc_core::predict::Predictive;
use bnnc_core::states::StateValues;
use bnnc_core::tally::Tally;
use bnnc_data::{Dataset, Rows};
use bnnc_math::philox;
use bnnc_piecewise::Network;
use std::collections::HashMap;
use std::ops::Range;

/// The largest number of rows in a block if the location has kinks.
const PIECED_ROWS: usize = 16;

/// Predicts rows by integrating over the chosen weights.
pub struct Integrals<'a> {
    infer: &'a InferenceBlock,
    collapsed: &'a Collapsed,
    values: &'a StateValues,
    boxes: Boxes,
    /// For each output, the weights to integrate over, as indices into the box. Used only if all
    /// rows share one choice.
    fixed: Vec<Vec<usize>>,
    local: LocalProgram<'a>,
    /// The true classes, if they are known.
    classes: Option<Vec<i32>>,
    is_known: bool,
    /// The published density of known targets, if the options select it.
    published: Option<Published>,
    draws: usize,
    context: &'a Context,
    tally: Tally,
    /// The largest rounding error of a slope, as a fraction of the largest slope.
    tolerance: f64,
    /// The key of the random draws. Draws are used if an integral has too many pieces.
    key: u64,
}

impl<'a> Integrals<'a> {
    /// Prepares predictions that contain `draws` quantiles instead of draws. The targets of the
    /// rows may be unknown.
    ///
    /// # Errors
    /// Fails if some columns do not fit the program, or if there is too little memory.
    pub fn new(
        (infer, collapsed): (&'a InferenceBlock, &'a Collapsed),
        found: &FoundBox<'a, '_>,
        (rows, is_known): (&Rows, bool),
        dataset: &Dataset,
        (draws, context): (usize, &'a Context),
    ) -> Result<Integrals<'a>, Stop> {
        let FoundBox {
            values,
            iterates,
            choice,
        } = *found;
        let boxes = Boxes::new(collapsed, values, iterates).only(collapsed, values, &choice.columns);
        let place = |number: &u32| boxes.columns.iter().position(|column| column.number == *number);
        let places = |numbers: &Vec<u32>| numbers.iter().filter_map(place).collect();
        let fixed = choice.fixed.iter().map(places).collect();
        let numbers = memory::per_row(collapsed, boxes.columns.len(), (iterates, draws));
        let around = (values, &boxes);
        let local = LocalProgram::new(
            (infer, collapsed),
            around,
            (rows, is_known),
            (dataset, numbers),
            context,
        )?;
        Ok(Integrals {
            infer,
            collapsed,
            values,
            fixed,
            local,
            classes: right(infer, collapsed, (rows, is_known))?,
            is_known,
            published: published(infer, collapsed, (rows, is_known))?,
            draws,
            context,
            tally: Tally::of(boxes.columns.len()),
            tolerance: tolerance(program(infer, collapsed)?.plan.precision),
            key: philox::key(context.seed, &format!("pieces/{}", infer.name)),
            boxes,
        })
    }
}

impl Forecaster for Integrals<'_> {
    fn tally(&self) -> Option<&Tally> {
        Some(&self.tally)
    }

    fn replace_rows(&mut self, _: &InferenceBlock, rows: &Rows, dataset: &Dataset) -> Result<(), Stop> {
        let numbers = memory::per_row(
            self.collapsed,
            self.boxes.columns.len(),
            (self.boxes.iterates, self.draws),
        );
        let around = (self.values, &self.boxes);
        let programs = (self.infer, self.collapsed);
        self.local = LocalProgram::new(programs, around, (rows, false), (dataset, numbers), self.context)?;
        (self.classes, self.is_known, self.published) = (None, false, None);
        Ok(())
    }

    fn run(&mut self, take: &mut Take<'_>) -> Result<(), Stop> {
        let most = match self.collapsed.form {
            LocationForm::Affine | LocationForm::Sampled(_) => usize::MAX,
            // The results for all iterates of a block are in memory at the same time, and the box
            // around each iterate may be cut into many pieces.
            LocationForm::Piecewise { .. } => PIECED_ROWS,
        };
        let (rows, size) = (self.local.rows(), self.local.rows_per_call.clamp(1, most));
        let normals = MarginalNormals::new(self.collapsed, self.draws, self.published);
        self.tally.interval = self.published.map(|published| published.interval);
        let mut predictive = Predictive::default();
        for first in (0..rows).step_by(size) {
            let range = first..rows.min(first + size);
            let iterates = 0..self.boxes.iterates;
            let all = iterates
                .map(|iterate| self.around(iterate, &range))
                .collect::<Result<Vec<Around>, Stop>>()?;
            let (outputs, pool) = (self.collapsed.outputs, &self.context.pool);
            predictive.rows = range.len();
            match self.collapsed.likelihood {
                Likelihood::Normal => normals.write(&all, (outputs, self.is_known), pool, &mut predictive),
                Likelihood::Categorical => {
                    let right = self.classes.as_ref().map(|classes| &classes[range.clone()]);
                    let scored = ScoredClasses {
                        classes: outputs,
                        sigmoid: self.collapsed.options.sigmoid,
                        right,
                    };
                    self.tally.raw += classes::write(&all, &scored, pool, &mut predictive);
                }
                Likelihood::Bernoulli => {
                    let right = self.classes.as_ref().map(|classes| &classes[range.clone()]);
                    let sigmoid = self.collapsed.options.sigmoid;
                    classes::truth(&all, (sigmoid, right), pool, &mut predictive);
                }
                Likelihood::Other => {
                    let why = format!("`{}` has no exact integral", self.infer.name);
                    return Err(Fault::Bug(why).into());
                }
            }
            take(range, &mut predictive);
            // `take` has converted the block to original units, so the tally is in original units
            // too.
            let is_drawn = |row: &usize| {
                let of_row = row * outputs..(row + 1) * outputs;
                let mut parts = all.iter().flat_map(|around| &around.parts[of_row.clone()]);
                parts.any(|part| matches!(part, LocationDist::Drawn(_)))
            };
            self.tally.add(&predictive, is_drawn);
        }
        Ok(())
    }
}

impl Integrals<'_> {
    /// For a block of rows, returns the distributions around an iterate.
    fn around(&mut self, iterate: usize, rows: &Range<usize>) -> Result<Around, Stop> {
        let mut here = LocationBlock::default();
        match self.collapsed.form {
            LocationForm::Affine => self.local.evaluate(iterate, rows, None, &mut here)?,
            LocationForm::Piecewise { .. } | LocationForm::Sampled(_) => {
                self.local.values(iterate, rows, &mut here)?
            }
        }
        let mut around = Around {
            parts: vec![LocationDist::Network(Network::default()); here.location.len()],
            ..Around::default()
        };
        let mut used = Used::new(rows.len(), self.collapsed.outputs);
        match self.collapsed.form {
            LocationForm::Affine => self.affine(iterate, &here, &mut around, &mut used),
            LocationForm::Piecewise { kinks, direct } => {
                self.piecewise((iterate, rows), direct < kinks, &mut around, &mut used)?
            }
            LocationForm::Sampled(_) => {
                let why = format!("`{}` has no exact integral", self.infer.name);
                return Err(Fault::Bug(why).into());
            }
        }
        if let Some((one, other)) = used.shared() {
            match self.collapsed.likelihood {
                Likelihood::Normal => {
                    return Err(diagnostics::shared_outputs(&self.infer.name, (one, other)).into());
                }
                Likelihood::Categorical | Likelihood::Bernoulli | Likelihood::Other => {
                    self.tally.is_shared = true;
                }
            }
        }
        (around.location, around.scale, around.target) = (here.location, here.scale, here.target);
        Ok(around)
    }

    fn affine(&mut self, iterate: usize, here: &LocationBlock, around: &mut Around, used: &mut Used) {
        let values = self.boxes.at(iterate);
        for output in 0..self.collapsed.outputs {
            let sets = self.sets([here, here], output);
            for row in 0..here.rows {
                let spot = self.spot(&sets, row, output);
                let network = spot.affine(here, |place| values[place]);
                around.parts[row * self.collapsed.outputs + output] = LocationDist::Network(network);
                used.add(&spot, &[here]);
            }
        }
        self.tally.affine += around.parts.len() as u64;
    }

    fn piecewise(
        &mut self,
        (iterate, rows): (usize, &Range<usize>),
        is_nested: bool,
        around: &mut Around,
        used: &mut Used,
    ) -> Result<(), Stop> {
        let all = Sets::all(&self.boxes);
        let (mut base, mut other) = (LocationBlock::default(), LocationBlock::default());
        let moves = to_base(&self.boxes, iterate, &all, rows.len());
        self.local.evaluate(iterate, rows, Some(&moves), &mut base)?;
        let is_chosen = self.is_chosen();
        if is_chosen {
            let moves = across(&self.boxes, iterate, &all, &base);
            self.local.evaluate(iterate, rows, Some(&moves), &mut other)?;
        }
        let all_sets = (0..self.collapsed.outputs).map(|output| self.sets([&base, &other], output));
        let all_sets: Vec<Sets> = all_sets.collect();
        let mut chosen = LocationBlock::default();
        for (output, sets) in all_sets.iter().enumerate() {
            if is_chosen {
                let moves = to_base(&self.boxes, iterate, sets, rows.len());
                self.local.evaluate(iterate, rows, Some(&moves), &mut chosen)?;
            }
            let here = if is_chosen { &chosen } else { &base };
            let crosses = (0..rows.len()).any(|row| self.spot(sets, row, output).crosses(here));
            if crosses && !is_nested && (is_chosen || output == 0) {
                let moves = across(&self.boxes, iterate, sets, here);
                self.local.evaluate(iterate, rows, Some(&moves), &mut other)?;
            }
            let across = if crosses && !is_nested { &other } else { here };
            for row in 0..rows.len() {
                let spot = self.spot(sets, row, output);
                used.add(&spot, &[here, across]);
                let part = match spot.function(here, across, is_nested) {
                    LocationFunction::Network(network) if network.units.is_empty() => {
                        self.tally.affine += 1;
                        LocationDist::Network(network)
                    }
                    LocationFunction::Network(network) => {
                        self.tally.units += 1;
                        LocationDist::Network(network)
                    }
                    LocationFunction::Pieces => {
                        used.add_all(&spot);
                        let place = RowPlace {
                            boxes: &self.boxes,
                            places: sets.of(row),
                            iterate,
                            row: rows.start + row,
                            output,
                            is_nested,
                            tolerance: self.tolerance,
                        };
                        let draws = (self.collapsed.options.draws, self.collapsed.outputs);
                        bent(
                            &place,
                            &mut self.local,
                            (here, row),
                            (draws, self.key),
                            &mut self.tally,
                        )?
                    }
                };
                around.parts[row * self.collapsed.outputs + output] = part;
            }
        }
        Ok(())
    }

    fn spot<'b>(&'b self, sets: &'b Sets, row: usize, output: usize) -> Spot<'b> {
        Spot {
            boxes: &self.boxes,
            places: sets.of(row),
            row,
            output,
            tolerance: self.tolerance,
        }
    }

    /// Returns whether some weights of the box are not integrated over, but keep their values at
    /// the iterate.
    fn is_chosen(&self) -> bool {
        let count = self.collapsed.options.weights;
        !self.fixed.is_empty() || (count > 0 && count < self.boxes.columns.len())
    }

    /// Returns the weights that are integrated over for one output. If all rows share one choice,
    /// returns this choice. Otherwise, each row gets the weights that change its output most.
    fn sets(&self, blocks: [&LocationBlock; 2], output: usize) -> Sets {
        if !self.is_chosen() {
            return Sets::all(&self.boxes);
        }
        if let Some(places) = self.fixed.get(output) {
            return Sets::same(places.clone());
        }
        let of_row = |row: usize| {
            let scores = scores(&self.boxes, (row, output), blocks);
            chosen(&self.boxes, &self.collapsed.options, &scores)
        };
        Sets::of_rows((0..blocks[0].rows).map(of_row).collect())
    }
}

/// Returns the distribution of a location that two evaluations do not determine. The distribution
/// is computed from the pieces of the location, or from draws if there are too many pieces.
fn bent(
    place: &RowPlace<'_>,
    local: &mut LocalProgram<'_>,
    base: (&LocationBlock, usize),
    (draws, key): ((usize, usize), u64),
    tally: &mut Tally,
) -> Result<LocationDist, Fault> {
    match pieces::law(place, local, base)? {
        Ok(measure) => {
            tally.pieces += 1;
            Ok(LocationDist::Pieces(measure))
        }
        Err(why) => {
            tally.drawn += 1;
            tally.why.get_or_insert_with(|| why.to_string());
            Ok(LocationDist::Drawn(sampled::locations(place, local, draws, key)?))
        }
    }
}

/// For each output of each row, the integrated weights that the output depends on.
struct Used {
    outputs: usize,
    /// The weights for each row and output, `[rows, outputs]`, as indices into the box.
    places: Vec<Vec<usize>>,
}

impl Used {
    fn new(rows: usize, outputs: usize) -> Used {
        let count = if outputs > 1 { rows * outputs } else { 0 };
        Used {
            outputs,
            places: vec![Vec::new(); count],
        }
    }

    fn add(&mut self, spot: &Spot<'_>, blocks: &[&LocationBlock]) {
        if self.outputs < 2 {
            return;
        }
        let moves = |place: &usize| {
            let mut blocks = blocks.iter();
            blocks.any(|block| block.slope_of(spot.row, spot.output)[*place] != 0.0)
        };
        let places = spot.places.iter().copied().filter(moves);
        self.places[spot.row * self.outputs + spot.output] = places.collect();
    }

    /// Records that an output of a row depends on all integrated weights. This is assumed if the
    /// pieces of the row are not known.
    fn add_all(&mut self, spot: &Spot<'_>) {
        if self.outputs > 1 {
            self.places[spot.row * self.outputs + spot.output] = spot.places.to_vec();
        }
    }

    /// Returns two outputs of one row that depend on the same integrated weight, if such outputs
    /// exist.
    fn shared(&self) -> Option<(usize, usize)> {
        let mut rows = self.places.chunks(self.outputs.max(1));
        rows.find_map(|outputs| {
            let mut owners = HashMap::new();
            let of = |(output, places): (usize, &'_ Vec<usize>)| {
                places.iter().map(move |at| (output, *at)).collect::<Vec<_>>()
            };
            let mut all = outputs.iter().enumerate().flat_map(of);
            all.find_map(|(output, place)| owners.insert(place, output).map(|before| (before, output)))
        })
    }
}

/// Returns the published density of known targets, if the options select it.
fn published(
    infer: &InferenceBlock,
    collapsed: &Collapsed,
    (rows, is_known): (&Rows, bool),
) -> Result<Option<Published>, Stop> {
    match infer.only_output() {
        Some(output) if is_known && collapsed.options.is_published() => Ok(Published::new(
            &collapsed.options,
            &rows.reals(infer.column(output))?,
        )),
        _ => Ok(None),
    }
}

/// Returns the true classes of rows. Returns `None` if the likelihood does not have classes, or if
/// the classes are not known.
fn right(
    infer: &InferenceBlock,
    collapsed: &Collapsed,
    (rows, is_known): (&Rows, bool),
) -> Result<Option<Vec<i32>>, Stop> {
    match (collapsed.likelihood, infer.only_output()) {
        (Likelihood::Categorical | Likelihood::Bernoulli, Some(output)) if is_known => {
            Ok(Some(rows.ints(infer.column(output))?))
        }
        (Likelihood::Categorical | Likelihood::Bernoulli | Likelihood::Normal | Likelihood::Other, _) => {
            Ok(None)
        }
    }
}
