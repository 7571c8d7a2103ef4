//! The coefficients of the linear part of a model, divided into groups.
//! Coefficients of the same sum belong to the same group.

use bnnc_abi::design::{ColumnFormula, Design};
use bnnc_abi::names::layer_of;
use std::collections::{BTreeMap, BTreeSet};

/// At most this number of coefficients is compared.
pub(super) const COMPARED: usize = 60;

/// A coefficient, together with its column in each sum that contains it.
pub(super) struct Coefficient<'a> {
    pub name: &'a str,
    /// The columns of the coefficient. The key is the index of the sum.
    pub columns: BTreeMap<usize, &'a ColumnFormula>,
    /// True if the column is the same non-zero number in all sums with the coefficient. The column of a trend differs between sums.
    is_flat: bool,
    /// True if the coefficient is flat and is contained in all sums of its group.
    pub is_intercept: bool,
    /// True if the column does not depend on the data, and the coefficient is contained in only some sums of its group.
    is_deviation: bool,
}

impl Coefficient<'_> {
    /// Returns the value of the column if it is the same non-zero number in all sums that contain the coefficient. Otherwise returns `None`.
    fn flat(&self) -> Option<f64> {
        let mut numbers = self.columns.values().map(|formula| number(formula));
        let first = numbers.next().flatten().filter(|first| *first != 0.0)?;
        numbers.all(|other| other == Some(first)).then_some(first)
    }

    /// Returns whether no sum contains both coefficients.
    fn is_apart_from(&self, other: &Coefficient<'_>) -> bool {
        other.columns.keys().all(|sum| !self.columns.contains_key(sum))
    }

    /// Returns whether only the priors distinguish this coefficient from another coefficient. The data do not distinguish two coefficients with the
    /// same columns. The data also cannot distinguish a mean from a deviation that is added to it in some sums. The same holds for two such
    /// deviations of the same parameter.
    fn repeats(&self, known: &Coefficient<'_>) -> bool {
        let is_from_mean = known.is_intercept && self.is_flat;
        let are_deviations = known.is_deviation && self.is_deviation && known.name == self.name;
        known.columns == self.columns || is_from_mean || are_deviations
    }

    /// Returns a text that describes the column. `name` returns the names of elements. The text for a trend consists of its first values.
    pub(super) fn text(&self, name: &dyn Fn(usize, usize) -> String) -> String {
        let numbers = self.columns.values().map(|formula| number(formula));
        let numbers: Option<Vec<f64>> = numbers.take(4).collect();
        match numbers.as_deref() {
            Some([first, second]) => format!("{first}, {second}"),
            Some([first, second, third]) => format!("{first}, {second}, {third}"),
            Some([first, second, third, _]) => format!("{first}, {second}, {third}, .."),
            _ => {
                let text = self.columns.values().next();
                text.map(|formula| formula.text(name)).unwrap_or_default()
            }
        }
    }

    /// Returns whether this coefficient and another coefficient belong to units whose outputs are normalised
    /// together, as in the layer `GroupNorm`. The data
    /// of their columns then occur in several sums, with different factors. The dependence of the coefficients is a property of the normalisation, so
    /// leaving out a column would not help.
    pub(super) fn is_normalised_with(&self, other: &Coefficient<'_>) -> bool {
        let is_spread = self.columns.len() > 1 && other.columns.len() > 1;
        let is_layer = self.name == other.name && layer_of(self.name).is_some();
        is_spread && is_layer && self.data() == other.data()
    }

    /// Returns the ports and elements from which the columns are computed.
    fn data(&self) -> BTreeSet<(usize, usize)> {
        let mut data = BTreeSet::new();
        let mut open: Vec<&ColumnFormula> = self.columns.values().copied().collect();
        while let Some(formula) = open.pop() {
            match formula {
                ColumnFormula::Number(_) => {}
                ColumnFormula::Element { port, at } => {
                    data.insert((*port, *at));
                }
                ColumnFormula::Apply(_, args) => open.extend(args),
            }
        }
        data
    }

    /// If the column consists of a single element of a port, returns the port and the element.
    pub(super) fn element(&self) -> Option<(usize, usize)> {
        let mut columns = self.columns.values();
        match (columns.next(), columns.next()) {
            (Some(ColumnFormula::Element { port, at }), None) => Some((*port, *at)),
            _ => None,
        }
    }
}

/// Returns the value of a formula that does not depend on the data.
fn number(formula: &ColumnFormula) -> Option<f64> {
    formula.is_constant().then(|| formula.value(&|_, _| f64::NAN))
}

/// Divides the coefficients into groups. All coefficients of one sum belong to the same group. Returns the coefficients and the sums of each group.
pub(super) fn groups(design: &Design) -> Vec<(Vec<Coefficient<'_>>, Vec<usize>)> {
    let mut parent: Vec<usize> = (0..design.coefficients.len()).collect();
    fn root(parent: &[usize], mut at: usize) -> usize {
        while parent[at] != at {
            at = parent[at];
        }
        at
    }
    for sum in &design.sums {
        for pair in sum.terms.windows(2) {
            let a = root(&parent, pair[0].coefficient);
            let b = root(&parent, pair[1].coefficient);
            parent[a.max(b)] = a.min(b);
        }
    }
    let mut coefficients: BTreeMap<usize, BTreeMap<usize, Coefficient>> = BTreeMap::new();
    let mut sums: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
    for (at, sum) in design.sums.iter().enumerate() {
        for term in &sum.terms {
            let group = root(&parent, term.coefficient);
            sums.entry(group).or_default().insert(at);
            let of_group = coefficients.entry(group).or_default();
            let own = of_group.entry(term.coefficient).or_insert_with(|| Coefficient {
                name: &design.coefficients[term.coefficient],
                columns: BTreeMap::new(),
                is_flat: false,
                is_intercept: false,
                is_deviation: false,
            });
            own.columns.insert(at, &term.column);
        }
    }
    let mut groups = Vec::new();
    for (group, all) in coefficients {
        let sums: Vec<usize> = sums.get(&group).into_iter().flatten().copied().collect();
        let all = joined(all.into_values()).into_iter().map(|one| {
            let is_flat = one.flat().is_some();
            let is_everywhere = one.columns.len() == sums.len();
            let is_number = one.columns.values().all(|formula| formula.is_constant());
            Coefficient {
                is_flat,
                is_intercept: is_flat && is_everywhere,
                is_deviation: is_number && !is_everywhere,
                ..one
            }
        });
        groups.push((distinct(all.collect()), sums));
    }
    groups
}

/// Joins elements of a parameter that are multiplied by the same number in different sums. For example, the elements `a[j]` for several outputs `j`
/// together form an intercept.
fn joined<'a>(all: impl Iterator<Item = Coefficient<'a>>) -> Vec<Coefficient<'a>> {
    let mut joined: Vec<Coefficient> = Vec::new();
    let mut flat: BTreeMap<&str, (usize, f64)> = BTreeMap::new();
    for one in all {
        let Some(number) = one.flat() else {
            joined.push(one);
            continue;
        };
        let (at, first) = *flat.entry(one.name).or_insert((joined.len(), number));
        match joined.get_mut(at) {
            Some(known) if number == first && known.is_apart_from(&one) => known.columns.extend(one.columns),
            _ => joined.push(one),
        }
    }
    joined
}

/// Removes the coefficients that repeat other coefficients, and puts an intercept first. Stops when more than [`COMPARED`] coefficients are left,
/// because the caller does not compare that many.
fn distinct(mut all: Vec<Coefficient<'_>>) -> Vec<Coefficient<'_>> {
    all.sort_by_key(|one| !one.is_intercept);
    let mut kept: Vec<Coefficient> = Vec::new();
    for one in all {
        if !kept.iter().any(|known| one.repeats(known)) {
            kept.push(one);
        }
        if kept.len() > COMPARED {
            break;
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use bnnc_abi::design::{LinearSum, LinearTerm, PredictorLink};

    /// Returns a design with three sums, one for each row of a loop. `columns` holds the column of each coefficient in each sum.
    fn design(columns: &[[Option<ColumnFormula>; 3]]) -> Design {
        let sum = |at: usize| {
            let own = columns.iter().enumerate();
            let terms = own.filter_map(|(coefficient, columns)| {
                let column = columns[at].clone()?;
                Some(LinearTerm {
                    coefficient,
                    column,
                    selection: None,
                })
            });
            LinearSum {
                terms: terms.collect(),
                link: Some(PredictorLink::Identity),
            }
        };
        Design {
            coefficients: (0..columns.len()).map(|at| format!("c{at}")).collect(),
            ports: vec!["x".to_owned()],
            sums: (0..3).map(sum).collect(),
        }
    }

    /// The design must have a single group. Returns the names of its distinct coefficients, and whether the first of them is an intercept.
    fn kept(columns: &[[Option<ColumnFormula>; 3]]) -> (Vec<String>, bool) {
        let design = design(columns);
        let groups = groups(&design);
        assert_eq!(groups.len(), 1);
        let all = &groups[0].0;
        let names = all.iter().map(|one| one.name.to_owned());
        (names.collect(), all[0].is_intercept)
    }

    #[test]
    fn a_trend_is_not_an_intercept() {
        let number = |value: f64| Some(ColumnFormula::Number(value));
        let (ones, trend) = ([1.0; 3].map(number), [0.0, 1.0, 2.0].map(number));
        let series = [0, 1, 2].map(|at| Some(ColumnFormula::Element { port: 0, at }));
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        // The trend is kept in addition to the intercept. Without other coefficients, the trend does not become an intercept.
        let both = [trend.clone(), ones.clone(), series.clone(), ones.clone()];
        assert_eq!(kept(&both), (names(&["c1", "c0", "c2"]), true));
        assert_eq!(kept(&[trend, series.clone()]), (names(&["c0", "c1"]), false));
        // The levels of a loop are deviations from the intercept.
        let level = |own: usize| [0, 1, 2].map(|at| (at == own).then_some(ColumnFormula::Number(1.0)));
        assert_eq!(
            kept(&[level(0), level(1), ones, series.clone()]),
            (names(&["c2", "c3"]), true)
        );
        // A coefficient that is constant in only some sums is not an intercept. A coefficient whose constant is twice as large in one sum is not an
        // intercept either.
        let of_some = [number(1.0), number(1.0), None];
        assert_eq!(kept(&[of_some, series.clone()]), (names(&["c0", "c1"]), false));
        let uneven = [1.0, 1.0, 2.0].map(number);
        assert_eq!(kept(&[uneven, series]), (names(&["c0", "c1"]), false));
    }

    #[test]
    fn the_intercepts_of_several_sums_are_joined() {
        let level = |own: usize| [0, 1, 2].map(|at| (at == own).then_some(ColumnFormula::Number(1.0)));
        let series = [0, 1, 2].map(|at| Some(ColumnFormula::Element { port: 0, at }));
        let mut design = design(&[level(0), level(1), level(2), series]);
        design.coefficients = ["a", "a", "a", "b"].map(str::to_owned).to_vec();
        let of_group = |design: &Design| -> Vec<(String, bool)> {
            let all = groups(design).swap_remove(0).0.into_iter();
            all.map(|one| (one.name.to_owned(), one.is_intercept)).collect()
        };
        let named = |name: &str, is_intercept| (name.to_owned(), is_intercept);
        assert_eq!(of_group(&design), [named("a", true), named("b", false)]);
        design.coefficients[2] = "c".to_owned();
        let apart = [named("a", false), named("c", false), named("b", false)];
        assert_eq!(of_group(&design), apart);
    }

    #[test]
    fn the_search_stops_at_the_number_of_compared_coefficients() {
        let columns: Vec<[Option<ColumnFormula>; 3]> = (0..4096)
            .map(|at| [0; 3].map(|port| Some(ColumnFormula::Element { port, at })))
            .collect();
        assert_eq!(kept(&columns).0.len(), COMPARED + 1);
    }
}
