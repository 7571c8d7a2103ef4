//! Tensors with values, for the reference evaluator. The tensors have static shapes, and `f64`
//! elements in row-major order.

/// A tensor of `f64` elements in row-major order. Integers and Booleans are stored as reals too.
#[derive(Clone, Debug, PartialEq)]
pub struct Tensor {
    /// The sizes of the axes.
    pub shape: Vec<usize>,
    /// The elements. The last axis varies fastest.
    pub data: Vec<f64>,
}

impl Tensor {
    /// Creates a tensor. `data.len()` must be the product of `shape`.
    pub fn new(shape: Vec<usize>, data: Vec<f64>) -> Tensor {
        debug_assert_eq!(shape.iter().product::<usize>(), data.len());
        Tensor { shape, data }
    }

    /// Creates a scalar.
    pub fn scalar(value: f64) -> Tensor {
        Tensor::new(Vec::new(), vec![value])
    }

    /// Creates a tensor of zeros.
    pub fn zeros(shape: Vec<usize>) -> Tensor {
        let count = shape.iter().product();
        Tensor::new(shape, vec![0.0; count])
    }

    /// Creates a tensor whose element at each multi-index is `f(index)`.
    pub fn from_fn(shape: Vec<usize>, mut f: impl FnMut(&[usize]) -> f64) -> Tensor {
        let mut tensor = Tensor::zeros(shape);
        let mut index = vec![0; tensor.shape.len()];
        for at in 0..tensor.data.len() {
            tensor.data[at] = f(&index);
            advance(&mut index, &tensor.shape);
        }
        tensor
    }

    /// Returns the slice at position `at` along the first axis.
    pub fn leading(&self, at: usize) -> Tensor {
        let shape = self.shape[1..].to_vec();
        let count: usize = shape.iter().product();
        Tensor::new(shape, self.data[at * count..(at + 1) * count].to_vec())
    }

    /// Stacks tensors with the same shape along a new first axis. `shape` is the shape of each
    /// tensor. It is a separate argument because the list of tensors may be empty.
    pub fn stack(shape: &[usize], tensors: &[Tensor]) -> Tensor {
        let mut whole = vec![tensors.len()];
        whole.extend(shape);
        Tensor::new(
            whole,
            tensors
                .iter()
                .flat_map(|tensor| tensor.data.iter().copied())
                .collect(),
        )
    }

    /// Returns the element at a multi-index.
    pub fn at(&self, index: &[usize]) -> f64 {
        self.data[self.offset(index)]
    }

    /// Returns the row-major position of a multi-index.
    pub fn offset(&self, index: &[usize]) -> usize {
        index
            .iter()
            .zip(&self.shape)
            .fold(0, |offset, (i, size)| offset * size + i)
    }
}

/// Advances a multi-index to the next multi-index in row-major order. After the last multi-index,
/// all its entries become zero.
pub fn advance(index: &mut [usize], shape: &[usize]) {
    for axis in (0..shape.len()).rev() {
        index[axis] += 1;
        if index[axis] < shape[axis] {
            return;
        }
        index[axis] = 0;
    }
}
