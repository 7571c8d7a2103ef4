//! The diagnostics of transformations of training images.

use bnnc_abi::augmentation::Augmentation;
use bnnc_abi::manifest::{Binding, Training};
use bnnc_base::quoted::quoted;
use bnnc_base::{codes, reports};
use bnnc_data::ImageSize;
use bnnc_hir::tree::InferItem;

codes! {
    /// The option `augment` does not fit the inputs of the model.
    pub NOT_AN_IMAGE = "E0723", "transformations that do not fit the image":
        "`augment` transforms the images of training rows at random. The model needs exactly one input of reals whose last two axes are the rows \
         and the columns of pixels. Axes before them are colour channels. A border or a square that is as large as the image could remove \
         all of its pixels. With `mixup`, the image must be the only input that differs between rows, \
         because the other inputs would not be mixed.\n\n\
         Wrong: `model Net(x: real[784]) -> ..` with `infer fit = map(Net, digits) { augment = [crop(2)] }`.\n\n\
         Right: `model Net(x: real[1, 28, 28]) -> ..`; inside the model, `flatten(x)` is the vector of its pixels.";
}

reports! {
    /// Reports an input that is not mixed although the image is.
    fn mixed_inputs(infer: &InferItem, input: &str)
        = error(NOT_AN_IMAGE, infer.span_of(&[Training::augment()]),
            "`mixup` mixes the images of two rows, but the model also reads `{input}` of one row")
        .help("leave out `mixup`, or use a model without the input `{input}`");

    /// Reports a transformation that could remove all pixels of an image. `most` is the largest number of pixels that is allowed.
    fn too_large(infer: &InferItem, augmentation: Augmentation, frame: ImageSize, most: usize)
        let ImageSize { height, width, .. } = frame;
        = error(NOT_AN_IMAGE, infer.span_of(&[Training::augment()]),
            "`{augmentation}` is too large for images of {height} x {width} pixels")
        .help(match (most, augmentation.word()) {
            (0, word) => format!("leave out `{word}`"),
            (_, word) => format!("write at most `{word}({most})`"),
        });

    /// Reports a model that has no image, or several images, among its inputs `images`.
    fn not_one_image(infer: &InferItem, model: &str, images: &[&Binding], vector: Option<&Binding>)
        let text = match images {
            [] => format!("`augment` transforms images, but no input of `{model}` is an image"),
            all => {
                let names = quoted(all.iter().map(|image| &image.port));
                format!("`augment` transforms one image, but `{model}` has several: {names}")
            }
        };
        = error(NOT_AN_IMAGE, infer.span_of(&[Training::augment()]), "{text}")
        .help(match (images, vector) {
            ([], Some(vector)) => format!(
                "`{}` has one axis: give it axes for rows and columns of pixels, such as `{0}: real[1, 28, 28]`, and use `flatten({0})` in the model",
                vector.port
            ),
            ([], None) => {
                "declare the image with axes for rows and columns of pixels, such as `x: real[1, 28, 28]`".to_owned()
            }
            _ => "join the images along their channels into one input of the data".to_owned(),
        });
}
