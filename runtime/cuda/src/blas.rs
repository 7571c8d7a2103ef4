//! cuBLAS, if it is installed. cuBLAS contains NVIDIA's kernels for matrix products and triangular
//! systems. They run in the full precision of the plan, without TF32.

use crate::device::Device;
use crate::diagnostics::DEVICE_LIMIT;
use crate::driver::{DriverStatus, NoLibrary, Stream, library};
use crate::products::{BatchedProduct, MatrixOperand};
use crate::systems::System;
use bnnc_base::dtype::Precision;
use bnnc_base::fault::Fault;
use libloading::Library;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::path::PathBuf;
use std::sync::Arc;

/// The file names of the library, newest version first.
pub const NAMES: &[&str] = if cfg!(windows) {
    &["cublas64_13.dll", "cublas64_12.dll"]
} else {
    &["libcublas.so.13", "libcublas.so.12", "libcublas.so"]
};

type Handle = *mut c_void;

/// A batched product. The arguments are `(handle, transpose a, transpose b, m, n, k, alpha, a,
/// leading, stride, b, .., beta, c, .., batch)`.
type Batched<T> = unsafe extern "C" fn(
    Handle,
    c_int,
    c_int,
    c_int,
    c_int,
    c_int,
    *const T,
    u64,
    c_int,
    i64,
    u64,
    c_int,
    i64,
    *const T,
    u64,
    c_int,
    i64,
    c_int,
) -> DriverStatus;

/// A single product. The arguments are those of [`Batched`], without the strides and the batch.
type Single<T> = unsafe extern "C" fn(
    Handle,
    c_int,
    c_int,
    c_int,
    c_int,
    c_int,
    *const T,
    u64,
    c_int,
    u64,
    c_int,
    *const T,
    u64,
    c_int,
) -> DriverStatus;

/// A triangular solve. The arguments are `(handle, side, triangle, transpose, unit diagonal, m, n,
/// alpha, a, leading, b, leading)`.
type Solve<T> = unsafe extern "C" fn(
    Handle,
    c_int,
    c_int,
    c_int,
    c_int,
    c_int,
    c_int,
    *const T,
    u64,
    c_int,
    u64,
    c_int,
) -> DriverStatus;

/// The entry points of the loaded cuBLAS library.
pub struct Blas {
    create: unsafe extern "C" fn(*mut Handle) -> DriverStatus,
    destroy: unsafe extern "C" fn(Handle) -> DriverStatus,
    set_stream: unsafe extern "C" fn(Handle, Stream) -> DriverStatus,
    set_workspace: unsafe extern "C" fn(Handle, u64, usize) -> DriverStatus,
    text: unsafe extern "C" fn(DriverStatus) -> *const c_char,
    single: (Single<f32>, Single<f64>),
    batched: (Batched<f32>, Batched<f64>),
    solve: (Solve<f32>, Solve<f64>),
    version: [c_int; 3],
    _library: Library,
}

impl Blas {
    /// Loads cuBLAS from the first of these libraries that exists.
    ///
    /// # Errors
    /// Fails if none of the libraries exists, or if the first existing library lacks an entry point.
    pub fn load(paths: &[PathBuf]) -> Result<Blas, NoLibrary> {
        let library = library(paths)?;
        /// # Safety
        /// `T` must be the type of the entry point. The result must not be used after the library
        /// has been unloaded.
        unsafe fn find<T: Copy>(library: &Library, name: &str) -> Result<T, NoLibrary> {
            // SAFETY: guaranteed by the caller.
            let found = unsafe { library.get::<T>(name.as_bytes()) };
            found
                .map(|symbol| *symbol)
                .map_err(|error| NoLibrary(vec![error]))
        }
        // SAFETY: the types agree with the headers of cuBLAS (version 2 of the interface). The library
        // stays loaded.
        unsafe {
            let property: unsafe extern "C" fn(c_int, *mut c_int) -> DriverStatus =
                find(&library, "cublasGetProperty")?;
            let mut version = [0; 3];
            for (which, part) in version.iter_mut().enumerate() {
                property(which as c_int, part);
            }
            Ok(Blas {
                create: find(&library, "cublasCreate_v2")?,
                destroy: find(&library, "cublasDestroy_v2")?,
                set_stream: find(&library, "cublasSetStream_v2")?,
                set_workspace: find(&library, "cublasSetWorkspace_v2")?,
                text: find(&library, "cublasGetStatusString")?,
                single: (
                    find(&library, "cublasSgemm_v2")?,
                    find(&library, "cublasDgemm_v2")?,
                ),
                batched: (
                    find(&library, "cublasSgemmStridedBatched")?,
                    find(&library, "cublasDgemmStridedBatched")?,
                ),
                solve: (
                    find(&library, "cublasStrsm_v2")?,
                    find(&library, "cublasDtrsm_v2")?,
                ),
                version,
                _library: library,
            })
        }
    }

    /// Returns the version of the library as text, such as `12.4.5`.
    pub fn version(&self) -> String {
        let [major, minor, patch] = self.version;
        format!("{major}.{minor}.{patch}")
    }

    fn check(&self, call: &str, status: DriverStatus) -> Result<(), Fault> {
        if status == 0 {
            return Ok(());
        }
        // SAFETY: the entry point returns null, or a text that lives as long as the library.
        let text = unsafe { (self.text)(status) };
        let text = match text.is_null() {
            true => format!("status {status}"),
            // SAFETY: the text is not null, and lives as long as the library.
            false => unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned(),
        };
        Err(Fault::limit(&DEVICE_LIMIT, format!("{call}: {text}")))
    }
}

/// A cuBLAS handle that computes products and triangular systems in one stream.
pub struct Products {
    blas: Arc<Blas>,
    handle: Handle,
}

// SAFETY: cuBLAS allows the use of a handle on any thread, but only on one thread at a time.
unsafe impl Send for Products {}

impl Products {
    /// Returns the number of bytes of the workspace that cuBLAS's manual recommends for a device.
    pub fn workspace_bytes(device: &Device) -> usize {
        if device.capability >= 90 {
            32 << 20
        } else {
            4 << 20
        }
    }

    /// Creates a handle on a stream of the current context. The workspace must live as long as the handle.
    ///
    /// # Errors
    /// Fails if cuBLAS reports an error.
    ///
    /// # Safety
    /// The workspace must be on the device of the stream. It must have the stated number of bytes.
    pub unsafe fn new(
        blas: &Arc<Blas>,
        stream: Stream,
        (workspace, bytes): (u64, usize),
    ) -> Result<Products, Fault> {
        let mut handle = std::ptr::null_mut();
        // SAFETY: the call writes to `handle`.
        blas.check("cublasCreate", unsafe { (blas.create)(&mut handle) })?;
        let products = Products {
            blas: blas.clone(),
            handle,
        };
        // SAFETY: the handle was created above. The caller guarantees that the stream and the
        // workspace are valid.
        unsafe {
            blas.check("cublasSetStream", (blas.set_stream)(handle, stream))?;
            blas.check(
                "cublasSetWorkspace",
                (blas.set_workspace)(handle, workspace, bytes),
            )?;
        }
        Ok(products)
    }

    /// Enqueues matrix products. `addresses` holds the device address of each operand.
    ///
    /// # Errors
    /// Fails if cuBLAS reports an error.
    ///
    /// # Safety
    /// The operands must be in the memory of the device, with all elements that the product
    /// accesses.
    pub unsafe fn multiply(
        &self,
        product: &BatchedProduct,
        addresses: &[u64],
        precision: Precision,
    ) -> Result<(), Fault> {
        let (single, batched) = (&self.blas.single, &self.blas.batched);
        let factors = if product.subtracted {
            [-1.0, 1.0]
        } else {
            [1.0, 0.0]
        };
        // SAFETY: guaranteed by the caller.
        let status = unsafe {
            match precision {
                Precision::F32 => {
                    let factors = factors.map(|factor| factor as f32);
                    self.call(single.0, batched.0, product, addresses, factors)
                }
                Precision::F64 => self.call(single.1, batched.1, product, addresses, factors),
            }
        };
        let name = if product.batch == 1 {
            "cublasGemm"
        } else {
            "cublasGemmStridedBatched"
        };
        self.blas.check(name, status)
    }

    /// Enqueues the solution of triangular systems. The arguments are the addresses of the matrices
    /// and the addresses of the right-hand sides. The solutions overwrite the right-hand sides.
    ///
    /// # Errors
    /// Fails if cuBLAS reports an error.
    ///
    /// # Safety
    /// The operands must be in the memory of the device, with all elements that the systems access.
    pub unsafe fn solve(
        &self,
        system: &System,
        addresses: [u64; 2],
        precision: Precision,
    ) -> Result<(), Fault> {
        // SAFETY: guaranteed by the caller.
        let status = unsafe {
            match precision {
                Precision::F32 => self.solve_each(self.blas.solve.0, system, addresses, 1.0),
                Precision::F64 => self.solve_each(self.blas.solve.1, system, addresses, 1.0),
            }
        };
        self.blas.check("cublasTrsm", status)
    }

    /// Solves the systems one by one. See Note [Systems by columns] in `systems`.
    unsafe fn solve_each<T>(
        &self,
        solve: Solve<T>,
        system: &System,
        [l, x]: [u64; 2],
        one: T,
    ) -> DriverStatus {
        const RIGHT: c_int = 1;
        const UPPER: c_int = 1;
        const OWN_DIAGONAL: c_int = 0;
        let System { n, columns, .. } = *system;
        let bytes = system
            .elements()
            .map(|elements| elements as u64 * size_of::<T>() as u64);
        let one_system = |at: u64| {
            // SAFETY: the caller guarantees that the operands are valid. cuBLAS reads the factor
            // `one` before the call returns.
            unsafe {
                solve(
                    self.handle,
                    RIGHT,
                    UPPER,
                    c_int::from(system.transposed),
                    OWN_DIAGONAL,
                    columns,
                    n,
                    &one,
                    l + at * bytes[0],
                    n,
                    x + at * bytes[1],
                    columns,
                )
            }
        };
        let mut statuses = (0..system.batch as u64).map(one_system);
        statuses.find(|status| *status != 0).unwrap_or(0)
    }

    unsafe fn call<T>(
        &self,
        single: Single<T>,
        batched: Batched<T>,
        product: &BatchedProduct,
        addresses: &[u64],
        factors: [T; 2],
    ) -> DriverStatus {
        let BatchedProduct {
            a,
            b,
            c,
            batch,
            sizes: [m, n, k],
            ..
        } = product;
        let turn = |operand: &MatrixOperand| c_int::from(operand.transposed);
        let at = |operand: &MatrixOperand| {
            let bytes = operand.offset * size_of::<T>() as i64;
            addresses[operand.slot].wrapping_add_signed(bytes)
        };
        let [alpha, beta] = &factors;
        // SAFETY: the caller guarantees that the operands are valid. cuBLAS reads the factors
        // before the call returns.
        unsafe {
            if *batch == 1 {
                single(
                    self.handle,
                    turn(a),
                    turn(b),
                    *m,
                    *n,
                    *k,
                    alpha,
                    at(a),
                    a.leading,
                    at(b),
                    b.leading,
                    beta,
                    at(c),
                    c.leading,
                )
            } else {
                batched(
                    self.handle,
                    turn(a),
                    turn(b),
                    *m,
                    *n,
                    *k,
                    alpha,
                    at(a),
                    a.leading,
                    a.stride,
                    at(b),
                    b.leading,
                    b.stride,
                    beta,
                    at(c),
                    c.leading,
                    c.stride,
                    *batch,
                )
            }
        }
    }
}

impl Drop for Products {
    fn drop(&mut self) {
        // SAFETY: the handle was created in `new`. The owner of the handle has waited for the work
        // that uses it.
        let _ = unsafe { (self.blas.destroy)(self.handle) };
    }
}
