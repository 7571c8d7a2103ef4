//! The sizes of one call of the prediction program.

use bnnc_abi::plan::Plan;
use bnnc_base::shape::{Sizes, Symbol};
use bnnc_kernels::arena::predict_arena_bytes;

/// The largest number of rows per call of the prediction program.
pub const ROWS: usize = 256;

/// The largest number of bytes that a call of the prediction program may use. If a call with all draws needs more,
/// each call computes fewer draws.
const BYTES: u64 = 16 << 20;

/// The largest number of scalar operations that one call of the prediction program may do. Such a call takes a
/// few tenths of a second. A user who interrupts
/// the run waits for at most one call.
const OPERATIONS: u64 = 300_000_000;

/// Returns the sizes of one call of the prediction program.
pub fn sizes(plan: &Plan, rows: usize, draws: usize) -> Sizes {
    let rows = Sizes::default().with(Symbol::Batch, ROWS.min(rows.max(1)));
    let halves = std::iter::successors(Some(draws.max(1)), |draws| {
        (*draws > 1).then(|| draws.div_ceil(2))
    });
    let sizes = |draws| rows.with(Symbol::Draws, draws);
    let bytes = |sizes: &Sizes| predict_arena_bytes(plan, sizes);
    let operations = |sizes: &Sizes| plan.operations(sizes);
    let one = sizes(1);
    let most_bytes = BYTES.max(with_room(bytes(&one)));
    let most_operations = OPERATIONS.max(with_room(operations(&one)));
    let fits = |sizes: &Sizes| bytes(sizes) <= most_bytes && operations(sizes) <= most_operations;
    halves.map(sizes).find(fits).unwrap_or(one)
}

/// Returns the largest allowed cost of a call, if a call with a single draw costs `first`. The parts of a program that are the same for
/// all draws are computed once per call. If these parts alone exceed a limit, further draws in the same call cost little, whereas further
/// calls would repeat these parts.
fn with_room(first: u64) -> u64 {
    first.saturating_add(first / 2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use bnnc_abi::plan::{Amount, Buffer, BufferId, BufferRole, Extent, Launch, PlanStep, Storage};
    use bnnc_base::arena::Arena;
    use bnnc_base::dtype::Precision;
    use bnnc_base::shape::{Dim, Shape};

    /// Returns the plan of a program with two launches. Per row, the first launch does `shared` operations and writes `shared`
    /// numbers. Per draw and row, the second launch does `drawn` operations and writes `drawn` numbers.
    fn plan(shared: i64, drawn: i64) -> Plan {
        let (rows, draws) = (Dim::Symbol(Symbol::Batch), Dim::Symbol(Symbol::Draws));
        let launch = |axes: &[Dim], work: i64, buffer: u32| {
            PlanStep::Launch(Launch {
                kernel: buffer,
                buffers: vec![BufferId(buffer)],
                ints: Vec::new(),
                outer: Amount::one(Extent::product(axes)),
                work: Amount::one(Extent::fixed(work)),
                reduces: Vec::new(),
            })
        };
        let mut buffers = Arena::default();
        for (name, axes, width) in [
            ("shared", vec![rows], shared),
            ("drawn", vec![draws, rows], drawn),
        ] {
            let mut shape = axes;
            shape.push(Dim::Fixed(width as usize));
            buffers.push(Buffer {
                name: name.into(),
                storage: Storage::Real,
                shape: Shape(shape),
                role: BufferRole::Output,
            });
        }
        Plan {
            name: "predict".to_owned(),
            precision: Precision::F32,
            buffers,
            steps: vec![launch(&[rows], shared, 0), launch(&[draws, rows], drawn, 1)],
            kernels: 2,
        }
    }

    /// Returns the number of operations of all calls for 256 rows and 100 draws.
    fn operations(plan: &Plan) -> u64 {
        let sizes = sizes(plan, 256, 100);
        let calls = 100_u64.div_ceil(sizes.get(Symbol::Draws) as u64);
        calls * plan.operations(&sizes)
    }

    /// A single call exceeds both limits: it does 512 million operations and needs 2 GB.
    #[test]
    fn a_network_that_all_draws_share_is_evaluated_once() {
        assert_eq!(operations(&plan(2_000_000, 10)), 256 * (2_000_000 + 100 * 10));
    }

    #[test]
    fn few_operations_per_draw_are_repeated_for_a_network_that_draws_do_not_share() {
        // A call with 7 of the 100 draws takes 14.3 MB. A call with 13 draws would need more than
        // 16 MiB.
        assert_eq!(sizes(&plan(10, 2000), 256, 100).get(Symbol::Draws), 7);
        // If a single draw exceeds the limit, every call computes one draw.
        let plan = plan(10, 2_000_000);
        assert_eq!(sizes(&plan, 256, 100).get(Symbol::Draws), 1);
        assert_eq!(operations(&plan), 256 * 100 * (2_000_000 + 10));
    }

    #[test]
    fn a_call_needs_at_most_half_as_much_again_as_one_draw() {
        for (shared, drawn) in [(100_000, 1), (100_000, 5_000), (1_000_000, 400_000)] {
            let plan = plan(shared, drawn);
            let (one, chosen) = (sizes(&plan, 256, 1), sizes(&plan, 256, 100));
            let one = predict_arena_bytes(&plan, &one);
            let chosen = predict_arena_bytes(&plan, &chosen);
            assert!(chosen <= BYTES.max(one + one / 2), "{chosen} is above {one}");
        }
    }
}
