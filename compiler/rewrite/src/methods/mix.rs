//! The training on mixtures of two rows (`mixup`, Zhang et al. 2018).
//!
//! The inputs of a step are already mixed: `share` times the input of a row plus `1 - share` times the input of its partner. The log-likelihood is
//! `share * log p(outputs of the row) + (1 - share) * log p(outputs of the partner)`. For classes, this is the cross-entropy of targets that are mixed
//! in the same proportions. For a Normal output with scale `sigma`, it is smaller than the log
//! density of the mixed target by `share * (1 - share) * (y1 - y2)^2 / (2 * sigma^2)`, so that a scale with a prior is estimated too large.

use crate::nodes;
use bnnc_abi::ports::PortName;
use bnnc_graph::builder::Builder;
use bnnc_graph::dist::Support;
use bnnc_graph::function::{Function, Value};
use bnnc_graph::model::{Input, Model};
use bnnc_graph::types::Type;

/// Returns the model with the further inputs of a step on mixtures: `share`, and the outputs of the partner of each row.
pub(super) fn model(model: &Model) -> Model {
    let partner = |output: &Input| Input {
        name: PortName::Partner.of(&output.name).into(),
        ..output.clone()
    };
    let share = Input {
        name: PortName::Share.into(),
        ty: Type::scalar(),
        support: Support::Real,
        row: false,
    };
    let more = model.outputs.iter().map(partner).chain([share]);
    Model {
        inputs: model.inputs.iter().cloned().chain(more).collect(),
        ..model.clone()
    }
}

/// Returns the log-likelihood of a row as a mean over its own outputs and those of its partner. `row` is the log-likelihood of a row, which is its
/// first result. Its other results do not depend on outputs.
pub(super) fn mixed(row: &Function, model: &Model) -> Function {
    let mut builder = Builder::new(&row.name);
    let own = nodes::params_of(&mut builder, row);
    let share = builder.param(PortName::Share.text(), Type::scalar());
    let is_output = |name: &str| model.outputs.iter().any(|output| *output.name == *name);
    let params = row.params.iter().zip(&own);
    let partner: Vec<Value> = params
        .map(|(param, own)| match nodes::param_name(row, *param) {
            name if is_output(name) => builder.param(&PortName::Partner.of(name), row.ty(*param).clone()),
            _ => *own,
        })
        .collect();
    let (own, partner) = (builder.inline(row, &own), builder.inline(row, &partner));
    let mut results = nodes::named(row, &own);
    if let (Some((_, first)), Some(other)) = (results.first_mut(), partner.first()) {
        // `other + share * (own - other)`: one product less than the sum of two products.
        let difference = builder.sub(*first, *other);
        let scaled = builder.mul(share, difference);
        *first = builder.add(*other, scaled);
    }
    builder.finish(results)
}
