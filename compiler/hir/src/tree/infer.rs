//! Inference blocks, their options, and comparisons.

use super::Module;
use super::{DataId, InferId, ModelId, OptimiserId, PosteriorId, TypedExpr};
use bnnc_abi::augmentation::Augmentation;
use bnnc_abi::manifest::RateSchedule;
use bnnc_abi::method::MethodDef;
use bnnc_abi::method::declare::{Mismatch, OptionName, OptionSource, Ranking, RawOption};
use bnnc_abi::metrics::ComparedMetric;
use bnnc_base::source::Span;
use std::sync::Arc;

/// An inference block.
#[derive(Clone, Debug)]
pub struct InferItem {
    /// The name of the inference block.
    pub name: Arc<str>,
    /// The method.
    pub method: &'static MethodDef,
    /// The model or posterior to infer.
    pub target: InferenceTarget,
    /// The data item.
    pub data: DataId,
    /// The options that the program sets, checked against the schema of the method.
    pub options: Vec<CheckedSetting>,
    /// The position of the inference block's declaration.
    pub span: Span,
}

impl InferItem {
    /// Returns an option that the program sets.
    pub fn setting(&self, option: OptionName) -> Option<&CheckedSetting> {
        self.options
            .iter()
            .find(|setting| *setting.name == *option.as_str())
    }

    /// Returns the span of an option if the program sets exactly one of `options`. Otherwise,
    /// returns the span of the inference block.
    pub fn span_of(&self, options: &[OptionName]) -> Span {
        let mut set = options.iter().filter_map(|option| self.setting(*option));
        match (set.next(), set.next()) {
            (Some(setting), None) => setting.span,
            _ => self.span,
        }
    }
}

impl Module {
    /// Returns the model that an inference block fits.
    pub fn model_of(&self, target: InferenceTarget) -> ModelId {
        match target {
            InferenceTarget::Model(model) => model,
            InferenceTarget::Posterior(posterior) => self.posteriors[posterior].model,
        }
    }

    /// Reads the options of an inference block. An option that the program does not set has its
    /// default.
    ///
    /// # Errors
    /// Fails only if the checker or a method record has a bug.
    pub fn read<T>(
        &self,
        infer: &InferItem,
        read: impl FnOnce(&OptionSource<'_>) -> Result<T, Mismatch>,
    ) -> Result<T, Mismatch> {
        let given = |name: &str| {
            let setting = infer.options.iter().find(|setting| *setting.name == *name)?;
            Some(self.given(&setting.value))
        };
        read(&OptionSource {
            records: infer.method.options,
            given: &given,
        })
    }

    fn given<'a>(&'a self, value: &'a SettingValue) -> RawOption<'a> {
        let name = |infer: InferId| &*self.infers[infer].name;
        match value {
            SettingValue::Int(value) => RawOption::Int(*value),
            SettingValue::Real(value) => RawOption::Real(*value),
            SettingValue::Bool(value) => RawOption::Bool(*value),
            SettingValue::Word(word) => RawOption::Call(word, &[]),
            SettingValue::Optimiser(..) => RawOption::Optimiser,
            SettingValue::Infer(infer) => RawOption::Infer(name(*infer)),
            SettingValue::Reals(values) => RawOption::Reals(values),
            SettingValue::Names(names) => RawOption::Names(names),
            SettingValue::Call(word, numbers) => RawOption::Call(word, numbers),
            SettingValue::Schedule(schedule) => RawOption::Schedule(schedule),
            SettingValue::Augmentations(list) => RawOption::Augmentations(list),
            SettingValue::File(path) => RawOption::File(path),
            SettingValue::Subnetwork(size, _, Some(infer)) => {
                RawOption::Subnetwork(*size, Ranking::Infer(name(*infer)))
            }
            SettingValue::Subnetwork(size, score, None) => {
                RawOption::Subnetwork(*size, Ranking::Score(score))
            }
        }
    }
}

/// The target of an inference block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InferenceTarget {
    /// A posterior.
    Posterior(PosteriorId),
    /// A model.
    Model(ModelId),
}

/// A checked option.
#[derive(Clone, Debug)]
pub struct CheckedSetting {
    /// The name of the option.
    pub name: Arc<str>,
    /// The value of the option.
    pub value: SettingValue,
    /// The position of the option in the source.
    pub span: Span,
}

/// The value of an option.
#[derive(Clone, Debug)]
pub enum SettingValue {
    /// An integer.
    Int(i64),
    /// A real.
    Real(f64),
    /// True or false.
    Bool(bool),
    /// One of the option's words.
    Word(Arc<str>),
    /// An optimiser with its arguments in declared order, including defaults.
    Optimiser(OptimiserId, Vec<TypedExpr>),
    /// An earlier inference block.
    Infer(InferId),
    /// Numbers.
    Reals(Vec<f64>),
    /// Names.
    Names(Vec<Arc<str>>),
    /// A word or a call that the method interprets: `diagonal`, `low_rank(20)`.
    Call(Arc<str>, Vec<f64>),
    /// A schedule of the learning rate.
    Schedule(RateSchedule),
    /// Transformations of images, in the order in which they are applied.
    Augmentations(Vec<Augmentation>),
    /// A file with start values.
    File(Arc<str>),
    /// `subnetwork(size, by = score)`: the size and the name of the score. If the score is an
    /// inference block, the third field holds it.
    Subnetwork(f64, Arc<str>, Option<InferId>),
}

/// A comparison.
#[derive(Clone, Debug)]
pub struct CompareItem {
    /// The inference blocks to compare.
    pub infers: Vec<InferId>,
    /// The metrics.
    pub metrics: Vec<ComparedMetric>,
}
