//! Runs programs both on the reference interpreter and as machine code, with the same inputs, and
//! compares the results.

use crate::BACKEND;
use bnnc_abi::code::{KernelArgs, KernelCode};
use bnnc_abi::plan::{BufferRole, Launch, PlanStep, Storage};
use bnnc_abi::symbols::{Address, NoiseKind, noise_symbol, scalar_symbol};
use bnnc_base::dtype::Precision;
use bnnc_base::shape::Sizes;
use bnnc_loops::backend::{Backend, BackendOptions};
use bnnc_loops::ir::LoopProgram;
use bnnc_loops::reference::Reference;
use bnnc_loops::verify::verify;
use bnnc_math::gamma;
use bnnc_math::philox;
use bnnc_math::scalar::{Scalar, ScalarVisitor};
use std::marker::PhantomData;

/// The elements of one buffer.
pub type Elements = Vec<f64>;

/// The element type of reals in a run.
pub trait Real: Copy {
    fn from_f64(value: f64) -> Self;
    fn to_f64(self) -> f64;
}

impl Real for f32 {
    fn from_f64(value: f64) -> f32 {
        value as f32
    }
    fn to_f64(self) -> f64 {
        f64::from(self)
    }
}

impl Real for f64 {
    fn from_f64(value: f64) -> f64 {
        value
    }
    fn to_f64(self) -> f64 {
        self
    }
}

unsafe extern "C" fn unary<T: Real, const SCALAR: usize>(out: *mut u8, x: *const u8, n: i64) {
    for at in 0..n as usize {
        // SAFETY: generated code passes the addresses of `n` elements.
        unsafe {
            let x = (*x.cast::<T>().add(at)).to_f64();
            *out.cast::<T>().add(at) = T::from_f64(Scalar::ALL[SCALAR].eval(&[x]));
        }
    }
}

unsafe extern "C" fn binary<T: Real, const SCALAR: usize>(out: *mut u8, x: *const u8, y: *const u8, n: i64) {
    for at in 0..n as usize {
        // SAFETY: generated code passes the addresses of `n` elements.
        unsafe {
            let x = [
                (*x.cast::<T>().add(at)).to_f64(),
                (*y.cast::<T>().add(at)).to_f64(),
            ];
            *out.cast::<T>().add(at) = T::from_f64(Scalar::ALL[SCALAR].eval(&x));
        }
    }
}

unsafe extern "C" fn noise<T: Real, const KIND: usize>(
    out: *mut u8,
    shapes: *const u8,
    n: i64,
    key: u64,
    first: u64,
    draw: u32,
    example: u32,
    step: u32,
) {
    let coordinates = [draw, example, step];
    for at in 0..n as usize {
        let element = first + at as u64;
        // SAFETY: generated code passes the addresses of `n` elements. If the distribution has
        // shapes, it also passes their addresses.
        unsafe {
            let value = match NoiseKind::ALL[KIND] {
                NoiseKind::Uniform => philox::uniform(key, coordinates, element),
                NoiseKind::Normal => philox::normal(key, coordinates, element),
                NoiseKind::Gamma => {
                    let shape = (*shapes.cast::<T>().add(at)).to_f64();
                    gamma::variate(key, coordinates, element, shape)
                }
            };
            *out.cast::<T>().add(at) = T::from_f64(value);
        }
    }
}

/// Returns the address of the function that implements a scalar operation.
struct AddressOf<T>(PhantomData<T>);

impl<T: Real> ScalarVisitor for AddressOf<T> {
    type Output = usize;

    fn visit<const SCALAR: usize>(self) -> usize {
        match Scalar::ALL[SCALAR].arity() {
            1 => unary::<T, SCALAR> as *const () as usize,
            _ => binary::<T, SCALAR> as *const () as usize,
        }
    }
}

fn addresses_of<T: Real>(precision: Precision) -> Vec<Address> {
    let scalar = |scalar: Scalar| Address {
        name: scalar_symbol(scalar, precision),
        pointer: scalar.visit(AddressOf::<T>(PhantomData)),
    };
    let mut addresses: Vec<Address> = Scalar::called().map(scalar).collect();
    for kind in NoiseKind::ALL {
        let pointer = match kind {
            NoiseKind::Uniform => noise::<T, 0> as *const () as usize,
            NoiseKind::Normal => noise::<T, 1> as *const () as usize,
            NoiseKind::Gamma => noise::<T, 2> as *const () as usize,
        };
        addresses.push(Address {
            name: noise_symbol(kind, precision),
            pointer,
        });
    }
    addresses
}

/// Returns options for a backend, with simple array primitives that use the elementwise functions
/// of the reference.
pub fn options() -> BackendOptions {
    let mut symbols = addresses_of::<f32>(Precision::F32);
    symbols.extend(addresses_of::<f64>(Precision::F64));
    BackendOptions {
        symbols,
        ..BackendOptions::default()
    }
}

/// Returns the only launch of a program.
pub fn launch(program: &LoopProgram) -> &Launch {
    match &program.plan.steps[0] {
        PlanStep::Launch(launch) => launch,
        _ => panic!("the program launches a kernel"),
    }
}

/// A test case: a program with one kernel, the initial contents of every buffer, and the iteration
/// of the outer axis at which each of the consecutive invocations ends.
pub struct Case {
    pub program: LoopProgram,
    pub contents: Vec<Elements>,
    pub chunks: Vec<i64>,
}

/// Runs a program on the backend and on the reference. Returns the outputs of both.
pub fn run_both(
    program: &LoopProgram,
    contents: &[Elements],
    chunks: &[i64],
) -> (Vec<Elements>, Vec<Elements>) {
    let case = Case {
        program: program.clone(),
        contents: contents.to_vec(),
        chunks: chunks.to_vec(),
    };
    run_all(&[case]).remove(0)
}

/// Runs each case on the backend and on the reference. Cases with the same precision are compiled
/// together.
pub fn run_all(cases: &[Case]) -> Vec<(Vec<Elements>, Vec<Elements>)> {
    let mut results: Vec<_> = cases.iter().map(|_| (Vec::new(), Vec::new())).collect();
    for precision in [Precision::F32, Precision::F64] {
        let chosen = (0..cases.len()).filter(|at| cases[*at].program.plan.precision == precision);
        let chosen: Vec<usize> = chosen.collect();
        let together: Vec<&LoopProgram> = chosen.iter().map(|at| &cases[*at].program).collect();
        if together.is_empty() {
            continue;
        }
        let compiled = BACKEND
            .compile(&merged(&together), &options())
            .unwrap_or_else(|fault| panic!("{fault}\n{}", merged(&together)));
        for (kernel, at) in chosen.into_iter().enumerate() {
            let Case {
                program,
                contents,
                chunks,
            } = &cases[at];
            let mut exact = program.clone();
            exact.plan.precision = Precision::F64;
            let reference = Reference.compile(&exact, &BackendOptions::default()).unwrap();
            let outer = launch(program).outer.resolve(&Sizes::default());
            let found = match precision {
                Precision::F32 => run::<f32>((&*compiled, kernel), program, contents, chunks),
                Precision::F64 => run::<f64>((&*compiled, kernel), program, contents, chunks),
            };
            results[at] = (found, run::<f64>((&*reference, 0), program, contents, &[outer]));
        }
    }
    results
}

/// Merges several programs into one program with the kernels of all of them. Each program is
/// verified.
fn merged(programs: &[&LoopProgram]) -> LoopProgram {
    let mut merged = programs[0].clone();
    (merged.kernels, merged.plan.steps) = (Vec::new(), Vec::new());
    merged.plan.buffers = Default::default();
    for program in programs {
        verify(program).unwrap();
        let mut launch = launch(program).clone();
        launch.kernel = merged.kernels.len() as u32;
        for id in &mut launch.buffers {
            *id = merged.plan.buffers.push(program.plan.buffers[*id].clone());
        }
        merged.plan.steps.push(PlanStep::Launch(launch));
        merged.kernels.extend(program.kernels.iter().cloned());
    }
    merged.plan.kernels = merged.kernels.len();
    merged
}

enum Memory<T> {
    Real(Vec<T>),
    Int(Vec<i32>),
}

/// The number of guard elements before and after every buffer. A kernel must not change them.
const MARGIN: usize = 16;
const GUARD: f64 = -77.0;

fn run<T: Real>(
    (code, kernel): (&dyn KernelCode, usize),
    program: &LoopProgram,
    contents: &[Elements],
    chunks: &[i64],
) -> Vec<Elements> {
    let guarded = |elements: &Elements| {
        let guard = [GUARD; MARGIN];
        [&guard, elements.as_slice(), &guard].concat()
    };
    let mut memory: Vec<Memory<T>> = Vec::new();
    for (id, elements) in program.plan.buffers.ids().zip(contents) {
        let all = guarded(elements);
        memory.push(match program.plan.buffers[id].storage {
            Storage::Real => Memory::Real(all.into_iter().map(T::from_f64).collect()),
            Storage::Int => Memory::Int(all.into_iter().map(|value| value as i32).collect()),
        });
    }
    let launch = launch(program);
    let bases: Vec<*mut u8> = launch
        .buffers
        .iter()
        .map(|id| base(&mut memory[id.0 as usize]))
        .collect();
    let ints: Vec<i64> = launch
        .ints
        .iter()
        .map(|amount| amount.resolve(&Sizes::default()))
        .collect();
    let mut scratch = vec![0u128; code.scratch_bytes(kernel) / 16 + 8];
    let aligned = scratch.as_mut_ptr().cast::<u8>();
    // SAFETY: the eight spare words leave enough room for the alignment.
    let aligned = unsafe { aligned.add(aligned.align_offset(64)) };
    let mut start = 0;
    for end in chunks {
        let args = KernelArgs {
            buffers: bases.as_ptr(),
            ints: ints.as_ptr(),
            start,
            end: *end,
            scratch: aligned,
        };
        // SAFETY: a verified program does not access memory outside its buffers.
        unsafe { code.launch(kernel, &args) }
        start = *end;
    }
    memory.iter().map(|memory| elements(memory, program)).collect()
}

fn base<T>(memory: &mut Memory<T>) -> *mut u8 {
    match memory {
        Memory::Real(all) => all[MARGIN..].as_mut_ptr().cast(),
        Memory::Int(all) => all[MARGIN..].as_mut_ptr().cast(),
    }
}

fn elements<T: Real>(memory: &Memory<T>, program: &LoopProgram) -> Elements {
    let all: Vec<f64> = match memory {
        Memory::Real(all) => all.iter().map(|value| value.to_f64()).collect(),
        Memory::Int(all) => all.iter().map(|value| f64::from(*value)).collect(),
    };
    let inside = MARGIN..all.len() - MARGIN;
    let guards = all.iter().enumerate().filter(|(at, _)| !inside.contains(at));
    guards.for_each(|(at, value)| {
        assert_eq!(*value, GUARD, "element {at} of a margin is written by\n{program}")
    });
    all[inside].to_vec()
}

/// Returns the contents that the executor would write to the buffers before a launch.
pub fn initial(program: &LoopProgram, mut element: impl FnMut(Storage) -> f64) -> Vec<Elements> {
    let launch = launch(program);
    let mut contents = Vec::new();
    for (at, id) in program.plan.buffers.ids().enumerate() {
        let buffer = &program.plan.buffers[id];
        let count = buffer.shape.count(&Sizes::default());
        let reduced = launch.reduces.iter().find(|reduce| reduce.slot as usize == at);
        contents.push(match (reduced, &buffer.role) {
            (Some(reduce), _) => vec![reduce.combine.identity(); count],
            (None, BufferRole::Output) => vec![5.0; count],
            _ => (0..count).map(|_| element(buffer.storage)).collect(),
        });
    }
    contents
}

/// Compares all buffers. The error of an element is divided by the largest magnitude in the buffer,
/// or by 1 if this magnitude is smaller than 1.
pub fn compare(program: &LoopProgram, found: &[Elements], wanted: &[Elements], tolerance: f64) {
    for (buffer, (found, wanted)) in found.iter().zip(wanted).enumerate() {
        let finite = wanted.iter().filter(|value| value.is_finite());
        let scale = finite.fold(1.0_f64, |scale, value| scale.max(value.abs()));
        for (at, (found, wanted)) in found.iter().zip(wanted).enumerate() {
            let same = found == wanted || (found.is_nan() && wanted.is_nan());
            assert!(
                same || (found - wanted).abs() <= tolerance * scale,
                "buffer {buffer}, element {at}: {found} instead of {wanted}\n{program}"
            );
        }
    }
}
