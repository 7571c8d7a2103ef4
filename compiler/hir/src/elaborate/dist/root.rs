//! Inverts the cumulative function of a distribution within an interval.
//!
//! Note \[Root\]. Let `y` be the coordinate of a value (see `truncated`). `H(y) = -log beyond(y)`
//! is the cumulative hazard, measured from the end. `log H` is nearly linear in `y`: near the end,
//! its slope is 1 if the density at the end is finite, and for an exponential distribution, the
//! slope is 1 everywhere. Newton's method for `log H` therefore converges in a few steps from every
//! point in a tail. Elsewhere, the search starts at a quantile of the whole distribution. This
//! quantile is computed with the declared quantile function, or estimated from the moments. Each
//! step maintains a bracket: an interval that contains the solution. If Newton's step leaves the
//! bracket, or is longer than half of the previous step, the bracket is bisected instead, so the
//! search never diverges.

use super::InstanceBuilder;
use super::truncated::{Origin, finite};
use crate::elaborate::frame::{Elaborated, Frame};
use crate::parts::DistributionPart;
use bnnc_base::shape::{Dim, Shape};
use bnnc_graph::attr::Attr;
use bnnc_graph::builder::{Builder, Window};
use bnnc_graph::dist::TailKind;
use bnnc_graph::function::{Function, Value};
use bnnc_graph::op::Interval;
use bnnc_graph::ops;
use bnnc_graph::types::Type;
use std::sync::Arc;

/// The largest absolute value of the coordinate `y` in a search.
const REACH: f64 = 70.0;
/// The number of steps if the search starts at a quantile of the whole distribution. In a test of
/// 30 families and intervals, the probability below a draw differed from the requested probability
/// by at most 2e-7 with 12 steps. With 8 steps, the difference was 2e-3 for
/// `StudentT(0.2, 1, 0.001)`, and 1e-4 for `Normal(0, 1)` between 8 and 9.
const STEPS: usize = 12;
/// The number of steps if the search starts at an end. It starts there if only the density at the
/// end is known. A narrow peak far from the end takes 20 steps.
const STEPS_FROM_END: usize = 22;
/// A Newton step shorter than this is accepted even if it leaves the bracket. Rounding errors alone
/// can make such a short step leave the bracket.
const TINY: f64 = 1e-3;
/// Above this cumulative hazard, the difference of two logarithms does not have any correct digits
/// in single precision.
const FAR: f64 = 1e4;
/// One over the standard deviation of the standard logistic distribution. The quantile function of this distribution is `logit(p)`.
const LOGISTIC: f64 = 0.551_328_895_421_792;
/// The standard deviation of the normal distribution whose density at its mean is one.
const NORMAL: f64 = 0.398_942_280_401_432_7;

/// The functions and values for a search in an interval.
pub(super) struct Search {
    pub(super) inside: Interval,
    /// A function of `(arguments.., y)` that returns `log beyond(y)` minus `log beyond` of the
    /// whole interval.
    beyond: Arc<Function>,
    /// A function of `(arguments.., y)` that returns the log density of `y`, normalised by the
    /// probability of the whole interval.
    pub(super) terms: Arc<Function>,
    /// The arguments of both functions: the parameters, `log beyond` of the whole interval, and a
    /// number that is 1 if values are measured from the upper end, and 0 otherwise.
    pub(super) arguments: Vec<Value>,
    is_upper: Option<Value>,
    /// The log density at the end from which values are measured, normalised by the probability of
    /// the whole interval.
    at_end: Option<Value>,
    guess: Option<Guess>,
}

/// The declared parts from which a quantile of the whole distribution is estimated.
enum Guess {
    /// The quantile function. The arguments of this function are the parameters of the distribution, followed by the probability `p`.
    Quantile(Arc<Function>),
    /// The median or the mean, the standard deviation, and the tail index if the density decays like a
    /// power.
    Moments(Value, Value, Option<Value>),
    /// The mean and the standard deviation of the logarithm of the value.
    OfLogarithm(Value, Value),
}

impl<'a> InstanceBuilder<'_, 'a, '_> {
    /// Returns the functions of a search. Returns `None` if the distribution does not have a
    /// cumulative function, or does not have a density.
    pub(super) fn search(&mut self, inside: Interval) -> Elaborated<Option<Search>> {
        let (Some(beyond), Some(terms)) = (self.beyond(inside)?, self.terms(inside)?) else {
            return Ok(None);
        };
        Ok(Some(Search {
            inside,
            beyond,
            terms,
            arguments: Vec::new(),
            is_upper: None,
            at_end: None,
            guess: None,
        }))
    }

    /// Adds the values that all roots of a search have in common to the function under
    /// construction.
    pub(super) fn begin(
        &mut self,
        search: &mut Search,
        origin: &Origin,
        frame: &mut Frame<'a>,
    ) -> Elaborated<()> {
        let mut densities = Vec::new();
        for end in [search.inside.lo, search.inside.hi] {
            let x = self
                .elaborator
                .constant(finite(end), bnnc_base::dtype::DType::Real);
            densities.extend(self.shaped_part(DistributionPart::LogDensity, x, frame)?);
        }
        search.guess = self.guess(frame)?;
        let b = &mut self.elaborator.builder;
        if let [low, high] = densities[..] {
            let at_end = b.select(origin.is_upper, high, low);
            let relative = b.sub(at_end, origin.whole);
            let log_width = match search.inside.is_bounded() {
                true => (search.inside.hi - search.inside.lo).ln(),
                false => 0.0,
            };
            search.at_end = Some(b.shift(relative, log_width));
        }
        let (one, zero) = (b.like(1.0, origin.whole), b.like(0.0, origin.whole));
        let upper = b.select(origin.is_upper, one, zero);
        search.is_upper = Some(origin.is_upper);
        search.arguments = self.parameters();
        search.arguments.extend([upper, origin.whole]);
        Ok(())
    }

    /// Adds the parameters of a search function, in the order of `arguments`, and returns them.
    pub(super) fn search_params(&self, body: &mut Builder) -> Vec<Value> {
        let own = self.params.iter().map(|(name, ty)| body.param(name, ty.clone()));
        let mut all: Vec<Value> = own.collect();
        all.extend(["upper", "whole"].map(|name| body.param(name, self.value.clone())));
        all
    }

    /// Adds the parameters of a search function after the distribution's own parameters. These are
    /// the origin (without `rest`) and `y`.
    fn coordinate(&mut self) -> (Origin, Value) {
        let ty = self.value.clone();
        let b = &mut self.elaborator.builder;
        let [upper, whole, y] = ["upper", "whole", "y"].map(|name| b.param(name, ty.clone()));
        let half = b.like(0.5, upper);
        let is_upper = b.lt(half, upper);
        let rest = None;
        (
            Origin {
                is_upper,
                whole,
                rest,
            },
            y,
        )
    }

    fn beyond(&mut self, inside: Interval) -> Elaborated<Option<Arc<Function>>> {
        self.function("beyond", |this, frame| {
            let (origin, y) = this.coordinate();
            let (x, _) = this.place(inside, origin.is_upper, y);
            let log = match (inside.lo.is_finite(), inside.hi.is_finite()) {
                (true, false) => this.shaped_part(DistributionPart::LogSurvival, x, frame)?,
                (false, _) => this.shaped_part(DistributionPart::LogCdf, x, frame)?,
                (true, true) => match (
                    this.shaped_part(DistributionPart::LogCdf, x, frame)?,
                    this.shaped_part(DistributionPart::LogSurvival, x, frame)?,
                ) {
                    (Some(cdf), Some(survival)) => {
                        Some(this.elaborator.builder.select(origin.is_upper, cdf, survival))
                    }
                    _ => None,
                },
            };
            Ok(log.map(|log| this.elaborator.builder.sub(log, origin.whole)))
        })
    }

    fn terms(&mut self, inside: Interval) -> Elaborated<Option<Arc<Function>>> {
        self.function("terms", |this, frame| {
            let (origin, y) = this.coordinate();
            let (x, _) = this.place(inside, origin.is_upper, y);
            let Some(density) = this.shaped_part(DistributionPart::LogDensity, x, frame)? else {
                return Ok(None);
            };
            let b = &mut this.elaborator.builder;
            let relative = b.sub(density, origin.whole);
            let slope = match inside.is_bounded() {
                true => {
                    let minus = b.neg(y);
                    let (below, above) = (b.log_sigmoid(y), b.log_sigmoid(minus));
                    let both = b.add(below, above);
                    b.shift(both, (inside.hi - inside.lo).ln())
                }
                false => y,
            };
            Ok(Some(b.add(relative, slope)))
        })
    }

    /// Returns the best of the declared parts from which a quantile can be estimated.
    fn guess(&mut self, frame: &mut Frame<'a>) -> Elaborated<Option<Guess>> {
        let item = self.item();
        if item.mixture {
            return Ok(None);
        }
        if item.declares(DistributionPart::Quantile) {
            let function = self.function(DistributionPart::Quantile.name(), |this, frame| {
                let ty = this.value.clone();
                let p = this.elaborator.builder.param("p", ty);
                this.shaped_part(DistributionPart::Quantile, p, frame)
            })?;
            return Ok(function.map(Guess::Quantile));
        }
        // Distributions with heavy tails may have a median but no mean.
        let centre = match item.declares(DistributionPart::Median) {
            true => DistributionPart::Median,
            false => DistributionPart::Mean,
        };
        if let [Some(centre), Some(variance)] = self.declared([centre, DistributionPart::Variance], frame)? {
            let density = self.shaped_part(DistributionPart::LogDensity, centre, frame)?;
            let index = item.ends.iter().find_map(|end| match &end.tail {
                Some((TailKind::Power, numbers)) => numbers.first(),
                _ => None,
            });
            let index = index.map(|index| self.shaped_number(index, frame)).transpose()?;
            let b = &mut self.elaborator.builder;
            let sd = b.sqrt(variance);
            let sd = match density {
                // The scale of the estimate is the standard deviation of a normal distribution with
                // this density at its centre.
                Some(density) => {
                    let minus = b.neg(density);
                    let width = b.exp(minus);
                    let width = b.scale(width, NORMAL);
                    let infinite = b.like(f64::INFINITY, variance);
                    let is_finite = b.lt(variance, infinite);
                    b.select(is_finite, sd, width)
                }
                None => sd,
            };
            return Ok(Some(Guess::Moments(centre, sd, index)));
        }
        match self.declared([DistributionPart::LogMean, DistributionPart::LogVariance], frame)? {
            [Some(mean), Some(variance)] => {
                let sd = self.elaborator.builder.sqrt(variance);
                Ok(Some(Guess::OfLogarithm(mean, sd)))
            }
            _ => Ok(None),
        }
    }

    /// Elaborates parts that depend only on the parameters.
    fn declared(
        &mut self,
        parts: [DistributionPart; 2],
        frame: &mut Frame<'a>,
    ) -> Elaborated<[Option<Value>; 2]> {
        let item = self.item();
        let mut found = [None, None];
        for (value, part) in found.iter_mut().zip(parts) {
            let body = item.value(part);
            *value = body.map(|body| self.shaped_number(body, frame)).transpose()?;
        }
        Ok(found)
    }

    /// Let `l` be the log probability of the values beyond `y`, relative to the whole interval.
    /// Returns the `y` for which `l` equals `wanted`.
    pub(super) fn root(&mut self, search: &Search, wanted: Value) -> Value {
        let ty = self.value.clone();
        let (start, steps) = self.start(search, wanted);
        let b = &mut self.elaborator.builder;
        let [low, high, last] = [-REACH, REACH, 2.0 * REACH].map(|value| b.splat(value, &ty.shape));
        let state = pack(b, &[low, high, start, last], &ty.shape);
        let ticks = b.literal(&[steps], &vec![0.0; steps]);
        let mut operands = vec![state, ticks];
        operands.extend(&search.arguments);
        operands.push(wanted);
        let body = Arc::new(self.step(search));
        let b = &mut self.elaborator.builder;
        let all = b.apply(
            &ops::scan::SCAN,
            &operands,
            vec![Attr::Function(body), Attr::Int(1)],
        );
        let window = Window::full(ty.rank() + 2)
            .with(0, steps - 1, steps)
            .with(1, 2, 3);
        let last = b.slice(all, window);
        b.reshape(last, &ty.shape)
    }

    /// Returns the function of one step, `(state, tick, arguments.., wanted) -> state`. The state
    /// consists of the bracket, the current point and the length of the last step.
    fn step(&self, search: &Search) -> Function {
        let ty = self.value.clone();
        let mut body = Builder::new("newton");
        let b = &mut body;
        let state = b.param("state", ty.with_shape(ty.shape.prepend(Dim::Fixed(4))));
        b.param("tick", Type::scalar());
        let mut args = self.search_params(b);
        let wanted = b.param("wanted", ty.clone());
        let part = |b: &mut Builder, at: usize| {
            let part = b.slice(state, Window::full(ty.rank() + 1).with(0, at, at + 1));
            b.reshape(part, &ty.shape)
        };
        let [low, high, y, last] = [0, 1, 2, 3].map(|at| part(b, at));
        args.push(y);
        let log = b.inline(&search.beyond, &args)[0];
        let density = b.inline(&search.terms, &args)[0];
        let is_nearer = b.lt(wanted, log);
        let (low, high) = (b.select(is_nearer, y, low), b.select(is_nearer, high, y));
        // Newton's step is the difference between the current and the sought `log H`, divided by
        // the slope of `log H`, which is `exp(density - log) / H`.
        let (hazard, sought) = (b.neg(log), b.neg(wanted));
        let [log_hazard, log_sought] = [hazard, sought].map(|x| b.log(x));
        let excess = b.sub(log_hazard, log_sought);
        let inverse = b.sub(log, density);
        let inverse = b.exp(inverse);
        let length = b.mul(hazard, inverse);
        let length = b.mul(excess, length);
        let newton = b.sub(y, length);
        let size = b.abs(length);
        let (tiny, far) = (b.like(TINY, size), b.like(-FAR, log));
        let twice = b.scale(size, 2.0);
        let conditions = [b.lt(low, newton), b.lt(newton, high), b.lt(twice, last)];
        let is_inside = b.and(conditions[0], conditions[1]);
        let is_inside = b.and(is_inside, conditions[2]);
        let is_tiny = b.lt(size, tiny);
        let is_good = b.or(is_inside, is_tiny);
        let is_exact = b.lt(far, log);
        let is_good = b.and(is_good, is_exact);
        let bounded = b.max(newton, low);
        let bounded = b.min(bounded, high);
        let middle = b.add(low, high);
        let middle = b.scale(middle, 0.5);
        let next = b.select(is_good, bounded, middle);
        let moved = b.sub(next, y);
        let moved = b.abs(moved);
        let state = pack(b, &[low, high, next, moved], &ty.shape);
        body.finish(vec![("state".into(), state)])
    }

    /// Returns the starting point of the search and its number of steps.
    fn start(&mut self, search: &Search, wanted: Value) -> (Value, usize) {
        let from_end = search.at_end.map(|density| {
            let b = &mut self.elaborator.builder;
            let sought = b.neg(wanted);
            let log = b.log(sought);
            let y = b.sub(log, density);
            within(b, y)
        });
        let guess = self.guessed(search, wanted);
        let b = &mut self.elaborator.builder;
        match (from_end, guess) {
            (Some(end), Some(guess)) => {
                let [of_end, of_guess] = [end, guess].map(|y| {
                    let arguments = [&search.arguments[..], &[y]].concat();
                    let log = b.inline(&search.beyond, &arguments)[0];
                    let hazard = b.neg(log);
                    let zero = b.zeros_like(hazard);
                    let hazard = b.max(hazard, zero);
                    let sought = b.neg(wanted);
                    let [hazard, sought] = [hazard, sought].map(|x| b.log(x));
                    let excess = b.sub(hazard, sought);
                    b.abs(excess)
                });
                let is_end = b.lt(of_end, of_guess);
                (b.select(is_end, end, guess), STEPS)
            }
            (None, Some(guess)) => (guess, STEPS),
            (Some(end), None) => (end, STEPS_FROM_END),
            (None, None) => (b.zeros_like(wanted), STEPS_FROM_END),
        }
    }

    /// Returns the coordinate `y` of the estimated quantile.
    fn guessed(&mut self, search: &Search, wanted: Value) -> Option<Value> {
        let (guess, is_upper) = (search.guess.as_ref()?, search.is_upper?);
        let parameters = self.parameters();
        let b = &mut self.elaborator.builder;
        // The estimate starts from the logit of the probability that the whole distribution has
        // below the value.
        let near = b.add(wanted, *search.arguments.last()?);
        let far = b.expm1(near);
        let far = b.neg(far);
        let far = b.log(far);
        let (below, above) = (b.sub(near, far), b.sub(far, near));
        let logit = b.select(is_upper, below, above);
        let x = match guess {
            Guess::Quantile(function) => {
                let p = b.sigmoid(logit);
                b.inline(function, &[&parameters[..], &[p]].concat())[0]
            }
            Guess::Moments(centre, sd, index) => {
                let wide = match index {
                    // In both tails, the estimate grows like `p ^ (-1 / index)` as the tail
                    // probability `p` decreases.
                    Some(index) => {
                        let part = b.div(logit, *index);
                        let (least, most) = (b.like(-30.0, part), b.like(30.0, part));
                        let part = b.max(part, least);
                        let part = b.min(part, most);
                        let minus = b.neg(part);
                        let (up, down) = (b.exp(part), b.exp(minus));
                        let twice = b.sub(up, down);
                        let sinh = b.scale(twice, 0.5);
                        b.mul(sinh, *index)
                    }
                    None => logit,
                };
                let wide = b.scale(wide, LOGISTIC);
                let offset = b.mul(*sd, wide);
                b.add(*centre, offset)
            }
            Guess::OfLogarithm(mean, sd) => {
                let wide = b.scale(logit, LOGISTIC);
                let offset = b.mul(*sd, wide);
                let log = b.add(*mean, offset);
                b.exp(log)
            }
        };
        Some(self.coordinate_of(search.inside, is_upper, x))
    }

    /// Returns the coordinate `y` of a value. For a value outside the interval, this is the
    /// coordinate of the nearest value inside.
    fn coordinate_of(&mut self, inside: Interval, is_upper: Value, x: Value) -> Value {
        let b = &mut self.elaborator.builder;
        let (low, high) = (b.like(finite(inside.lo), x), b.like(finite(inside.hi), x));
        let (above, below) = (b.sub(x, low), b.sub(high, x));
        let distance = b.select(is_upper, below, above);
        let least = b.like(1e-30, distance);
        let y = match inside.is_bounded() {
            true => {
                let part = b.scale(distance, 1.0 / (inside.hi - inside.lo));
                let most = b.like(1.0 - 1e-7, part);
                let part = b.max(part, least);
                let part = b.min(part, most);
                let minus = b.neg(part);
                let (log, rest) = (b.log(part), b.log1p(minus));
                b.sub(log, rest)
            }
            false => {
                let distance = b.max(distance, least);
                b.log(distance)
            }
        };
        within(b, y)
    }
}

/// Clamps a coordinate to the range of the search; NaN becomes zero.
fn within(b: &mut Builder, y: Value) -> Value {
    let [low, high, zero] = [-REACH, REACH, 0.0].map(|value| b.like(value, y));
    let is_number = b.le(y, y);
    let y = b.select(is_number, y, zero);
    let y = b.max(y, low);
    b.min(y, high)
}

/// Stacks values of one shape along a new first axis.
fn pack(b: &mut Builder, values: &[Value], shape: &Shape) -> Value {
    let parts: Vec<Value> = values
        .iter()
        .map(|value| b.reshape(*value, &shape.prepend(Dim::Fixed(1))))
        .collect();
    b.concat(&parts, 0)
}
