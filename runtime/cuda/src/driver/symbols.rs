//! The entry points of the driver that bnnc uses, and their types (CUDA Driver API, 12.0).

use super::{DeviceNumber, DriverStatus};
use crate::diagnostics::DEVICE_LIMIT;
use bnnc_base::fault::Fault;
use libloading::Library;
use std::ffi::{c_char, c_int, c_uint, c_void};

macro_rules! handles {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(transparent)]
        pub struct $name(pub(crate) *mut c_void);

        // SAFETY: the driver may be called with any handle on any thread.
        unsafe impl Send for $name {}
        // SAFETY: the driver may be called with any handle on any thread.
        unsafe impl Sync for $name {}

        impl $name {
            /// The null value of the handle.
            pub(crate) const NONE: $name = $name(std::ptr::null_mut());
        }
    )*};
}

handles! {
    /// A context of a device.
    Context;
    /// A stream. Its work runs in order.
    Stream;
    /// A module: loaded code.
    Module;
    /// A kernel in a module.
    Function;
    /// A graph of captured work.
    Graph;
    /// A graph that can be launched.
    GraphExec;
}

macro_rules! entry_points {
    ($($field:ident $symbol:literal ($($argument:ty),*);)*) => {
        /// The addresses of the entry points. Each name is looked up once.
        pub struct Symbols {
            $(pub(crate) $field: unsafe extern "C" fn($($argument),*) -> DriverStatus,)*
            /// The library. It stays loaded so that the addresses remain valid.
            _library: Library,
        }

        /// The names of the entry points in the library.
        pub const NAMES: &[&str] = &[$($symbol),*];

        impl Symbols {
            /// Looks up every entry point.
            ///
            /// # Errors
            /// Fails if an entry point is missing. The driver is then too old, or the library is
            /// not a driver.
            pub fn load(library: Library) -> Result<Symbols, Fault> {
                Ok(Symbols {
                    $($field: {
                        // SAFETY: the entry point has the type that CUDA's headers declare. The
                        // library stays loaded.
                        let found = unsafe { library.get($symbol.as_bytes()) };
                        *found.map_err(|_| Fault::limit(&DEVICE_LIMIT, format!(
                            "the CUDA driver has no {}: a driver for CUDA 12 or later is needed", $symbol
                        )))?
                    },)*
                    _library: library,
                })
            }
        }
    };
}

entry_points! {
    init "cuInit" (c_uint);
    driver_version "cuDriverGetVersion" (*mut c_int);
    get_error_name "cuGetErrorName" (DriverStatus, *mut *const c_char);
    get_error_string "cuGetErrorString" (DriverStatus, *mut *const c_char);
    device_count "cuDeviceGetCount" (*mut c_int);
    device_get "cuDeviceGet" (*mut DeviceNumber, c_int);
    device_name "cuDeviceGetName" (*mut c_char, c_int, DeviceNumber);
    device_attribute "cuDeviceGetAttribute" (*mut c_int, c_int, DeviceNumber);
    context_retain "cuDevicePrimaryCtxRetain" (*mut Context, DeviceNumber);
    context_release "cuDevicePrimaryCtxRelease_v2" (DeviceNumber);
    context_set "cuCtxSetCurrent" (Context);
    memory_info "cuMemGetInfo_v2" (*mut usize, *mut usize);
    allocate "cuMemAlloc_v2" (*mut u64, usize);
    free "cuMemFree_v2" (u64);
    host_allocate "cuMemHostAlloc" (*mut *mut c_void, usize, c_uint);
    host_free "cuMemFreeHost" (*mut c_void);
    copy_in "cuMemcpyHtoDAsync_v2" (u64, *const c_void, usize, Stream);
    copy_out "cuMemcpyDtoHAsync_v2" (*mut c_void, u64, usize, Stream);
    copy_within "cuMemcpyDtoDAsync_v2" (u64, u64, usize, Stream);
    fill_bytes "cuMemsetD8Async" (u64, u8, usize, Stream);
    fill_words "cuMemsetD32Async" (u64, c_uint, usize, Stream);
    stream_create "cuStreamCreate" (*mut Stream, c_uint);
    stream_synchronize "cuStreamSynchronize" (Stream);
    stream_destroy "cuStreamDestroy_v2" (Stream);
    module_load "cuModuleLoadDataEx" (*mut Module, *const c_void, c_uint, *mut c_int, *mut *mut c_void);
    module_unload "cuModuleUnload" (Module);
    module_function "cuModuleGetFunction" (*mut Function, Module, *const c_char);
    function_attribute "cuFuncSetAttribute" (Function, c_int, c_int);
    launch "cuLaunchKernel" (
        Function, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, Stream, *mut *mut c_void, *mut *mut c_void
    );
    capture_begin "cuStreamBeginCapture_v2" (Stream, c_int);
    capture_end "cuStreamEndCapture" (Stream, *mut Graph);
    graph_instantiate "cuGraphInstantiateWithFlags" (*mut GraphExec, Graph, u64);
    graph_launch "cuGraphLaunch" (GraphExec, Stream);
    graph_destroy "cuGraphDestroy" (Graph);
    graph_exec_destroy "cuGraphExecDestroy" (GraphExec);
}
