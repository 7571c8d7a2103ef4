//! Tests the kernels of convolutions and of sums over windows.

use crate::{DRAWS, batched, check, executor, gradients, real, relu};
use bnnc_abi::plan::PlanStep;
use bnnc_base::shape::Shape;
use bnnc_graph::builder::{Builder, Window};
use bnnc_graph::function::Function;
use bnnc_graph::types::Type;
use bnnc_loops::ir::LoopProgram;

/// A convolution of images with padding, and its derivatives.
fn convolution(size: usize, stride: usize, padding: usize) -> Function {
    labelled_convolution(&[5, 3, size, size], "ocab,ncabpq->nopq", stride, padding)
}

/// A convolution of images by a kernel with these dims. `labels` are those of the contraction of the kernel with the windows.
fn labelled_convolution(kernel: &[usize], labels: &str, stride: usize, padding: usize) -> Function {
    let mut b = Builder::new("convolution");
    let size = kernel[kernel.len() - 1];
    let (x, w) = (b.param("x", batched(&[3, 8, 7])), b.param("w", real(kernel)));
    let around = [0, 0, padding, padding];
    let padded = b.pad(x, &around, &around, &[0; 4]);
    let windows = b.patches(padded, &[size, size], &[stride, stride]);
    let product = b.contract(w, windows, labels);
    let y = relu(&mut b, product);
    let loss = b.contract(y, y, "nopq,nopq->");
    let results = gradients(&mut b, loss, &[x, w]);
    b.finish(vec![
        ("y".into(), y),
        ("dx".into(), results[0]),
        ("dw".into(), results[1]),
    ])
}

/// Returns the calls of a program by name, in order.
fn calls(program: &LoopProgram) -> Vec<&'static str> {
    let name = |step: &PlanStep| match step {
        PlanStep::Call(call) => Some(call.primitive.name),
        _ => None,
    };
    program.plan.steps.iter().filter_map(name).collect()
}

/// Returns the largest rank of a buffer.
fn largest_rank(program: &LoopProgram) -> usize {
    program
        .plan
        .buffers
        .iter()
        .map(|buffer| buffer.shape.rank())
        .max()
        .unwrap_or(0)
}

#[test]
fn a_convolution_is_one_product_that_reads_windows_in_place() {
    let mut b = Builder::new("convolution");
    let (x, w) = (
        b.param("x", batched(&[3, 8, 7])),
        b.param("w", real(&[5, 3, 3, 2])),
    );
    let windows = b.patches(x, &[3, 2], &[1, 1]);
    let product = b.contract(w, windows, "ocab,ncabpq->nopq");
    let y = relu(&mut b, product);
    let program = check(&b.finish(vec![("y".into(), y)]), &[]);
    assert_eq!(executor::counts(&program), (1, 1), "{program}");
    assert_eq!(calls(&program), ["contraction"], "{program}");
}

/// Without a product that reads windows, the windows of all images are copied once, and a matrix product with the kernel follows.
#[test]
fn backends_without_views_get_copies_of_windows() {
    for (size, stride, padding) in [(3, 1, 1), (3, 2, 0)] {
        let program = executor::without_views(&convolution(size, stride, padding));
        assert_eq!(calls(&program), ["matmul"; 3], "{program}");
        assert_eq!(largest_rank(&program), 6, "{program}");
    }
}

#[test]
fn derivatives_of_convolutions_with_stride_one_have_no_windows_in_memory() {
    for (size, padding) in [(3, 1), (3, 0), (2, 1), (1, 0)] {
        let program = check(&convolution(size, 1, padding), &[]);
        assert_eq!(calls(&program), ["contraction"; 3], "{program}");
        // Images and kernels have four axes, and windows have six.
        assert_eq!(largest_rank(&program), 4, "{program}");
    }
}

/// A depthwise convolution and its derivatives are sums of products that are not calls.
#[test]
fn depthwise_convolutions_have_no_windows_in_memory() {
    for (size, padding) in [(3, 1), (3, 0), (2, 1)] {
        let function = labelled_convolution(&[3, size, size], "cab,ncabpq->ncpq", 1, padding);
        let program = check(&function, &[]);
        assert!(calls(&program).is_empty(), "{program}");
        assert_eq!(largest_rank(&program), 4, "{program}");
    }
}

/// Reversing the kernel would multiply the number of operations if the kernel is about as large as the image.
#[test]
fn derivatives_of_large_kernels_and_strides_are_sums_of_windows() {
    for (size, stride, padding) in [(6, 1, 0), (3, 2, 1), (2, 3, 1)] {
        let program = check(&convolution(size, stride, padding), &[]);
        assert_eq!(calls(&program).len(), 3, "{program}");
        assert_eq!(largest_rank(&program), 6, "{program}");
    }
}

/// A window that starts at the first element maps every axis to itself, but has fewer points than
/// its operand. A sum over the window must not include the other points. For example, if a `concat`
/// extends a vector, the gradient of the vector is such a sum.
#[test]
fn sums_of_windows_do_not_include_points_outside() {
    let mut b = Builder::new("windows");
    let x = b.param("x", Type::real(Shape::fixed(&[4]).prepend(DRAWS)));
    let window = b.slice(x, Window::full(2).with(1, 0, 3));
    let sum = b.reduce_sum(window, &[0]);
    let function = b.finish(vec![("sum".into(), sum)]);
    check(&function, &[]);
}
