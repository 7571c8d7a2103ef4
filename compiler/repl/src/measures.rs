//! The commands `:density`, `:draw` and `:kl`.

use super::commands::{CommandText, reject, usage};
use super::distribution::ValueSizes;
use super::divergence::divergence;
use super::{Diagnostics, Reply, Session, predictive, show};
use bnnc_base::dtype::DType;
use bnnc_driver::concrete::SampleSummary;
use bnnc_graph::tensor::Tensor;
use bnnc_hir::diagnostics::elaborate::limit;

/// The default number of draws of `:draw`.
const DRAWS: usize = 1000;

/// The default number of draws of `:kl`.
const KL_DRAWS: usize = 100_000;

/// The maximum number of draws.
const MOST_DRAWS: usize = 10_000_000;

/// The number of draws that `:draw` lists.
const LISTED: usize = 5;

/// Executes `:density`.
pub fn density(session: &mut Session, line: &CommandText, reply: &mut Reply) -> Result<(), Diagnostics> {
    if line.words.len() < 3 {
        return usage(line);
    }
    let value = session.argument(line, line.rest(2), reply)?;
    let dist = session.argument(line, line.without_comma(1), reply)?;
    let draw = session.next_draw();
    let (datum, computed) = session.computed(&value, draw)?;
    let Some((x, _)) = computed.number(&datum) else {
        return Err(limit(value.expr.span, "a number or an array is needed here").into());
    };
    let own = session.concrete_at(&dist, ValueSizes::Own, draw);
    let own = own.ok().filter(|concrete| concrete.sizes() == x.shape);
    let concrete = match own {
        Some(concrete) => concrete,
        None => session.concrete_at(&dist, ValueSizes::Sizes(&x.shape), draw)?,
    };
    if !concrete.admits(&x) {
        reply.result(format!(
            "log density -inf, density 0 (outside the support of `{}`)",
            concrete.instance.name
        ));
        return Ok(());
    }
    let log = concrete.log_density(&x);
    reply.result(format!(
        "log density {}, density {}",
        show::number(log),
        show::number(log.exp())
    ));
    Ok(())
}

/// Executes `:draw`.
pub fn draw(session: &mut Session, line: &CommandText, reply: &mut Reply) -> Result<(), Diagnostics> {
    let asked = line.word(2).map(count).transpose()?.unwrap_or(DRAWS);
    let Some(range) = line.without_comma(1) else {
        return usage(line);
    };
    if let Some(call) = predictive::call(&session.module, &line.part(range.clone())) {
        let outputs = session.predictive(&call, asked, reply)?;
        for output in &outputs {
            if outputs.len() > 1 {
                reply.result(output.name.to_string());
            }
            summary(
                &output.draws,
                &output.sizes,
                [String::new(), String::new()],
                reply,
            );
        }
        return Ok(());
    }
    let dist = session.argument(line, Some(range), reply)?;
    let draw = session.next_draw();
    let concrete = session.concrete_at(&dist, ValueSizes::Own, draw)?;
    let stream = session.streams(draw).name("draw");
    let draws = concrete.draws(&stream, draw, asked);
    let draws = draws.map_err(|why| limit(dist.expr.span, why.to_string()))?;
    let exact = |moment: Option<Tensor>| {
        moment.map_or_else(String::new, |moment| {
            format!(" (exact {})", show::tensor(&moment, DType::Real))
        })
    };
    let mean = concrete.moment(concrete.instance.mean.as_ref());
    let mut deviation = concrete.moment(concrete.instance.variance.as_ref());
    deviation
        .iter_mut()
        .flat_map(|variance| &mut variance.data)
        .for_each(|variance| *variance = variance.sqrt());
    summary(&draws, &concrete.sizes(), [exact(mean), exact(deviation)], reply);
    Ok(())
}

/// Shows the mean and the standard deviation of each element, and the first draws. `exact` contains
/// the exact mean and the exact standard deviation as text, if they are known.
fn summary(draws: &Tensor, sizes: &[usize], exact: [String; 2], reply: &mut Reply) {
    let elements: usize = sizes.iter().product();
    let of = |at: usize| {
        SampleSummary::of(
            &draws
                .data
                .iter()
                .skip(at)
                .step_by(elements.max(1))
                .copied()
                .collect::<Vec<_>>(),
        )
    };
    let samples: Vec<SampleSummary> = (0..elements).map(of).collect();
    let show = |part: &dyn Fn(&SampleSummary) -> f64| {
        let data = samples.iter().map(|sample| rounded(part(sample))).collect();
        show::tensor(&Tensor::new(sizes.to_vec(), data), DType::Real)
    };
    let [mean, deviation] = exact;
    reply.result(format!("mean {}{mean}", show(&|sample| sample.mean)));
    reply.result(format!("sd {}{deviation}", show(&|sample| sample.deviation)));
    let count = draws.shape[0];
    for at in 0..count.min(LISTED) {
        reply.result(show::tensor(&draws.leading(at), DType::Real));
    }
    if count > LISTED {
        reply.result(format!(".. of {count} draws"));
    }
}

/// Rounds to four significant digits, because the mean of a sample is not more precise.
pub fn rounded(value: f64) -> f64 {
    format!("{value:.3e}").parse().unwrap_or(value)
}

/// Executes `:kl`.
pub fn kl(session: &mut Session, line: &CommandText, reply: &mut Reply) -> Result<(), Diagnostics> {
    let draws = match (line.words.len(), line.word(3), line.word(4)) {
        (3, ..) => KL_DRAWS,
        (4, Some(number), _) | (5, Some("draws"), Some(number)) => count(number)?,
        _ => return usage(line),
    };
    let q = session.argument(line, line.without_comma(1), reply)?;
    let p = session.argument(line, line.words.get(2).cloned(), reply)?;
    let draw = session.next_draw();
    let mut of_q = session.concrete_at(&q, ValueSizes::Own, draw)?;
    let mut of_p = session.concrete_at(&p, ValueSizes::Own, draw)?;
    let (left, right) = (of_q.sizes(), of_p.sizes());
    match (left.is_empty(), right.is_empty()) {
        (true, false) => of_q = session.concrete_at(&q, ValueSizes::Sizes(&right), draw)?,
        (false, true) => of_p = session.concrete_at(&p, ValueSizes::Sizes(&left), draw)?,
        _ if left != right => {
            let (left, right) = (show::shape(&left), show::shape(&right));
            return reject(format!(
                "expected two distributions of the same shape, found {left} and {right}"
            ));
        }
        _ => {}
    }
    let stream = session.streams(draw).name("kl");
    let text = divergence(&of_q, &of_p, draws, &stream, draw);
    reply.result(text.map_err(|why| limit(q.expr.span.to(p.expr.span), why.to_string()))?);
    Ok(())
}

/// Parses a number of draws. The text may have the form `1e6`.
fn count(text: &str) -> Result<usize, Diagnostics> {
    let whole = |number: f64| (number.fract() == 0.0 && number < 1e15).then_some(number as usize);
    match text.parse().ok().or_else(|| whole(text.parse().ok()?)) {
        Some(count @ 2..=MOST_DRAWS) => Ok(count),
        _ => reject(format!(
            "expected a number of draws from 2 to {MOST_DRAWS}, found `{text}`"
        )),
    }
}
