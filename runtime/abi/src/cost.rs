//! The cost of one run of a program as a function of sizes that are known at run time, so that a built executable can report the cost for other data.

use crate::plan::Amount;
use crate::primitive::Primitive;
use bnnc_base::shape::{Shape, Sizes};
use serde::{Deserialize, Serialize};

/// The cost report of one inference block.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    /// Scalar parameters of the model.
    pub parameters: usize,
    /// Scalar variational parameters.
    pub variational_parameters: usize,
    /// The number of nodes of the objective's graph through which a gradient flows.
    pub gradient_nodes: usize,
    /// The work of one step, as a function of its sizes.
    pub step: CostEstimate,
    /// The effort of one step with the data and options of this run, once they are known.
    pub effort: Effort,
    /// The predicted peak memory of the run in bytes, once the data and options are known.
    pub peak_bytes: u64,
}

/// Operations and memory traffic.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Effort {
    /// The number of floating-point operations: one for each scalar operation, random number and combination of two values, plus the operations that
    /// the library primitives declare.
    pub flops: u64,
    /// The number of bytes read and written. Each element of an access counts once per step.
    pub bytes: u64,
}

/// The work of a program, in order.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CostEstimate(pub Vec<CostTerm>);

/// A launch or a call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CostTerm {
    /// The trip count of each loop that encloses the launch or the call.
    pub loops: Vec<Amount>,
    /// The operations.
    pub operations: Operations,
    /// The reads and writes.
    pub traffic: Vec<MemoryTraffic>,
}

/// The floating-point operations of a term.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Operations {
    /// This number of operations at every point of a domain with these axes.
    Points(Vec<Amount>, u64),
    /// The operations of a primitive that is called with these integers.
    Call(Primitive, Vec<Amount>),
}

/// The number of elements that are read or written: the product of the sizes of these axes, but at most the number of elements of the buffer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MemoryTraffic {
    /// The axes along which the address changes; `None` if the whole buffer is accessed.
    pub axes: Option<Vec<Amount>>,
    /// The shape of the buffer.
    pub shape: Shape,
    /// Bytes per element.
    pub width: u64,
}

impl CostEstimate {
    /// Returns the effort of all terms with these sizes.
    pub fn at(&self, sizes: &Sizes) -> Effort {
        let mut effort = Effort::default();
        for term in &self.0 {
            let times = product(&term.loops, sizes);
            let bytes = term.traffic.iter().map(|traffic| traffic.bytes(sizes));
            effort.flops += times * term.operations.count(sizes);
            effort.bytes += times * bytes.sum::<u64>();
        }
        effort
    }
}

impl Operations {
    fn count(&self, sizes: &Sizes) -> u64 {
        match self {
            Operations::Points(axes, each) => product(axes, sizes) * each,
            Operations::Call(primitive, ints) => {
                let ints: Vec<i64> = ints.iter().map(|amount| amount.resolve(sizes)).collect();
                (primitive.flops)(&ints)
            }
        }
    }
}

impl MemoryTraffic {
    fn bytes(&self, sizes: &Sizes) -> u64 {
        let all = self.shape.count(sizes) as u64;
        let moved = self.axes.as_ref().map_or(all, |axes| product(axes, sizes));
        moved.min(all) * self.width
    }
}

fn product(axes: &[Amount], sizes: &Sizes) -> u64 {
    axes.iter()
        .map(|amount| amount.resolve(sizes).max(0) as u64)
        .product()
}
