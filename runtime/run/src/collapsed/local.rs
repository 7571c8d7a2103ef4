//! The program that says how the location of rows depends on the weights around an iterate, called on blocks of rows.

use crate::collapsed::boxes::{Boxes, Column};
use crate::feed::{Feed, Wanted};
use crate::fit::{Context, Stop};
use crate::laplace::machines::{read, rows_per_call};
use crate::ports;
use crate::states::Values;
use bnnc_abi::code::Artifact;
use bnnc_abi::collapsed::Collapsed;
use bnnc_abi::manifest::Infer;
use bnnc_base::fault::Fault;
use bnnc_base::shape::{Sizes, Symbol};
use bnnc_data::{Dataset, Rows};
use bnnc_kernels::executor::Machine;
use std::ops::Range;

/// The program with the iterates and some rows.
pub struct Local<'a> {
    infer: &'a Infer,
    collapsed: &'a Collapsed,
    /// The states that move hold `[iterates, ..]`.
    values: &'a Values,
    iterates: usize,
    machine: Machine,
    feed: Feed,
    ids: Vec<u32>,
    /// The columns that the program has, and how many: one at least.
    columns: Vec<Column>,
    selected: usize,
    /// The rows that it is called with, at most.
    pub rows_per_call: usize,
    /// The iterate whose states it holds.
    at: Option<usize>,
    still: Vec<f64>,
}

/// What it says of a block of rows at an iterate, or moved away from it.
#[derive(Clone, Debug, Default)]
pub struct Block {
    /// The rows.
    pub rows: usize,
    /// Columns of a slope: those of the boxes, and one at least.
    pub selected: usize,
    /// `[rows, outputs]`.
    pub location: Vec<f64>,
    /// `[rows, outputs, selected]`.
    pub slope: Vec<f64>,
    /// The standard deviations `[rows, outputs]`; empty for classes.
    pub scale: Vec<f64>,
    /// What was observed `[rows, outputs]`; empty for classes.
    pub target: Vec<f64>,
    /// `[rows, kinks]`.
    pub kinks: Vec<f64>,
    /// `[rows, kinks, selected]`.
    pub kink_slope: Vec<f64>,
}

impl Block {
    /// The slope of an output of a row.
    pub fn slope_of(&self, row: usize, output: usize) -> &[f64] {
        let outputs = self.location.len() / self.rows.max(1);
        line(&self.slope, row * outputs + output, self.selected)
    }

    /// The kinks of a row with their slopes.
    pub fn kinks_of(&self, row: usize) -> impl Iterator<Item = (f64, &[f64])> {
        let count = self.kinks.len() / self.rows.max(1);
        (row * count..(row + 1) * count).map(|at| (self.kinks[at], line(&self.kink_slope, at, self.selected)))
    }
}

fn line(values: &[f64], at: usize, width: usize) -> &[f64] {
    &values[at * width..(at + 1) * width]
}

/// The program of an infer whose integrals are exact.
///
/// # Errors
/// A bug: an infer without one.
pub fn program<'a>(infer: &Infer, collapsed: &'a Collapsed) -> Result<&'a Artifact, Fault> {
    let missing = || Fault::Bug(format!("`{}` has no program of its location", infer.name));
    collapsed.local.as_ref().ok_or_else(missing)
}

/// The sizes of the program with so many columns.
pub fn sizes(columns: usize) -> Sizes {
    Sizes::default().with(Symbol::Selected, columns.max(1))
}

impl<'a> Local<'a> {
    /// The program on rows whose target may be unknown; `numbers` reals are held of each row besides.
    ///
    /// # Errors
    /// Columns that do not fit, or a limit.
    pub fn new(
        (infer, collapsed): (&'a Infer, &'a Collapsed),
        (values, boxes): (&'a Values, &Boxes),
        (rows, target): (&Rows, bool),
        (dataset, numbers): (&Dataset, usize),
        context: &Context,
    ) -> Result<Local<'a>, Stop> {
        let artifact = program(infer, collapsed)?;
        let plan = &artifact.plan;
        let storage = |name: &str| plan.port(name).map(|id| plan.buffers[id].storage);
        let wanted = Wanted {
            bindings: &infer.bindings,
            output: &infer.output,
            precision: plan.precision,
            storage: &storage,
        };
        let feed = Feed::new(rows, dataset, &wanted, target)?;
        let selected = boxes.columns.len().max(1);
        let sizes = sizes(selected);
        let rows_per_call = rows_per_call(&[artifact], sizes, feed.rows, numbers);
        let capacity = sizes.with(Symbol::Batch, rows_per_call);
        let mut local = Local {
            infer,
            collapsed,
            values,
            iterates: boxes.iterates,
            machine: Machine::new(artifact, capacity, context.pool.clone())?,
            ids: (0..feed.rows as u32).collect(),
            feed,
            columns: boxes.columns.clone(),
            selected,
            rows_per_call,
            at: None,
            still: Vec::new(),
        };
        local.feed.write_shared(&mut local.machine)?;
        local.write_columns()?;
        Ok(local)
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.ids.len()
    }

    /// Goes on with some of the columns that there were at first, or with all of them: slopes in others are work for nothing. Returns those before.
    ///
    /// # Errors
    /// A bug of the machine.
    pub fn select(&mut self, columns: Vec<Column>) -> Result<Vec<Column>, Fault> {
        let before = std::mem::replace(&mut self.columns, columns);
        self.selected = self.columns.len().max(1);
        let sizes = sizes(self.selected).with(Symbol::Batch, self.rows_per_call);
        self.machine.set_sizes(&sizes)?;
        self.write_columns()?;
        Ok(before)
    }

    /// Writes which elements of which states the columns are.
    fn write_columns(&mut self) -> Result<(), Fault> {
        for (site, weights) in self.collapsed.weights.iter().enumerate() {
            let (mut index, mut chosen) = (vec![0; self.selected], vec![0.0; self.selected]);
            for (at, column) in self.columns.iter().enumerate() {
                if column.site == site {
                    (index[at], chosen[at]) = (column.element as i32, 1.0);
                }
            }
            let name = format!("{}/index", weights.state);
            if self.machine.has_port(&name) {
                self.machine.write_int(&name, &index)?;
            }
            ports::real(&mut self.machine, &format!("{}/chosen", weights.state), &chosen)?;
        }
        Ok(())
    }

    /// Writes the states of an iterate.
    fn move_to(&mut self, iterate: usize) -> Result<(), Fault> {
        if self.at == Some(iterate) {
            return Ok(());
        }
        let moved = &self.collapsed.iterates.moved;
        for state in self.infer.states.iter().filter(|state| state.parameter) {
            let Some(values) = self.values.get(&state.name) else {
                continue;
            };
            let own = match moved.contains(&state.name) {
                true => {
                    let size = values.len() / self.iterates.max(1);
                    &values[iterate * size..(iterate + 1) * size]
                }
                false => values.as_slice(),
            };
            ports::real(&mut self.machine, &state.name, own)?;
        }
        self.at = Some(iterate);
        Ok(())
    }

    /// Evaluates rows at an iterate, moved by `moves` `[rows, selected]` where they are given.
    ///
    /// # Errors
    /// Values of another size, from the folder of another run.
    pub fn evaluate(
        &mut self,
        iterate: usize,
        rows: &Range<usize>,
        moves: Option<&[f64]>,
        block: &mut Block,
    ) -> Result<(), Fault> {
        self.move_to(iterate)?;
        let ids = self.ids[rows.clone()].to_vec();
        self.write(&ids, moves)?;
        self.machine.run()?;
        (block.rows, block.selected) = (rows.len(), self.selected);
        self.read_values(block)?;
        self.read("location/slope", &mut block.slope)?;
        self.read("kinks", &mut block.kinks)?;
        self.read("kinks/slope", &mut block.kink_slope)
    }

    /// As [`Local::evaluate`] at the iterate itself, without slopes and kinks.
    ///
    /// # Errors
    /// As there.
    pub fn values(&mut self, iterate: usize, rows: &Range<usize>, block: &mut Block) -> Result<(), Fault> {
        self.move_to(iterate)?;
        let ids = self.ids[rows.clone()].to_vec();
        self.write(&ids, None)?;
        self.machine.run()?;
        (block.rows, block.selected) = (rows.len(), self.selected);
        self.read_values(block)
    }

    /// The location of one row at many places, moved by `moves` `[places, selected]` from an iterate: `[places, outputs]`.
    ///
    /// # Errors
    /// As [`Local::evaluate`].
    pub fn locations(&mut self, (iterate, row): (usize, usize), moves: &[f64]) -> Result<Vec<f64>, Fault> {
        self.move_to(iterate)?;
        let (mut all, mut found) = (Vec::new(), Vec::new());
        for moves in moves.chunks(self.rows_per_call.max(1) * self.selected) {
            let ids = vec![self.ids[row]; moves.len() / self.selected];
            self.write(&ids, Some(moves))?;
            self.machine.run()?;
            self.read("location", &mut found)?;
            all.extend_from_slice(&found);
        }
        Ok(all)
    }

    fn write(&mut self, ids: &[u32], moves: Option<&[f64]>) -> Result<(), Fault> {
        let sizes = sizes(self.selected).with(Symbol::Batch, ids.len());
        self.machine.set_sizes(&sizes)?;
        self.feed.write(&mut self.machine, ids)?;
        if !self.machine.has_port("moves") {
            return Ok(());
        }
        self.still.resize(ids.len() * self.selected, 0.0);
        self.machine.write_real("moves", moves.unwrap_or(&self.still))
    }

    fn read_values(&self, block: &mut Block) -> Result<(), Fault> {
        self.read("location", &mut block.location)?;
        self.read("scale", &mut block.scale)?;
        self.read("target", &mut block.target)
    }

    /// Reads a port; nothing where the program does not have it.
    fn read(&self, name: &str, into: &mut Vec<f64>) -> Result<(), Fault> {
        into.clear();
        match self.machine.has_port(name) {
            true => read(&self.machine, name, into),
            false => Ok(()),
        }
    }
}
