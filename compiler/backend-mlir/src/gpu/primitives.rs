//! Emits the primitives that plans call as device functions. Matrix products are computed in tiles;
//! the other primitives are written in a simple way.

mod factor;
mod matmul;
mod solve;

use crate::text::{LoopBounds, Text, Type, Value};
use bnnc_abi::device::{self, Count, KernelParameter, LaunchSequence, Routine};
use bnnc_abi::plan::{Plan, PlanStep};
use bnnc_abi::primitive;
use bnnc_base::diagnostics::OTHER_BACKEND;
use bnnc_base::dtype::Precision;
use bnnc_base::fault::Fault;
use std::collections::BTreeSet;

/// Writes the functions that the calls of a plan need.
///
/// # Errors
/// Returns [`Fault::Limit`] for a primitive that is not available on GPUs.
pub(super) fn emit(plan: &Plan, text: &mut Text) -> Result<Vec<Routine>, Fault> {
    let mut calls = BTreeSet::new();
    collect(&plan.steps, &mut calls);
    let precision = plan.precision;
    let routine = |(primitive, ints): (&'static str, usize)| {
        let entry = match primitive {
            "cholesky" => factor::cholesky(text, precision),
            "cumsum" => solve::cumsum(text, precision),
            "matmul" => matmul::emit(text, precision, ints),
            "triangular_solve" => solve::triangular(text, precision),
            other => {
                return Err(Fault::limit(
                    &OTHER_BACKEND,
                    format!("`{other}` is not available on GPUs"),
                ));
            }
        };
        let blocked = (primitive == primitive::CHOLESKY.name).then(|| factor::blocked(text, precision));
        let primitive = primitive::lookup(primitive)
            .ok_or_else(|| Fault::Bug(format!("`{primitive}` is not a primitive")))?;
        Ok(Routine {
            primitive,
            ints,
            work: LaunchSequence {
                entries: vec![entry],
                scratch: Count::Fixed(0),
            },
            blocked,
        })
    };
    calls.into_iter().map(routine).collect()
}

fn collect(steps: &[PlanStep], calls: &mut BTreeSet<(&'static str, usize)>) {
    for step in steps {
        match step {
            PlanStep::Call(call) => {
                calls.insert((call.primitive.name, call.ints.len()));
            }
            PlanStep::Launch(_) => {}
            PlanStep::Repeat { body, .. } => collect(body, calls),
        }
    }
}

/// A device function whose parameters are addresses and integers.
struct Entry {
    symbol: String,
    addresses: Vec<Value>,
    ints: Vec<Value>,
}

impl Entry {
    fn begin(text: &mut Text, symbol: String, (addresses, ints): (usize, usize)) -> Entry {
        text.restart();
        let addresses: Vec<Value> = (0..addresses).map(|_| text.fresh(Type::Pointer)).collect();
        let ints: Vec<Value> = (0..ints).map(|_| text.fresh(Type::Long)).collect();
        let pointers = addresses.iter().map(|address| format!("{address}: !llvm.ptr"));
        let parameters: Vec<String> = pointers
            .chain(ints.iter().map(|int| format!("{int}: i64")))
            .collect();
        super::kernel::begin(text, &symbol, &parameters, super::mapping::THREADS);
        Entry {
            symbol,
            addresses,
            ints,
        }
    }

    /// Returns the parameters of the function: first all buffers, then all integers.
    fn parameters(&self) -> Vec<KernelParameter> {
        let buffers = (0..self.addresses.len() as u32).map(KernelParameter::Buffer);
        buffers
            .chain((0..self.ints.len() as u32).map(KernelParameter::Int))
            .collect()
    }

    fn end(self, text: &mut Text, shared: u32, blocks: Count) -> device::KernelEntry {
        super::kernel::end(text);
        let parameters = self.parameters();
        super::kernel::entry((self.symbol, shared), blocks, parameters)
    }
}

/// The body of a loop: a function that maps the counter and the values of an iteration to the
/// values of the next iteration.
type Body<'a> = &'a mut dyn FnMut(&mut Text, Value, &[Value]) -> Vec<Value>;

/// Emits a loop over a counter. Values are passed from one iteration to the next, and `body`
/// computes the values for the next iteration.
fn repeat(text: &mut Text, bounds: LoopBounds, carried: &[Value], body: Body<'_>) -> Vec<Value> {
    let open = text.open_loop(bounds, carried);
    let after = body(text, open.counter, &open.inside);
    text.close_loop(open, &after)
}

/// Emits a loop over a counter that does not pass values from one iteration to the next.
fn each(text: &mut Text, bounds: LoopBounds, body: &mut dyn FnMut(&mut Text, Value)) {
    repeat(text, bounds, &[], &mut |text, counter, _| {
        body(text, counter);
        Vec::new()
    });
}

/// Emits operations that run only if a condition is true.
fn when(text: &mut Text, condition: Value, body: &mut dyn FnMut(&mut Text)) {
    text.open(format_args!("scf.if {condition} {{"));
    body(text);
    text.close("}");
}

/// Emits integer arithmetic on two indices or sizes.
fn long(text: &mut Text, name: &str, x: Value, y: Value) -> Value {
    text.alike(&format!("arith.{name}"), &[x, y])
}

/// Emits integer arithmetic on an index or size and a constant.
fn with(text: &mut Text, name: &str, x: Value, y: i64) -> Value {
    let y = text.long(y);
    long(text, name, x, y)
}

/// Emits `x y + z` for indices or sizes.
fn at(text: &mut Text, x: Value, y: Value, z: Value) -> Value {
    let product = long(text, "muli", x, y);
    long(text, "addi", product, z)
}

/// Reads an element of an array of reals.
fn read(text: &mut Text, precision: Precision, base: Value, position: Value) -> Value {
    let address = text.element(base, position, Type::Real(precision));
    text.load(Type::Real(precision), address, "")
}

/// Writes an element of an array of reals.
fn write(text: &mut Text, base: Value, position: Value, value: Value) {
    let address = text.element(base, position, value.ty);
    text.store(value, address, "");
}

/// Returns the number of the current thread in the whole grid.
fn flat(text: &mut Text) -> Value {
    let (thread, block) = super::kernel::place(text);
    let threads = text.long(super::mapping::THREADS);
    at(text, block, threads, thread)
}

/// Emits operations that one thread runs for each number below the product of two sizes.
fn per_thread(text: &mut Text, [outer, inner]: [Value; 2], body: &mut dyn FnMut(&mut Text, Value)) {
    let number = flat(text);
    let all = long(text, "muli", outer, inner);
    let inside = text.compare("slt", number, all);
    when(text, inside, &mut |text| body(text, number));
}
