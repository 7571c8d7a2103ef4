//! The names of the positions along axes: columns, levels and classes.
//!
//! The compiler computes the names once, from the program and its data. All tables, files and plots use these names.

use crate::schema::{FieldKind, Schema};
use serde::{Deserialize, Serialize};
use std::collections::HashSet;

/// The names that a program and its data give to the axes of parameters and to the classes of outputs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Names {
    /// The names of the axes of all parameters and computed quantities. An axis has `None` if its
    /// size is not a single dim.
    pub sites: Vec<(String, Vec<Option<String>>)>,
    /// The names of the axes of all parameters of layers, in the same form.
    #[serde(default)]
    pub layers: Vec<(String, Vec<Option<String>>)>,
    /// The dims whose positions have names.
    pub dims: Vec<PositionLabels>,
    /// The outputs whose classes have names.
    pub classes: Vec<PositionLabels>,
}

/// The names of the positions along a dim, or of the classes of an output.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PositionLabels {
    /// The name of the dim or of the output.
    pub of: String,
    /// The source from which the names are taken.
    pub from: LabelSource,
    /// The names, in the order of the positions.
    pub names: Vec<String>,
}

/// The source of the names of positions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum LabelSource {
    /// The levels of a column, or the words that it has for 0 and 1.
    Levels(String),
    /// The names of the input columns.
    Columns,
    /// The levels of a column at build time. The position of a value is the index of its level in
    /// this list.
    Codes(Vec<String>),
}

/// Returns the layer that declares a parameter, for example `blocks[1].first` for `blocks[1].first.w`; `None` if the model declares it itself.
pub fn layer_of(site: &str) -> Option<&str> {
    site.rsplit_once('.').map(|(layer, _)| layer)
}

/// Returns the layers that contain a declaration, the innermost first: `blocks[1].first` and `blocks[1]` for `blocks[1].first.w`.
pub fn layers_of(path: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(layer_of(path), |layer| layer_of(layer))
}

/// Returns the path of a declaration relative to a layer that contains it: `first.w` for `blocks[1].first.w` in `blocks[1]`. Returns `None` if the layer
/// does not contain the declaration.
pub fn path_in<'p>(layer: &str, path: &'p str) -> Option<&'p str> {
    path.strip_prefix(layer)?.strip_prefix('.')
}

impl LabelSource {
    /// Returns the names for the current data. Returns `None` if the source does not provide names,
    /// or if two positions would have the same name.
    pub fn names(&self, schema: &Schema) -> Option<Vec<String>> {
        let names = match self {
            LabelSource::Columns => schema.columns.clone(),
            LabelSource::Codes(levels) => levels.clone(),
            LabelSource::Levels(column) => {
                let field = schema.fields.iter().find(|field| field.name == *column)?;
                match &field.kind {
                    FieldKind::Levels(levels) => levels.clone(),
                    FieldKind::Int(0.., ..=1) if field.words => ["false", "true"].map(str::to_owned).into(),
                    FieldKind::Int(..) | FieldKind::Real => return None,
                }
            }
        };
        let distinct: HashSet<&String> = names.iter().collect();
        (distinct.len() == names.len() && !names.is_empty()).then_some(names)
    }
}

impl Names {
    /// Replaces the names by the names for other data. The sizes of the axes must be the same.
    pub fn relabel(&mut self, schema: &Schema) {
        for labels in self.dims.iter_mut().chain(&mut self.classes) {
            labels.names = labels.from.names(schema).unwrap_or_default();
        }
    }

    /// Returns whether a parameter is declared by the model itself, not by one of its layers.
    pub fn declares(&self, site: &str) -> bool {
        self.sites.iter().any(|(name, _)| name == site)
    }

    /// Returns the name of the dim of an axis of a parameter.
    pub fn dim(&self, site: &str, axis: usize) -> Option<&str> {
        let (_, dims) = self
            .sites
            .iter()
            .chain(&self.layers)
            .find(|(name, _)| name == site)?;
        dims.get(axis)?.as_deref()
    }

    /// Returns the names of the positions along an axis of a parameter; `None` if the number of names is not `size`.
    pub fn axis(&self, site: &str, axis: usize, size: usize) -> Option<&[String]> {
        let dim = self.dim(site, axis)?;
        let mut known = self.dims.iter().filter(|labels| labels.of == dim);
        let labels = known.find(|labels| labels.names.len() == size)?;
        Some(&labels.names)
    }

    /// Returns the names of the classes of an output; `None` if the number of names is not `count`.
    pub fn classes(&self, output: &str, count: usize) -> Option<&[String]> {
        let mut known = self.classes.iter().filter(|labels| labels.of == output);
        let labels = known.find(|labels| labels.names.len() == count)?;
        Some(&labels.names)
    }

    /// Returns the name of an element of a parameter (`tau`, `beta[age]`, `w[2,Oslo]`). Axes whose positions do not have names are indexed by
    /// number.
    pub fn element(&self, site: &str, shape: &[usize], element: usize) -> String {
        if shape.is_empty() {
            return site.to_owned();
        }
        let mut rest = element;
        let mut indices: Vec<String> = Vec::with_capacity(shape.len());
        for (axis, size) in shape.iter().enumerate().rev() {
            let position = rest % (*size).max(1);
            let name = self.axis(site, axis, *size).and_then(|names| names.get(position));
            indices.push(name.cloned().unwrap_or_else(|| position.to_string()));
            rest /= (*size).max(1);
        }
        indices.reverse();
        format!("{site}[{}]", indices.join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names() -> Names {
        Names {
            sites: vec![
                ("beta".to_owned(), vec![Some("d".to_owned())]),
                ("w".to_owned(), vec![None, Some("d".to_owned())]),
            ],
            layers: vec![("hidden.w".to_owned(), vec![None, Some("d".to_owned())])],
            dims: vec![PositionLabels {
                of: "d".to_owned(),
                from: LabelSource::Columns,
                names: ["age", "sex", "bmi"].map(str::to_owned).to_vec(),
            }],
            classes: Vec::new(),
        }
    }

    #[test]
    fn elements_have_the_names_of_their_axes() {
        let names = names();
        assert_eq!(names.element("tau", &[], 0), "tau");
        assert_eq!(names.element("beta", &[3], 2), "beta[bmi]");
        assert_eq!(names.element("w", &[2, 3], 4), "w[1,sex]");
        assert_eq!(names.element("theta", &[8], 3), "theta[3]");
        assert_eq!(names.element("hidden.w", &[4, 3], 9), "hidden.w[3,age]");
        assert!(names.declares("w") && !names.declares("hidden.w"));
    }

    #[test]
    fn names_are_not_used_for_axes_of_another_size() {
        assert_eq!(names().element("beta", &[4], 2), "beta[2]");
    }
}
