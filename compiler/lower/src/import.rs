//! Converts graph ops to tensor expressions for fusion.

mod contraction;
mod flatten;
mod movement;
mod windows;

use crate::LoweringOptions;
use crate::polynomial::{SizePolynomial, row_major};
use crate::tensor::{
    AssembledPart, CallInts, Coordinate, LibraryCall, Loop, TensorDef, TensorExpr, TensorId, Tensors,
};
use bnnc_abi::plan::{Buffer, BufferId, BufferRole, Combine, Storage};
use bnnc_abi::primitive::{self, Primitive};
use bnnc_abi::symbols::NoiseKind;
use bnnc_base::arena::Arena;
use bnnc_base::dtype::DType;
use bnnc_base::fault::Fault;
use bnnc_base::shape::{Dim, Shape};
use bnnc_graph::attr::Attr;
use bnnc_graph::function::{Function, NodeKind, Value};
use bnnc_graph::labels::ContractionLabels;
use bnnc_graph::op::{KernelKind, Lower};
use bnnc_graph::ops;
use bnnc_graph::types::Type;
use bnnc_math::philox;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Returns how elements of the type `dtype` are stored in memory.
pub fn storage(dtype: DType) -> Storage {
    match dtype {
        DType::Real | DType::Bool => Storage::Real,
        DType::Int => Storage::Int,
    }
}

/// A function that is being converted to tensors.
pub struct Import<'a> {
    /// The tensors converted so far.
    pub tensors: Tensors,
    buffers: &'a mut Arena<BufferId, Buffer>,
    options: &'a LoweringOptions,
    /// The contractions that replace sums of windows.
    convolved: HashSet<TensorId>,
    /// The contractions that became multiplications, which are not calls.
    multiplied: HashMap<TensorId, ContractionParts>,
}

/// The labels and the operands of a contraction.
#[derive(Clone)]
struct ContractionParts {
    labels: ContractionLabels,
    args: [TensorId; 2],
}

/// A call of an op: its operands, its attributes and the type of its result.
struct Site<'a> {
    args: Vec<TensorId>,
    attrs: &'a [Attr],
    ty: &'a Type,
}

impl<'a> Import<'a> {
    /// Creates an import without tensors. Literals become buffers in `buffers`.
    pub fn new(buffers: &'a mut Arena<BufferId, Buffer>, options: &'a LoweringOptions) -> Import<'a> {
        Import {
            tensors: Tensors::default(),
            buffers,
            options,
            convolved: HashSet::new(),
            multiplied: HashMap::new(),
        }
    }

    /// Adds a tensor.
    pub fn push(&mut self, kind: TensorDef, dims: &[Dim], dtype: DType) -> TensorId {
        self.tensors.push(TensorExpr {
            kind,
            dims: dims.to_vec(),
            dtype,
            label: None,
        })
    }

    /// Adds the content of a buffer as a tensor.
    pub fn buffer(&mut self, id: BufferId, ty: &Type) -> TensorId {
        self.push(TensorDef::Buffer(id), ty.dims(), ty.dtype)
    }

    /// Adds an index map. A view of a constant is a constant.
    pub fn view(&mut self, arg: TensorId, at: Vec<Coordinate>, dims: &[Dim]) -> TensorId {
        let dtype = self.tensors[arg].dtype;
        match self.tensors[arg].kind {
            TensorDef::Const(number) => self.push(TensorDef::Const(number), dims, dtype),
            _ => self.push(TensorDef::View(arg, at), dims, dtype),
        }
    }

    /// Adds a tensor with the axes `dims` that one kernel writes. Element by element, `value` is written to the
    /// position `to`, or combined with the stored element.
    pub fn assembled(
        &mut self,
        value: TensorId,
        to: Vec<Coordinate>,
        combine: Option<Combine>,
        dims: &[Dim],
    ) -> TensorId {
        let kind = TensorDef::Assembled {
            parts: vec![AssembledPart { value, to, combine }],
            ordered: false,
        };
        self.push(kind, dims, self.tensors[value].dtype)
    }

    fn dims(&self, id: TensorId) -> Vec<Dim> {
        self.tensors[id].dims.clone()
    }

    /// Adds the nodes of a function as tensors. The parameters of the function are the tensors
    /// `args`. Returns the tensors of the function's results.
    pub fn function(&mut self, function: &Function, args: &[TensorId]) -> Result<Vec<TensorId>, Fault> {
        let mut map: HashMap<Value, TensorId> = function
            .params
            .iter()
            .copied()
            .zip(args.iter().copied())
            .collect();
        for value in function.nodes.ids() {
            let node = &function.nodes[value];
            let NodeKind::Apply { op, args, attrs } = &node.kind else {
                continue;
            };
            let site = Site {
                args: args.iter().map(|arg| map[arg]).collect(),
                attrs,
                ty: &node.ty,
            };
            let tensor = match &op.lower {
                Lower::Scalar(scalar) => self.push(
                    TensorDef::Apply(*scalar, site.args),
                    node.ty.dims(),
                    node.ty.dtype,
                ),
                Lower::Kernel(kind) => self.kernel(*kind, &site)?,
                Lower::Expand(_) => {
                    return Err(Fault::Bug(format!(
                        "`{}` was not expanded before lowering",
                        op.name
                    )));
                }
                Lower::Removed(why) => {
                    return Err(Fault::Bug(format!("`{}` reached lowering: {why}", op.name)));
                }
            };
            if let Some(label) = &node.label {
                self.tensors[tensor].label.get_or_insert_with(|| label.clone());
            }
            map.insert(value, tensor);
        }
        Ok(function.results.iter().map(|(_, value)| map[value]).collect())
    }

    fn kernel(&mut self, kind: KernelKind, site: &Site) -> Result<TensorId, Fault> {
        let dims = site.ty.dims();
        Ok(match kind {
            KernelKind::Broadcast => {
                let axes = ops::broadcast::axes(site.attrs).iter();
                self.view(
                    site.args[0],
                    axes.map(|axis| Coordinate::axis(*axis as usize)).collect(),
                    dims,
                )
            }
            KernelKind::Cholesky => {
                let (batch, n) = stacked(dims);
                self.flat_call(&primitive::CHOLESKY, site, vec![batch, n])
            }
            KernelKind::Concat => self.concat(site),
            KernelKind::Constant => self.constant(site),
            KernelKind::Contract => self.contract(site),
            KernelKind::Cumsum => self.cumsum(site),
            KernelKind::Gather => self.gather(site),
            KernelKind::GammaNoise => self.gamma_noise(site),
            KernelKind::Iota => self.push(TensorDef::Index(0), dims, DType::Int),
            KernelKind::Noise => self.noise(site)?,
            KernelKind::OverlapAdd => self.overlap_add(site),
            KernelKind::Pad => self.pad(site),
            KernelKind::Patches => self.patches(site),
            KernelKind::ReduceMax => self.reduce(
                site.args[0],
                &ops::reduce_sum::positions(site.attrs),
                Combine::Max,
            ),
            KernelKind::ReduceSum => self.reduce(
                site.args[0],
                &ops::reduce_sum::positions(site.attrs),
                Combine::Sum,
            ),
            KernelKind::Reshape => self.reshape(site.args[0], dims),
            KernelKind::Scan => {
                let (body, sliced) = (
                    ops::scan::function(site.attrs).clone(),
                    ops::scan::mapped(site.attrs) as usize,
                );
                let looped = Loop {
                    args: site.args.clone(),
                    body,
                    count: dims[0],
                    sliced,
                };
                self.push(TensorDef::Loop(Box::new(looped)), dims, site.ty.dtype)
            }
            KernelKind::ScatterAdd => self.scatter(site),
            KernelKind::Slice => {
                if let Some(part) = self.part_of_convolved(site) {
                    return Ok(part);
                }
                let (starts, strides) = (ops::slice::starts(site.attrs), ops::slice::strides(site.attrs));
                let window = starts.iter().zip(strides).enumerate();
                let at = window
                    .map(|(axis, (start, stride))| Coordinate::strided(axis, *start, *stride))
                    .collect();
                self.view(site.args[0], at, dims)
            }
            KernelKind::StopGradient => site.args[0],
            KernelKind::Transpose => {
                let mut at = vec![Coordinate::default(); dims.len()];
                let axes = ops::transpose::axes(site.attrs).iter().enumerate();
                axes.for_each(|(axis, inner)| at[*inner as usize] = Coordinate::axis(axis));
                self.view(site.args[0], at, dims)
            }
            KernelKind::TriangularSolve => {
                let (batch, n) = stacked(&self.dims(site.args[0]));
                let columns = SizePolynomial::of(dims[dims.len() - 1]);
                let transposed = SizePolynomial::fixed(ops::triangular_solve::transposed(site.attrs));
                self.flat_call(
                    &primitive::TRIANGULAR_SOLVE,
                    site,
                    vec![batch, n, columns, transposed],
                )
            }
        })
    }

    /// Adds a call whose result is real.
    fn call(
        &mut self,
        def: &'static primitive::PrimitiveDef,
        args: &[TensorId],
        ints: CallInts,
        dims: &[Dim],
    ) -> TensorId {
        let call = LibraryCall {
            primitive: Primitive(def),
            args: args.to_vec(),
            ints,
        };
        self.push(TensorDef::Call(call), dims, DType::Real)
    }

    /// Adds a call that reads its operands in row-major order and receives these integers.
    fn flat_call(
        &mut self,
        def: &'static primitive::PrimitiveDef,
        site: &Site,
        ints: Vec<SizePolynomial>,
    ) -> TensorId {
        self.call(def, &site.args, CallInts::Given(ints), site.ty.dims())
    }

    fn cumsum(&mut self, site: &Site) -> TensorId {
        let (axis, dims) = (ops::cumsum::axis(site.attrs) as usize, site.ty.dims());
        let sizes = [&dims[..axis], &dims[axis..=axis], &dims[axis + 1..]].map(SizePolynomial::product);
        let mut ints = sizes.to_vec();
        ints.push(SizePolynomial::fixed(ops::cumsum::reverse(site.attrs)));
        self.flat_call(&primitive::CUMSUM, site, ints)
    }

    fn constant(&mut self, site: &Site) -> TensorId {
        let dims = site.ty.dims();
        let values = match &site.attrs[2] {
            Attr::Real(value) => return self.push(TensorDef::Const(*value), dims, site.ty.dtype),
            _ => ops::literal::values(site.attrs),
        };
        if let Some(first) = values.first()
            && values.iter().all(|value| value.to_bits() == first.to_bits())
        {
            return self.push(TensorDef::Const(*first), dims, site.ty.dtype);
        }
        let id = self.buffers.push(Buffer {
            name: "literal".into(),
            storage: storage(site.ty.dtype),
            shape: site.ty.shape.clone(),
            role: BufferRole::Constant(values.into()),
        });
        self.buffer(id, site.ty)
    }

    fn noise(&mut self, site: &Site) -> Result<TensorId, Fault> {
        let (name, path) = (ops::noise::kind(site.attrs), ops::noise::site(site.attrs));
        let unknown = || Fault::Bug(format!("there is no noise `{name}`"));
        let kind = NoiseKind::from_name(name).ok_or_else(unknown)?;
        Ok(self.stream(site, (kind, path), None))
    }

    fn gamma_noise(&mut self, site: &Site) -> TensorId {
        let path = ops::gamma_noise::site(site.attrs);
        self.stream(site, (NoiseKind::Gamma, path), Some(site.args[3]))
    }

    /// Adds a tensor of random numbers. The axes of the coordinates come first in the result.
    fn stream(&mut self, site: &Site, (kind, path): (NoiseKind, &str), shape: Option<TensorId>) -> TensorId {
        let dims = site.ty.dims();
        let leading = self.dims(site.args[0]).len();
        let mut strides = vec![SizePolynomial::default(); leading];
        strides.extend(row_major(&dims[leading..]));
        let spread =
            |import: &mut Self, at: usize| import.view(site.args[at], Coordinate::axes(0..leading), dims);
        let coordinates = [spread(self, 0), spread(self, 1), spread(self, 2)];
        let key = philox::key(self.options.seed, path) as i64;
        self.push(
            TensorDef::Noise {
                kind,
                key,
                coordinates,
                shape,
                strides,
            },
            dims,
            DType::Real,
        )
    }
}

/// Returns the number of stacked square matrices, and the number of rows of each matrix.
fn stacked(dims: &[Dim]) -> (SizePolynomial, SizePolynomial) {
    let rank = dims.len();
    (
        SizePolynomial::product(&dims[..rank - 2]),
        SizePolynomial::of(dims[rank - 1]),
    )
}

/// Creates the buffer in a plan for a tensor of the graph.
pub fn as_buffer(name: &Arc<str>, ty: &Type, role: BufferRole) -> Buffer {
    Buffer {
        name: name.clone(),
        storage: storage(ty.dtype),
        shape: Shape(ty.dims().to_vec()),
        role,
    }
}
