//! Methods of the host for reading and writing the ports of a machine. A port is identified by its
//! name in the plan.

use crate::executor::Machine;
pub use crate::remote::StampedRows;
use crate::resolved::StoredElement;
use bnnc_abi::plan::BufferId;
use bnnc_base::arena::Id;
use bnnc_base::fault::Fault;
use bnnc_base::shape::{Dim, Symbol};

/// A Rust type that has the same representation as a stored element.
pub trait Stored: Copy {
    /// The stored form that this type represents.
    const ELEMENT: StoredElement;
}

impl Stored for f32 {
    const ELEMENT: StoredElement = StoredElement::F32;
}

impl Stored for f64 {
    const ELEMENT: StoredElement = StoredElement::F64;
}

impl Stored for i32 {
    const ELEMENT: StoredElement = StoredElement::Int;
}

/// A port of one machine. A program looks up a port by name once, and then uses it in every run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Port(pub(crate) BufferId);

impl Machine {
    /// Returns the port with this name, or `None` if the machine does not have one.
    pub fn find(&self, name: &str) -> Option<Port> {
        self.lookup(name).map(Port)
    }

    /// Writes all elements of a port. The values are converted to the stored form of the port.
    ///
    /// # Errors
    /// Fails if the port has a different number of elements.
    pub fn put(&mut self, port: Port, values: &[f64]) -> Result<(), Fault> {
        self.write_values(port.0, values)
    }

    /// Reads all elements of a port into the caller's memory.
    ///
    /// # Errors
    /// Fails if the port has a different number of elements.
    pub fn take(&self, port: Port, values: &mut [f64]) -> Result<(), Fault> {
        self.check_count(port.0, values.len())?;
        self.load(port.0, 0, values)
    }

    /// Writes the elements of a port from index `first` on.
    ///
    /// # Errors
    /// Fails if the port does not have all of these elements.
    pub fn put_part(&mut self, port: Port, first: usize, values: &[f64]) -> Result<(), Fault> {
        self.check_part(port.0, first, values.len())?;
        self.store(port.0, first, values.iter().copied())
    }

    /// Reads the elements of a port from index `first` on.
    ///
    /// # Errors
    /// Fails if the port does not have all of these elements.
    pub fn take_part(&self, port: Port, first: usize, values: &mut [f64]) -> Result<(), Fault> {
        self.check_part(port.0, first, values.len())?;
        self.load(port.0, first, values)
    }

    /// Returns whether the machine has a port with this name.
    pub fn has_port(&self, name: &str) -> bool {
        self.lookup(name).is_some()
    }

    /// Returns whether the machine has a port with this name and an axis of draws.
    pub fn is_per_draw(&self, name: &str) -> bool {
        self.lookup(name).is_some_and(|id| {
            let dims = self.plan.buffers[id].shape.dims();
            dims.first() == Some(&Dim::Symbol(Symbol::Draws))
        })
    }

    /// Returns the number of elements of a port for the current sizes.
    ///
    /// # Errors
    /// Fails if the machine does not have the port.
    pub fn count(&self, name: &str) -> Result<usize, Fault> {
        self.port(name).map(|id| self.count_of(id))
    }

    /// Writes all elements of a port. The values are converted to the stored form of the port.
    ///
    /// # Errors
    /// Fails if the machine does not have the port, or if the port does not have `values.len()`
    /// elements.
    pub fn write_real(&mut self, name: &str, values: &[f64]) -> Result<(), Fault> {
        let id = self.port(name)?;
        self.write_values(id, values)
    }

    /// Writes all elements of a port of integers.
    ///
    /// # Errors
    /// Fails in the same cases as [`Machine::write_real`].
    pub fn write_int(&mut self, name: &str, values: &[i32]) -> Result<(), Fault> {
        let id = self.port(name)?;
        self.check_count(id, values.len())?;
        self.store(id, 0, values.iter().map(|value| f64::from(*value)))
    }

    /// Returns all elements of a port as reals.
    ///
    /// # Errors
    /// Fails if the machine does not have the port.
    pub fn read_real(&self, name: &str) -> Result<Vec<f64>, Fault> {
        let mut values = vec![0.0; self.count(name)?];
        self.read_into(name, &mut values)?;
        Ok(values)
    }

    /// Reads all elements of a port into the caller's memory.
    ///
    /// # Errors
    /// Fails in the same cases as [`Machine::write_real`].
    pub fn read_into(&self, name: &str, values: &mut [f64]) -> Result<(), Fault> {
        let id = self.port(name)?;
        self.check_count(id, values.len())?;
        self.load(id, 0, values)
    }

    /// Returns a reference to the elements of a port.
    ///
    /// # Errors
    /// Fails if the machine does not have the port, or if its stored form is not `T`.
    pub fn view<T: Stored>(&self, name: &str) -> Result<&[T], Fault> {
        let id = self.stored_as::<T>(name)?;
        self.fetch(id)?;
        // SAFETY: the buffer has this number of elements of this form. The buffer is not written
        // while `self` is borrowed.
        Ok(unsafe { std::slice::from_raw_parts(self.addresses[id.index()].cast(), self.count_of(id)) })
    }

    /// Returns a mutable reference to the elements of a port.
    ///
    /// # Errors
    /// Fails in the same cases as [`Machine::view`].
    pub fn view_mut<T: Stored>(&mut self, name: &str) -> Result<&mut [T], Fault> {
        let id = self.stored_as::<T>(name)?;
        self.fetch(id)?;
        self.announce(id, 0, self.count_of(id))?;
        // SAFETY: the buffer has this number of elements of this form, and `self` is mutably
        // borrowed.
        Ok(unsafe { std::slice::from_raw_parts_mut(self.addresses[id.index()].cast(), self.count_of(id)) })
    }

    /// Copies the port with this name from another machine. If the two machines have different
    /// precisions, the values are converted.
    ///
    /// # Errors
    /// Fails if one of the machines does not have the port, or if the numbers of elements differ.
    pub fn copy_state_from(&mut self, other: &Machine, name: &str) -> Result<(), Fault> {
        let (to, from) = (self.port(name)?, other.port(name)?);
        self.check_count(to, other.count_of(from))?;
        if self.copy_there(to, other, from)? {
            return Ok(());
        }
        match other.element(from) {
            StoredElement::F32 => self.store(
                to,
                0,
                other.view::<f32>(name)?.iter().map(|value| f64::from(*value)),
            ),
            StoredElement::F64 => self.store(to, 0, other.view::<f64>(name)?.iter().copied()),
            StoredElement::Int => self.store(
                to,
                0,
                other.view::<i32>(name)?.iter().map(|value| f64::from(*value)),
            ),
        }
    }

    fn lookup(&self, name: &str) -> Option<BufferId> {
        let found = self.ports.binary_search_by(|(port, _)| (**port).cmp(name));
        found.ok().map(|at| self.ports[at].1)
    }

    fn port(&self, name: &str) -> Result<BufferId, Fault> {
        let missing = || Fault::Bug(format!("{} has no port {name}", self.plan.name));
        self.lookup(name).ok_or_else(missing)
    }

    pub(crate) fn element(&self, id: BufferId) -> StoredElement {
        StoredElement::of(self.plan.buffers[id].storage, self.plan.precision)
    }

    pub(crate) fn stored_as<T: Stored>(&self, name: &str) -> Result<BufferId, Fault> {
        let id = self.port(name)?;
        let (element, asked) = (self.element(id), T::ELEMENT);
        if element == asked {
            return Ok(id);
        }
        Err(Fault::Bug(format!(
            "port {name} of {} is stored as {element:?}, not {asked:?}",
            self.plan.name
        )))
    }

    pub(crate) fn check_count(&self, id: BufferId, given: usize) -> Result<(), Fault> {
        let count = self.count_of(id);
        if count == given {
            return Ok(());
        }
        let (plan, buffer) = (&self.plan.name, &self.plan.buffers[id].name);
        Err(Fault::Bug(format!(
            "buffer {buffer} of {plan} has {count} elements, not {given}"
        )))
    }

    fn check_part(&self, id: BufferId, first: usize, given: usize) -> Result<(), Fault> {
        let count = self.count_of(id);
        if first.checked_add(given).is_some_and(|end| end <= count) {
            return Ok(());
        }
        let (plan, buffer) = (&self.plan.name, &self.plan.buffers[id].name);
        Err(Fault::Bug(format!(
            "buffer {buffer} of {plan} has {count} elements, not {given} from {first} on"
        )))
    }

    /// Writes all elements of a buffer. The buffer need not be a port.
    pub(crate) fn write_values(&mut self, id: BufferId, values: &[f64]) -> Result<(), Fault> {
        self.check_count(id, values.len())?;
        self.store(id, 0, values.iter().copied())
    }

    /// Stores `values` in a buffer, beginning at element `first`. The caller must check that the
    /// buffer has these elements.
    fn store(
        &mut self,
        id: BufferId,
        first: usize,
        values: impl ExactSizeIterator<Item = f64> + Clone,
    ) -> Result<(), Fault> {
        if self.is_sent(id, first, values.clone()) {
            return Ok(());
        }
        self.announce(id, first, values.len())?;
        let (address, element) = (self.addresses[id.index()], self.element(id));
        for (at, value) in (first..self.count_of(id)).zip(values) {
            // SAFETY: `at` is below the number of elements of the buffer, and the elements have
            // this form. `self` is mutably borrowed.
            unsafe {
                match element {
                    StoredElement::F32 => address.cast::<f32>().add(at).write(value as f32),
                    StoredElement::F64 => address.cast::<f64>().add(at).write(value),
                    StoredElement::Int => address.cast::<i32>().add(at).write(value as i32),
                }
            }
        }
        Ok(())
    }

    fn load(&self, id: BufferId, first: usize, values: &mut [f64]) -> Result<(), Fault> {
        self.fetch(id)?;
        let (address, element) = (self.addresses[id.index()], self.element(id));
        for (at, value) in (first..self.count_of(id)).zip(values) {
            // SAFETY: `at` is below the number of elements of the buffer, and the elements have
            // this form. The buffer is not written while `self` is borrowed.
            *value = unsafe {
                match element {
                    StoredElement::F32 => f64::from(address.cast::<f32>().add(at).read()),
                    StoredElement::F64 => address.cast::<f64>().add(at).read(),
                    StoredElement::Int => f64::from(address.cast::<i32>().add(at).read()),
                }
            };
        }
        Ok(())
    }
}
