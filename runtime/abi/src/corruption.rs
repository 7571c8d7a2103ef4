//! Corruptions of images, with which tests measure how predictions change under a shift of the inputs.

use serde::{Deserialize, Serialize};
use std::fmt;

/// A corruption of one image, with the constants of CIFAR-10-C (Hendrycks and Dietterich 2019).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Corruption {
    /// Independent normal noise.
    GaussianNoise,
    /// Poisson noise.
    ShotNoise,
    /// Pixels that become black or white.
    ImpulseNoise,
    /// The blur of a disk.
    DefocusBlur,
    /// A blur with pixels that change places with neighbours.
    GlassBlur,
    /// A blur along a line.
    MotionBlur,
    /// The mean of several magnifications.
    ZoomBlur,
    /// Bright streaks.
    Snow,
    /// A layer of ice crystals.
    Frost,
    /// A bright fractal.
    Fog,
    /// A larger brightness.
    Brightness,
    /// A smaller contrast.
    Contrast,
    /// A random affine map, and random displacements.
    Elastic,
    /// A lower resolution.
    Pixelate,
    /// The losses of JPEG compression.
    Jpeg,
}

/// The name of a corruption, and its effect in Markdown for the manual.
#[derive(Clone, Copy, Debug)]
pub struct CorruptionForm {
    /// The corruption.
    pub corruption: Corruption,
    /// The name in programs and in `result.json`.
    pub name: &'static str,
    /// The effect on an image, with its constants at the severities 1 to 5.
    pub doc: &'static str,
}

const fn form(corruption: Corruption, name: &'static str, doc: &'static str) -> CorruptionForm {
    CorruptionForm {
        corruption,
        name,
        doc,
    }
}

impl Corruption {
    /// The corruptions, in the order of the paper.
    pub const FORMS: &'static [CorruptionForm] = &[
        form(
            Corruption::GaussianNoise,
            "gaussian_noise",
            "adds normal noise with the standard deviation 0.04, 0.06, 0.08, 0.09 or 0.1",
        ),
        form(
            Corruption::ShotNoise,
            "shot_noise",
            "replaces each number x by a Poisson count with the mean c x, divided by c = 500, 250, 100, 75 or 50",
        ),
        form(
            Corruption::ImpulseNoise,
            "impulse_noise",
            "sets 1, 2, 3, 5 or 7 % of the numbers to 0 or 1",
        ),
        form(
            Corruption::DefocusBlur,
            "defocus_blur",
            "convolves with a disk of the radius 0.3, 0.4, 0.5, 1 or 1.5 pixels, whose edge is smoothed",
        ),
        form(
            Corruption::GlassBlur,
            "glass_blur",
            "blurs, exchanges each pixel with a random neighbour (once or twice), and blurs again",
        ),
        form(
            Corruption::MotionBlur,
            "motion_blur",
            "blurs along a line at a random angle between -45 and 45 degrees",
        ),
        form(
            Corruption::ZoomBlur,
            "zoom_blur",
            "takes the mean of magnifications up to a factor of 1.06, 1.11, 1.15, 1.2 or 1.25",
        ),
        form(
            Corruption::Snow,
            "snow",
            "adds blurred random flakes, and brightens the image",
        ),
        form(
            Corruption::Frost,
            "frost",
            "mixes the image with a random texture of ice crystals; the published version uses photographs instead",
        ),
        form(
            Corruption::Fog,
            "fog",
            "adds a fractal of the diamond-square algorithm",
        ),
        form(
            Corruption::Brightness,
            "brightness",
            "adds 0.05, 0.1, 0.15, 0.2 or 0.3 to the value of the colour (HSV)",
        ),
        form(
            Corruption::Contrast,
            "contrast",
            "multiplies the distance from the mean of the channel by 0.75, 0.5, 0.4, 0.3 or 0.15",
        ),
        form(
            Corruption::Elastic,
            "elastic",
            "applies a random affine map, and displaces pixels by smoothed random distances",
        ),
        form(
            Corruption::Pixelate,
            "pixelate",
            "reduces the resolution to 95, 90, 85, 75 or 65 %, and restores the size",
        ),
        form(
            Corruption::Jpeg,
            "jpeg",
            "compresses with the JPEG quality 80, 65, 58, 50 or 40",
        ),
    ];

    /// Returns the corruption with this name in programs.
    pub fn find(name: &str) -> Option<Corruption> {
        let mut forms = Corruption::FORMS.iter();
        forms.find(|form| form.name == name).map(|form| form.corruption)
    }

    /// Returns the name in programs.
    pub fn name(self) -> &'static str {
        let mut forms = Corruption::FORMS.iter();
        forms
            .find(|form| form.corruption == self)
            .map_or("", |form| form.name)
    }
}

/// A corruption with its severity. A run computes the metrics of the test rows under each shift.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shift {
    /// The corruption.
    pub corruption: Corruption,
    /// The severity, from 1 to 5.
    pub severity: u8,
}

impl Shift {
    /// The largest severity.
    pub const SEVEREST: u8 = 5;

    /// Returns all severities of a corruption.
    pub fn severities(corruption: Corruption) -> impl Iterator<Item = Shift> {
        (1..=Shift::SEVEREST).map(move |severity| Shift { corruption, severity })
    }
}

impl fmt::Display for Shift {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}({})", self.corruption.name(), self.severity)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_finds_its_corruption() {
        assert_eq!(Corruption::FORMS.len(), 15);
        for form in Corruption::FORMS {
            assert_eq!(Corruption::find(form.name), Some(form.corruption));
            assert_eq!(form.corruption.name(), form.name);
        }
        let last = Shift::severities(Corruption::Fog).last();
        assert_eq!(last.map(|shift| shift.to_string()).as_deref(), Some("fog(5)"));
    }
}
