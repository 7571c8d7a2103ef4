//! Finds the linear part of a model: the parameters that are multiplied by columns of the data.
//!
//! If columns are linearly dependent, their coefficients are not identifiable if the model uses them only in sums of products of coefficients
//! and columns. To find such sums, the analysis follows the model element by element. It starts from the values that enter a non-linear
//! operation, and goes back through sums and through products with data.

mod classes;
mod elements;
mod link;
mod uses;

use bnnc_abi::design::{ColumnFormula, Design, LinearSum, LinearTerm, PredictorLink};
use bnnc_base::arena::Id;
use bnnc_graph::attr::Attr;
use bnnc_graph::function::{Function, NodeKind, Value};
use bnnc_graph::model::Model;
use bnnc_graph::op::OpDef;
use bnnc_graph::ops;
use bnnc_math::scalar::Scalar;
use bnnc_rewrite::unroll::expand_maps;
use elements::{VIEWS, unflat};
use link::link;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;
use uses::{constants, used};

/// The analysis ignores a sum in which a value has more elements than this.
const MOST_ELEMENTS: usize = 4096;

/// The analysis ignores a sum with more terms than this. This is also the largest number of terms that the checks of
/// columns compare.
const MOST_TERMS: usize = 64;

/// The analysis stops after this number of operations in all sums together. This takes less than a second.
const MOST_STEPS: usize = 400_000;

/// An element of a parameter. If data select the element along an axis, the index along this axis is 0, and `selected_by` is the value with
/// the selected positions.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Coefficient {
    site: Arc<str>,
    selected_by: Option<Value>,
    index: Vec<usize>,
}

/// The terms of a sum: each coefficient, and the formula of its factor. If the factor does not have a formula, it is `None`.
type Terms = Vec<(Coefficient, Option<ColumnFormula>)>;

/// The terms of a sum whose factors all have formulas: each coefficient with its column.
type KnownTerms = Vec<(Coefficient, ColumnFormula)>;

/// The error if the analysis reaches one of its limits or needs an unknown size.
struct TooLong;

/// Returns the sums of a model that are linear in parameters.
pub fn design(model: &Model) -> Design {
    let function = &expand_maps(&model.function);
    let mut found = Linear {
        function,
        used: used(function),
        is_constant: constants(function),
        is_random: vec![false; function.nodes.len()],
        ports: Vec::new(),
        left_out: BTreeSet::new(),
        selections: HashMap::new(),
        is_partial: false,
        steps: 0,
    };
    for value in function.nodes.ids() {
        let of_args = function.args(value).iter().any(|arg| found.depends(*arg));
        found.is_random[value.index()] = of_args || found.is(value, &[&ops::sample::SAMPLE]);
    }
    // Parameters declared `local` are left out, because each example has its own element of them.
    let local = model.sites.iter().filter(|site| site.local);
    found.left_out.extend(local.map(|site| site.name.clone()));
    let mut sums: Vec<(Terms, Option<PredictorLink>)> = Vec::new();
    for root in found.roots() {
        let link = link(&found, root);
        match found.sums(root) {
            Ok(of_root) => {
                let link = match classes::are_logits(&found, root, &of_root) {
                    true => Some(PredictorLink::Classes),
                    false => link,
                };
                sums.extend(of_root.into_iter().map(|terms| (terms, link)));
            }
            Err(TooLong) => found.leave_out(root),
        }
    }
    found.finish(sums)
}

struct Linear<'f> {
    function: &'f Function,
    used: Vec<bool>,
    is_constant: Vec<bool>,
    /// For each value, whether the value depends on parameters.
    is_random: Vec<bool>,
    ports: Vec<String>,
    /// Parameters that the model also uses outside such sums. These other uses may make them identifiable.
    left_out: BTreeSet<Arc<str>>,
    /// The formulas of the positions that select elements of parameters.
    selections: HashMap<Value, ColumnFormula>,
    /// True if the last root contains terms that are not linear in parameters.
    is_partial: bool,
    steps: usize,
}

impl Linear<'_> {
    fn is(&self, value: Value, any: &[&'static OpDef]) -> bool {
        self.function.applies(value, any)
    }

    fn depends(&self, value: Value) -> bool {
        self.is_random[value.index()]
    }

    fn attrs(&self, value: Value) -> &[Attr] {
        match &self.function.nodes[value].kind {
            NodeKind::Param(_) => &[],
            NodeKind::Apply { attrs, .. } => attrs,
        }
    }

    fn sizes(&self, value: Value) -> Option<Vec<usize>> {
        self.function.ty(value).shape.static_sizes()
    }

    /// Returns whether a value is linear in its operand `at` while all other operands are data.
    fn is_linear_in(&self, user: Value, at: usize) -> bool {
        let args = self.function.args(user);
        if self.is(user, &SUMS) || self.is(user, &VIEWS) {
            true
        } else if self.is(user, &[&ops::mul::MUL, &ops::contract::CONTRACT]) {
            !self.depends(args[1 - at])
        } else if self.is(user, &[&ops::div::DIV]) {
            at == 0 && !self.depends(args[1])
        } else {
            // A selection by data is linear, because the data select one element of the parameter in each
            // row.
            let is_selection = || self.is(args[0], &[&ops::sample::SAMPLE]) && !self.depends(args[1]);
            at == 0
                && self.is(user, &[&ops::gather::GATHER])
                && (self.is_constant[args[1].index()] || is_selection())
        }
    }

    /// Returns the values that are operands of a non-linear operation.
    fn roots(&self) -> Vec<Value> {
        let mut roots = BTreeSet::new();
        let is_sample = |value: &Value| self.is(*value, &[&ops::sample::SAMPLE]);
        for user in self.function.nodes.ids() {
            if !self.used[user.index()] || is_sample(&user) {
                continue;
            }
            let args = self.function.args(user).iter().enumerate();
            let roots_of = args.filter(|(at, arg)| self.depends(**arg) && !self.is_linear_in(user, *at));
            roots.extend(roots_of.map(|(_, arg)| *arg));
        }
        roots.into_iter().collect()
    }

    /// Marks all parameters on which a root depends linearly as left out.
    fn leave_out(&mut self, root: Value) {
        let (mut open, mut seen) = (vec![root], HashSet::from([root]));
        while let Some(value) = open.pop() {
            if self.is(value, &[&ops::sample::SAMPLE]) {
                self.left_out.insert(ops::sample::site(self.attrs(value)).clone());
                continue;
            }
            let args = self.function.args(value).iter().enumerate();
            let linear = args.filter(|(at, arg)| self.depends(**arg) && self.is_linear_in(value, *at));
            open.extend(linear.map(|(_, arg)| *arg).filter(|arg| seen.insert(*arg)));
        }
    }

    /// Returns the linear terms of each element of a root.
    ///
    /// # Errors
    /// Fails if the root is a parameter or a view of a whole parameter, if a size is not known, or if the analysis reaches one of its limits.
    fn sums(&mut self, root: Value) -> Result<Vec<Terms>, TooLong> {
        let mut whole = root;
        while self.is(whole, &VIEWS) && self.function.args(whole).len() == 1 && !self.is(whole, &PARTS) {
            whole = self.function.args(whole)[0];
        }
        let sizes = self.sizes(root).ok_or(TooLong)?;
        let count = product_below(&sizes, MOST_ELEMENTS)?;
        if self.is(whole, &[&ops::sample::SAMPLE]) {
            return Err(TooLong);
        }
        let mut sums = Vec::new();
        self.is_partial = false;
        for at in 0..count {
            let mut terms = Terms::new();
            self.collect(
                (root, unflat(at, &sizes)),
                Some(ColumnFormula::Number(1.0)),
                &mut terms,
            )?;
            sums.push(terms);
        }
        Ok(sums)
    }

    /// Multiplies the terms of an element by a factor, and adds the results to the sum. `None` stands for a factor without a
    /// formula.
    fn collect(
        &mut self,
        (value, index): (Value, Vec<usize>),
        factor: Option<ColumnFormula>,
        terms: &mut Terms,
    ) -> Result<(), TooLong> {
        self.step()?;
        if !self.depends(value) {
            return Ok(());
        }
        let args = self.function.args(value).to_vec();
        if self.is(value, &[&ops::sample::SAMPLE]) {
            return self.term(self.coefficient(value, None, index), factor, terms);
        }
        if self.is(value, &[&ops::gather::GATHER]) && self.is_constant[args[1].index()] {
            let element = self.selected((value, index))?.ok_or(TooLong)?;
            return self.collect(element, factor, terms);
        }
        if self.is(value, &[&ops::gather::GATHER]) && self.is_linear_in(value, 0) {
            let axis = ops::gather::axis(self.attrs(value)) as usize;
            if self.function.ty(args[1]).rank() > 0 {
                return Err(TooLong);
            }
            let mut index = index;
            index.insert(axis, 0);
            if !self.selections.contains_key(&args[1]) {
                let position = self.formula((args[1], Vec::new())).unwrap_or_default();
                self.selections
                    .insert(args[1], position.unwrap_or(ColumnFormula::Number(-1.0)));
            }
            return self.term(self.coefficient(args[0], Some(args[1]), index), factor, terms);
        }
        if self.is(value, &SUMS) {
            return self.collect_sum((value, index), factor, terms);
        }
        if self.is(value, &VIEWS) {
            let element = self.viewed(value, index).ok_or(TooLong)?;
            return self.collect(element, factor, terms);
        }
        if self.is(value, &[&ops::mul::MUL]) && self.depends(args[0]) != self.depends(args[1]) {
            let (random, data) = if self.depends(args[0]) {
                (args[0], args[1])
            } else {
                (args[1], args[0])
            };
            let data = self.formula((data, index.clone()))?;
            return self.collect((random, index), times(factor, data), terms);
        }
        if self.is(value, &[&ops::div::DIV]) && self.is_linear_in(value, 0) {
            let data = self.formula((args[1], index.clone()))?;
            let inverse =
                data.map(|data| ColumnFormula::Apply(Scalar::Div, vec![ColumnFormula::Number(1.0), data]));
            return self.collect((args[0], index), times(factor, inverse), terms);
        }
        if self.is(value, &[&ops::contract::CONTRACT]) && self.depends(args[0]) != self.depends(args[1]) {
            return self.collect_products((value, index), &factor, terms);
        }
        // Any other operation is not linear, so each of its operands is a separate root.
        self.is_partial = true;
        Ok(())
    }

    fn collect_sum(
        &mut self,
        (value, index): (Value, Vec<usize>),
        factor: Option<ColumnFormula>,
        terms: &mut Terms,
    ) -> Result<(), TooLong> {
        let args = self.function.args(value).to_vec();
        let minus = |factor: &Option<ColumnFormula>| {
            let negated = factor.clone();
            negated.map(|factor| ColumnFormula::Number(-1.0).times(factor))
        };
        if self.is(value, &[&ops::reduce_sum::REDUCE_SUM]) {
            let axes = ops::reduce_sum::positions(self.attrs(value));
            let sizes = self.sizes(args[0]).ok_or(TooLong)?;
            let summed: Vec<usize> = axes.iter().map(|axis| sizes[*axis]).collect();
            for at in 0..product_below(&summed, MOST_TERMS)? {
                let (mut outer, mut inner) = (index.iter(), unflat(at, &summed).into_iter());
                let next = |axis: usize| match axes.contains(&axis) {
                    true => inner.next().unwrap_or(0),
                    false => outer.next().copied().unwrap_or(0),
                };
                let element = (0..sizes.len()).map(next).collect();
                self.collect((args[0], element), factor.clone(), terms)?;
            }
            return Ok(());
        }
        for (at, arg) in args.into_iter().enumerate() {
            let is_negative = match at {
                0 => self.is(value, &[&ops::neg::NEG]),
                _ => self.is(value, &[&ops::sub::SUB]),
            };
            let factor = if is_negative {
                minus(&factor)
            } else {
                factor.clone()
            };
            self.collect((arg, index.clone()), factor, terms)?;
        }
        Ok(())
    }

    /// Adds the products whose sum is an element of a contraction.
    fn collect_products(
        &mut self,
        (value, index): (Value, Vec<usize>),
        factor: &Option<ColumnFormula>,
        terms: &mut Terms,
    ) -> Result<(), TooLong> {
        let args = self.function.args(value).to_vec();
        let labels = ops::contract::parsed(self.attrs(value));
        let [left, right] = [args[0], args[1]].map(|arg| self.sizes(arg));
        let (left, right) = (left.ok_or(TooLong)?, right.ok_or(TooLong)?);
        let known = labels
            .left
            .iter()
            .zip(&left)
            .chain(labels.right.iter().zip(&right));
        let known: HashMap<char, usize> = known.map(|(letter, size)| (*letter, *size)).collect();
        let summed = labels.summed();
        let sizes: Vec<usize> = summed.iter().map(|letter| known[letter]).collect();
        for at in 0..product_below(&sizes, MOST_TERMS)? {
            let inner = unflat(at, &sizes);
            let place = |letter: &char| {
                let outer = labels.result.iter().position(|known| known == letter);
                let own = || summed.iter().position(|known| known == letter);
                outer
                    .map(|at| index[at])
                    .or_else(|| own().map(|at| inner[at]))
                    .unwrap_or(0)
            };
            let elements = [
                (args[0], labels.left.iter().map(place).collect::<Vec<usize>>()),
                (args[1], labels.right.iter().map(place).collect()),
            ];
            let [first, second] = elements;
            let (random, data) = if self.depends(args[0]) {
                (first, second)
            } else {
                (second, first)
            };
            let data = self.formula(data)?;
            self.collect(random, times(factor.clone(), data), terms)?;
        }
        Ok(())
    }

    fn step(&mut self) -> Result<(), TooLong> {
        self.steps += 1;
        (self.steps <= MOST_STEPS).then_some(()).ok_or(TooLong)
    }

    fn coefficient(&self, sample: Value, selected_by: Option<Value>, index: Vec<usize>) -> Coefficient {
        Coefficient {
            site: ops::sample::site(self.attrs(sample)).clone(),
            selected_by,
            index,
        }
    }

    /// Adds a term to a sum, or to the sum's existing term with the same coefficient.
    fn term(
        &mut self,
        coefficient: Coefficient,
        factor: Option<ColumnFormula>,
        terms: &mut Terms,
    ) -> Result<(), TooLong> {
        if factor.is_none() {
            self.left_out.insert(coefficient.site.clone());
        }
        match terms.iter_mut().find(|(known, _)| *known == coefficient) {
            Some((_, known)) => {
                let both = known.take().zip(factor);
                *known = both.map(|(a, b)| ColumnFormula::Apply(Scalar::Add, vec![a, b]));
            }
            None => terms.push((coefficient, factor)),
        }
        (terms.len() <= MOST_TERMS).then_some(()).ok_or(TooLong)
    }

    /// Drops the terms of parameters that are left out. It also drops a sum with only one term, or with the same factors as an earlier sum, if
    /// the coefficients of this sum do not occur in another sum.
    fn finish(mut self, sums: Vec<(Terms, Option<PredictorLink>)>) -> Design {
        let mut selected: HashMap<&Arc<str>, HashSet<Option<Value>>> = HashMap::new();
        let all = sums.iter().flat_map(|(terms, _)| terms);
        all.for_each(|(one, _)| {
            selected.entry(&one.site).or_default().insert(one.selected_by);
        });
        // Leaves out each parameter whose elements are selected by two columns, or by one column although the parameter is also used as a
        // whole. In some rows, two terms then contain the same element, and in other rows different ones.
        let mixed = selected.into_iter().filter(|(_, by)| by.len() > 1);
        self.left_out.extend(mixed.map(|(site, _)| site.clone()));
        let mut uses: HashMap<Coefficient, usize> = HashMap::new();
        let kept: Vec<(KnownTerms, Option<PredictorLink>)> = sums
            .into_iter()
            .map(|(terms, link)| {
                let kept = terms
                    .into_iter()
                    .filter(|(one, _)| !self.left_out.contains(&one.site));
                let kept = kept.filter_map(|(one, formula)| Some((one, unsigned(formula?))));
                (kept.collect(), link)
            })
            .collect();
        let all = kept.iter().flat_map(|(terms, _)| terms);
        all.for_each(|(one, _)| *uses.entry(one.clone()).or_default() += 1);
        let mut design = Design {
            ports: self.ports,
            ..Design::default()
        };
        let mut ids: HashMap<Coefficient, usize> = HashMap::new();
        let mut private: Vec<Vec<ColumnFormula>> = Vec::new();
        for (terms, link) in kept {
            if terms.iter().all(|(one, _)| uses[one] == 1) {
                let formulas: Vec<ColumnFormula> = terms.iter().map(|(_, formula)| formula.clone()).collect();
                let is_shifted = link == Some(PredictorLink::Classes) && !formulas.is_empty();
                if (formulas.len() < 2 && !is_shifted) || private.contains(&formulas) {
                    continue;
                }
                private.push(formulas);
            }
            let terms = terms.into_iter().map(|(one, column)| {
                let name = one.site.to_string();
                let selection = one.selected_by.and_then(|by| self.selections.get(&by).cloned());
                let coefficient = *ids.entry(one).or_insert_with(|| {
                    design.coefficients.push(name);
                    design.coefficients.len() - 1
                });
                LinearTerm {
                    coefficient,
                    column,
                    selection,
                }
            });
            let terms = terms.collect();
            design.sums.push(LinearSum { terms, link });
        }
        design
    }
}

/// The operations that add elements, either of several operands or of a single one.
static SUMS: [&OpDef; 4] = [
    &ops::add::ADD,
    &ops::sub::SUB,
    &ops::neg::NEG,
    &ops::reduce_sum::REDUCE_SUM,
];

/// The views that contain only some of the elements of their operand.
static PARTS: [&OpDef; 1] = [&ops::slice::SLICE];

/// Removes a factor of -1 from a product, because this factor only changes the sign of the coefficient.
fn unsigned(formula: ColumnFormula) -> ColumnFormula {
    match formula {
        ColumnFormula::Apply(Scalar::Mul, mut args) if args.len() == 2 => {
            let second = args.pop();
            let first = args.pop().filter(|first| *first != ColumnFormula::Number(-1.0));
            match (first.map(unsigned), second) {
                (None, Some(second)) => second,
                (Some(first), Some(second)) => first.times(second),
                (first, None) => first.unwrap_or(ColumnFormula::Number(1.0)),
            }
        }
        _ => formula,
    }
}

fn times(factor: Option<ColumnFormula>, data: Option<ColumnFormula>) -> Option<ColumnFormula> {
    factor.zip(data).map(|(factor, data)| factor.times(data))
}

/// Returns the product of some sizes.
///
/// # Errors
/// Fails if the product is above `most`.
fn product_below(sizes: &[usize], most: usize) -> Result<usize, TooLong> {
    let mut sizes = sizes.iter();
    let count = sizes.try_fold(1_usize, |product, size| product.checked_mul(*size));
    count.filter(|count| *count <= most).ok_or(TooLong)
}
