//! The results of convolutions and of pooling, and the Kronecker factors of kernels, agree with
//! nested loops.

use super::setup::{ALL, approximated, assert_close, compiled, number, results};
use bnnc_base::dtype::Precision;
use bnnc_base::shape::{Sizes, Symbol};
use bnnc_graph::tensor::Tensor;
use bnnc_rewrite::methods::laplace::OptionalPrograms;
use std::collections::HashMap;

const ROWS: usize = 3;

/// A convolution: the sizes of the image and of the kernel, the stride, and the padding.
#[derive(Clone, Copy, Debug)]
struct Case {
    image: [usize; 3],
    kernel: [usize; 3],
    stride: usize,
    padding: usize,
}

/// Some cases have strides that skip elements, padding that is wider than the kernel, or images
/// with a single row. Some kernels have one element, or are as large as the image.
const CASES: [Case; 8] = [
    case([1, 4, 4], [2, 2, 2], 1, 0),
    case([2, 5, 4], [3, 3, 2], 1, 1),
    case([2, 6, 5], [2, 3, 3], 2, 0),
    case([1, 7, 7], [2, 2, 2], 3, 2),
    case([3, 3, 4], [2, 1, 1], 1, 0),
    case([3, 4, 4], [2, 1, 1], 2, 0),
    case([2, 3, 4], [4, 3, 4], 1, 0),
    case([2, 1, 9], [2, 1, 4], 2, 0),
];

const fn case(image: [usize; 3], kernel: [usize; 3], stride: usize, padding: usize) -> Case {
    Case {
        image,
        kernel,
        stride,
        padding,
    }
}

impl Case {
    fn inputs(&self) -> usize {
        self.image.iter().product()
    }

    /// Returns the numbers of channels, rows and columns of the result.
    fn outputs(&self) -> [usize; 3] {
        let along = |axis: usize| (self.image[axis] + 2 * self.padding - self.kernel[axis]) / self.stride + 1;
        [self.kernel[0], along(1), along(2)]
    }

    /// Returns the element of a padded image in one channel, row and column.
    fn element(&self, image: &[f64], [channel, row, column]: [usize; 3]) -> f64 {
        let [_, height, width] = self.image;
        let inside = |at: usize, size: usize| at >= self.padding && at - self.padding < size;
        match inside(row, height) && inside(column, width) {
            true => image[(channel * height + row - self.padding) * width + column - self.padding],
            false => 0.0,
        }
    }

    /// Returns the image elements under the kernel at one position of the result.
    fn window(&self, image: &[f64], position: [usize; 2]) -> Vec<f64> {
        let [_, rows, columns] = self.kernel;
        let mut window = Vec::new();
        for channel in 0..self.image[0] {
            for row in 0..rows {
                for column in 0..columns {
                    let at = [
                        position[0] * self.stride + row,
                        position[1] * self.stride + column,
                    ];
                    window.push(self.element(image, [channel, at[0], at[1]]));
                }
            }
        }
        window
    }

    fn positions(&self) -> Vec<[usize; 2]> {
        let [_, rows, columns] = self.outputs();
        (0..rows)
            .flat_map(|row| (0..columns).map(move |column| [row, column]))
            .collect()
    }
}

fn sizes(columns: usize) -> Sizes {
    Sizes::default()
        .with(Symbol::Batch, ROWS)
        .with(Symbol::Columns, columns)
}

/// Returns a model whose logits are the elements of an image. This image is computed from another
/// image and from the weights of `sites`.
fn model(case: &Case, sites: &str, result: &str) -> String {
    let [channels, rows, columns] = case.image;
    format!(
        "data rows = csv(\"rows.csv\") {{ target = y }}
model Net(x: real[{}]) -> y: index({}) {{
  {sites}
  image = reshape(x, {channels}, {rows}, {columns})
  y ~ Categorical(logits = flatten({result}))
}}
infer fit = map(Net, rows) {{ epochs = 1 }}
",
        case.inputs(),
        case.outputs().iter().product::<usize>()
    )
}

/// Returns the values of a port, which are the numbers that `setup` gives to inputs.
fn numbers(name: &str, count: usize) -> Vec<f64> {
    (1..=count).map(|at| number(name, at)).collect()
}

fn images(case: &Case) -> Vec<Vec<f64>> {
    let all = numbers("x", ROWS * case.inputs());
    all.chunks(case.inputs()).map(<[f64]>::to_vec).collect()
}

/// Computes `f` by the reference backend, and by machine code in both precisions. Compares each
/// result with the expected value.
fn check_outputs(name: &str, text: &str, width: usize, want: &[f64]) {
    let found = approximated(name, text, width, OptionalPrograms::default());
    let got = &results(&found.rows, &sizes(1), &HashMap::new())["$outputs"];
    assert_close(&got.data, want, 1e-12, name);
    for (precision, error) in [(Precision::F64, 1e-12), (Precision::F32, 1e-5)] {
        let got = &compiled(&found.rows, precision, &sizes(1), &HashMap::new())["$outputs"];
        assert_close(got, want, error, &format!("compiled {name}"));
    }
}

#[test]
fn convolutions_are_sums_over_windows() {
    for case in CASES {
        let ([out, height, width], channels) = (case.kernel, case.image[0]);
        let sites = format!("kernel: real[{out}, {channels}, {height}, {width}] ~ Normal(0, 1)");
        let result = format!("conv(pad(image, {}), kernel, {})", case.padding, case.stride);
        let size = channels * height * width;
        let kernel = numbers("kernel/loc", out * size);
        let mut want = Vec::new();
        for image in images(&case) {
            for channel in 0..out {
                let weights = &kernel[channel * size..(channel + 1) * size];
                for position in case.positions() {
                    let window = case.window(&image, position);
                    want.push(window.iter().zip(weights).map(|(x, w)| x * w).sum());
                }
            }
        }
        let text = model(&case, &sites, &result);
        check_outputs(&format!("{case:?}"), &text, case.inputs(), &want);
    }
}

#[test]
fn pools_reduce_windows_of_one_channel() {
    let pools = [
        (case([2, 4, 6], [2, 2, 2], 2, 0), "max_pool(image * s, 2)"),
        (case([2, 5, 7], [2, 2, 2], 2, 0), "mean_pool(image * s, 2)"),
        (case([1, 5, 6], [1, 3, 3], 1, 0), "max_pool(image * s, 3, 1)"),
        (
            case([1, 5, 6], [1, 3, 3], 2, 0),
            "mean_pool(image * s, 3, stride = 2)",
        ),
        (case([3, 4, 4], [3, 4, 4], 4, 0), "mean_pool(image * s, 4)"),
        (case([2, 5, 5], [2, 2, 2], 3, 0), "max_pool(image * s, 2, 3)"),
    ];
    let scale = number("s/loc", 1);
    for (case, result) in pools {
        let size = case.kernel[1] * case.kernel[2];
        let mut want = Vec::new();
        for image in images(&case) {
            let windows: Vec<Vec<f64>> = case
                .positions()
                .iter()
                .map(|at| case.window(&image, *at))
                .collect();
            for channel in 0..case.image[0] {
                for window in &windows {
                    let own = window[channel * size..(channel + 1) * size]
                        .iter()
                        .map(|x| scale * x);
                    want.push(match result.starts_with("max") {
                        true => own.fold(f64::NEG_INFINITY, f64::max),
                        false => own.sum::<f64>() / size as f64,
                    });
                }
            }
        }
        let text = model(&case, "s ~ Normal(0, 1)", result);
        check_outputs(result, &text, case.inputs(), &want);
    }
}

/// To get the left Kronecker factor of a kernel, take the outer product of the window at each
/// position of the kernel. The factor is the mean of these outer products over the positions. The
/// right Kronecker factor is the sum, over these positions, of the outer products of gradients. If
/// the cotangent belongs to the logits, the gradient at a position is the cotangent at this
/// position.
#[test]
fn factors_of_kernels_are_sums_over_positions() {
    for case in CASES {
        let ([out, height, width], channels) = (case.kernel, case.image[0]);
        let (size, positions) = (channels * height * width, case.positions());
        if size == 1 || out * positions.len() == 1 {
            continue;
        }
        let sites = format!(
            "kernel: real[{out}, {channels}, {height}, {width}] ~ Normal(0, 1)\n  b: real[{out}] ~ Normal(0, 1)"
        );
        let result = format!(
            "add_to_channels(conv(pad(image, {}), kernel, {}), b)",
            case.padding, case.stride
        );
        let name = format!("factors of {case:?}");
        let found = approximated(&name, &model(&case, &sites, &result), case.inputs(), ALL);
        let function = found.factors.as_ref().unwrap();
        let got = results(function, &sizes(2), &HashMap::new());
        let machine = compiled(function, Precision::F64, &sizes(2), &HashMap::new());
        for (port, want) in &got {
            assert_close(
                &machine[port],
                &want.data,
                1e-10,
                &format!("compiled {port} of {name}"),
            );
        }

        let kernel = found.blocks.iter().find(|block| block.left > 1).unwrap();
        assert_eq!(
            (kernel.left, kernel.right, kernel.swapped),
            (size, out, true),
            "{name}"
        );
        let mut left = Tensor::zeros(vec![size, size]);
        for image in images(&case) {
            for position in &positions {
                let window = case.window(&image, *position);
                for (at, sum) in left.data.iter_mut().enumerate() {
                    *sum += window[at / size] * window[at % size] / positions.len() as f64;
                }
            }
        }
        assert_close(
            &got[&format!("{}/$left", kernel.name)].data,
            &left.data,
            1e-12,
            &name,
        );

        let logits = out * positions.len();
        let cotangents = numbers("$cotangents", ROWS * 2 * logits);
        let mut right = Tensor::zeros(vec![out, out]);
        let mut bias = Tensor::zeros(vec![out, out]);
        for cotangent in cotangents.chunks(logits) {
            let slope = |channel: usize, position: usize| cotangent[channel * positions.len() + position];
            let total = |channel: usize| (0..positions.len()).map(|at| slope(channel, at)).sum::<f64>();
            for channel in 0..out {
                for other in 0..out {
                    let products = (0..positions.len()).map(|at| slope(channel, at) * slope(other, at));
                    right.data[channel * out + other] += products.sum::<f64>();
                    bias.data[channel * out + other] += total(channel) * total(other);
                }
            }
        }
        assert_close(
            &got[&format!("{}/$right", kernel.name)].data,
            &right.data,
            1e-12,
            &name,
        );
        let whole = found.blocks.iter().find(|block| block.left == 1).unwrap();
        assert_close(
            &got[&format!("{}/$right", whole.name)].data,
            &bias.data,
            1e-12,
            &name,
        );
    }
}
