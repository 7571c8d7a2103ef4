//! Cholesky factors on a stub of the driver. cuBLAS products compute large factors, and a single
//! kernel computes small factors. The tests cover captures and errors.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod stub;

use bnnc_abi::device::{
    Blocked, Count, DeviceProgram, KernelEntry, KernelParameter, LaunchSequence, Routine,
};
use bnnc_abi::plan::{Amount, Buffer, BufferId, BufferRole, Extent, Plan, PlanStep, PrimitiveCall, Storage};
use bnnc_abi::primitive::{self, CHOLESKY};
use bnnc_base::arena::Arena;
use bnnc_base::dtype::Precision;
use bnnc_base::fault::Fault;
use bnnc_base::shape::{Dim, Shape, Symbol};
use bnnc_kernels::executor::Machine;
use bnnc_math::philox;
use stub::{Stub, blocks, fixed, image, planned, sizes, work};

/// The number of rows of the matrices. It is large enough for factoring by blocks, but not a
/// multiple of the block size.
const N: usize = 300;
/// The number of rows of a block.
const ROWS: usize = 64;
/// The number of columns of blocks.
const COLUMNS: i32 = 5;

/// A defect that makes a matrix not positive definite.
#[derive(Clone, Copy, Debug)]
enum Flaw {
    Nothing,
    /// Sets the element of the lower triangle at this row and column to this value.
    Entry(usize, usize, f64),
}

/// The defects that are tested: negative pivots, NaN, and a pivot of zero, which gives infinities.
/// They are in the first, the last and other rows of blocks.
const FLAWS: [Flaw; 10] = [
    Flaw::Nothing,
    Flaw::Entry(0, 0, -1.0),
    Flaw::Entry(63, 63, -1.0),
    Flaw::Entry(64, 64, -1.0),
    Flaw::Entry(150, 150, -1.0),
    Flaw::Entry(255, 255, -1.0),
    Flaw::Entry(256, 256, -1.0),
    Flaw::Entry(299, 299, -1.0),
    Flaw::Entry(0, 0, 0.0),
    Flaw::Entry(200, 70, f64::NAN),
];

/// Returns a plan that factors `batch` matrices, and its program.
fn factoring(precision: Precision) -> (Plan, DeviceProgram) {
    let mut buffers = Arena::default();
    let (batch, n) = (Dim::Symbol(Symbol::Batch), Dim::Fixed(N));
    let mut buffer = |name: &str, role| -> BufferId {
        buffers.push(Buffer {
            name: name.into(),
            storage: Storage::Real,
            shape: Shape(vec![batch, n, n]),
            role,
        })
    };
    let operands = vec![buffer("a", BufferRole::Input), buffer("l", BufferRole::Output)];
    let cholesky = primitive::lookup(CHOLESKY.name).unwrap();
    let call = PrimitiveCall {
        primitive: cholesky,
        buffers: operands,
        ints: vec![Amount::one(Extent::of(batch)), fixed(N as i64)],
    };
    let plan = Plan {
        name: "fit.factor".into(),
        precision,
        buffers,
        steps: vec![PlanStep::Call(call)],
        kernels: 0,
    };
    let names = ["cholesky", "cholesky_diagonal", "cholesky_panel"].map(|name| format!("{name}_{precision}"));
    let buffers = || (0..2).map(KernelParameter::Buffer);
    let whole = buffers().chain((0..2).map(KernelParameter::Int)).collect();
    let matrices = [Count::Int(0), Count::Fixed(1), Count::Fixed(1)];
    let part = |name: &str, grid| -> KernelEntry {
        let parameters = buffers().chain((0..5).map(KernelParameter::Int)).collect();
        let LaunchSequence { mut entries, .. } = work(name, grid, parameters, Count::Fixed(0));
        entries.remove(0)
    };
    let program = DeviceProgram {
        images: vec![image(80, &names.join(" "))],
        kernels: Vec::new(),
        routines: vec![Routine {
            primitive: cholesky,
            ints: 2,
            work: work(&names[0], matrices.clone(), whole, Count::Fixed(0)),
            blocked: Some(Blocked {
                rows: ROWS as u32,
                diagonal: part(&names[1], matrices),
                panel: part(&names[2], blocks(vec![Count::Int(0), Count::Int(4)])),
            }),
        }],
    };
    (plan, program)
}

/// Returns a matrix with 2 on the diagonal. In each row of the lower triangle, the other elements
/// have a sum below a half. The upper triangle must not be read.
fn matrix(precision: Precision, seed: u64, flaw: Flaw) -> Vec<f64> {
    let element = |at: usize| match (at / N, at % N) {
        (i, j) if i == j => 2.0,
        (i, j) if i > j => {
            let value = (philox::uniform(seed, [0, 0, 0], at as u64) - 0.5) / N as f64;
            match precision {
                Precision::F32 => f64::from(value as f32),
                Precision::F64 => value,
            }
        }
        _ => f64::NAN,
    };
    let mut a: Vec<f64> = (0..N * N).map(element).collect();
    if let Flaw::Entry(i, j, value) = flaw {
        a[i * N + j] = value;
    }
    a
}

/// Factors new matrices and compares the factors with the reference.
///
/// Each diagonal element exceeds the sum of the other elements of its row and column by 1.5. The
/// condition number and the entries of the factor are therefore below two. The error of an entry is
/// at most `n + 1` rounding errors of products of entries, times the condition number (Higham 2002,
/// "Accuracy and stability of numerical algorithms", theorems 10.3 and 10.8).
fn run((machine, precision): (&mut Machine, Precision), batch: usize, seed: usize) -> Result<(), Fault> {
    let flaws: Vec<Flaw> = (0..batch)
        .map(|item| FLAWS[(seed + item) % FLAWS.len()])
        .collect();
    let matrices = flaws
        .iter()
        .enumerate()
        .map(|(item, flaw)| matrix(precision, (10 * seed + item) as u64, *flaw));
    let a: Vec<f64> = matrices.flatten().collect();
    machine.set_sizes(&sizes(batch))?;
    machine.write_real("a", &a)?;
    machine.run()?;
    let found = machine.read_real("l")?;
    let mut want = vec![a, vec![9.0; found.len()]];
    (CHOLESKY.naive)(&mut want, &[batch as i64, N as i64]);
    let unit = match precision {
        Precision::F32 => f64::from(f32::EPSILON),
        Precision::F64 => f64::EPSILON,
    };
    for (at, (want, found)) in want[1].iter().zip(&found).enumerate() {
        let same = want == found || want.is_nan() && found.is_nan();
        let (item, i, j) = (at / N / N, at / N % N, at % N);
        assert!(
            same || (want - found).abs() < 4.0 * (N + 1) as f64 * unit,
            "{:?} {i} {j}: {found} instead of {want}",
            flaws[item]
        );
    }
    Ok(())
}

/// Runs every size several times. The runs are first enqueued, then captured, and then replayed
/// with other numbers and defects.
fn scenario(stub: &Stub, precision: Precision, times: usize) -> Result<(), Fault> {
    let device = stub.device()?;
    let mut machine = planned(&device, factoring(precision), 3)?;
    for at in 0..times {
        for batch in [3, 1] {
            run((&mut machine, precision), batch, 3 * at + batch)?;
        }
    }
    Ok(())
}

#[test]
fn large_factors_are_computed_by_blocks() {
    for (precision, single, batched) in [
        (Precision::F64, "cublasDgemm_v2", "cublasDgemmStridedBatched"),
        (Precision::F32, "cublasSgemm_v2", "cublasSgemmStridedBatched"),
    ] {
        let Some(stub) = Stub::with_blas() else { return };
        scenario(&stub, precision, 6).unwrap();
        // The launches of each size are enqueued twice: once directly, and once for the capture.
        let updates = 2 * (COLUMNS - 1);
        assert_eq!((stub.calls(single), stub.calls(batched)), (updates, updates));
        assert_eq!(stub.calls("cuStreamBeginCapture_v2"), 2);
        assert_eq!(stub.calls("cuLaunchKernel"), 2 * 2 * (2 * COLUMNS - 1));
        assert_eq!(stub.live(), 0);
    }
}

#[test]
fn other_factors_are_computed_by_one_kernel() {
    let Some(stub) = Stub::new(&[]) else { return };
    scenario(&stub, Precision::F64, 6).unwrap();
    assert_eq!((stub.calls("cuLaunchKernel"), stub.live()), (2 * 2, 0));
    // The program in this test lacks the kernels for factoring by blocks.
    let Some(stub) = Stub::with_blas() else { return };
    let (plan, mut program) = factoring(Precision::F32);
    program.routines[0].blocked = None;
    let device = stub.device().unwrap();
    let mut machine = planned(&device, (plan, program), 2).unwrap();
    run((&mut machine, Precision::F32), 2, 0).unwrap();
    assert_eq!(
        (stub.calls("cuLaunchKernel"), stub.calls("cublasSgemm_v2")),
        (1, 0)
    );
}

#[test]
fn missing_kernels_and_unbound_slots_are_reported() {
    let Some(stub) = Stub::with_blas() else { return };
    let device = stub.device().unwrap();
    let (plan, mut program) = factoring(Precision::F64);
    program.images[0] = image(80, "cholesky_f64 cholesky_diagonal_f64");
    let fault = planned(&device, (plan, program), 1).map(|_| ()).unwrap_err();
    assert!(
        fault
            .to_string()
            .contains("cuModuleGetFunction of cholesky_panel_f64"),
        "{fault}"
    );
    let (plan, mut program) = factoring(Precision::F64);
    if let Some(blocked) = &mut program.routines[0].blocked {
        blocked.panel.parameters.push(KernelParameter::Int(5));
    }
    let fault = planned(&device, (plan, program), 1).map(|_| ()).unwrap_err();
    assert!(
        fault.to_string().contains("names a slot that is not bound"),
        "{fault}"
    );
}

#[test]
fn errors_of_calls_are_reported() {
    let Some(stub) = Stub::with_blas() else { return };
    let rejected = [
        ("cublasDgemm_v2", 13, "cublasGemm: CUBLAS_STATUS_EXECUTION_FAILED"),
        (
            "cuMemcpyDtoDAsync_v2",
            999,
            "cuMemcpyDtoDAsync: CUDA_ERROR_UNKNOWN",
        ),
    ];
    for (name, status, text) in rejected {
        let calls = stub.calls(name);
        scenario(&stub, Precision::F64, 2).unwrap();
        for call in [1, stub.calls(name) - calls] {
            stub.fail(name, call, status);
            let fault = scenario(&stub, Precision::F64, 2).unwrap_err();
            assert!(
                matches!(&fault, Fault::Limit(found) if found.text.contains(text) && found.code.id == "E0804"),
                "{fault}"
            );
            assert_eq!(stub.live(), 0);
        }
    }
}
