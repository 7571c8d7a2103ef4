//! Reads and writes ports of a machine. Skips ports that the program does not have.

use bnnc_base::fault::Fault;
use bnnc_kernels::executor::Machine;
use bnnc_kernels::ports::Port;

/// Writes an integer scalar. If the program does not use the scalar, it does not have the port, and
/// nothing is written.
pub fn int(machine: &mut Machine, name: &str, value: i32) -> Result<(), Fault> {
    if machine.has_port(name) {
        machine.write_int(name, &[value])
    } else {
        Ok(())
    }
}

/// Writes an array of reals. If the program does not use the array, it does not have the port, and
/// nothing is written.
pub fn real(machine: &mut Machine, name: &str, values: &[f64]) -> Result<(), Fault> {
    if machine.has_port(name) {
        machine.write_real(name, values)
    } else {
        Ok(())
    }
}

/// Writes a scalar to a port that was looked up before. If the program does not have the port, nothing is written.
pub fn put(machine: &mut Machine, port: Option<Port>, value: f64) -> Result<(), Fault> {
    match port {
        Some(port) => machine.put(port, &[value]),
        None => Ok(()),
    }
}

/// Reads a real scalar. The call does not allocate.
pub fn scalar(machine: &Machine, name: &str) -> Result<f64, Fault> {
    let mut value = [0.0];
    machine.read_into(name, &mut value)?;
    Ok(value[0])
}
