//! Diagnostics of programs for GPUs, for example because the driver or the device is missing, or
//! because the device is too old for the code.

use bnnc_base::fault::Fault;
use bnnc_base::{codes, reports};

codes! {
    /// The system does not have the CUDA driver.
    NO_DRIVER = "E0801", "no CUDA driver":
        "Programs for `--backend cuda` reach the GPU through NVIDIA's driver (`libcuda.so.1`, `nvcuda.dll`). The driver is loaded when such a \
         program runs. The CUDA toolkit is not needed.\n\n\
         Wrong: `bnnc run model.bnn --backend cuda` on a machine without an NVIDIA GPU, or in a container without \
         access to the driver.\n\n\
         Right: install the driver, give the container access to it, or leave `--backend cuda` out. `bnnc build` and \
         `bnnc emit ptx` need no driver.";

    /// The driver does not find a device.
    NO_DEVICE = "E0802", "no CUDA device":
        "The driver is installed, but does not show a GPU to this process. The machine may not have a GPU. Another \
         process, or the scheduler of a cluster, may have reserved the GPU. Or an environment variable may hide it.\n\n\
         Wrong: `CUDA_VISIBLE_DEVICES= ./model`, which hides all GPUs.\n\n\
         Right: `CUDA_VISIBLE_DEVICES=0 ./model`, which makes the first GPU visible.\n\nTo list the GPUs of the machine, run `nvidia-smi -L`.";

    /// The code was compiled for newer devices than the device of this system.
    OLDER_DEVICE = "E0803", "a CUDA device that is older than the code requires":
        "Code for GPUs runs on GPUs with the compute capability for which it was compiled, and on later GPUs. `bnnc run` compiles for `sm_80`, and \
         so does `bnnc build` without `--gpu`. bnnc does not make code for older GPUs. An \
         executable may have been built for later GPUs.\n\n\
         Wrong: `bnnc build model.bnn --backend cuda --gpu sm_100 -o model`, and `./model` where the device is \
         `sm_90`.\n\n\
         Right: name the oldest GPU that has to run the executable: `bnnc build model.bnn --backend cuda --gpu sm_90 -o \
         model`.";

    /// A program exceeds a limit of the device, of the device's memory, or of the driver.
    pub(crate) DEVICE_LIMIT = "E0804", "a limit of the CUDA device or its driver":
        "The driver rejected a call, or the device has too little memory or too few threads for a program. The message \
         names the call and the sizes.\n\n\
         Stop other processes that use the device (`nvidia-smi` lists them), reduce `batch`, `samples` or `chains`, or \
         leave `--backend cuda` out.";
}

/// Returns the error for a program that exceeds a limit of the device.
pub(crate) fn device_limit(text: String) -> Fault {
    Fault::limit(&DEVICE_LIMIT, text)
}

reports! {
    /// Returns the diagnostic for a system that cannot load any of the driver's libraries. `why` is the
    /// reason.
    fn no_driver(why: &str)
        = of_program(NO_DRIVER, "no CUDA driver: {why}")
        .help("install NVIDIA's driver, or leave `--backend cuda` out");

    /// Returns the diagnostic for a system without a device. `message` is the message of the driver.
    fn no_device(message: &str)
        = of_program(NO_DEVICE, "the CUDA driver shows no device")
        .note("{message}")
        .help("list the devices with `nvidia-smi -L`; `CUDA_VISIBLE_DEVICES` may hide them");

    /// Returns the diagnostic for code that was compiled for newer devices. The arguments are the name
    /// and the compute capability of this system's device.
    fn older_device(made: &str, name: &str, capability: u32)
        = of_program(OLDER_DEVICE, "the code is for {made}, but {name} is sm_{capability}")
        .help("build again with `--gpu`, which names the oldest GPU on which the code must run");
}
