//! The cost of one run of a program, as a function of the sizes of the program's dimensions. The sizes are
//! known only at run time, so a built executable can report the cost for other data.

use crate::plan::Amount;
use crate::primitive::Primitive;
use bnnc_base::shape::{Shape, Sizes};
use serde::{Deserialize, Serialize};

/// The cost report of one inference block.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    /// The number of scalar parameters of the model.
    pub parameters: usize,
    /// The number of scalar variational parameters.
    pub variational_parameters: usize,
    /// The number of nodes through which a gradient flows, in the graph of the objective.
    pub gradient_nodes: usize,
    /// The work of one step of the inference method, as a function of the sizes.
    pub step: CostEstimate,
    /// The effort of one step with the data and options of this run; computed once these are known.
    pub effort: Effort,
    /// The predicted peak memory of the run in bytes; computed once the data and options are known.
    pub peak_bytes: u64,
}

/// Operations and memory traffic.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Effort {
    /// The number of floating-point operations. Each scalar operation, each random number and each
    /// combination of two values in a reduction counts as one. A library primitive adds the number
    /// of operations that it declares.
    pub flops: u64,
    /// The number of bytes read and written. An element that an access reads or writes many times
    /// in one step counts once.
    pub bytes: u64,
}

/// The work of a program, as a sum with one term for each launch or call. The terms are in the order of the program.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CostEstimate(pub Vec<CostTerm>);

/// The work of one kernel launch or one call of a library primitive.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CostTerm {
    /// The trip count of each loop that encloses the launch or the call.
    pub loops: Vec<Amount>,
    /// The floating-point operations of one launch or call.
    pub operations: Operations,
    /// The reads and writes of one launch or call.
    pub traffic: Vec<MemoryTraffic>,
}

/// The floating-point operations of one launch or call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Operations {
    /// The second field is the number of operations at each point of a domain; the first field
    /// holds the sizes of the axes of the domain.
    Points(Vec<Amount>, u64),
    /// The operations of a primitive that is called with these integers.
    Call(Primitive, Vec<Amount>),
}

/// The number of elements that one access reads or writes: the product of the sizes of `axes`, but
/// at most the number of elements of the buffer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MemoryTraffic {
    /// The axes along which the address changes; `None` if the whole buffer is accessed.
    pub axes: Option<Vec<Amount>>,
    /// The shape of the buffer.
    pub shape: Shape,
    /// The number of bytes per element.
    pub width: u64,
}

impl CostEstimate {
    /// Returns the total effort of all terms with these sizes.
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
