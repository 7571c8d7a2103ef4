//! The program that computes the locations of a block of rows at points near an iterate. It also
//! computes the derivatives of the locations with respect to the weights.

use crate::collapsed::boxes::{BoxedWeight, Boxes};
use bnnc_abi::code::Artifact;
use bnnc_abi::manifest::InferenceBlock;
use bnnc_abi::methods::collapsed::Collapsed;
use bnnc_abi::ports::PortName;
use bnnc_base::fault::Fault;
use bnnc_base::shape::{Sizes, Symbol};
use bnnc_core::blocks::{read, rows_per_call};
use bnnc_core::context::{Context, Stop};
use bnnc_core::feed::{Feed, examples};
use bnnc_core::ports;
use bnnc_core::states::StateValues;
use bnnc_data::{Dataset, Rows};
use bnnc_kernels::executor::Machine;
use std::ops::Range;

/// The program, the states at the iterates, and the input rows of the program.
pub struct LocalProgram<'a> {
    states: States<'a>,
    /// The program with slopes and kinks.
    whole: Program,
    /// The program without slopes and kinks, if the compiler generated it.
    plain: Option<Program>,
    ids: Vec<u32>,
    /// The largest number of rows in one call.
    pub rows_per_call: usize,
}

/// The states at all iterates, and the columns (weights) whose slopes are computed.
struct States<'a> {
    infer: &'a InferenceBlock,
    collapsed: &'a Collapsed,
    /// The states at all iterates. States that move have the shape `[iterates, ..]`.
    values: &'a StateValues,
    iterates: usize,
    columns: Vec<BoxedWeight>,
}

/// A machine that runs the program, and the rows that the machine reads.
struct Program {
    machine: Machine,
    feed: Feed,
    /// The iterate whose states are in the machine.
    at: Option<usize>,
    /// True if the selected columns have been written to the machine.
    has_columns: bool,
    rows_per_call: usize,
    still: Vec<f64>,
}

/// The results of the program for a block of rows. The results are computed at an iterate or at a
/// point near it.
#[derive(Clone, Debug, Default)]
pub struct LocationBlock {
    /// The number of rows.
    pub rows: usize,
    /// The number of elements of a slope: one for each column of the box, but at least one.
    pub selected: usize,
    /// The locations `[rows, outputs]`.
    pub location: Vec<f64>,
    /// The slopes of the locations `[rows, outputs, selected]`.
    pub slope: Vec<f64>,
    /// The standard deviations `[rows, outputs]`; empty for classes.
    pub scale: Vec<f64>,
    /// The observed values `[rows, outputs]`; empty for classes.
    pub target: Vec<f64>,
    /// The values of the kinks `[rows, kinks]`.
    pub kinks: Vec<f64>,
    /// The slopes of the kinks `[rows, kinks, selected]`.
    pub kink_slope: Vec<f64>,
}

impl LocationBlock {
    /// Returns the slope of one output of one row.
    pub fn slope_of(&self, row: usize, output: usize) -> &[f64] {
        let outputs = self.location.len() / self.rows.max(1);
        line(&self.slope, row * outputs + output, self.selected)
    }

    /// Iterates over the kinks of one row. Each item is the value and the slope of a kink.
    pub fn kinks_of(&self, row: usize) -> impl Iterator<Item = (f64, &[f64])> {
        let count = self.kinks.len() / self.rows.max(1);
        (row * count..(row + 1) * count).map(|at| (self.kinks[at], line(&self.kink_slope, at, self.selected)))
    }
}

fn line(values: &[f64], at: usize, width: usize) -> &[f64] {
    &values[at * width..(at + 1) * width]
}

/// Returns the program of the location. The integrals of the inference block must be exact.
///
/// # Errors
/// Fails if the inference block does not have such a program. This would be a bug.
pub fn program<'a>(infer: &InferenceBlock, collapsed: &'a Collapsed) -> Result<&'a Artifact, Fault> {
    let missing = || Fault::Bug(format!("`{}` has no program of its location", infer.name));
    collapsed.local.as_ref().ok_or_else(missing)
}

/// Returns the sizes of the program for this number of columns. If the number is 0, returns the
/// sizes for one column.
pub fn sizes(columns: usize) -> Sizes {
    Sizes::default().with(Symbol::Selected, columns.max(1))
}

impl<'a> LocalProgram<'a> {
    /// Prepares the program for rows. The targets of the rows may be unknown. In addition to the
    /// program, the caller allocates `numbers` reals for each row.
    ///
    /// # Errors
    /// Fails if some columns do not fit the program, or if there is too little memory.
    pub fn new(
        (infer, collapsed): (&'a InferenceBlock, &'a Collapsed),
        (values, boxes): (&'a StateValues, &Boxes),
        rows: (&Rows, bool),
        (dataset, numbers): (&Dataset, usize),
        context: &Context,
    ) -> Result<LocalProgram<'a>, Stop> {
        let sizes = sizes(boxes.columns.len());
        let count = examples(&infer.bindings, rows.0);
        let artifact = program(infer, collapsed)?;
        let rows_per_call = rows_per_call(&[artifact], sizes, count, numbers);
        let data = FedRows {
            infer,
            rows: rows.0,
            is_known: rows.1,
            dataset,
        };
        let plain = match &collapsed.plain {
            // The program without slopes may evaluate one row at many points in one call.
            Some(artifact) => {
                let places = plain_per_call((artifact, collapsed), sizes, count).max(rows_per_call);
                Some(Program::new(artifact, &data, (sizes, places), context)?)
            }
            None => None,
        };
        Ok(LocalProgram {
            states: States {
                infer,
                collapsed,
                values,
                iterates: boxes.iterates,
                columns: boxes.columns.clone(),
            },
            whole: Program::new(artifact, &data, (sizes, rows_per_call), context)?,
            plain,
            ids: (0..count as u32).collect(),
            rows_per_call,
        })
    }

    /// Returns the number of rows.
    pub fn rows(&self) -> usize {
        self.ids.len()
    }

    /// Selects the columns whose slopes the program computes. The new columns must be among the
    /// original columns. Returns the previous selection.
    pub fn select(&mut self, columns: Vec<BoxedWeight>) -> Vec<BoxedWeight> {
        let programs = std::iter::once(&mut self.whole).chain(&mut self.plain);
        programs.for_each(|program| program.has_columns = false);
        std::mem::replace(&mut self.states.columns, columns)
    }

    /// Evaluates rows at an iterate. If `moves` `[rows, selected]` is given, it is added to the
    /// weights.
    ///
    /// # Errors
    /// Fails if the states have the wrong size, because they come from the folder of another run.
    pub fn evaluate(
        &mut self,
        iterate: usize,
        rows: &Range<usize>,
        moves: Option<&[f64]>,
        block: &mut LocationBlock,
    ) -> Result<(), Fault> {
        let ids = &self.ids[rows.clone()];
        self.whole.run(&self.states, ids, (iterate, moves))?;
        (block.rows, block.selected) = (rows.len(), self.states.selected());
        self.whole.read_values(block)?;
        self.whole
            .read(&PortName::Slope.of(PortName::Location.text()), &mut block.slope)?;
        self.whole.read(PortName::Kinks.text(), &mut block.kinks)?;
        self.whole
            .read(&PortName::Slope.of(PortName::Kinks.text()), &mut block.kink_slope)
    }

    /// Evaluates rows at an iterate, without slopes and kinks.
    ///
    /// # Errors
    /// Fails in the same cases as [`LocalProgram::evaluate`].
    pub fn values(
        &mut self,
        iterate: usize,
        rows: &Range<usize>,
        block: &mut LocationBlock,
    ) -> Result<(), Fault> {
        let ids = &self.ids[rows.clone()];
        let program = self.plain.as_mut().unwrap_or(&mut self.whole);
        program.run(&self.states, ids, (iterate, None))?;
        (block.rows, block.selected) = (rows.len(), self.states.selected());
        program.read_values(block)
    }

    /// Returns the largest number of points that [`LocalProgram::locations`] evaluates in one call.
    pub fn places_per_call(&self) -> usize {
        self.plain.as_ref().unwrap_or(&self.whole).rows_per_call.max(1)
    }

    /// Returns the locations `[places, outputs]` of one row at many points. Each point is the sum
    /// of an iterate and one row of `moves`. The shape of `moves` is `[places, selected]`.
    ///
    /// # Errors
    /// Fails in the same cases as [`LocalProgram::evaluate`].
    pub fn locations(&mut self, (iterate, row): (usize, usize), moves: &[f64]) -> Result<Vec<f64>, Fault> {
        let program = self.plain.as_mut().unwrap_or(&mut self.whole);
        let selected = self.states.selected();
        let (mut all, mut found) = (Vec::new(), Vec::new());
        for moves in moves.chunks(program.rows_per_call.max(1) * selected) {
            let ids = vec![self.ids[row]; moves.len() / selected];
            program.run(&self.states, &ids, (iterate, Some(moves)))?;
            program.read(PortName::Location.text(), &mut found)?;
            all.extend_from_slice(&found);
        }
        Ok(all)
    }
}

/// Returns the largest number of rows that one call of the program without slopes can evaluate.
pub fn plain_per_call((artifact, collapsed): (&Artifact, &Collapsed), sizes: Sizes, rows: usize) -> usize {
    let numbers = sizes.get(Symbol::Selected) + collapsed.outputs;
    rows_per_call(&[artifact], sizes, rows.max(collapsed.options.draws), numbers)
}

impl States<'_> {
    /// Returns the number of columns of the programs. It is at least one.
    fn selected(&self) -> usize {
        self.columns.len().max(1)
    }
}

/// The rows that a program reads, and the data set that contains them.
struct FedRows<'a> {
    infer: &'a InferenceBlock,
    rows: &'a Rows,
    /// True if the targets of the rows are known.
    is_known: bool,
    dataset: &'a Dataset,
}

impl Program {
    fn new(
        artifact: &Artifact,
        data: &FedRows<'_>,
        (sizes, rows_per_call): (Sizes, usize),
        context: &Context,
    ) -> Result<Program, Stop> {
        let feed = Feed::of_plan(
            (data.infer, &artifact.plan),
            data.rows,
            data.dataset,
            data.is_known,
        )?;
        let capacity = sizes.with(Symbol::Batch, rows_per_call);
        let mut machine = Machine::new(artifact, capacity, context.pool.clone())?;
        feed.write_shared(&mut machine)?;
        Ok(Program {
            machine,
            feed,
            at: None,
            has_columns: false,
            rows_per_call,
            still: Vec::new(),
        })
    }

    /// For each column, writes its site and its element to the program.
    fn write_columns(&mut self, states: &States<'_>) -> Result<(), Fault> {
        if self.has_columns {
            return Ok(());
        }
        let selected = states.selected();
        let sizes = sizes(selected).with(Symbol::Batch, self.rows_per_call);
        self.machine.set_sizes(&sizes)?;
        for (site, weights) in states.collapsed.weights.iter().enumerate() {
            let (mut index, mut chosen) = (vec![0; selected], vec![0.0; selected]);
            for (at, column) in states.columns.iter().enumerate() {
                if column.site == site {
                    (index[at], chosen[at]) = (column.element as i32, 1.0);
                }
            }
            let name = PortName::Index.of(&weights.state);
            if self.machine.has_port(&name) {
                self.machine.write_int(&name, &index)?;
            }
            ports::real(&mut self.machine, &PortName::Chosen.of(&weights.state), &chosen)?;
        }
        self.has_columns = true;
        Ok(())
    }

    /// Writes the states of an iterate.
    fn move_to(&mut self, states: &States<'_>, iterate: usize) -> Result<(), Fault> {
        if self.at == Some(iterate) {
            return Ok(());
        }
        let moved = &states.collapsed.iterates.moved;
        for state in states.infer.states.iter().filter(|state| state.parameter) {
            let Some(values) = states.values.get(&state.name) else {
                continue;
            };
            let own = match moved.contains(&state.name) {
                true => {
                    let size = values.len() / states.iterates.max(1);
                    &values[iterate * size..(iterate + 1) * size]
                }
                false => values.as_slice(),
            };
            ports::real(&mut self.machine, &state.name, own)?;
        }
        self.at = Some(iterate);
        Ok(())
    }

    /// Runs the program on rows at an iterate. If `moves` `[rows, selected]` is given, it is added
    /// to the weights.
    fn run(
        &mut self,
        states: &States<'_>,
        ids: &[u32],
        (iterate, moves): (usize, Option<&[f64]>),
    ) -> Result<(), Fault> {
        self.write_columns(states)?;
        self.move_to(states, iterate)?;
        let selected = states.selected();
        let sizes = sizes(selected).with(Symbol::Batch, ids.len());
        self.machine.set_sizes(&sizes)?;
        self.feed.write(&mut self.machine, ids)?;
        if self.machine.has_port(PortName::Moves.text()) {
            self.still.resize(ids.len() * selected, 0.0);
            self.machine
                .write_real(PortName::Moves.text(), moves.unwrap_or(&self.still))?;
        }
        self.machine.run()
    }

    fn read_values(&self, block: &mut LocationBlock) -> Result<(), Fault> {
        self.read(PortName::Location.text(), &mut block.location)?;
        self.read(PortName::Scale.text(), &mut block.scale)?;
        self.read(PortName::Target.text(), &mut block.target)
    }

    /// Reads the values of a port. `into` is left empty if the program does not have the port.
    fn read(&self, name: &str, into: &mut Vec<f64>) -> Result<(), Fault> {
        into.clear();
        match self.machine.has_port(name) {
            true => read(&self.machine, name, into),
            false => Ok(()),
        }
    }
}
