//! Convolutions with groups and transposed convolutions over one, two and three axes, and their derivatives with respect to image and kernel,
//! agree with nested loops. So do pools, paddings and upsampling over these axes.

use super::setup::{ALL, approximated, assert_close, compiled, compiled_without_views, number, results};
use bnnc_abi::methods::laplace::WeightBlock;
use bnnc_base::dtype::Precision;
use bnnc_base::shape::{Sizes, Symbol};
use std::collections::HashMap;

const ROWS: usize = 2;

/// A call of `conv` or `conv_transpose` over an image and a kernel that are both parameters.
#[derive(Clone, Debug)]
struct Case {
    is_transposed: bool,
    /// The channels and the spatial sizes of the image.
    image: Vec<usize>,
    /// The sizes of the kernel, without the channels.
    kernel: Vec<usize>,
    /// The channels of the result.
    out: usize,
    stride: usize,
    padding: usize,
    output_padding: usize,
    groups: usize,
}

fn case(image: &[usize], kernel: &[usize], out: usize, stride: usize, groups: usize) -> Case {
    Case {
        is_transposed: false,
        image: image.to_vec(),
        kernel: kernel.to_vec(),
        out,
        stride,
        padding: 0,
        output_padding: 0,
        groups,
    }
}

fn transposed(case: Case, padding: usize, output_padding: usize) -> Case {
    Case {
        is_transposed: true,
        padding,
        output_padding,
        ..case
    }
}

/// Some cases are depthwise, with one or two output channels for each input channel. Some windows overlap, and some strides leave out elements.
fn cases() -> Vec<Case> {
    vec![
        case(&[4, 7], &[3], 6, 2, 2),
        case(&[4, 9], &[2], 4, 1, 4),
        case(&[4, 5, 4], &[3, 2], 2, 1, 2),
        case(&[3, 5, 6], &[2, 3], 3, 1, 3),
        case(&[3, 7, 5], &[3, 3], 6, 2, 3),
        case(&[6, 4, 4], &[1, 1], 4, 1, 2),
        case(&[2, 3, 4, 3], &[2, 3, 2], 3, 1, 1),
        case(&[4, 3, 3, 5], &[2, 2, 3], 4, 1, 2),
        case(&[2, 3, 4, 3], &[2, 2, 2], 2, 1, 2),
        transposed(case(&[3, 4], &[3], 2, 2, 1), 1, 1),
        transposed(case(&[4, 5], &[2], 4, 3, 4), 0, 2),
        transposed(case(&[2, 3, 4], &[3, 3], 3, 1, 1), 1, 0),
        transposed(case(&[4, 3, 2], &[2, 2], 6, 2, 2), 0, 0),
        transposed(case(&[4, 3, 3], &[3, 3], 4, 2, 4), 1, 1),
        transposed(case(&[3, 2, 3], &[3, 2], 3, 1, 3), 0, 0),
        transposed(case(&[2, 2, 3, 2], &[2, 2, 2], 3, 2, 1), 0, 0),
        transposed(case(&[4, 2, 2, 3], &[3, 2, 3], 2, 2, 2), 1, 1),
    ]
}

/// Returns all indices of an array with these sizes, in row-major order.
fn indices(sizes: &[usize]) -> Vec<Vec<usize>> {
    sizes.iter().fold(vec![Vec::new()], |all, size| {
        all.iter()
            .flat_map(|index| (0..*size).map(|at| [index.as_slice(), &[at]].concat()))
            .collect()
    })
}

fn offset(index: &[usize], sizes: &[usize]) -> usize {
    index.iter().zip(sizes).fold(0, |sum, (at, size)| sum * size + at)
}

impl Case {
    fn spatial(&self) -> &[usize] {
        &self.image[1..]
    }

    fn kernel_dims(&self) -> Vec<usize> {
        let channels = match self.is_transposed {
            true => [self.image[0], self.out / self.groups],
            false => [self.out, self.image[0] / self.groups],
        };
        [channels.as_slice(), &self.kernel].concat()
    }

    /// Returns the sizes of the result: those that PyTorch documents for `Conv1d` to `Conv3d` and `ConvTranspose1d` to `ConvTranspose3d`.
    fn result_dims(&self) -> Vec<usize> {
        let along = |(count, size): (&usize, &usize)| match self.is_transposed {
            true => (count - 1) * self.stride + size + self.output_padding - 2 * self.padding,
            false => (count - size) / self.stride + 1,
        };
        let mut dims = vec![self.out];
        dims.extend(self.spatial().iter().zip(&self.kernel).map(along));
        dims
    }

    /// Returns the contributions: the positions of an element of the image, of the kernel and of the result.
    fn terms(&self) -> Vec<[usize; 3]> {
        let (weights, dims) = (self.kernel_dims(), self.result_dims());
        let [out, into] = [self.out, self.image[0]].map(|channels| channels / self.groups);
        let mut terms = Vec::new();
        for group in 0..self.groups {
            for pair in indices(&[out, into]) {
                let (to, from) = (group * out + pair[0], group * into + pair[1]);
                let own = match self.is_transposed {
                    true => [from, pair[0]],
                    false => [to, pair[1]],
                };
                for window in indices(&self.kernel) {
                    let weight = offset(&[own.as_slice(), &window].concat(), &weights);
                    // `wide` are positions of the larger array, and `narrow` those of the smaller one.
                    let narrow = if self.is_transposed {
                        self.spatial()
                    } else {
                        &dims[1..]
                    };
                    for position in indices(narrow) {
                        let wide = position
                            .iter()
                            .zip(&window)
                            .map(|(at, step)| at * self.stride + step);
                        let wide: Vec<usize> = wide.map(|at| at.wrapping_sub(self.padding)).collect();
                        let large = if self.is_transposed {
                            &dims[1..]
                        } else {
                            self.spatial()
                        };
                        if wide.iter().zip(large).any(|(at, size)| at >= size) {
                            continue;
                        }
                        let (image, result) = match self.is_transposed {
                            true => (&position, &wide),
                            false => (&wide, &position),
                        };
                        let image = offset(&[&[from], image.as_slice()].concat(), &self.image);
                        terms.push([image, weight, offset(&[&[to], result.as_slice()].concat(), &dims)]);
                    }
                }
            }
        }
        terms
    }

    fn program(&self) -> String {
        let list = |sizes: &[usize]| sizes.iter().map(usize::to_string).collect::<Vec<_>>().join(", ");
        let call = match self.is_transposed {
            true => format!(
                "conv_transpose(image * x[0], kernel, {}, {}, {}, groups = {})",
                self.stride, self.padding, self.output_padding, self.groups
            ),
            false => format!("conv(image * x[0], kernel, {}, {})", self.stride, self.groups),
        };
        let count = self.result_dims().iter().product::<usize>();
        format!(
            "data rows = csv(\"rows.csv\") {{ target = y }}
model Net(x: real[2]) -> y: index({count}) {{
  image: real[{}] ~ Normal(0, 1)
  kernel: real[{}] ~ Normal(0, 1)
  y ~ Categorical(logits = reshape({call}, {count}))
}}
infer fit = map(Net, rows) {{ epochs = 1 }}
",
            list(&self.image),
            list(&self.kernel_dims())
        )
    }
}

fn numbers(name: &str, count: usize) -> Vec<f64> {
    (1..=count).map(|at| number(name, at)).collect()
}

fn sizes(columns: usize) -> Sizes {
    Sizes::default()
        .with(Symbol::Batch, ROWS)
        .with(Symbol::Columns, columns)
}

/// The results of the loops for all rows: the outputs, and their derivatives with respect to the image and the kernel.
struct Expected {
    outputs: Vec<f64>,
    slopes: [Vec<f64>; 2],
}

/// Returns the products of cotangents, `[row, column, output]`, with derivatives, `[row, output, element]`.
fn pulled(cotangents: &[f64], columns: usize, slopes: &[f64]) -> Vec<f64> {
    let count = cotangents.len() / (ROWS * columns);
    let elements = slopes.len() / (ROWS * count);
    let mut found = Vec::new();
    for (at, cotangent) in cotangents.chunks(count).enumerate() {
        let own = &slopes[at / columns * count * elements..][..count * elements];
        let of = |element: usize| {
            (0..count)
                .map(|to| cotangent[to] * own[to * elements + element])
                .sum::<f64>()
        };
        found.extend((0..elements).map(of));
    }
    found
}

fn expected(case: &Case) -> Expected {
    let counts = [&case.image, &case.kernel_dims(), &case.result_dims()].map(|dims| dims.iter().product());
    let [elements, weights, count]: [usize; 3] = counts;
    let (image, kernel) = (numbers("image/loc", elements), numbers("kernel/loc", weights));
    let factors = numbers("x", 2 * ROWS);
    let mut found = Expected {
        outputs: vec![0.0; ROWS * count],
        slopes: [elements, weights].map(|size| vec![0.0; ROWS * count * size]),
    };
    for row in 0..ROWS {
        let factor = factors[2 * row];
        for [from, weight, to] in case.terms() {
            let output = row * count + to;
            found.outputs[output] += factor * image[from] * kernel[weight];
            found.slopes[0][output * elements + from] += factor * kernel[weight];
            found.slopes[1][output * weights + weight] += factor * image[from];
        }
    }
    found
}

#[test]
fn outputs_and_derivatives_are_those_of_nested_loops() {
    for case in cases() {
        let name = format!("{case:?}");
        let expected = expected(&case);
        let found = approximated(&name, &case.program(), 2, ALL);
        let jacobian = found.jacobian.as_ref().unwrap();
        let ports = ["image/loc/$jacobian", "kernel/loc/$jacobian"];
        let one = sizes(1);
        let cotangents = numbers("$cotangents", expected.outputs.len());
        let wanted = expected
            .slopes
            .each_ref()
            .map(|slopes| pulled(&cotangents, 1, slopes));
        let outputs = &results(&found.rows, &one, &HashMap::new())["$outputs"];
        assert_close(&outputs.data, &expected.outputs, 1e-12, &name);
        let slopes = results(jacobian, &one, &HashMap::new());
        for (port, want) in ports.iter().copied().zip(&wanted) {
            assert_close(&slopes[port].data, want, 1e-12, &format!("{port} of {name}"));
        }
        let copied = compiled_without_views(jacobian, &one);
        for (port, want) in ports.iter().copied().zip(&wanted) {
            assert_close(
                &copied[port],
                want,
                1e-12,
                &format!("{port} with copies of windows of {name}"),
            );
        }
        for (precision, error) in [(Precision::F64, 1e-12), (Precision::F32, 1e-5)] {
            let outputs = &compiled(&found.rows, precision, &one, &HashMap::new())["$outputs"];
            assert_close(outputs, &expected.outputs, error, &format!("compiled {name}"));
            let slopes = compiled(jacobian, precision, &one, &HashMap::new());
            for (port, want) in ports.iter().copied().zip(&wanted) {
                assert_close(&slopes[port], want, error, &format!("compiled {port} of {name}"));
            }
        }
    }
}

/// The curvature of a kernel with groups is a full block: the gradient is not one outer product, but one for each group.
#[test]
fn kernels_with_groups_have_a_full_block_of_curvature() {
    for case in cases().into_iter().filter(|case| case.groups > 1) {
        let name = format!("factors of {case:?}");
        let found = approximated(&name, &case.program(), 2, ALL);
        let factors = found.factors.as_ref().unwrap();
        let weights = case.kernel_dims().iter().product::<usize>();
        let of_kernel = |block: &&WeightBlock| block.name.starts_with("kernel");
        let block = found.blocks.iter().find(of_kernel).unwrap();
        assert_eq!((block.left, block.right), (1, weights), "{name}");
        let slopes = &expected(&case).slopes[1];
        let outputs = case.result_dims().iter().product::<usize>();
        let gradients = pulled(&numbers("$cotangents", ROWS * 2 * outputs), 2, slopes);
        let mut want = vec![0.0; weights * weights];
        for gradient in gradients.chunks(weights) {
            for (at, sum) in want.iter_mut().enumerate() {
                *sum += gradient[at / weights] * gradient[at % weights];
            }
        }
        let port = format!("{}/$right", block.name);
        let got = results(factors, &sizes(2), &HashMap::new());
        assert_close(&got[&port].data, &want, 1e-12, &name);
        let machine = compiled(factors, Precision::F64, &sizes(2), &HashMap::new());
        assert_close(&machine[&port], &want, 1e-11, &format!("compiled {name}"));
    }
}

/// Evaluates a function of the parameter `image`, by the reference backend and by machine code.
fn check_function(image: &[usize], call: &str, want: &[f64]) {
    let list: Vec<String> = image.iter().map(usize::to_string).collect();
    let count = want.len() / ROWS;
    let text = format!(
        "data rows = csv(\"rows.csv\") {{ target = y }}
model Net(x: real[2]) -> y: index({count}) {{
  image: real[{}] ~ Normal(0, 1)
  y ~ Categorical(logits = reshape({call}, {count}))
}}
infer fit = map(Net, rows) {{ epochs = 1 }}
",
        list.join(", ")
    );
    let found = approximated(call, &text, 2, ALL);
    let outputs = &results(&found.rows, &sizes(1), &HashMap::new())["$outputs"];
    assert_close(&outputs.data, want, 1e-12, call);
    let outputs = &compiled(&found.rows, Precision::F64, &sizes(1), &HashMap::new())["$outputs"];
    assert_close(outputs, want, 1e-12, &format!("compiled {call}"));
}

#[test]
fn one_two_and_three_axes_are_pooled_padded_and_upsampled() {
    for image in [vec![2, 5], vec![3, 4, 3], vec![2, 3, 4, 3]] {
        let axes = image.len() - 1;
        let values = numbers("image/loc", image.iter().product());
        let factors = numbers("x", 2 * ROWS);
        // Returns the result with these sizes, whose elements depend on their index and on the factor of the row.
        let all = |sizes: &[usize], element: &dyn Fn(&[usize], f64) -> f64| -> Vec<f64> {
            let rows = factors.iter().step_by(2);
            rows.flat_map(|factor| indices(sizes).into_iter().map(|index| element(&index, *factor)))
                .collect()
        };
        let resized = |size: &dyn Fn(usize) -> usize| -> Vec<usize> {
            let rest = image[1..].iter().map(|own| size(*own));
            std::iter::once(image[0]).chain(rest).collect()
        };
        let window = |index: &[usize], stride: usize| -> Vec<f64> {
            let steps = indices(&vec![2; axes]).into_iter().map(|step| {
                let inner = index[1..].iter().zip(&step).map(|(at, step)| at * stride + step);
                let at: Vec<usize> = std::iter::once(index[0]).chain(inner).collect();
                values[offset(&at, &image)]
            });
            steps.collect()
        };
        let grown = all(&resized(&|size| size * 3), &|index, factor| {
            let rest = index[1..].iter().map(|at| at / 3);
            let at: Vec<usize> = std::iter::once(index[0]).chain(rest).collect();
            factor * values[offset(&at, &image)]
        });
        check_function(&image, "upsample(image * x[0], 3)", &grown);
        let means = all(&resized(&|size| size - 1), &|index, factor| {
            factor * window(index, 1).iter().sum::<f64>() / 2f64.powi(axes as i32)
        });
        check_function(&image, "mean_pool(image * x[0], 2, stride = 1)", &means);
        let largest = all(&resized(&|size| (size - 2) / 2 + 1), &|index, factor| {
            let scaled = window(index, 2).into_iter().map(|value| factor * value);
            scaled.fold(f64::NEG_INFINITY, f64::max)
        });
        check_function(&image, "max_pool(image * x[0], 2)", &largest);
        let padded = all(&resized(&|size| size + 2), &|index, factor| {
            let rest: Vec<usize> = index[1..].iter().map(|at| at.wrapping_sub(1)).collect();
            let inside = rest.iter().zip(&image[1..]).all(|(at, size)| at < size);
            let at = [&index[..1], &rest].concat();
            if inside {
                factor * values[offset(&at, &image)]
            } else {
                0.0
            }
        });
        check_function(&image, "pad(image * x[0], 1)", &padded);
    }
}
