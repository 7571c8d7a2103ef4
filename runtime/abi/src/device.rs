//! A program for a device with its own memory. It consists of the images of the kernels, and the
//! parameters of each launch.
//!
//! Note [What entries owe]. A device runs a launch of a plan as a whole and never cuts it into
//! chunks. The entries that implement one kernel run in order. Up to rounding, the entries must
//! write the same values to every output as the executor on the host. A reducing output starts from
//! the identity of its [`crate::plan::Combine`], even if the domain is empty. An earlier entry must
//! therefore fill this output with the identity. An entry may read the previous content of an
//! output only if the body of the kernel loads this content. Results must be the same in every run.
//! Therefore, a reduction must not use floating-point atomics in global memory. The entries of a
//! primitive must compute the same function as its naive reference.

use crate::plan::{Launch, Plan, PlanStep, PrimitiveCall};
use crate::primitive::Primitive;
use bnnc_base::fault::{Bug, Fault};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;

/// The kernels of one plan for the devices of one manufacturer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeviceProgram {
    /// The same entries, compiled for several architectures.
    pub images: Vec<Image>,
    /// The entries that implement each kernel of the plan.
    pub kernels: Vec<LaunchSequence>,
    /// The routines that implement the library calls of the plan.
    pub routines: Vec<Routine>,
}

/// All entries as text for one architecture.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Image {
    /// The lowest compute capability on which the image runs, times ten. For example, 80 stands for 8.0.
    pub capability: u32,
    /// The code in PTX.
    pub ptx: Arc<str>,
}

/// Entries that run one after the other: see Note [What entries owe].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LaunchSequence {
    /// The entries, in order.
    pub entries: Vec<KernelEntry>,
    /// The number of bytes of device memory that these entries need for intermediate results. The initial
    /// content of this memory is undefined.
    pub scratch: Count,
}

/// The implementation of one primitive, for all of its calls with the same number of integers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Routine {
    /// The primitive that the routine implements.
    pub primitive: Primitive,
    /// The number of integers of these calls. For example, matrix products with different numbers of batch axes have different routines.
    pub ints: usize,
    /// The work to run. The buffer slots of a routine are the operands and the result of the call,
    /// the integer slots are the integers of the call, and `Outer` is 1.
    pub work: LaunchSequence,
    /// A blocked form of the same computation, for a runtime with a library of matrix products;
    /// `None` if this routine does not have such a form.
    pub blocked: Option<Blocked>,
}

/// A blocked factorisation of the matrices in the result. Each step factors one column of blocks.
/// The entries have the integer slots of the call and three further slots. These hold the first row
/// of the column of blocks, the number of rows of its diagonal block, and the number of rows below
/// this block. Before a step, the contributions of earlier columns have already been subtracted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Blocked {
    /// The number of rows of each diagonal block except the last one.
    pub rows: u32,
    /// The entry that factors the diagonal block. The entry also clears the elements above the
    /// diagonal of this block.
    pub diagonal: KernelEntry,
    /// The entry that solves for the rows below the diagonal block. The entry also clears the
    /// mirror image of these rows above the diagonal.
    pub panel: KernelEntry,
}

impl Blocked {
    /// The number of integer slots that the entries have in addition to the integer slots of the
    /// call.
    pub const INTS: usize = 3;

    /// Returns both entries as a launch sequence, for checks that apply to any sequence.
    fn work(&self) -> LaunchSequence {
        LaunchSequence {
            entries: vec![self.diagonal.clone(), self.panel.clone()],
            scratch: Count::Fixed(0),
        }
    }
}

impl Routine {
    /// Returns all entries of the routine.
    pub fn entries(&self) -> impl Iterator<Item = &KernelEntry> {
        let blocked = self.blocked.iter();
        let blocked = blocked.flat_map(|blocked| [&blocked.diagonal, &blocked.panel]);
        self.work.entries.iter().chain(blocked)
    }
}

/// One launch of a function in the images.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KernelEntry {
    /// The name of the function in the images.
    pub name: String,
    /// The number of thread blocks along each axis of the grid. If one of these numbers is not
    /// positive, the entry is not launched.
    pub grid: [Count; 3],
    /// The number of threads of a thread block along each axis.
    pub block: [u32; 3],
    /// The number of bytes of shared memory that the image declares.
    pub static_shared: u32,
    /// The number of bytes of shared memory that a launch needs in addition to the bytes that the
    /// image declares.
    pub dynamic_shared: Count,
    /// The function's parameters in order, 64 bits each.
    pub parameters: Vec<KernelParameter>,
}

/// One parameter of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum KernelParameter {
    /// The device address of the buffer bound to a slot, aligned to 64 bytes.
    Buffer(u32),
    /// The number bound to an integer slot, as `i64`.
    Int(u32),
    /// The number of elements of the buffer bound to a slot, as `i64`.
    Elements(u32),
    /// The device address of the scratch memory, aligned to 64 bytes.
    Scratch,
}

/// The size of a grid or of a memory area, computed from the integers of a launch. The size never
/// decreases if one of the integers increases.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Count {
    /// A constant, which does not depend on the launch.
    Fixed(i64),
    /// The number bound to an integer slot.
    Int(u32),
    /// The number of elements of the buffer bound to a slot.
    Elements(u32),
    /// The trip count of the outermost axis.
    Outer,
    /// A product; 1 if it is empty.
    Product(Vec<Count>),
    /// The quotient by a positive number, rounded up.
    Quotient(Box<Count>, i64),
}

/// The values bound to the slots of one launch, from which [`Count::value`] computes a count.
#[derive(Clone, Copy, Debug)]
pub struct LaunchValues<'a> {
    /// The integers, by slot.
    pub ints: &'a [i64],
    /// The numbers of elements of the buffers, by slot.
    pub elements: &'a [i64],
    /// The trip count of the outermost axis.
    pub outer: i64,
}

impl Count {
    /// Returns the value of the count. Products saturate at the largest integer.
    pub fn value(&self, bound: LaunchValues<'_>) -> i64 {
        let value = |count: &Count| count.value(bound);
        let of = |numbers: &[i64], slot: &u32| numbers.get(*slot as usize).copied().unwrap_or(0);
        match self {
            Count::Fixed(number) => *number,
            Count::Int(slot) => of(bound.ints, slot),
            Count::Elements(slot) => of(bound.elements, slot),
            Count::Outer => bound.outer,
            Count::Product(factors) => factors.iter().map(value).fold(1, i64::saturating_mul),
            Count::Quotient(count, by) => {
                let (count, by) = (value(count), (*by).max(1));
                count / by + i64::from(count % by > 0)
            }
        }
    }

    /// Returns whether every slot in the count exists. The arguments are the number of buffer slots
    /// and the number of integer slots.
    fn is_bound(&self, buffers: usize, ints: usize) -> bool {
        match self {
            Count::Fixed(_) | Count::Outer => true,
            Count::Int(slot) => (*slot as usize) < ints,
            Count::Elements(slot) => (*slot as usize) < buffers,
            Count::Product(counts) => counts.iter().all(|count| count.is_bound(buffers, ints)),
            Count::Quotient(count, _) => count.is_bound(buffers, ints),
        }
    }
}

/// The largest number of threads in a block on every device.
const THREADS: u64 = 1024;

impl DeviceProgram {
    /// Among the images that run on this device, returns the image for the highest compute
    /// capability. `capability` is the compute capability of the device, times ten.
    pub fn image(&self, capability: u32) -> Option<&Image> {
        let runs = self.images.iter().filter(|image| image.capability <= capability);
        runs.max_by_key(|image| image.capability)
    }

    /// Returns the routine that implements a call.
    pub fn routine(&self, call: &PrimitiveCall) -> Option<&Routine> {
        self.routines
            .iter()
            .find(|routine| routine.primitive == call.primitive && routine.ints == call.ints.len())
    }

    /// Returns all entries; some may occur several times.
    pub fn entries(&self) -> impl Iterator<Item = &KernelEntry> {
        let kernels = self.kernels.iter().flat_map(|work| &work.entries);
        kernels.chain(self.routines.iter().flat_map(Routine::entries))
    }

    /// Checks that every launch and every call of the plan binds the slots that its entries use. A
    /// call need not have a routine.
    ///
    /// # Errors
    /// Fails if the program does not belong to the plan, which is a bug.
    pub fn verify(&self, plan: &Plan) -> Result<(), Fault> {
        let place = |bug: Bug| bug.at(format_args!("device code of {}", plan.name));
        let bug = |what: String| Err(place(Bug(what)).into());
        if self.kernels.len() != plan.kernels {
            return bug(format!("{} kernels, not {}", self.kernels.len(), plan.kernels));
        }
        for entry in self.entries() {
            let threads: u64 = entry.block.iter().map(|size| u64::from(*size)).product();
            if !(1..=THREADS).contains(&threads) || entry.name.is_empty() || entry.name.contains('\0') {
                return bug(format!("entry {:?} in blocks of {threads}", entry.name));
            }
        }
        Ok(self.verify_steps(&plan.steps).map_err(place)?)
    }

    fn verify_steps(&self, steps: &[PlanStep]) -> Result<(), Bug> {
        steps.iter().try_for_each(|step| match step {
            PlanStep::Launch(Launch {
                kernel,
                buffers,
                ints,
                ..
            }) => {
                let work = self.kernels.get(*kernel as usize);
                work.map_or_else(
                    || Err(Bug(format!("no kernel {kernel}"))),
                    |work| work.verify(buffers.len(), ints.len()),
                )
            }
            PlanStep::Call(call) => self.routine(call).map_or(Ok(()), |routine| {
                let (buffers, ints) = (call.buffers.len(), call.ints.len());
                let blocked = routine.blocked.as_ref().map(Blocked::work);
                routine.work.verify(buffers, ints)?;
                blocked.map_or(Ok(()), |work| work.verify(buffers, ints + Blocked::INTS))
            }),
            PlanStep::Repeat { body, .. } => self.verify_steps(body),
        })
    }
}

impl LaunchSequence {
    /// Checks that the entries use only slots that are bound.
    fn verify(&self, buffers: usize, ints: usize) -> Result<(), Bug> {
        let is_bound = |count: &Count| count.is_bound(buffers, ints);
        for entry in &self.entries {
            let counts = entry.grid.iter().chain([&entry.dynamic_shared, &self.scratch]);
            let parameters = entry.parameters.iter().all(|parameter| match parameter {
                KernelParameter::Buffer(slot) | KernelParameter::Elements(slot) => (*slot as usize) < buffers,
                KernelParameter::Int(slot) => (*slot as usize) < ints,
                KernelParameter::Scratch => true,
            });
            if !(parameters && counts.into_iter().all(is_bound)) {
                return Err(Bug(format!(
                    "entry {} names a slot that is not bound",
                    entry.name
                )));
            }
        }
        Ok(())
    }
}

impl fmt::Display for DeviceProgram {
    /// Writes the launches, with a comment for each entry.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, work) in self.kernels.iter().enumerate() {
            let mut entries = work.entries.iter();
            entries.try_for_each(|entry| writeln!(f, "// kernel {at}: {entry}"))?;
        }
        for routine in &self.routines {
            let (name, ints) = (routine.primitive.name, routine.ints);
            let mut entries = routine.entries();
            entries.try_for_each(|entry| writeln!(f, "// {name} of {ints} integers: {entry}"))?;
        }
        Ok(())
    }
}

impl fmt::Display for KernelEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [x, y, z] = &self.grid;
        let [width, height, depth] = self.block;
        write!(f, "{}<<<{x}", self.name)?;
        if [y, z] != [&Count::Fixed(1), &Count::Fixed(1)] {
            write!(f, " x {y} x {z}")?;
        }
        write!(f, ", {width}")?;
        if [height, depth] != [1, 1] {
            write!(f, " x {height} x {depth}")?;
        }
        let parameters: Vec<String> = self.parameters.iter().map(KernelParameter::to_string).collect();
        write!(
            f,
            ">>>({}), {} bytes shared",
            parameters.join(", "),
            self.static_shared
        )?;
        match &self.dynamic_shared {
            Count::Fixed(0) => Ok(()),
            dynamic => write!(f, " and {dynamic}"),
        }
    }
}

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Count::Fixed(number) => number.fmt(f),
            Count::Int(slot) => write!(f, "int {slot}"),
            Count::Elements(slot) => write!(f, "elements of buffer {slot}"),
            Count::Outer => f.write_str("outer"),
            Count::Product(counts) if counts.is_empty() => f.write_str("1"),
            Count::Product(counts) => {
                let texts: Vec<String> = counts.iter().map(Count::to_string).collect();
                f.write_str(&texts.join(" * "))
            }
            Count::Quotient(count, by) => write!(f, "ceil({count} / {by})"),
        }
    }
}

impl fmt::Display for KernelParameter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            KernelParameter::Buffer(slot) => write!(f, "buffer {slot}"),
            KernelParameter::Int(slot) => write!(f, "int {slot}"),
            KernelParameter::Elements(slot) => write!(f, "elements of buffer {slot}"),
            KernelParameter::Scratch => f.write_str("scratch"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_computed_from_bound_integers_and_elements() {
        let factors = vec![Count::Outer, Count::Int(1), Count::Elements(0)];
        let blocks = Count::Quotient(Box::new(Count::Product(factors)), 1280);
        let value = |count: &Count, ints: &[i64], outer| {
            let elements = &[5];
            count.value(LaunchValues {
                ints,
                elements,
                outer,
            })
        };
        assert_eq!(value(&blocks, &[7, 100], 3), 2);
        assert_eq!(value(&blocks, &[7, 256], 2), 2);
        assert_eq!(value(&blocks, &[7, 257], 256), 257);
        assert_eq!(value(&blocks, &[7, 0], 3), 0);
        assert_eq!(value(&blocks, &[7, i64::MAX], 3), i64::MAX / 1280 + 1);
        assert!(blocks.is_bound(1, 2) && !blocks.is_bound(1, 1) && !blocks.is_bound(0, 2));
        assert_eq!(
            blocks.to_string(),
            "ceil(outer * int 1 * elements of buffer 0 / 1280)"
        );
    }

    #[test]
    fn the_latest_image_that_the_device_can_run_is_chosen() {
        let image = |capability| Image {
            capability,
            ptx: "".into(),
        };
        let program = DeviceProgram {
            images: vec![image(90), image(80), image(100)],
            kernels: Vec::new(),
            routines: Vec::new(),
        };
        let chosen = |capability| program.image(capability).map(|image| image.capability);
        assert_eq!(chosen(75), None);
        assert_eq!(chosen(80), Some(80));
        assert_eq!(chosen(86), Some(80));
        assert_eq!(chosen(90), Some(90));
        assert_eq!(chosen(103), Some(100));
    }
}
