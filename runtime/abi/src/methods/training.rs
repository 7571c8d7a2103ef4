//! Trainings: their programs and options.

use crate::augmentation::Augmentation;
use crate::code::Artifact;
use crate::method::declare::{OptionField, OptionGroup, OptionValue, PRECISIONS, RawOption, options};
use crate::method::options::{DRAWS, few, from, listed};
use crate::method::{Finds, MethodDef, OptionKind, Phase, Takes};
use crate::methods::variational::{KlWeight, ViOptions};
use crate::part::MethodPart;
use crate::rate_schedule::{RatePlan, RateSchedule};
use crate::site_report::SiteReport;
use bnnc_base::dtype::Precision;
use bnnc_base::shape::{Sizes, Symbol};
use serde::{Deserialize, Serialize};

/// The record of `map`.
pub(crate) const MAP: MethodDef = MethodDef {
    name: "map",
    doc: "The maximum of the posterior density, by gradient steps.",
    options: listed![Training],
    takes: Takes::Either,
    finds: Finds::Training,
};

/// The part of an inference block that trains.
#[derive(Clone, Serialize, Deserialize)]
pub struct Train {
    /// The program of one training step.
    pub step: Artifact,
    /// The program that computes the loss and its gradient in double precision. This program exists
    /// if the optimiser updates few numbers. The program has the inputs of [`Train::step`]. The
    /// outputs of this program are `loss`, and `STATE/gradient` for the states that the optimiser
    /// moves.
    pub gradient: Option<Artifact>,
    /// True if the loss of given rows is random, because it depends on draws from a posterior or on
    /// random masks. The step number then selects the random numbers.
    pub has_noise: bool,
    /// True if the loss of a row depends on the other rows of its step, because the model normalises rows together.
    pub joins_rows: bool,
    /// The options that every training has.
    pub options: Training,
    /// The learning rate at the start.
    pub rate: f64,
    /// The options of variational inference; absent for other methods.
    pub vi: Option<ViOptions>,
    /// The programs of the pruning table, if the run has such a table.
    pub pruning: Option<Pruning>,
}

impl Train {
    /// Returns how the KL divergence is distributed over the batches of an epoch.
    pub fn kl_weight(&self) -> KlWeight {
        self.vi.as_ref().map_or(KlWeight::Exact, |vi| vi.kl_weight)
    }

    /// Returns the sizes of the buffers in a full training step if there are `rows` training rows.
    pub fn sizes(&self, rows: usize) -> Sizes {
        let (samples, draws) = self.vi.as_ref().map_or((1, 0), |vi| (vi.samples, vi.draws));
        Sizes::default()
            .with(Symbol::Batch, self.options.batch_of(rows))
            .with(Symbol::Draws, samples)
            .with(Symbol::KlDraws, draws.max(1))
            .with(Symbol::Examples, rows)
    }
}

impl MethodPart for Train {
    fn artifacts(&mut self) -> Vec<&mut Artifact> {
        let mut all = vec![&mut self.step];
        all.extend(&mut self.gradient);
        if let Some(pruning) = &mut self.pruning {
            all.extend([&mut pruning.moments, &mut pruning.predict]);
        }
        all
    }

    fn predictive_draws(&self) -> usize {
        self.options.predictive_draws
    }

    fn place(&mut self, option: &str) -> Option<OptionField<'_>> {
        self.options.place(option)
    }

    fn training(&self) -> Option<&Train> {
        Some(self)
    }

    fn training_mut(&mut self) -> Option<&mut Train> {
        Some(self)
    }

    fn has_spread(&self, sites: &[SiteReport]) -> bool {
        sites.iter().any(|site| !site.is_point)
    }
}

/// The programs and weights of a pruning table.
///
/// The weights are the elements of `sites`. The weights are ranked by their signal-to-noise ratio,
/// abs(mean) over standard deviation.
#[derive(Clone, Serialize, Deserialize)]
pub struct Pruning {
    /// The fractions of the weights to remove.
    pub fractions: Vec<f64>,
    /// The sites whose elements may be removed.
    pub sites: Vec<String>,
    /// The sites that are not pruned, each with the reason.
    pub untouched: Vec<(String, String)>,
    /// `(states..) -> SITE/mean, SITE/variance` for each of `sites`.
    pub moments: Artifact,
    /// The program [`crate::manifest::InferenceBlock::predict`] with an additional input `SITE/mask` for each
    /// site. The draws of the site are multiplied by the mask.
    pub predict: Artifact,
}

options! {
    /// Options of the methods that train.
    pub struct Training {
        /// Passes over the training rows. If `epochs` is not set, `steps` sets the length of the training.
        epochs: Option<usize> { "", from(1), Phase::Run,
            &["epoch", "iter", "iterations", "max_iter", "n_epochs", "num_epochs", "num_steps"] };
        /// Optimiser steps; the training continues to the end of the epoch in which it reaches this number.
        steps: usize { "20000", from(1), Phase::Run };
        /// Trainings from different random starts; the one with the lowest loss is kept.
        restarts: usize { "1", few(), Phase::Run };
        /// Rows per step; 0 means all rows.
        batch: usize { "128", from(0), Phase::Run, &["batch_size"] };
        /// The optimiser and its arguments.
        optimiser: OptimiserChoice { "Adam(5e-3)", OptionKind::Optimiser, Phase::Compile, &["learning_rate", "lr", "step_size", "stepsize"] };
        /// The learning rate over the run: `constant`; `cooldown` (constant in the first half, then falls to zero along a cosine); `cosine` (falls to
        /// zero along a cosine); `linear` (falls to zero linearly); `step(fraction, factor)` (multiplied by `factor` after this fraction of the
        /// epochs); `steps([m1, m2], factor)` (multiplied by `factor` at each milestone); `swa(start, final)` (constant, then linear to `final` times
        /// the rate, then constant); or `warmup(length, schedule)` (rises linearly at the start of another schedule).
        schedule: RateSchedule { "cooldown", OptionKind::Schedule, Phase::Run, &["lr_scheduler", "scheduler"] };
        /// The largest norm of the gradient of the loss per row over all parameters; longer gradients are shortened to this norm.
        clip: Option<f64> { "", OptionKind::Real(0.0, f64::INFINITY), Phase::Compile,
            &["clip_norm", "clip_grad_norm", "gradient_clip_val", "max_grad_norm"] };
        /// Random transformations of the images in each batch of training rows, applied in this order: `crop(pixels)`, `flip`, `rotate(degrees)`,
        /// `cutout(pixels)`, `mixup(alpha)`.
        augment: Vec<Augmentation> { "", OptionKind::Augmentations, Phase::Compile,
            &["augmentation", "augmentations", "data_augmentation", "transform", "transforms"] };
        /// Stop after this many epochs without improvement on the validation rows. With 0, the training never stops early.
        patience: usize { "0", from(0), Phase::Run };
        /// The number of posterior draws over which predictions average.
        predictive_draws: usize { "100", OptionKind::Int(1, DRAWS), Phase::Run };
        /// The start of the optimiser: the values of an earlier inference block, or `safetensors("FILE")`, a file with parameters by name.
        start: Option<StartFrom> { "", OptionKind::Start, Phase::Run };
        /// The width of reals.
        precision: Precision { "f32", OptionKind::Word(PRECISIONS), Phase::Compile };
    }
}

/// The length of a training.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    /// The training takes this number of passes over the training rows.
    Epochs(usize),
    /// The training takes this number of steps. The training ends at the end of the epoch in which
    /// it reaches this number.
    Steps(usize),
}

impl Training {
    /// Updates the length after an option was set. Setting `steps` removes `epochs`, so that the option that was set last applies.
    pub(crate) fn option_was_set(&mut self, option: &str) {
        if option == Training::steps().as_str() {
            self.epochs = None;
        }
    }

    /// Returns the length: `epochs` if it has a value, else `steps`.
    pub fn length(&self) -> Length {
        self.epochs.map_or(Length::Steps(self.steps), Length::Epochs)
    }

    /// Returns the number of rows of a full step if there are `rows` training rows. The number is
    /// at least 1.
    pub fn batch_of(&self, rows: usize) -> usize {
        match self.batch {
            0 => rows.max(1),
            batch => batch.min(rows).max(1),
        }
    }

    /// Returns the largest number of epochs that a training on `rows` rows can take.
    pub fn epochs_of(&self, rows: usize) -> usize {
        match self.length() {
            Length::Epochs(epochs) => epochs,
            Length::Steps(steps) => steps.div_ceil(self.batches_of(rows)),
        }
    }

    /// Returns the number of steps of an epoch over `rows` rows, which is at least 1.
    fn batches_of(&self, rows: usize) -> usize {
        rows.div_ceil(self.batch_of(rows)).max(1)
    }

    /// Returns the learning rates of a training on `rows` rows.
    pub fn rates(&self, rows: usize) -> RatePlan<'_> {
        let epochs = self.epochs_of(rows);
        let length = match self.length() {
            Length::Epochs(_) => epochs,
            Length::Steps(_) => epochs.saturating_mul(self.batches_of(rows)),
        };
        RatePlan::new(&self.schedule, length as f64)
    }
}

/// The optimiser of a training.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum OptimiserChoice {
    /// An optimiser that the program names, with its arguments.
    Given,
    /// The default optimiser: its name and learning rate.
    Default(String, f64),
}

impl OptionValue for OptimiserChoice {
    fn read(given: RawOption<'_>) -> Option<OptimiserChoice> {
        match given {
            RawOption::Optimiser => Some(OptimiserChoice::Given),
            RawOption::Call(name, &[rate]) => Some(OptimiserChoice::Default(name.to_owned(), rate)),
            _ => None,
        }
    }
}

/// The values from which the option `start` lets an optimiser or a chain begin.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum StartFrom {
    /// The values that an earlier inference run found.
    Infer(String),
    /// A safetensors file, by its path as the program writes it.
    File(String),
}

impl OptionValue for StartFrom {
    fn read(given: RawOption<'_>) -> Option<StartFrom> {
        match given {
            RawOption::Infer(name) => Some(StartFrom::Infer(name.to_owned())),
            RawOption::File(path) => Some(StartFrom::File(path.to_owned())),
            _ => None,
        }
    }
}
