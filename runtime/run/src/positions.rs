//! Positions that rows select, checked before the rows are used: kernels would clamp what lies outside an axis.

use crate::feed::Feed;
use crate::fit::Stop;
use bnnc_abi::manifest::{Check, DataSource, Infer};
use bnnc_base::shape::{Sizes, Symbol};
use bnnc_data::report::{self, At};
use bnnc_data::{Dataset, Rows};
use bnnc_kernels::executor::Machine;
use bnnc_kernels::pool::Pool;
use std::sync::Arc;

/// Rows per call.
const ROWS: usize = 256;

/// Checks the positions of rows; those that depend on outputs only where these are known.
///
/// # Errors
/// A position outside its axis, with its row; columns that do not fit; a limit of the machine.
pub fn check(
    infer: &Infer,
    (rows, has_outputs): (&Rows, bool),
    dataset: &Dataset,
    pool: &Arc<Pool>,
) -> Result<(), Stop> {
    let Some(positions) = infer.positions.as_ref().filter(|_| rows.count > 0) else {
        return Ok(());
    };
    let is_known = |check: &Check| {
        let mut outputs = infer.outputs.iter();
        has_outputs || !outputs.any(|output| check.inputs.contains(&output.name) && !output.given)
    };
    let feed = Feed::of_plan((infer, &positions.program.plan), rows, dataset, has_outputs)?;
    let sizes = |rows: usize| Sizes::default().with(Symbol::Batch, rows);
    let mut machine = Machine::new(&positions.program, sizes(ROWS.min(feed.rows)), pool.clone())?;
    feed.write_shared(&mut machine)?;
    let all: Vec<u32> = (0..feed.rows as u32).collect();
    for chunk in all.chunks(ROWS) {
        machine.set_sizes(&sizes(chunk.len()))?;
        feed.write(&mut machine, chunk)?;
        machine.run()?;
        let known = positions.checks.iter().enumerate();
        for (at, check) in known.filter(|(_, check)| is_known(check)) {
            let lowest: &[f64] = machine.view(&format!("lowest/{at}"))?;
            let highest: &[f64] = machine.view(&format!("highest/{at}"))?;
            let beyond = |position: &f64| *position < 0.0 || *position >= check.size as f64;
            let outside = lowest
                .iter()
                .zip(highest)
                .enumerate()
                .find_map(|(row, (low, high))| {
                    let position = [low, high].into_iter().find(|position| beyond(position))?;
                    Some((row, *position))
                });
            let Some((row, position)) = outside else { continue };
            let is_whole = feed.rows != rows.count;
            let (path, number) = rows.place(chunk[row] as usize);
            let place = At {
                path,
                row: if is_whole { 0 } else { number },
                column: 0,
            };
            let columns: Vec<&str> = check.inputs.iter().map(|input| column(infer, input)).collect();
            return Err(report::selected(place, &columns, position, check.size).into());
        }
    }
    Ok(())
}

/// The column that feeds an input.
fn column<'a>(infer: &'a Infer, input: &'a str) -> &'a str {
    let binding = infer.bindings.iter().find(|binding| binding.port == input);
    match binding.map(|binding| &binding.from) {
        Some(DataSource::Field(name) | DataSource::Whole(name) | DataSource::Shared(name)) => name,
        Some(DataSource::Inputs | DataSource::Input(_) | DataSource::Row) | None => input,
    }
}
