//! A stub of the driver, and a small plan for the stub. The system's C compiler compiles the stub.

#![allow(dead_code, reason = "each test file uses a part")]

use bnnc_abi::code::{Artifact, KernelArgs, KernelCode};
use bnnc_abi::device::{Count, DeviceProgram, Image, KernelEntry, KernelParameter, LaunchSequence, Routine};
use bnnc_abi::plan::{
    Amount, Buffer, BufferId, BufferRole, Extent, Launch, Plan, PlanStep, PrimitiveCall, Storage,
};
use bnnc_abi::primitive;
use bnnc_base::arena::Arena;
use bnnc_base::dtype::Precision;
use bnnc_base::fault::Fault;
use bnnc_base::shape::{Dim, Shape, Sizes, Symbol};
use bnnc_cuda::device::Device;
use bnnc_cuda::driver::Driver;
use bnnc_kernels::executor::Machine;
use bnnc_kernels::pool::Pool;
use libloading::Library;
use std::ffi::{CString, c_char, c_int};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A stub of the driver that belongs to one test.
pub struct Stub {
    pub path: PathBuf,
    library: Library,
}

impl Drop for Stub {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

impl Stub {
    /// Compiles the stub. If the system does not have a C compiler, prints the reason and returns
    /// `None`.
    pub fn new(macros: &[&str]) -> Option<Stub> {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("stub-{}-{number}.so", std::process::id());
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/stub/driver.c");
        let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
        let mut command = Command::new(&compiler);
        command
            .args(["-std=gnu11", "-O1", "-shared", "-fPIC"])
            .args(macros);
        match command.arg(source).arg("-o").arg(&path).arg("-lm").output() {
            Err(error) => {
                println!("skipped: {compiler} cannot be run: {error}");
                None
            }
            Ok(output) => {
                assert!(
                    output.status.success(),
                    "{}",
                    String::from_utf8_lossy(&output.stderr)
                );
                // SAFETY: loading the stub does not run any code.
                let library = unsafe { Library::new(&path) }.unwrap();
                Some(Stub { path, library })
            }
        }
    }

    pub fn with_blas() -> Option<Stub> {
        Stub::new(&["-DWITH_BLAS"])
    }

    fn set<T>(&self, name: &str, value: T) {
        // SAFETY: the stub's functions with these names have one number as argument, and do not
        // return a value.
        unsafe {
            self.library
                .get::<unsafe extern "C" fn(T)>(name.as_bytes())
                .unwrap()(value)
        }
    }

    pub fn capability(&self, capability: c_int) {
        self.set("stub_capability", capability);
    }

    pub fn devices(&self, count: c_int) {
        self.set("stub_devices", count);
    }

    pub fn memory(&self, bytes: usize) {
        self.set("stub_memory", bytes);
    }

    /// Makes one later call of an entry point fail with this status. Call 1 is the next call.
    pub fn fail(&self, name: &str, call: c_int, status: c_int) {
        type Fail = unsafe extern "C" fn(*const c_char, c_int, c_int);
        let (at, name) = (self.calls(name) + call, CString::new(name).unwrap());
        // SAFETY: the stub's function has this type.
        unsafe { self.library.get::<Fail>(b"stub_fail").unwrap()(name.as_ptr(), at, status) }
    }

    /// Returns the number of calls of an entry point.
    pub fn calls(&self, name: &str) -> c_int {
        let name = CString::new(name).unwrap();
        // SAFETY: the stub's function has this type.
        unsafe {
            let calls = self
                .library
                .get::<unsafe extern "C" fn(*const c_char) -> c_int>(b"stub_calls");
            calls.unwrap()(name.as_ptr())
        }
    }

    /// Returns the number of objects that have been created and not released.
    pub fn live(&self) -> c_int {
        // SAFETY: the stub's function has this type.
        unsafe {
            self.library
                .get::<unsafe extern "C" fn() -> c_int>(b"stub_live")
                .unwrap()()
        }
    }

    /// Opens the device. The stub of cuBLAS is in the same library.
    pub fn device(&self) -> Result<Arc<Device>, Fault> {
        let paths = [self.path.clone()];
        Device::open(Driver::load_from(&paths)?, &paths)
    }

    /// Creates a machine for the plan that [`plan`] returns.
    pub fn machine(&self, device: &Arc<Device>) -> Result<Machine, Fault> {
        machine(device, program(), 8)
    }
}

pub fn sizes(batch: usize) -> Sizes {
    Sizes::default().with(Symbol::Batch, batch)
}

pub fn machine(device: &Arc<Device>, program: DeviceProgram, batch: usize) -> Result<Machine, Fault> {
    planned(device, (plan(), program), batch)
}

pub fn planned(
    device: &Arc<Device>,
    (plan, program): (Plan, DeviceProgram),
    batch: usize,
) -> Result<Machine, Fault> {
    let code = bnnc_cuda::code::on(device, Arc::new(Images(program)))?;
    let artifact = Artifact {
        plan: Arc::new(plan),
        code,
    };
    Machine::new(&artifact, sizes(batch), Arc::new(Pool::new(1)))
}

/// Code that can run only on devices.
struct Images(DeviceProgram);

impl KernelCode for Images {
    unsafe fn launch(&self, _: usize, _: &KernelArgs) {
        unreachable!("the device runs the kernels");
    }

    fn scratch_bytes(&self, _: usize) -> usize {
        0
    }

    fn is_reference(&self) -> bool {
        false
    }

    fn text(&self) -> String {
        String::new()
    }

    fn device(&self) -> Option<&DeviceProgram> {
        Some(&self.0)
    }
}

pub fn fixed(number: i64) -> Amount {
    Amount::one(Extent::fixed(number))
}

/// Returns a plan that computes `y = 2 x w` for `x[batch, 3]` and `w[3, 2]`. The plan also computes
/// `total += 0 + 1 + 2`.
pub fn plan() -> Plan {
    let mut buffers = Arena::default();
    let batch = Dim::Symbol(Symbol::Batch);
    let mut buffer = |name: &str, storage, dims: &[Dim], role| -> BufferId {
        buffers.push(Buffer {
            name: name.into(),
            storage,
            shape: Shape(dims.to_vec()),
            role,
        })
    };
    let counter = buffer("counter", Storage::Int, &[], BufferRole::Scratch);
    let total = buffer("total", Storage::Real, &[], BufferRole::State);
    let x = buffer("x", Storage::Real, &[batch, Dim::Fixed(3)], BufferRole::Input);
    let middle = buffer(
        "middle",
        Storage::Real,
        &[batch, Dim::Fixed(3)],
        BufferRole::Scratch,
    );
    let w = buffer(
        "w",
        Storage::Real,
        &[Dim::Fixed(3), Dim::Fixed(2)],
        BufferRole::State,
    );
    let y = buffer("y", Storage::Real, &[batch, Dim::Fixed(2)], BufferRole::Output);
    let rows = Amount::one(Extent::of(batch));
    let launch = |kernel, buffers: &[BufferId], ints: &[Amount], outer| {
        PlanStep::Launch(Launch {
            kernel,
            buffers: buffers.to_vec(),
            ints: ints.to_vec(),
            outer,
            work: fixed(3),
            reduces: Vec::new(),
        })
    };
    let mut ints: Vec<Amount> = [0, 2, 3, 3, 1, 2, 1, 2, 1].map(fixed).to_vec();
    ints[0] = rows.clone();
    let steps = vec![
        launch(0, &[x, middle], &[fixed(3), fixed(2)], rows),
        PlanStep::Repeat {
            count: fixed(3),
            counter,
            body: vec![launch(1, &[counter, total], &[], fixed(1))],
        },
        PlanStep::Call(PrimitiveCall {
            primitive: primitive::lookup("matmul").unwrap(),
            buffers: vec![middle, w, y],
            ints,
        }),
    ];
    Plan {
        name: "fit.step".into(),
        precision: Precision::F64,
        buffers,
        steps,
        kernels: 2,
    }
}

pub fn blocks(elements: Vec<Count>) -> [Count; 3] {
    let along = Count::Quotient(Box::new(Count::Product(elements)), 128);
    [along, Count::Fixed(1), Count::Fixed(1)]
}

pub fn work(
    name: &str,
    grid: [Count; 3],
    parameters: Vec<KernelParameter>,
    scratch: Count,
) -> LaunchSequence {
    let entry = KernelEntry {
        name: name.to_owned(),
        grid,
        block: [128, 1, 1],
        static_shared: 0,
        dynamic_shared: Count::Fixed(0),
        parameters,
    };
    LaunchSequence {
        entries: vec![entry],
        scratch,
    }
}

/// Returns the program for the plan that [`plan`] returns.
pub fn program() -> DeviceProgram {
    use KernelParameter::{Buffer, Elements, Int, Scratch};
    let none = || Count::Fixed(0);
    let product = [Buffer(0), Buffer(1), Buffer(2), Int(0), Int(1), Int(2), Scratch];
    let elements = vec![Count::Int(0), Count::Int(1)];
    let bytes = Count::Product([vec![Count::Fixed(8)], elements.clone()].concat());
    DeviceProgram {
        images: vec![image(80, "scale add_counter multiply")],
        kernels: vec![
            work(
                "scale",
                blocks(vec![Count::Outer, Count::Int(0)]),
                vec![Buffer(0), Buffer(1), Int(1), Elements(1)],
                none(),
            ),
            work(
                "add_counter",
                blocks(vec![Count::Outer]),
                vec![Buffer(0), Buffer(1)],
                none(),
            ),
        ],
        routines: vec![Routine {
            primitive: primitive::lookup("matmul").unwrap(),
            ints: 9,
            work: work("multiply", blocks(elements), product.to_vec(), bytes),
            blocked: None,
        }],
    }
}

pub fn image(capability: u32, ptx: &str) -> Image {
    Image {
        capability,
        ptx: ptx.into(),
    }
}

/// Returns the inputs of a run. They are small whole numbers, so that every sum is exact.
pub fn inputs(batch: usize, run: usize) -> Vec<f64> {
    (0..3 * batch)
        .map(|at| ((7 * at + 3 * run) % 11) as f64)
        .collect()
}

pub const WEIGHTS: [f64; 6] = [1.0, -2.0, 3.0, 4.0, -5.0, 6.0];

/// Returns the expected result, `2 x w`.
pub fn expected(x: &[f64]) -> Vec<f64> {
    let row = |row: &[f64]| {
        let of = |column: usize| -> f64 { (0..3).map(|k| 2.0 * row[k] * WEIGHTS[2 * k + column]).sum() };
        [of(0), of(1)]
    };
    x.chunks(3).flat_map(row).collect()
}
