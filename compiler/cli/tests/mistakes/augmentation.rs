//! Tests errors in the option `augment`.

use crate::inference::fitted;
use crate::mistakes;
use crate::tables::line;

/// Returns eight rows with two images of 2 x 3 pixels, a vector of as many elements, and a target.
fn images() -> String {
    let pixel = |row: usize, at: usize| (row * 7 + at * 5) % 11;
    let vector = |row: usize| format!("{:?}", (0..6).map(|at| pixel(row, at)).collect::<Vec<usize>>());
    let image = |row: usize| {
        let line = |y: usize| {
            format!(
                "{:?}",
                (0..3).map(|x| pixel(row, 3 * y + x)).collect::<Vec<usize>>()
            )
        };
        format!("[[{}, {}]]", line(0), line(1))
    };
    let all = |of: &dyn Fn(usize) -> String| (0..8).map(of).collect::<Vec<String>>().join(", ");
    format!(
        "{{\"u\": [{0}], \"x\": [{0}], \"v\": [{1}], \"y\": [{2}]}}",
        all(&image),
        all(&vector),
        all(&|row| format!("{}.5", row % 3))
    )
}

/// Returns a linear model of six pixels.
fn pixels_of(inputs: &str, pixels: &str, infer: &str) -> String {
    format!(
        "data d = json(\"d.json\") {{ target = y }}
        model M({inputs}) -> y: real {{
          w: real[6] ~ Normal(0, 1)
          y ~ Normal(dot(w, {pixels}), 1)
        }}
        infer fit = {infer}"
    )
}

/// Returns a linear model of the pixels of one image.
fn on_images(infer: &str) -> String {
    pixels_of("x: real[1, 2, 3]", "flatten(x)", infer)
}

mistakes! {
    an_augmentation_of_columns: ["E0723"], [("d.csv", line(60, 0.5))],
        &fitted("map(M, d) { augment = [flip] }");

    an_augmentation_of_a_vector_of_pixels: ["E0723"], [("d.json", images())],
        &pixels_of("v: real[6]", "v", "map(M, d) { augment = [flip] }");

    a_border_as_wide_as_the_image: ["E0723"], [("d.json", images())],
        &on_images("map(M, d) { augment = [flip, crop(2)] }");

    an_augmentation_of_two_images: ["E0723"], [("d.json", images())],
        &pixels_of("u: real[1, 2, 3], x: real[1, 2, 3]", "flatten(u + x)", "map(M, d) { augment = [flip] }");

    an_augmentation_twice: ["E0258"], [("d.json", images())],
        &on_images("map(M, d) { augment = [flip, rotate(5), flip] }");

    a_mixture_before_a_transformation: ["E0258"], [("d.json", images())],
        &on_images("map(M, d) { augment = [mixup(0.2), flip] }");

    a_mixture_of_images_beside_a_vector: ["E0723"], [("d.json", images())],
        &pixels_of("x: real[1, 2, 3], v: real[6]", "v + flatten(x)", "map(M, d) { augment = [mixup(0.2)] }");

    an_augmentation_without_brackets: ["E0258"], [("d.json", images())],
        &on_images("map(M, d) { augment = flip }");

    an_unknown_augmentation: ["E0258"], [("d.json", images())],
        &on_images("map(M, d) { augment = [flop] }");

    an_angle_beyond_half_a_turn: ["E0258"], [("d.json", images())],
        &on_images("map(M, d) { augment = [rotate(degrees = 200)] }");

    an_augmentation_of_a_markov_chain: ["E0257"], [("d.json", images())],
        &on_images("sgld(M, d) { augment = [flip] }");

    an_augmentation_of_a_search_that_is_left_out: ["E0614"], [("d.json", images())],
        &(on_images("map(M, d)") + "\ninfer around = laplace(M, d) { start = fit, augment = [flip] }");

    an_augmentation_of_earlier_iterates: ["E0614"], [("d.json", images())],
        &(on_images("swag(M, d) { covariance = snapshots, warmup = 10, epochs = 20, optimiser = SGD(1e-4) }")
            + "\ninfer around = swag(M, d) { iterates = fit, covariance = point, augment = [flip] }");
}
