//! Random transformations of the images of training rows.

use serde::{Deserialize, Serialize};
use std::fmt;

/// A random transformation of one image. The height and the width of the image stay the same.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Augmentation {
    /// Shifts the image by up to this number of pixels along each axis: a random crop of the image with a border of this width (He et al. 2016).
    Crop(usize),
    /// Exchanges left and right with probability 1/2 (He et al. 2016).
    Flip,
    /// Rotates the image about its centre by a uniform angle of at most this number of degrees in each direction.
    Rotate(f64),
    /// Replaces a square with sides of this number of pixels (DeVries and Taylor 2017).
    Cutout(usize),
    /// Mixes each row with another row in random proportions, with this parameter of the Beta distribution (Zhang et al. 2018).
    Mixup(f64),
}

/// A form in which programs write a transformation.
#[derive(Clone, Copy, Debug)]
pub struct AugmentationForm {
    /// The word, or the name of the call.
    pub word: &'static str,
    /// The argument of the call; `None` for a word.
    pub argument: Option<AugmentationArgument>,
    /// The effect on an image, in Markdown for the manual.
    pub doc: &'static str,
    /// Returns the transformation with this argument.
    of: fn(f64) -> Augmentation,
}

/// The argument of a transformation.
#[derive(Clone, Copy, Debug)]
pub struct AugmentationArgument {
    /// The name, which is also the unit.
    pub name: &'static str,
    /// The condition on the number as a predicate.
    pub expected: &'static str,
    /// Returns whether a number meets the condition.
    pub allows: fn(f64) -> bool,
}

/// The argument of transformations that take a number of pixels.
const PIXELS: Option<AugmentationArgument> = Some(AugmentationArgument {
    name: "pixels",
    expected: "is an integer from 1",
    allows: |number| number >= 1.0 && number.fract() == 0.0,
});

impl AugmentationForm {
    /// Returns the form as programs write it, with the name of the argument.
    pub fn source(&self) -> String {
        match self.argument {
            None => self.word.to_owned(),
            Some(argument) => format!("{}({})", self.word, argument.name),
        }
    }

    /// Returns the transformation with this argument. Words ignore the argument.
    pub fn with(&self, number: f64) -> Augmentation {
        (self.of)(number)
    }
}

impl Augmentation {
    /// The forms, in the order of the manual.
    pub const FORMS: &'static [AugmentationForm] = &[
        AugmentationForm {
            word: "crop",
            argument: PIXELS,
            doc: "adds a border of zeros of this width, and cuts out a window of the original size at a uniform position (He et al. 2016)",
            of: |pixels| Augmentation::Crop(pixels as usize),
        },
        AugmentationForm {
            word: "flip",
            argument: None,
            doc: "exchanges left and right with probability 1/2 (He et al. 2016)",
            of: |_| Augmentation::Flip,
        },
        AugmentationForm {
            word: "rotate",
            argument: Some(AugmentationArgument {
                name: "degrees",
                expected: "is a number above 0 and at most 180",
                allows: |number| number > 0.0 && number <= 180.0,
            }),
            doc: "rotates about the centre by a uniform angle between `-degrees` and `degrees`, with bilinear interpolation; pixels from outside the image are zero",
            of: Augmentation::Rotate,
        },
        AugmentationForm {
            word: "cutout",
            argument: PIXELS,
            doc: "sets a square with sides of this length to 0 in the units of the model; its centre is a uniform pixel, so the square may extend beyond the edge (DeVries and Taylor 2017)",
            of: |pixels| Augmentation::Cutout(pixels as usize),
        },
        AugmentationForm {
            word: "mixup",
            argument: Some(AugmentationArgument {
                name: "alpha",
                expected: "is a number above 0",
                allows: |number| number > 0.0 && number.is_finite(),
            }),
            doc: "replaces the image by `share` times the image plus `1 - share` times the image of another training row, with `share ~ Beta(alpha, alpha)`; the log likelihood is mixed in the same proportions (Zhang et al. 2018)",
            of: Augmentation::Mixup,
        },
    ];

    /// Returns the word of the transformation, and its argument.
    fn written(self) -> (&'static str, Option<f64>) {
        match self {
            Augmentation::Crop(pixels) => ("crop", Some(pixels as f64)),
            Augmentation::Flip => ("flip", None),
            Augmentation::Rotate(degrees) => ("rotate", Some(degrees)),
            Augmentation::Cutout(pixels) => ("cutout", Some(pixels as f64)),
            Augmentation::Mixup(alpha) => ("mixup", Some(alpha)),
        }
    }

    /// Returns the word of the transformation.
    pub fn word(self) -> &'static str {
        self.written().0
    }

    /// Returns whether the transformation mixes rows.
    pub fn mixes(self) -> bool {
        matches!(self, Augmentation::Mixup(_))
    }

    /// Returns the largest number of pixels that the transformation allows for an image whose shorter side has `side` pixels, if its own number is
    /// larger. A larger number could remove the whole image.
    pub fn excess(self, side: usize) -> Option<usize> {
        let (pixels, most) = match self {
            Augmentation::Crop(pixels) => (pixels, side.saturating_sub(1)),
            Augmentation::Cutout(pixels) => (pixels, side),
            Augmentation::Flip | Augmentation::Rotate(_) | Augmentation::Mixup(_) => return None,
        };
        (pixels > most).then_some(most)
    }
}

impl fmt::Display for Augmentation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.written() {
            (word, None) => f.write_str(word),
            (word, Some(number)) => write!(f, "{word}({number})"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The text of a transformation is its form with the argument in place of the name.
    #[test]
    fn every_form_is_written_as_programs_write_it() {
        for form in Augmentation::FORMS {
            let text = form.with(3.0).to_string();
            let expected = match form.argument {
                None => form.word.to_owned(),
                Some(_) => format!("{}(3)", form.word),
            };
            assert_eq!(text, expected);
            assert_eq!(form.with(3.0).word(), form.word);
        }
    }

    #[test]
    fn arguments_have_ranges() {
        let allows = |word: &str, number: f64| {
            let mut forms = Augmentation::FORMS.iter();
            let form = forms.find(|form| form.word == word);
            let argument = form.and_then(|form| form.argument);
            argument.is_some_and(|argument| (argument.allows)(number))
        };
        assert!(allows("crop", 1.0) && !allows("crop", 0.0) && !allows("crop", 1.5));
        assert!(!allows("cutout", f64::INFINITY) && !allows("cutout", f64::NAN));
        assert!(allows("rotate", 180.0) && !allows("rotate", 0.0) && !allows("rotate", 181.0));
    }

    #[test]
    fn a_crop_keeps_at_least_one_row_of_the_image() {
        assert_eq!(Augmentation::Crop(27).excess(28), None);
        assert_eq!(Augmentation::Crop(28).excess(28), Some(27));
        assert_eq!(Augmentation::Cutout(28).excess(28), None);
        assert_eq!(Augmentation::Cutout(29).excess(28), Some(28));
    }
}
