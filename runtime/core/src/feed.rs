//! Prepares rows in the precision of a run, and copies them batch by batch into the input buffers
//! of a machine.

mod port;
mod values;

use bnnc_abi::manifest::{Binding, DataSource, InferenceBlock, Output, OutputKind};
use bnnc_abi::methods::sampling::PreparedColumn;
use bnnc_abi::plan::{Plan, Storage};
use bnnc_base::diagnostic::Diagnostic;
use bnnc_base::dtype::Precision;
use bnnc_base::fault::Fault;
use bnnc_data::{Dataset, Rows};
use bnnc_kernels::executor::Machine;
use port::{Elements, Port, put, read_row, reals};
use std::sync::atomic::{AtomicU64, Ordering};
pub use values::column;
use values::{Values, bounded, integers, seen, stored};

/// Returns a new stamp, which differs from all earlier stamps.
fn stamp() -> u64 {
    static LAST: AtomicU64 = AtomicU64::new(0);
    LAST.fetch_add(1, Ordering::Relaxed)
}

/// The data ports of a program, with their elements for some rows.
#[derive(Clone, Debug)]
pub struct Feed {
    ports: Vec<Port>,
    /// The number of rows.
    pub rows: usize,
}

/// The ports of the feed.
pub struct FeedPorts<'a> {
    /// The ports, each with the source of its elements.
    pub bindings: &'a [Binding],
    /// The outputs of the model. Rows to predict for need not contain values of the outputs.
    pub outputs: &'a [Output],
    /// The precision of reals.
    pub precision: Precision,
    /// A function that returns the storage type of a port's elements in the program that reads the
    /// port. It returns `None` if the program does not have the port.
    pub storage: &'a dyn Fn(&str) -> Option<Storage>,
}

impl Feed {
    /// Prepares `rows` for one program of an inference block.
    ///
    /// # Errors
    /// Fails in the same cases as [`Feed::new`].
    pub fn of_plan(
        (infer, plan): (&InferenceBlock, &Plan),
        rows: &Rows,
        dataset: &Dataset,
        target: bool,
    ) -> Result<Feed, Diagnostic> {
        let storage = |name: &str| plan.port(name).map(|id| plan.buffers[id].storage);
        let wanted = FeedPorts {
            bindings: &infer.bindings,
            outputs: &infer.outputs,
            precision: plan.precision,
            storage: &storage,
        };
        Feed::new(rows, dataset, &wanted, target)
    }

    /// Checks that predictions can be computed for these rows. The check is made before the
    /// inference run, because a failure after the run would lose the result of the run.
    ///
    /// # Errors
    /// Fails if an element is too large. Also fails in the same cases as [`Feed::new`].
    pub fn check(
        infer: &InferenceBlock,
        rows: &Rows,
        dataset: &Dataset,
        target: bool,
    ) -> Result<(), Diagnostic> {
        let plan = &infer.predict.plan;
        for binding in infer.bindings.iter().filter(|_| rows.count > 0) {
            let output = infer.outputs.iter().find(|output| output.name == binding.port);
            let is_absent = output.is_some_and(|output| !target && !output.given);
            check_given(binding, output.filter(|_| !target), rows)?;
            let Some(port) = plan.port(&binding.port).filter(|_| !is_absent) else {
                continue;
            };
            match plan.buffers[port].storage {
                Storage::Real => {
                    let values = stored(binding, output.is_some(), rows, dataset)?;
                    let of = (binding, output.is_some());
                    bounded(&values, of, (rows, dataset), plan.precision)?;
                }
                Storage::Int => {
                    let values = integers(binding, rows, dataset)?;
                    seen(&values, binding, (rows, dataset))?;
                }
            }
        }
        Ok(())
    }

    /// Prepares `rows`. If `target` is false, the values of outputs are replaced by placeholders.
    /// Outputs that other outputs depend on keep their values.
    ///
    /// # Errors
    /// Fails if the elements of a column do not fit the program. Examples are text instead of
    /// numbers, and fractions instead of integers.
    pub fn new(rows: &Rows, dataset: &Dataset, wanted: &FeedPorts, target: bool) -> Result<Feed, Diagnostic> {
        let mut ports = Vec::new();
        for binding in wanted.bindings {
            let Some(storage) = (wanted.storage)(&binding.port) else {
                continue;
            };
            let shared = binding.from.is_shared();
            let output = wanted.outputs.iter().find(|output| output.name == binding.port);
            let absent = output.filter(|output| !target && !output.given);
            check_given(binding, output.filter(|_| !target), rows)?;
            let elements = match (absent, storage) {
                (Some(output), _) => unknown(rows.count, output, (storage, wanted.precision)),
                (None, Storage::Real) => {
                    let values = stored(binding, output.is_some(), rows, dataset)?;
                    let of = (binding, output.is_some());
                    bounded(&values, of, (rows, dataset), wanted.precision)?;
                    match values {
                        Values::Real(values) => reals(&values, wanted.precision),
                        Values::Byte(bytes) => Elements::Byte(bytes, wanted.precision),
                    }
                }
                (None, Storage::Int) => Elements::Int(integers(binding, rows, dataset)?),
            };
            let count = if shared { 1 } else { rows.count.max(1) };
            let width = elements.len() / count;
            ports.push(Port {
                name: binding.port.clone(),
                width,
                elements,
                shared,
                on_host: false,
                stamp: stamp(),
            });
        }
        Ok(Feed {
            ports,
            rows: examples(wanted.bindings, rows),
        })
    }

    /// Returns a feed for the outputs of a program. The ports of the feed do not have elements yet,
    /// but have the capacity for `rows` rows.
    pub fn of_columns(columns: &[PreparedColumn], rows: usize, precision: Precision) -> Feed {
        let port = |column: &PreparedColumn| {
            let room = column.width * if column.of_row { rows } else { 1 };
            Port {
                name: column.name.clone(),
                width: column.width,
                elements: match precision {
                    Precision::F32 => Elements::F32(Vec::with_capacity(room)),
                    Precision::F64 => Elements::F64(Vec::with_capacity(room)),
                },
                shared: !column.of_row,
                on_host: false,
                stamp: stamp(),
            }
        };
        Feed {
            ports: columns.iter().map(port).collect(),
            rows: 0,
        }
    }

    /// Appends the outputs that a program computed for `rows` further rows. An output that all rows
    /// share is appended only once.
    ///
    /// # Errors
    /// Fails if an output is missing. This would be a bug.
    pub fn append(&mut self, machine: &Machine, rows: usize) -> Result<(), Fault> {
        let is_first = self.rows == 0;
        for port in self.ports.iter_mut().filter(|port| is_first || !port.shared) {
            port.stamp = stamp();
            match &mut port.elements {
                Elements::F32(elements) => elements.extend_from_slice(machine.view(&port.name)?),
                Elements::F64(elements) => elements.extend_from_slice(machine.view(&port.name)?),
                Elements::Int(elements) => elements.extend_from_slice(machine.view(&port.name)?),
                Elements::Byte(..) => return Err(Fault::Bug(format!("`{}` holds bytes", port.name))),
            }
        }
        self.rows += rows;
        Ok(())
    }

    /// Lets the host gather the rows of a port in every batch. A device would otherwise gather rows that are already in its memory, and the host
    /// would have to copy them back before it can change them.
    pub fn keep_on_host(&mut self, port: &str) {
        let own = self.ports.iter_mut().filter(|own| own.name == port);
        own.for_each(|own| own.on_host = true);
    }

    /// Adds the ports of another feed of the same rows.
    pub fn join(&mut self, other: Feed) {
        self.ports.extend(other.ports);
    }

    /// Returns a feed with the same ports, but without rows.
    pub fn without_rows(&self) -> Feed {
        let mut empty = self.clone();
        empty.rows = 0;
        for port in empty.ports.iter_mut().filter(|port| !port.shared) {
            port.stamp = stamp();
            match &mut port.elements {
                Elements::F32(values) => values.clear(),
                Elements::F64(values) => values.clear(),
                Elements::Int(values) => values.clear(),
                // Rows that are appended later may have other units.
                Elements::Byte(_, precision) => port.elements = reals(&[], *precision),
            }
        }
        empty
    }

    /// Appends one row of another feed. Both feeds must have the same ports.
    pub fn push(&mut self, from: &Feed, row: usize) {
        self.put(None, from, row);
        self.rows += 1;
    }

    /// Replaces row `at` by a row of another feed. Both feeds must have the same ports.
    pub fn replace(&mut self, at: usize, from: &Feed, row: usize) {
        self.put(Some(at), from, row);
    }

    fn put(&mut self, at: Option<usize>, from: &Feed, row: usize) {
        let pairs = self.ports.iter_mut().zip(&from.ports);
        for (port, other) in pairs.filter(|(port, _)| !port.shared) {
            port.stamp = stamp();
            match (&mut port.elements, &other.elements) {
                (Elements::F32(to), Elements::F32(from)) => put(to, from, port.width, (at, row)),
                (Elements::F64(to), Elements::F64(from)) => put(to, from, port.width, (at, row)),
                (Elements::Int(to), Elements::Int(from)) => put(to, from, port.width, (at, row)),
                (Elements::F32(to), Elements::Byte(from, _)) => {
                    put(to, &read_row(from, row), port.width, (at, 0))
                }
                (Elements::F64(to), Elements::Byte(from, _)) => {
                    put(to, &read_row(from, row), port.width, (at, 0))
                }
                _ => unreachable!("feeds of one program have the same ports"),
            }
        }
    }

    /// Writes the ports that have the same elements in all batches. A feed may serve several
    /// programs, so ports that this program does not have are skipped.
    ///
    /// # Errors
    /// Fails if a port has another size. This would be a bug.
    pub fn write_shared(&self, machine: &mut Machine) -> Result<(), Fault> {
        for port in self.ports.iter().filter(|port| port.shared) {
            if machine.has_port(&port.name) {
                port.write(machine, &port.name, None)?;
            }
        }
        Ok(())
    }

    /// Writes the elements of the chosen rows to the machine.
    ///
    /// # Errors
    /// Fails if a port has another size. This would be a bug.
    pub fn write(&self, machine: &mut Machine, rows: &[u32]) -> Result<(), Fault> {
        self.ports
            .iter()
            .filter(|port| !port.shared)
            .try_for_each(|port| port.write(machine, &port.name, Some(rows)))
    }

    /// Writes the elements of a port in the chosen rows to another input of the machine, `to`. Does nothing if the feed or the machine does not have
    /// it.
    ///
    /// # Errors
    /// Fails if the input has another size. This would be a bug.
    pub fn write_to(
        &self,
        machine: &mut Machine,
        (port, to): (&str, &str),
        rows: &[u32],
    ) -> Result<(), Fault> {
        let mut own = self.ports.iter().filter(|own| own.name == port && !own.shared);
        match own.next().filter(|_| machine.has_port(to)) {
            Some(port) => port.write(machine, to, Some(rows)),
            None => Ok(()),
        }
    }

    /// Copies the elements of one row of a port of reals. Does nothing if the feed does not have it.
    pub fn read(&self, port: &str, row: u32, to: &mut [f64]) {
        let Some(port) = self.ports.iter().find(|own| own.name == port) else {
            return;
        };
        let start = row as usize * port.width;
        let place = to.iter_mut();
        match &port.elements {
            Elements::F32(values) => {
                let values = place.zip(&values[start..]);
                values.for_each(|(to, value)| *to = f64::from(*value));
            }
            Elements::F64(values) => place.zip(&values[start..]).for_each(|(to, value)| *to = *value),
            Elements::Int(values) => {
                let values = place.zip(&values[start..]);
                values.for_each(|(to, value)| *to = f64::from(*value));
            }
            Elements::Byte(bytes, precision) => {
                bytes.write(row as usize, to);
                if *precision == Precision::F32 {
                    to.iter_mut().for_each(|value| *value = f64::from(*value as f32));
                }
            }
        }
    }
}

/// Returns the number of examples in these rows. If all ports are shared, all rows together are one
/// example.
pub fn examples(bindings: &[Binding], rows: &Rows) -> usize {
    let whole = bindings.iter().all(|binding| binding.from.is_shared());
    if whole { rows.count.min(1) } else { rows.count }
}

/// Returns a placeholder for the unknown values of an output.
fn unknown(count: usize, output: &Output, (storage, precision): (Storage, Precision)) -> Elements {
    let size = count * output.elements();
    match (storage, &output.kind) {
        (Storage::Int, _) => Elements::Int(vec![0; size]),
        // The placeholder 1 is in the support of positive outputs too.
        (Storage::Real, OutputKind::Real) => reals(&vec![1.0; size], precision),
        (Storage::Real, _) => reals(&vec![0.0; size], precision),
    }
}

/// Checks a port for rows without targets. If other outputs depend on the port's output, the rows
/// must contain values of this output. `output` is the model output that belongs to the port, if
/// there is one.
fn check_given(binding: &Binding, output: Option<&Output>, rows: &Rows) -> Result<(), Diagnostic> {
    match &binding.from {
        DataSource::Field(name) if output.is_some_and(|output| output.given) => rows.check_output(name),
        _ => Ok(()),
    }
}
