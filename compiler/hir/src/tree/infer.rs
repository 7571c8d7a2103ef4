//! Infers, their options, and comparisons.

use super::{DataId, Expr, InferId, ModelId, OptimiserId, PosteriorId};
use bnnc_abi::method::MethodDef;
use bnnc_abi::metrics::Measure;
use bnnc_base::source::Span;
use std::sync::Arc;

/// An infer.
#[derive(Clone, Debug)]
pub struct InferItem {
    /// Its name.
    pub name: Arc<str>,
    /// The method.
    pub method: &'static MethodDef,
    /// What is inferred.
    pub target: Target,
    /// From what.
    pub data: DataId,
    /// The options given, checked against the method's schema (only those given).
    pub options: Vec<Setting>,
    /// Where it is declared.
    pub span: Span,
}

/// What an infer works on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// A posterior.
    Posterior(PosteriorId),
    /// A model.
    Model(ModelId),
}

/// A checked option.
#[derive(Clone, Debug)]
pub struct Setting {
    /// Its name.
    pub name: Arc<str>,
    /// Its value.
    pub value: SettingValue,
    /// Where.
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
    /// An optimiser with its arguments in order, defaults filled.
    Optimiser(OptimiserId, Vec<Expr>),
    /// An earlier infer.
    Infer(InferId),
    /// Numbers.
    Reals(Vec<f64>),
    /// Names.
    Names(Vec<Arc<str>>),
    /// A word or call that the method itself understands: `cosine`, `step(0.5, 0.1)`.
    Call(Arc<str>, Vec<f64>),
    /// A file to start from.
    File(Arc<str>),
    /// `subnetwork(size, by = score)`, with the infer where the score is one.
    Subnetwork(f64, Arc<str>, Option<InferId>),
}

/// A comparison.
#[derive(Clone, Debug)]
pub struct CompareItem {
    /// The infers.
    pub infers: Vec<InferId>,
    /// The metrics.
    pub metrics: Vec<Measure>,
    /// Where.
    pub span: Span,
}
