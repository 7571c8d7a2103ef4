//! Checks whether a model uses all levels of an axis in the same way. In such a model, a new level
//! does not affect the other levels.

use crate::diagnostics::LevelMixing;
use crate::unroll::expand_maps;
use bnnc_graph::attr::Attr;
use bnnc_graph::function::{Function, NodeKind, Value};
use bnnc_graph::op::OpDef;
use bnnc_graph::ops;

/// Returns whether the input with a given name selects levels.
pub type Selects<'a> = &'a dyn Fn(&str) -> bool;

/// Compares two elaborations of a model that differ only in the number of levels. An
/// element along such an axis may depend only on elements of its own level and on values that all
/// levels share. Only the inputs that satisfy `selects` may select a level.
///
/// # Errors
/// Fails if an op uses levels in different ways.
pub fn uniform(one: &Function, other: &Function, selects: Selects<'_>) -> Result<(), LevelMixing> {
    let (one, other) = (expand_maps(one), expand_maps(other));
    if one.nodes.len() != other.nodes.len() {
        return Err(LevelMixing::Positions);
    }
    let pair = Pair {
        one: &one,
        other: &other,
        selects,
    };
    for value in one.nodes.ids() {
        match (&one.nodes[value].kind, &other.nodes[value].kind) {
            (NodeKind::Param(name), NodeKind::Param(_)) => {
                if pair.grows(value) {
                    return Err(LevelMixing::Input(name.to_string()));
                }
            }
            (
                NodeKind::Apply { op, args, attrs },
                NodeKind::Apply {
                    op: also,
                    args: with,
                    attrs: those,
                },
            ) if op == also && args == with => {
                pair.same_attributes(op.0, attrs, those)
                    .ok_or(LevelMixing::Positions)?;
                if !pair.is_apart(value, op.0, args, attrs) {
                    return Err(LevelMixing::Value(pair.name(value, op.0)));
                }
            }
            _ => return Err(LevelMixing::Positions),
        }
    }
    Ok(())
}

/// One model, elaborated for two different numbers of levels. The two elaborations are compared
/// node by node.
struct Pair<'a> {
    one: &'a Function,
    other: &'a Function,
    selects: Selects<'a>,
}

impl Pair<'_> {
    /// Returns the axes of a value that are axes of levels.
    fn axes(&self, value: Value) -> Vec<usize> {
        let dims = self.one.ty(value).dims().iter().zip(self.other.ty(value).dims());
        let differ = dims.enumerate().filter(|(_, (one, other))| one != other);
        differ.map(|(axis, _)| axis).collect()
    }

    fn grows(&self, value: Value) -> bool {
        !self.axes(value).is_empty()
    }

    /// Returns `None` if the attributes of the two nodes differ. Only the shapes of constants and
    /// broadcasts may differ.
    fn same_attributes(&self, op: &'static OpDef, one: &[Attr], other: &[Attr]) -> Option<()> {
        let same = |(one, other): (&Attr, &Attr)| match (one, other) {
            (Attr::Shape(_), Attr::Shape(_)) => {
                op.is(&ops::constant::CONSTANT) || op.is(&ops::broadcast::BROADCAST)
            }
            (Attr::Dist(one), Attr::Dist(other)) => one.name == other.name,
            _ => one == other,
        };
        one.iter()
            .zip(other)
            .all(|pair| same(pair) || pair.0 == pair.1)
            .then_some(())
    }

    /// Returns whether each level of the result depends only on the same level of the operands.
    fn is_apart(&self, value: Value, op: &'static OpDef, args: &[Value], attrs: &[Attr]) -> bool {
        if args.iter().any(|arg| self.selects_level(*arg)) && !op.is(&ops::gather::GATHER) {
            return false;
        }
        let grown: Vec<Vec<usize>> = args.iter().map(|arg| self.axes(*arg)).collect();
        if op.is(&ops::gather::GATHER) {
            let picked = ops::gather::axis(attrs) as usize;
            let of_level = grown[0].contains(&picked);
            return grown[1].is_empty() && of_level == self.selects_level(args[1]);
        }
        if grown.iter().all(Vec::is_empty) {
            let grow = [
                &ops::constant::CONSTANT,
                &ops::broadcast::BROADCAST,
                &ops::sample::SAMPLE,
            ];
            return !self.grows(value) || op.is_one_of(&grow);
        }
        if op.is(&ops::sample::SAMPLE) {
            ops::sample::dist(attrs).elementwise && self.grows(value)
        } else if op.is(&ops::contract::CONTRACT) {
            let labels = ops::contract::parsed(attrs);
            let letters = [&labels.left, &labels.right];
            let mut summed = grown.iter().zip(letters).flat_map(|(axes, letters)| {
                axes.iter()
                    .map(|axis| letters[*axis])
                    .filter(|letter| !labels.result.contains(letter))
            });
            summed.next().is_none()
        } else if op.is(&ops::reduce_sum::REDUCE_SUM) || op.is(&ops::reduce_max::REDUCE_MAX) {
            let axes = ops::reduce_sum::axes(attrs);
            !grown[0].iter().any(|axis| axes.contains(&(*axis as i64)))
        } else {
            op.is_elementwise()
                || op.is(&ops::broadcast::BROADCAST)
                || op.is(&ops::transpose::TRANSPOSE)
                || op.is(&ops::stop_gradient::STOP_GRADIENT)
        }
    }

    /// Returns whether a value is an input that selects levels.
    fn selects_level(&self, value: Value) -> bool {
        self.one
            .param_name(value)
            .is_some_and(|name| (self.selects)(name))
    }

    /// Returns the name of a value for a message: either its name in the model, or the name of its
    /// op.
    fn name(&self, value: Value, op: &'static OpDef) -> String {
        let label = self.one.nodes[value].label.as_ref();
        let name = label.map_or(op.name, |label| label);
        name.trim_start_matches("reduce_").to_owned()
    }
}
