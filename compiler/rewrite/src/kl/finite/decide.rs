//! Decides whether the KL divergence of one element is finite.

use super::Finiteness;
use super::ends::{DensityEnd, DensityTail, SupportInterval};
use crate::kl::start::rounded;
use bnnc_graph::op::Interval;

/// The names of the family and the prior in messages.
pub struct DistNames<'a> {
    /// The name of the family.
    pub family: &'a str,
    /// The name of the prior.
    pub prior: &'a str,
}

/// The lower or the upper end of a range of values.
#[derive(Clone, Copy, PartialEq)]
enum Side {
    Low,
    High,
}

impl Side {
    fn of(self, part: &SupportInterval) -> DensityEnd {
        match self {
            Side::Low => part.low,
            Side::High => part.high,
        }
    }
}

/// Returns whether the divergence of one element is finite. `q` and `p` hold the intervals of this element.
pub fn of_element(q: &[SupportInterval], p: &[SupportInterval], names: &DistNames<'_>) -> Finiteness {
    q.iter().fold(Finiteness::Finite, |found, part| {
        found
            .and(covered(part, p, names))
            .and(at_end(Side::Low, part.low, p, names))
            .and(at_end(Side::High, part.high, p, names))
    })
}

/// Returns whether the prior has a density wherever the family has probability.
fn covered(q: &SupportInterval, p: &[SupportInterval], names: &DistNames<'_>) -> Finiteness {
    if p.iter().any(SupportInterval::is_line) {
        return Finiteness::Finite;
    }
    let unknown = |part: &&SupportInterval| part.low.at.is_nan() || part.high.at.is_nan();
    if unknown(&q) || p.iter().any(|part| unknown(&part)) {
        let name = if unknown(&q) { names.family } else { names.prior };
        return Finiteness::Unknown(format!("the ends of `{name}` depend on other sites"));
    }
    let mut reached = q.low.at;
    while reached < q.high.at {
        let next = p
            .iter()
            .filter(|part| part.low.at <= reached && part.high.at > reached);
        let next = next.map(|part| part.high.at).fold(f64::NEG_INFINITY, f64::max);
        if next <= reached {
            let starts = p.iter().map(|part| part.low.at).filter(|low| *low > reached);
            let gap = Interval::new(reached, starts.fold(q.high.at, f64::min)).inside();
            return Finiteness::Infinite(format!(
                "`{}` has zero density at {}, where the density of `{}` is positive",
                names.prior,
                rounded(gap),
                names.family
            ));
        }
        reached = next;
        if reached < q.high.at {
            let inside = p
                .iter()
                .any(|part| part.low.at < reached && reached < part.high.at);
            let end = DensityEnd {
                at: reached,
                tail: Some(DensityTail::Power(1.0)),
            };
            let junction = match inside {
                true => Finiteness::Finite,
                false => at_end(Side::Low, end, p, names).and(at_end(Side::High, end, p, names)),
            };
            if junction != Finiteness::Finite {
                return junction;
            }
        }
    }
    Finiteness::Finite
}

/// Returns the result for a distribution that does not declare its tails. The divergence may then
/// be infinite.
pub fn undeclared(name: &str) -> Finiteness {
    Finiteness::Unknown(format!(
        "`{name}` does not declare how fast its density falls (`tails = ..`)"
    ))
}

/// Returns whether the prior's log density has a finite mean near one end of the family.
fn at_end(side: Side, q: DensityEnd, p: &[SupportInterval], names: &DistNames<'_>) -> Finiteness {
    let contains = |part: &SupportInterval| part.low.at < q.at && q.at < part.high.at;
    if p.iter().any(contains) || (q.at.is_nan() && p.iter().any(SupportInterval::is_line)) {
        return Finiteness::Finite;
    }
    let ends = p.iter().map(|part| side.of(part)).filter(|end| end.at == q.at);
    // For a mixture, the component with the heaviest tail decides. If none of the prior's
    // components reaches this end, the prior density is zero there, and `covered` reports this.
    let found = ends.map(|end| falls(q, end, names));
    found
        .reduce(|best, other| match (&best, &other) {
            (Finiteness::Finite, _) => best,
            (_, Finiteness::Finite) => other,
            (Finiteness::Unknown(_), _) => best,
            _ => other,
        })
        .unwrap_or(Finiteness::Finite)
}

/// Returns whether the log density of the prior has a finite mean near an end at which both the family and
/// the prior end.
fn falls(q: DensityEnd, p: DensityEnd, names: &DistNames<'_>) -> Finiteness {
    let Some(of_p) = p.tail else {
        return undeclared(names.prior);
    };
    let Some(of_q) = q.tail else {
        return undeclared(names.family);
    };
    let (family, prior) = (names.family, names.prior);
    let place = if p.at.is_finite() {
        "near its end"
    } else {
        "in the tails"
    };
    let doubtful = || {
        Finiteness::Unknown(format!(
            "the rates at which the densities of `{prior}` and `{family}` fall depend on other sites"
        ))
    };
    let grows = if p.at.is_finite() { " of 1 / distance" } else { "" };
    match of_p {
        DensityTail::Power(_) | DensityTail::LogNormal => Finiteness::Finite,
        DensityTail::Exponential { order, .. } => match of_q {
            DensityTail::Power(index) if order < index => Finiteness::Finite,
            DensityTail::Power(index) if order >= index => {
                let (order, index) = (rounded(order), rounded(index));
                let power = |number: &str| match p.at.is_finite() {
                    true => format!("1 / |w|^{number}"),
                    false => format!("|w|^{number}"),
                };
                let place = if p.at == 0.0 { "near zero" } else { place };
                Finiteness::Infinite(format!(
                    "{place} the log density of `{prior}` falls like {}, but under `{family}` the mean of {} exists only for k < {index}",
                    power(&order.to_string()),
                    power("k"),
                ))
            }
            DensityTail::Power(_) => doubtful(),
            DensityTail::LogNormal | DensityTail::Exponential { .. } | DensityTail::DoubleExponential(_) => {
                Finiteness::Finite
            }
        },
        DensityTail::DoubleExponential(rate) => {
            let exists = match of_q {
                DensityTail::Power(_) | DensityTail::LogNormal => Some(false),
                DensityTail::Exponential { order, rate: of_q } => match (order, of_q) {
                    (order, _) if order.is_nan() => None,
                    (order, _) if order != 1.0 => Some(order > 1.0 && rate.is_finite()),
                    (_, of_q) if of_q.is_nan() || rate.is_nan() => None,
                    (_, of_q) => Some(rate < of_q),
                },
                DensityTail::DoubleExponential(_) => rate.is_finite().then_some(true),
            };
            match exists {
                Some(true) => Finiteness::Finite,
                None => doubtful(),
                Some(false) => Finiteness::Infinite(format!(
                    "{place} the log density of `{prior}` falls like an exponential{grows}, whose mean under `{family}` does not exist"
                )),
            }
        }
    }
}
