//! In random plans, each step reads the values that were last written to its buffers, even if
//! buffers share memory.

mod mock;

use bnnc_abi::plan::{BufferId, BufferRole, Combine, Plan, PlanStep, Storage};
use bnnc_base::arena::{Arena, Id};
use bnnc_base::dtype::Precision;
use bnnc_base::shape::{Dim, Sizes};
use bnnc_kernels::arena::{ALIGN, ArenaLayout, layout, predict_arena_bytes};
use mock::*;

struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) % limit) as usize
    }
}

/// Returns a plan of random launches. A launch reads all slots except the last, and writes the last
/// slot. Some launches write it as a reduction.
fn random_plan(random: &mut Random) -> Plan {
    let mut buffers = Arena::default();
    for at in 0..3 + random.below(12) {
        let role = if random.below(4) == 0 {
            BufferRole::State
        } else {
            BufferRole::Scratch
        };
        let dims = [Dim::Fixed(random.below(60))];
        buffers.push(buffer(&format!("b{at}"), Storage::Real, &dims, role));
    }
    let count = 2 + random.below(8);
    let steps = random_steps(random, &mut buffers, count, 0);
    Plan {
        name: "test".into(),
        precision: Precision::F64,
        buffers,
        steps,
        kernels: 1,
    }
}

fn random_steps(
    random: &mut Random,
    buffers: &mut Arena<BufferId, bnnc_abi::plan::Buffer>,
    count: usize,
    depth: usize,
) -> Vec<PlanStep> {
    let mut steps = Vec::new();
    for _ in 0..count {
        if depth < 2 && random.below(5) == 0 {
            let counter = buffers.push(buffer("counter", Storage::Int, &[], BufferRole::Scratch));
            let count = 1 + random.below(4);
            let body = random_steps(random, buffers, count, depth + 1);
            steps.push(PlanStep::Repeat {
                count: fixed(3),
                counter,
                body,
            });
            continue;
        }
        let slots = 1 + random.below(3);
        let bound: Vec<BufferId> = (0..slots)
            .map(|_| BufferId::from_index(random.below(buffers.len() as u64)))
            .collect();
        let mut step = launch(0, &bound, &[], fixed(1), 1);
        if random.below(3) == 0 {
            step.reduces = vec![reduce(slots as u32 - 1, Combine::Sum, false)];
        }
        steps.push(PlanStep::Launch(step));
    }
    steps
}

/// The simulated memory, in cache lines, and the expected content of each buffer.
struct Simulation<'a> {
    plan: &'a Plan,
    layout: &'a ArenaLayout,
    lines: Vec<usize>,
    expected: Vec<Option<usize>>,
    clock: usize,
}

impl Simulation<'_> {
    fn lines_of(&self, id: BufferId) -> std::ops::Range<usize> {
        let count = self.plan.buffers[id].shape.count(&Sizes::default());
        let start = self.layout.offsets[id.index()];
        assert_eq!(start % ALIGN, 0);
        start / ALIGN..start / ALIGN + (count * 8).div_ceil(ALIGN)
    }

    fn write(&mut self, id: BufferId) {
        self.clock += 1;
        let (range, clock) = (self.lines_of(id), self.clock);
        self.lines[range].fill(clock);
        self.expected[id.index()] = Some(clock);
    }

    fn read(&self, id: BufferId) {
        if let Some(expected) = self.expected[id.index()] {
            assert!(
                self.lines[self.lines_of(id)].iter().all(|line| *line == expected),
                "{id} was overwritten"
            );
        }
    }

    fn run(&mut self, steps: &[PlanStep]) {
        for step in steps {
            match step {
                PlanStep::Launch(launch) => {
                    let Some((out, read)) = launch.buffers.split_last() else {
                        continue;
                    };
                    if launch.reduces.is_empty() {
                        // If an output is not a reduction, a launch may write only a part of it.
                        // The rest must keep its earlier content.
                        self.read(*out);
                    } else {
                        self.write(*out);
                    }
                    read.iter().for_each(|id| self.read(*id));
                    self.write(*out);
                    read.iter().filter(|id| *id != out).for_each(|id| self.read(*id));
                }
                PlanStep::Repeat { counter, body, .. } => {
                    for _ in 0..3 {
                        self.write(*counter);
                        self.run(body);
                        self.read(*counter);
                    }
                }
                PlanStep::Call(_) => {}
            }
        }
    }
}

#[test]
fn live_buffers_are_never_overwritten() {
    let mut random = Random(11);
    let mut shared = 0;
    for _ in 0..3000 {
        let plan = random_plan(&mut random);
        let layout = layout(&plan, &Sizes::default());
        assert_eq!(predict_arena_bytes(&plan, &Sizes::default()), layout.bytes as u64);
        let mut simulation = Simulation {
            plan: &plan,
            layout: &layout,
            lines: vec![0; layout.bytes / ALIGN],
            expected: vec![None; plan.buffers.len()],
            clock: 0,
        };
        simulation.run(&plan.steps);
        // States keep their values between runs, but scratch buffers do not.
        for id in plan
            .buffers
            .ids()
            .filter(|id| plan.buffers[*id].role == BufferRole::Scratch)
        {
            simulation.expected[id.index()] = None;
        }
        simulation.run(&plan.steps);
        let apart: usize = plan
            .buffers
            .ids()
            .map(|id| simulation.lines_of(id).len() * ALIGN)
            .sum();
        shared += usize::from(layout.bytes < apart);
    }
    assert!(shared > 300, "only {shared} plans share memory");
}

/// In a chain of buffers of equal size, at most two are alive at the same time.
#[test]
fn a_chain_needs_two_buffers() {
    let mut buffers = Arena::default();
    let chain: Vec<BufferId> = (0..10)
        .map(|at| {
            buffers.push(buffer(
                &format!("b{at}"),
                Storage::Real,
                &[Dim::Fixed(8)],
                BufferRole::Scratch,
            ))
        })
        .collect();
    let steps = chain
        .windows(2)
        .map(|pair| PlanStep::Launch(launch(0, pair, &[], fixed(1), 1)))
        .collect();
    let plan = Plan {
        name: "chain".into(),
        precision: Precision::F64,
        buffers,
        steps,
        kernels: 1,
    };
    assert_eq!(layout(&plan, &Sizes::default()).bytes, 2 * 64);
}
