//! A concrete tensor of the reference evaluator: static shape, `f64` elements, row-major.

/// Row-major `f64` elements; integers and truth values are stored as reals too.
#[derive(Clone, Debug, PartialEq)]
pub struct Tensor {
    /// Axis sizes.
    pub shape: Vec<usize>,
    /// Elements, last axis fastest.
    pub data: Vec<f64>,
}

impl Tensor {
    /// A tensor; `data.len()` is the product of `shape`.
    pub fn new(shape: Vec<usize>, data: Vec<f64>) -> Tensor {
        debug_assert_eq!(shape.iter().product::<usize>(), data.len());
        Tensor { shape, data }
    }

    /// A scalar.
    pub fn scalar(value: f64) -> Tensor {
        Tensor::new(Vec::new(), vec![value])
    }

    /// Zeros.
    pub fn zeros(shape: Vec<usize>) -> Tensor {
        let count = shape.iter().product();
        Tensor::new(shape, vec![0.0; count])
    }

    /// A tensor whose element at each multi-index is `f(index)`.
    pub fn from_fn(shape: Vec<usize>, mut f: impl FnMut(&[usize]) -> f64) -> Tensor {
        let mut tensor = Tensor::zeros(shape);
        let mut index = vec![0; tensor.shape.len()];
        for at in 0..tensor.data.len() {
            tensor.data[at] = f(&index);
            advance(&mut index, &tensor.shape);
        }
        tensor
    }

    /// The slice at position `at` of the first axis.
    pub fn leading(&self, at: usize) -> Tensor {
        let shape = self.shape[1..].to_vec();
        let count: usize = shape.iter().product();
        Tensor::new(shape, self.data[at * count..(at + 1) * count].to_vec())
    }

    /// Tensors of one shape along a new first axis; `shape` is theirs, in case there are none.
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

    /// The element at a multi-index.
    pub fn at(&self, index: &[usize]) -> f64 {
        self.data[self.offset(index)]
    }

    /// The row-major position of a multi-index.
    pub fn offset(&self, index: &[usize]) -> usize {
        index
            .iter()
            .zip(&self.shape)
            .fold(0, |offset, (i, size)| offset * size + i)
    }
}

/// Steps a multi-index to the next one in row-major order (wrapping to zeros at the end).
pub fn advance(index: &mut [usize], shape: &[usize]) {
    for axis in (0..shape.len()).rev() {
        index[axis] += 1;
        if index[axis] < shape[axis] {
            return;
        }
        index[axis] = 0;
    }
}
