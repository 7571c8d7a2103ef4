//! Checks that positions (indices) are within the range of their axis. Without these checks, kernels would
//! silently clamp a position to the range of its axis. Positions that depend only on the data are
//! checked before the rows are used. Positions that depend on parameters are checked at given
//! values of the parameters.

use crate::context::{Context, Stop};
use crate::feed::Feed;
use crate::predict::Predictor;
use crate::states::StateValues;
use bnnc_abi::manifest::{DataSource, InferenceBlock, PositionCheck};
use bnnc_abi::ports::PortName;
use bnnc_base::fault::Fault;
use bnnc_base::shape::{Sizes, Symbol};
use bnnc_data::diagnostics::{self, At};
use bnnc_data::{Dataset, Rows};
use bnnc_kernels::executor::Machine;
use bnnc_kernels::pool::Pool;
use std::sync::Arc;

/// The number of rows per call of the program.
const ROWS: usize = 256;

/// Checks the positions that depend only on the data. A position that depends on an output is
/// checked only if the value of the output is known.
///
/// # Errors
/// Fails if a position is outside its axis; the error names the row. Also fails if some columns do
/// not fit the program, or if there is too little memory.
pub fn check(
    infer: &InferenceBlock,
    (rows, has_outputs): (&Rows, bool),
    dataset: &Dataset,
    pool: &Arc<Pool>,
) -> Result<(), Stop> {
    let Some(positions) = infer.positions.as_ref().filter(|_| rows.count > 0) else {
        return Ok(());
    };
    let feed = Feed::of_plan((infer, &positions.program.plan), rows, dataset, has_outputs)?;
    let sizes = |rows: usize| Sizes::default().with(Symbol::Batch, rows);
    let mut machine = Machine::new(&positions.program, sizes(ROWS.min(feed.rows)), pool.clone())?;
    feed.write_shared(&mut machine)?;
    let places = Places { infer, rows, dataset };
    let all: Vec<u32> = (0..feed.rows as u32).collect();
    for (at, chunk) in all.chunks(ROWS).enumerate() {
        machine.set_sizes(&sizes(chunk.len()))?;
        feed.write(&mut machine, chunk)?;
        machine.run()?;
        for (number, check) in known(infer, &positions.checks, has_outputs) {
            let Some(outside) = outside(&machine, number, check.size)? else {
                continue;
            };
            let place = places.of(check, at * ROWS + outside.example, outside.element);
            let place = place.unwrap_or(At::file(rows.place(0).0));
            let columns: Vec<&str> = check.inputs.iter().map(|input| infer.column_of(input)).collect();
            return Err(diagnostics::selected(place, &columns, outside.position, check.size).into());
        }
    }
    Ok(())
}

/// Checks the positions that depend on parameters, at `draws` draws of the parameters. A position
/// that depends on an output is checked only if the value of the output is known.
///
/// # Errors
/// Fails if a position is outside its axis; the error names the row if the position depends on a
/// row. Also fails if some columns do not fit the program, or if there is too little memory.
pub fn check_values(
    infer: &InferenceBlock,
    (values, draws): (&StateValues, usize),
    (rows, has_outputs): (&Rows, bool),
    (dataset, context): (&Dataset, &Context),
) -> Result<(), Stop> {
    if infer.reached.is_empty() || rows.count == 0 || draws == 0 {
        return Ok(());
    }
    let mut predictor = Predictor::with_target(infer, rows, dataset, (draws, has_outputs), context)?;
    predictor.set_parameters(values)?;
    let places = Places { infer, rows, dataset };
    predictor.visit(|machine, first| {
        for (number, check) in known(infer, &infer.reached, has_outputs) {
            if let Some(outside) = outside(machine, number, check.size)? {
                let place = places.of(check, first + outside.example, outside.element);
                let names: Vec<&str> = check.inputs.iter().map(|input| infer.column_of(input)).collect();
                return Err(diagnostics::reached(place, &names, outside.position, check.size).into());
            }
        }
        Ok(())
    })
}

/// Returns the checks that can be made, each with its index. Checks that depend on unknown outputs
/// are left out.
fn known<'a>(
    infer: &'a InferenceBlock,
    checks: &'a [PositionCheck],
    has_outputs: bool,
) -> impl Iterator<Item = (usize, &'a PositionCheck)> {
    checks.iter().enumerate().filter(move |(_, check)| {
        let mut outputs = infer.outputs.iter();
        has_outputs || !outputs.any(|output| check.inputs.contains(&output.name) && !output.given)
    })
}

/// A position that is outside its axis.
struct Outside {
    position: f64,
    /// The index, among the examples of the call, of the example that the position belongs to.
    example: usize,
    /// The index of an element of a whole column, if this element determines the position. `None`
    /// if the index is not known.
    element: Option<usize>,
}

/// Returns the first position of a check that is outside its axis. The positions of the check have
/// the shape `[.., batch, ..]`.
fn outside(machine: &Machine, number: usize, size: usize) -> Result<Option<Outside>, Fault> {
    let port = PortName::Position.at(number);
    if !machine.has_port(&port) {
        return Ok(None);
    }
    let positions = machine.read_real(&port)?;
    let beyond = |position: &f64| !(*position >= 0.0 && *position < size as f64);
    let Some(at) = positions.iter().position(beyond) else {
        return Ok(None);
    };
    let sizes = machine.sizes();
    let examples = sizes.get(Symbol::Batch).max(1);
    let draws = match machine.is_per_draw(&port) {
        true => sizes.get(Symbol::Draws).max(1),
        false => 1,
    };
    let width = (positions.len() / (examples * draws)).max(1);
    let rows = PortName::Row.at(number);
    let element = match machine.has_port(&rows) {
        true => machine.read_real(&rows)?.get(at).map(|row| *row as usize),
        false => None,
    };
    Ok(Some(Outside {
        position: positions[at],
        example: at / width % examples,
        element,
    }))
}

/// The data for computing positions.
struct Places<'a> {
    infer: &'a InferenceBlock,
    rows: &'a Rows,
    dataset: &'a Dataset,
}

impl<'a> Places<'a> {
    /// Returns the place in the data that determines a position. The place is the row of an
    /// example, or the row of an element of a whole column. If the row is not known, the place is
    /// the whole file. Returns `None` if the position does not depend on data.
    fn of(&self, check: &PositionCheck, example: usize, element: Option<usize>) -> Option<At<'a>> {
        let sources: Vec<&DataSource> = self
            .infer
            .bindings
            .iter()
            .filter(|binding| check.inputs.contains(&binding.port))
            .map(|binding| &binding.from)
            .collect();
        let is_column = |source: &&&DataSource| match source {
            DataSource::Whole(name) => {
                let array = self.dataset.whole(name);
                array.is_none_or(|array| array.shape.first() == Some(&self.rows.count))
            }
            _ => false,
        };
        let row = match sources.iter().any(|source| !source.is_shared()) {
            true => Some(example),
            false => element.filter(|_| sources.iter().any(|source| is_column(&source))),
        };
        match row.filter(|row| *row < self.rows.count) {
            Some(row) => Some(self.rows.at(row)),
            None => sources.first().map(|_| At::file(self.rows.place(0).0)),
        }
    }
}
