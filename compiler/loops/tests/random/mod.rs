//! Generates random valid programs from seeds. Each program has one kernel. All kinds of accesses,
//! operations and outputs occur.

use bnnc_abi::plan::{
    Amount, Buffer, BufferId, BufferRole, Combine, Extent, Launch, Plan, PlanStep, Reduce, Storage,
};
use bnnc_abi::symbols::NoiseKind;
use bnnc_base::arena::Arena;
use bnnc_base::dtype::{DType, Precision};
use bnnc_base::shape::Shape;
use bnnc_loops::ir::{
    Access, Dynamic, Inst, InstId, InstOp, Kernel, KernelOutput, LoopProgram, LoopSize, Noise,
};
use bnnc_math::scalar::Scalar;

/// A small generator of random numbers (SplitMix64).
pub struct Dice(pub u64);

impl Dice {
    /// Returns the next 64 random bits.
    pub fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Returns a number in `0..sides`.
    pub fn roll(&mut self, sides: usize) -> usize {
        (self.word() % sides as u64) as usize
    }

    /// Returns true with probability one in `sides`.
    pub fn one_in(&mut self, sides: usize) -> bool {
        self.roll(sides) == 0
    }

    /// Returns a random number between -2 and 2 that `f32` represents exactly.
    pub fn real(&mut self) -> f64 {
        f64::from((self.word() >> 40) as i32 - (1 << 23)) / f64::from(1 << 22)
    }

    /// Returns one of `items`.
    pub fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.roll(items.len())]
    }
}

/// Operations with results of moderate size. Small changes of the operands change the results only
/// a little.
const SMOOTH: &[Scalar] = &[
    Scalar::Abs,
    Scalar::Cos,
    Scalar::Erf,
    Scalar::LogSigmoid,
    Scalar::Neg,
    Scalar::Sigmoid,
    Scalar::Sin,
    Scalar::Softplus,
    Scalar::Tanh,
];

struct Maker {
    dice: Dice,
    sizes: Vec<i64>,
    kernel: Kernel,
    buffers: Arena<BufferId, Buffer>,
    launch: Launch,
    ints: Vec<i64>,
    /// Instructions whose value is the same in both precisions.
    exact: Vec<InstId>,
}

/// Returns the random program that belongs to a seed.
pub fn program(seed: u64, precision: Precision) -> LoopProgram {
    let mut dice = Dice(seed);
    let rank = 1 + dice.roll(3);
    let longest = [700, 70, 20][rank - 1];
    let sizes: Vec<i64> = (0..rank).map(|_| 1 + dice.roll(longest) as i64).collect();
    let kernel = Kernel {
        name: format!("random_{seed}"),
        dims: Vec::new(),
        slots: Vec::new(),
        body: Arena::default(),
        outputs: Vec::new(),
    };
    let launch = Launch {
        kernel: 0,
        buffers: Vec::new(),
        ints: Vec::new(),
        outer: fixed(sizes[0]),
        work: fixed(sizes.iter().skip(1).product()),
        reduces: Vec::new(),
    };
    let exact = Vec::new();
    let mut maker = Maker {
        dice,
        sizes,
        kernel,
        buffers: Arena::default(),
        launch,
        ints: Vec::new(),
        exact,
    };
    maker.fill();
    maker.launch.ints = maker.ints.iter().map(|value| fixed(*value)).collect();
    let plan = Plan {
        name: "random".to_owned(),
        precision,
        buffers: maker.buffers,
        steps: vec![PlanStep::Launch(maker.launch)],
        kernels: 1,
    };
    LoopProgram {
        plan,
        kernels: vec![maker.kernel],
    }
}

fn fixed(value: i64) -> Amount {
    Amount::one(Extent::fixed(value))
}

impl Maker {
    fn fill(&mut self) {
        self.kernel.dims = self
            .sizes
            .clone()
            .into_iter()
            .map(|size| self.size(size))
            .collect();
        for _ in 0..2 + self.dice.roll(3) {
            self.load(DType::Real);
        }
        for _ in 0..3 + self.dice.roll(10) {
            match self.dice.roll(12) {
                0 => self.load(DType::Real),
                1 => self.load(DType::Bool),
                2 => self.noise(),
                3 => self.comparison(),
                4 => self.constant(),
                5 => self.integer(),
                6..=8 => self.smooth(),
                _ => self.binary(),
            }
        }
        self.output();
        if self.dice.one_in(2) {
            self.output();
        }
    }

    fn size(&mut self, value: i64) -> LoopSize {
        if self.dice.one_in(4) {
            self.ints.push(value);
            return LoopSize::Slot(self.ints.len() as u32 - 1);
        }
        LoopSize::Fixed(value)
    }

    fn push(&mut self, op: InstOp, dtype: DType) -> InstId {
        self.kernel.body.push(Inst { op, dtype })
    }

    fn any(&mut self, dtype: DType) -> InstId {
        let kernel = &self.kernel;
        let found: Vec<InstId> = kernel
            .body
            .ids()
            .filter(|id| kernel.body[*id].dtype == dtype)
            .collect();
        if !found.is_empty() {
            return self.dice.pick(&found);
        }
        self.load(dtype);
        InstId(self.kernel.body.len() as u32 - 1)
    }

    fn apply(&mut self, scalar: Scalar, operands: Vec<InstId>, dtype: DType) -> InstId {
        self.push(InstOp::Apply(scalar, operands), dtype)
    }

    /// Returns the strides of a dense tensor that has only the axes `kept`, in this order or in
    /// reverse. Also returns the size of the tensor.
    fn layout(&mut self, kept: &[usize]) -> (Vec<LoopSize>, i64) {
        let mut order: Vec<usize> = kept.to_vec();
        if self.dice.one_in(4) {
            order.reverse();
        }
        let mut strides = vec![LoopSize::Fixed(0); self.sizes.len()];
        let mut count = if self.dice.one_in(8) { 2 } else { 1 };
        for axis in order.into_iter().rev() {
            strides[axis] = self.size(count);
            count *= self.sizes[axis];
        }
        (strides, count)
    }

    fn some_axes(&mut self, dropping: usize) -> Vec<usize> {
        (0..self.sizes.len())
            .filter(|_| !self.dice.one_in(dropping))
            .collect()
    }

    fn buffer(&mut self, storage: Storage, count: i64, role: BufferRole) -> u32 {
        let name = format!("buffer_{}", self.buffers.len()).into();
        let id = self.buffers.push(Buffer {
            name,
            storage,
            shape: Shape::fixed(&[count as usize]),
            role,
        });
        self.launch.buffers.push(id);
        self.kernel.slots.push(storage);
        self.kernel.slots.len() as u32 - 1
    }

    fn dynamic(&mut self, count: &mut i64) -> Dynamic {
        let index = self.any(DType::Int);
        let limit = 1 + self.dice.roll(5) as i64;
        let stride = *count;
        *count *= limit;
        Dynamic {
            index,
            stride: self.size(stride),
            limit: self.size(limit),
        }
    }

    fn load(&mut self, dtype: DType) {
        let kept = self.some_axes(3);
        let (strides, mut count) = self.layout(&kept);
        let mut dynamic = Vec::new();
        if dtype == DType::Real && self.dice.one_in(5) {
            dynamic.push(self.dynamic(&mut count));
        }
        let skipped = self.dice.roll(3) as i64;
        let storage = if dtype == DType::Int {
            Storage::Int
        } else {
            Storage::Real
        };
        let slot = self.buffer(storage, count + skipped, BufferRole::Input);
        let offset = self.size(skipped);
        let id = self.push(
            InstOp::Load(Access {
                slot,
                offset,
                strides,
                dynamic,
            }),
            dtype,
        );
        self.exact.push(id);
    }

    fn noise(&mut self) {
        let coordinates = [(); 3].map(|()| self.any(DType::Int));
        let kept = self.some_axes(4);
        let (strides, _) = self.layout(&kept);
        let kind = self.dice.pick(&NoiseKind::ALL);
        let key = self.size(77);
        let offset = self.size(5);
        let shape = kind.has_shape().then(|| self.shape());
        self.push(
            InstOp::Noise(Noise {
                kind,
                key,
                coordinates,
                shape,
                offset,
                strides,
            }),
            DType::Real,
        );
    }

    /// Returns a shape parameter that is not close to 1, because the sampler of gamma variates uses
    /// a different method for shapes below 1.
    fn shape(&mut self) -> InstId {
        let x = self.any(DType::Real);
        let bounded = self.apply(Scalar::Tanh, vec![x], DType::Real);
        let [width, middle] = [0.4, if self.dice.one_in(2) { 0.5 } else { 1.5 }]
            .map(|value| self.push(InstOp::Const(value), DType::Real));
        let spread = self.apply(Scalar::Mul, vec![bounded, width], DType::Real);
        self.apply(Scalar::Add, vec![spread, middle], DType::Real)
    }

    fn comparison(&mut self) {
        let exact: Vec<InstId> = self
            .exact
            .iter()
            .copied()
            .filter(|id| self.kernel.body[*id].dtype == DType::Real)
            .collect();
        let (x, y) = (self.dice.pick(&exact), self.dice.pick(&exact));
        let scalar = self.dice.pick(&[Scalar::Eq, Scalar::Le, Scalar::Lt]);
        let truth = self.apply(scalar, vec![x, y], DType::Bool);
        let other = self.any(DType::Bool);
        let both = self.dice.pick(&[Scalar::And, Scalar::Or]);
        let truth = self.apply(both, vec![truth, other], DType::Bool);
        let truth = if self.dice.one_in(2) {
            self.apply(Scalar::Not, vec![truth], DType::Bool)
        } else {
            truth
        };
        let (x, y) = (self.any(DType::Real), self.any(DType::Real));
        self.apply(Scalar::Select, vec![truth, x, y], DType::Real);
    }

    fn constant(&mut self) {
        let value = self.dice.real();
        self.push(InstOp::Const(value), DType::Real);
    }

    fn integer(&mut self) {
        let axis = self.dice.roll(self.sizes.len()) as u32;
        let index = self.push(InstOp::Index(axis), DType::Int);
        let other = self.any(DType::Int);
        let scalar = self
            .dice
            .pick(&[Scalar::Add, Scalar::Sub, Scalar::Mul, Scalar::Min, Scalar::Max]);
        let sum = self.apply(scalar, vec![index, other], DType::Int);
        let scalar = self.dice.pick(&[Scalar::Eq, Scalar::Le, Scalar::Lt]);
        self.apply(scalar, vec![index, sum], DType::Bool);
        // The sum is limited to integers that `f32` represents exactly.
        let [low, high] = [-999.0, 999.0].map(|limit| self.push(InstOp::Const(limit), DType::Int));
        let sum = self.apply(Scalar::Min, vec![sum, high], DType::Int);
        let sum = self.apply(Scalar::Max, vec![low, sum], DType::Int);
        let real = self.apply(Scalar::ToReal, vec![sum], DType::Real);
        self.apply(Scalar::Sin, vec![real], DType::Real);
    }

    fn smooth(&mut self) {
        let x = self.any(DType::Real);
        let scalar = self.dice.pick(SMOOTH);
        self.apply(scalar, vec![x], DType::Real);
    }

    fn binary(&mut self) {
        let (x, y) = (self.any(DType::Real), self.any(DType::Real));
        let scalar = self
            .dice
            .pick(&[Scalar::Add, Scalar::Sub, Scalar::Mul, Scalar::Min, Scalar::Max]);
        let value = self.apply(scalar, vec![x, y], DType::Real);
        // The operation `tanh` keeps the value at a moderate size.
        self.apply(Scalar::Tanh, vec![value], DType::Real);
    }

    fn output(&mut self) {
        let value = match self.dice.roll(8) {
            0 => self.any(DType::Int),
            1 => self.any(DType::Bool),
            2..=4 => self.any(DType::Real),
            _ => InstId(self.kernel.body.len() as u32 - 1),
        };
        let storage = if self.kernel.body[value].dtype == DType::Int {
            Storage::Int
        } else {
            Storage::Real
        };
        let combine = match self.dice.roll(4) {
            0 | 1 => None,
            2 => Some(Combine::Sum),
            // The initial value of a maximum is minus infinity, which is not an integer.
            _ => Some(if storage == Storage::Int {
                Combine::Sum
            } else {
                Combine::Max
            }),
        };
        let kept = if combine.is_some() {
            self.some_axes(2)
        } else {
            (0..self.sizes.len()).collect()
        };
        let (strides, mut count) = self.layout(&kept);
        let mut dynamic = Vec::new();
        if combine.is_some() && self.dice.one_in(4) {
            dynamic.push(self.dynamic(&mut count));
        }
        let offset = self.dice.roll(3) as i64;
        let slot = self.buffer(storage, count + offset, BufferRole::Output);
        let partial = !kept.contains(&0) || !dynamic.is_empty();
        if let Some(combine) = combine {
            self.launch.reduces.push(Reduce {
                slot,
                combine,
                partial,
            });
        }
        let offset = self.size(offset);
        self.kernel.outputs.push(KernelOutput {
            access: Access {
                slot,
                offset,
                strides,
                dynamic,
            },
            value,
            combine,
        });
    }
}
