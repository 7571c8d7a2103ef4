//! Normalisation layers against their formulas, written out element by element.

use super::probe;
use bnnc_base::dtype::DType;
use bnnc_base::shape::{Shape, Sizes};
use bnnc_base::source::{SourceId, Span};
use bnnc_graph::eval::evaluate;
use bnnc_graph::tensor::Tensor;
use bnnc_graph::types::Type;
use bnnc_hir::elaborate::datum::{Datum, DistDatum, LayerDatum};
use bnnc_hir::elaborate::frame::Elaborator;
use bnnc_math::philox;
use std::rc::Rc;

const CHANNELS: usize = 4;
const ROWS: usize = 2;
const COLUMNS: usize = 3;
const PIXELS: usize = ROWS * COLUMNS;

/// An argument of a layer, before it is a value of the elaboration.
#[derive(Clone, Copy)]
enum Argument {
    Bool(bool),
    Int(i64),
    Real(f64),
    /// The prior of weights whose values the test gives.
    Prior,
}

fn numbers(name: &str, count: usize) -> Vec<f64> {
    let key = philox::key(7, name);
    let at = |element: usize| 4.0 * philox::uniform(key, [0, 0, 0], element as u64) - 1.5;
    (0..count).map(at).collect()
}

/// Applies a layer to an image. The weights have one number for each channel.
fn apply(layer: &str, arguments: &[Argument], weights: &[(&str, &[f64])], image: &[f64]) -> Vec<f64> {
    let module = probe::module("");
    let mut elaborator = Elaborator::new(&module, "layer");
    let mut inputs = Vec::new();
    for (name, values) in weights {
        let ty = Type::real(Shape::fixed(&[CHANNELS]));
        let value = elaborator.builder.param(name, ty);
        elaborator.site_values.insert(format!("norm.{name}"), value);
        inputs.push(Tensor::new(vec![CHANNELS], values.to_vec()));
    }
    let shape = [CHANNELS, ROWS, COLUMNS];
    let x = elaborator.builder.param("x", Type::real(Shape::fixed(&shape)));
    inputs.push(Tensor::new(shape.to_vec(), image.to_vec()));
    let args = arguments.iter().map(|argument| match argument {
        Argument::Bool(is_true) => {
            Datum::Tensor(elaborator.constant(f64::from(u8::from(*is_true)), DType::Bool))
        }
        Argument::Real(number) => Datum::Tensor(elaborator.constant(*number, DType::Real)),
        Argument::Int(number) => Datum::Static(*number),
        Argument::Prior => Datum::Dist(Rc::new(DistDatum {
            dist: probe::named(&module, "Flat"),
            args: Vec::new(),
        })),
    });
    let found = module.layers.ids().find(|id| &*module.layers[*id].name == layer);
    let span = Span::new(SourceId(0), 0, 0);
    let datum = Datum::Layer(Rc::new(LayerDatum {
        layer: found.unwrap_or_else(|| panic!("no `{layer}`")),
        path: "norm".to_owned(),
        args: args.collect(),
        made: span,
    }));
    let result = elaborator.call_layer(&datum, vec![Datum::Tensor(x)], span);
    let Ok(Datum::Tensor(result)) = result else {
        panic!("{layer}: {result:?}")
    };
    let function = elaborator.builder.finish(vec![("y".into(), result)]);
    evaluate(&function, &inputs, &Sizes::default())[0].data.clone()
}

#[track_caller]
fn close(got: &[f64], want: impl Iterator<Item = f64>) {
    let want: Vec<f64> = want.collect();
    assert_eq!(got.len(), want.len());
    for (got, want) in got.iter().zip(&want) {
        assert!(
            (got - want).abs() < 1e-12 * (1.0 + want.abs()),
            "{got} is not {want}"
        );
    }
}

/// Returns an element of `image` shifted and scaled by the mean and the variance of the elements in `among`.
fn standardised(image: &[f64], at: usize, among: &[usize], epsilon: f64) -> f64 {
    let count = among.len() as f64;
    let mean = among.iter().map(|other| image[*other]).sum::<f64>() / count;
    let square = |other: &usize| (image[*other] - mean).powi(2);
    let variance = among.iter().map(square).sum::<f64>() / count;
    (image[at] - mean) / (variance + epsilon).sqrt()
}

#[test]
fn layer_norm_standardises_all_elements_or_each_position() {
    let image = numbers("image", CHANNELS * PIXELS);
    let every: Vec<usize> = (0..image.len()).collect();
    let got = apply(
        "LayerNorm",
        &[Argument::Bool(true), Argument::Real(0.01)],
        &[],
        &image,
    );
    close(
        &got,
        every.iter().map(|at| standardised(&image, *at, &every, 0.01)),
    );
    let got = apply(
        "LayerNorm",
        &[Argument::Bool(false), Argument::Real(0.01)],
        &[],
        &image,
    );
    let of_position = |at: &usize| {
        let same: Vec<usize> = (0..CHANNELS)
            .map(|channel| channel * PIXELS + at % PIXELS)
            .collect();
        standardised(&image, *at, &same, 0.01)
    };
    close(&got, every.iter().map(of_position));
}

#[test]
fn group_norm_standardises_each_group_and_scales_each_channel() {
    let image = numbers("image", CHANNELS * PIXELS);
    let (gain, shift) = (numbers("gain", CHANNELS), numbers("shift", CHANNELS));
    for groups in [1, 2, 4] {
        let arguments = [
            Argument::Int(groups as i64),
            Argument::Real(0.02),
            Argument::Prior,
        ];
        let got = apply(
            "GroupNorm",
            &arguments,
            &[("gain", &gain), ("shift", &shift)],
            &image,
        );
        let size = CHANNELS / groups * PIXELS;
        let want = |at: usize| {
            let first = at / size * size;
            let among: Vec<usize> = (first..first + size).collect();
            let channel = at / PIXELS;
            (1.0 + gain[channel]) * standardised(&image, at, &among, 0.02) + shift[channel]
        };
        close(&got, (0..image.len()).map(want));
    }
}

#[test]
fn filter_response_norm_divides_by_root_mean_squares_and_has_a_threshold() {
    let image = numbers("image", CHANNELS * PIXELS);
    let [gain, shift, threshold] = ["gain", "shift", "threshold"].map(|name| numbers(name, CHANNELS));
    let weights: [(&str, &[f64]); 3] = [("gain", &gain), ("shift", &shift), ("threshold", &threshold)];
    let got = apply(
        "FilterResponseNorm",
        &[Argument::Real(0.03), Argument::Prior],
        &weights,
        &image,
    );
    let mut cut = 0;
    let want = |at: usize| {
        let channel = at / PIXELS;
        let own = &image[channel * PIXELS..(channel + 1) * PIXELS];
        let power = own.iter().map(|x| x * x).sum::<f64>() / PIXELS as f64;
        let y = (1.0 + gain[channel]) * image[at] / (power + 0.03).sqrt() + shift[channel];
        cut += usize::from(y < threshold[channel]);
        y.max(threshold[channel])
    };
    close(&got, (0..image.len()).map(want));
    assert!(cut > 0 && cut < image.len(), "{cut}");
}

/// Three groups would split channels.
#[test]
fn groups_of_parts_of_channels_are_rejected() {
    let text =
        "model M(x: real[4, 2, 3]) -> y: real {\n  norm = GroupNorm(3)\n  y ~ Normal(mean(norm(x)), 1)\n}";
    let program = bnnc_driver::program::load("groups.bnn", text, &Default::default());
    let elaborated = bnnc_hir::elaborate::model::elaborate(
        &program.module,
        program.module.models.ids().next().expect("a model"),
        &Default::default(),
    );
    let error = elaborated.map(|_| ()).expect_err("an error");
    assert_eq!(error.code.id, "E0289");
    assert_eq!(
        error.message,
        "`channels / groups` is 4 / 3, which is not a whole number"
    );
}
