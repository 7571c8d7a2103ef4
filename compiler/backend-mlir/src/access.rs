//! Accesses to elements of buffers and of scratch memory. Alias scopes show LLVM which accesses
//! never overlap.

use crate::func::{Emitter, plus, times};
use crate::text::{Type, Value};
use bnnc_abi::plan::{Plan, PlanStep};
use bnnc_base::arena::Id;
use bnnc_base::dtype::DType;
use bnnc_loops::analysis::staging::BLOCK;
use bnnc_loops::ir::{Access, InstId, LoopSize};

/// The number of bytes at the start of scratch memory that are reserved for a call on one element.
/// They hold the result and two operands, each in its own cache line. The scratch slots for blocks
/// follow.
pub(crate) const SINGLE_BYTES: usize = 3 * LINE;
/// The distance, in bytes, between the elements in these first bytes of scratch memory.
pub(crate) const LINE: usize = 64;

impl Emitter<'_> {
    /// Emits `offset + sum strides * index` over the enclosing loops. The index of an axis without a loop is 0.
    pub fn linear(&mut self, offset: LoopSize, strides: &[LoopSize]) -> Value {
        let mut position = (offset != LoopSize::Fixed(0)).then(|| self.size(offset));
        for (stride, index) in strides.iter().zip(self.indices.clone()) {
            let skipped = match stride {
                LoopSize::Fixed(0) => continue,
                LoopSize::Fixed(1) => index,
                stride => {
                    let stride = self.size(*stride);
                    times(self.text, index, stride)
                }
            };
            position = Some(match position {
                Some(position) => plus(self.text, position, skipped),
                None => skipped,
            });
        }
        position.unwrap_or_else(|| self.text.long(0))
    }

    /// Returns the address of an access. Each computed position is clamped to its axis.
    pub fn address(&mut self, access: &Access, within: Option<Value>) -> Value {
        let mut position = self.linear(access.offset, &access.strides);
        for dynamic in &access.dynamic {
            let index = self.value(dynamic.index, within);
            let index = self.text.convert("arith.extsi", index, Type::Long);
            let (limit, zero, one) = (self.size(dynamic.limit), self.text.long(0), self.text.long(1));
            let last = self.text.alike("arith.subi", &[limit, one]);
            let below = self.text.alike("arith.minsi", &[index, last]);
            let clamped = self.text.alike("arith.maxsi", &[below, zero]);
            let stride = self.size(dynamic.stride);
            let skipped = times(self.text, clamped, stride);
            position = plus(self.text, position, skipped);
        }
        let ty = self.element_type(access);
        self.text.element(self.bases[access.slot as usize], position, ty)
    }

    /// Returns the type of the elements that an access reads or writes.
    pub fn element_type(&self, access: &Access) -> Type {
        Type::stored(
            self.source.kernel.slots[access.slot as usize],
            self.source.precision,
        )
    }

    /// Reads an element of a buffer.
    pub fn read(&mut self, access: &Access, within: Option<Value>) -> Value {
        let address = self.address(access, within);
        let (ty, scope) = (self.element_type(access), self.slot_scope(access));
        self.text.load(ty, address, &scope)
    }

    /// Writes an element of a buffer.
    pub fn write(&mut self, access: &Access, value: Value, within: Option<Value>) {
        let address = self.address(access, within);
        let scope = self.slot_scope(access);
        self.text.store(value, address, &scope);
    }

    fn slot_scope(&self, access: &Access) -> String {
        self.scope("slot", access.slot as usize)
    }

    pub fn home_scope(&self, home: usize) -> String {
        self.scope("block", home)
    }

    fn scope(&self, name: &str, number: usize) -> String {
        match self.source.distinct {
            true => {
                format!(" {{alias_scopes = [#{name}{number}], noalias_scopes = #not_{name}{number}}}")
            }
            false => String::new(),
        }
    }

    /// Returns the address of a scratch slot. Each slot has room for one block.
    pub fn home(&mut self, home: usize) -> Value {
        let block = BLOCK as usize * self.source.precision.bytes();
        self.text.skip(self.scratch, SINGLE_BYTES + home * block)
    }

    /// Returns the scratch slot that holds the values of an instruction.
    pub fn home_of(&self, id: InstId) -> usize {
        self.source.staging.home[id.index()].unwrap_or_else(|| unreachable!("{id} has a scratch slot"))
    }

    /// Reads the value of an instruction from its scratch slot, at the offset `within` in the current block.
    pub fn recall(&mut self, id: InstId, within: Value) -> Value {
        let (home, dtype) = (self.home_of(id), self.source.kernel.body[id].dtype);
        let ty = self.stored_type(dtype);
        let base = self.home(home);
        let address = self.text.element(base, within, ty);
        let scope = self.home_scope(home);
        let stored = self.text.load(ty, address, &scope);
        match dtype {
            DType::Bool => crate::scalar::truth(self.text, stored),
            DType::Real | DType::Int => stored,
        }
    }

    /// Writes the value of an instruction to its scratch slot.
    pub fn remember(&mut self, id: InstId, within: Value) {
        let home = self.home_of(id);
        let value = self.value(id, None);
        let value = self.storable(value);
        let base = self.home(home);
        let address = self.text.element(base, within, value.ty);
        let scope = self.home_scope(home);
        self.text.store(value, address, &scope);
    }

    /// Converts a value to its representation in memory. A Boolean is stored as a real.
    pub fn storable(&mut self, value: Value) -> Value {
        match value.ty {
            Type::Truth => crate::scalar::real_of(self.text, value, Type::Real(self.source.precision)),
            Type::Real(_) | Type::Int | Type::Long | Type::Pointer => value,
        }
    }

    fn stored_type(&self, dtype: DType) -> Type {
        match dtype {
            DType::Int => Type::Int,
            DType::Real | DType::Bool => Type::Real(self.source.precision),
        }
    }
}

/// Returns the pairs of slots of a kernel that are bound to the same buffer in some launch. Each
/// pair is in ascending order.
pub fn shared(plan: &Plan, kernel: u32) -> Vec<(u32, u32)> {
    let mut pairs = Vec::new();
    collect(&plan.steps, kernel, &mut pairs);
    pairs
}

fn collect(steps: &[PlanStep], kernel: u32, pairs: &mut Vec<(u32, u32)>) {
    for step in steps {
        match step {
            PlanStep::Launch(launch) if launch.kernel == kernel => {
                for (second, buffer) in launch.buffers.iter().enumerate() {
                    let firsts = launch.buffers[..second].iter().enumerate();
                    let firsts = firsts.filter(|(_, other)| *other == buffer);
                    pairs.extend(firsts.map(|(first, _)| (first as u32, second as u32)));
                }
            }
            PlanStep::Launch(_) | PlanStep::Call(_) => {}
            PlanStep::Repeat { body, .. } => collect(body, kernel, pairs),
        }
    }
}
