//! The command `:plot`. It shows densities of posterior values, of distributions and of priors,
//! intervals of arrays, and traces of chains.

use super::commands::{CommandText, misuse, reject, usage};
use super::distribution::ValueSizes;
use super::picture::{IntervalSummary, Picture, PictureContent, PictureMarks, ascending, columns, quantile};
use super::predictive::{self, PredictiveDraws};
use super::variables::VariableValue;
use super::{Checked, Diagnostics, Reply, Session, evaluate};
use bnnc_base::source::Span;
use bnnc_driver::concrete::{Concrete, NoDraws};
use bnnc_grammar::ast::Expr;
use bnnc_graph::dist::{MeasureKind, Support};
use bnnc_graph::tensor::Tensor;
use bnnc_hir::elaborate::datum::Datum;
use std::ops::Range;
use std::path::Path;

/// The largest number of densities in one picture.
const MOST: usize = 4;

/// The number of draws from which the range of a plotted distribution is determined. Plots of a
/// model's outputs use the same number of draws.
const DRAWS: usize = 4000;

/// The number of evaluated points on the curve of a density.
const POINTS: usize = 240;

/// In the plot of a discrete distribution, values in the tails are left out if their probability is
/// below this fraction of the largest one.
const SMALLEST: f64 = 1e-3;

/// One subject of a plot: an expression, a prior or a model.
struct Subject {
    /// The text as the user entered it.
    name: String,
    span: Span,
    content: PictureContent,
}

/// Executes `:plot`.
pub fn plot(session: &mut Session, line: &CommandText, reply: &mut Reply) -> Result<(), Diagnostics> {
    let is_svg = |path: &String| path.to_lowercase().ends_with(".svg");
    let last = line.words.len().saturating_sub(1);
    let target = line.path(last).filter(|path| last > 0 && is_svg(path));
    let words = if target.is_some() { last } else { last + 1 };
    let Some(range) = line
        .words
        .get(1..words)
        .and_then(|words| Some(words.first()?.start..words.last()?.end))
    else {
        return usage(line);
    };
    if let Some(path) = line.path(last).filter(|path| last > 1 && is_other_picture(path)) {
        return reject(format!("the name of a plot must end in `.svg`, found `{path}`"));
    }
    let mut subjects = Vec::new();
    for part in parts(&line.source.text, range) {
        subjects.push(session.subject(line, part, reply)?);
    }
    let picture = picture(subjects)?;
    match target {
        Some(path) => {
            let svg = session.world.host.svg(&picture);
            let written = session.world.host.write(Path::new(&path), &svg, None);
            written?;
            reply.note(&format!("the plot is in `{path}`"));
        }
        None => {
            let text = session.world.host.characters(&picture, session.world.width);
            reply.result(text.trim_end());
        }
    }
    Ok(())
}

/// Returns whether a word is the name of a picture file in a format other than SVG.
fn is_other_picture(word: &str) -> bool {
    let ending = word.rsplit_once('.').map(|(_, ending)| ending.to_lowercase());
    ending.is_some_and(|ending| {
        ["eps", "gif", "html", "jpeg", "jpg", "pdf", "png", "txt"].contains(&ending.as_str())
    })
}

/// Splits a part of a text at commas. Commas inside brackets or quotes are ignored.
fn parts(text: &str, range: Range<usize>) -> Vec<Range<usize>> {
    let (mut depth, mut is_quoted, mut start) = (0usize, false, range.start);
    let mut parts = Vec::new();
    for (at, letter) in text.get(range.clone()).unwrap_or_default().char_indices() {
        is_quoted ^= letter == '"';
        match letter {
            '(' | '[' | '{' if !is_quoted => depth += 1,
            ')' | ']' | '}' if !is_quoted => depth = depth.saturating_sub(1),
            ',' if depth == 0 && !is_quoted => {
                parts.push(start..range.start + at);
                start = range.start + at + 1;
            }
            _ => {}
        }
    }
    parts.push(start..range.end);
    parts.into_iter().map(|part| trimmed(text, part)).collect()
}

fn trimmed(text: &str, range: Range<usize>) -> Range<usize> {
    let part = text.get(range.clone()).unwrap_or_default();
    let start = range.start + (part.len() - part.trim_start().len());
    start..start + part.trim().len()
}

/// Combines the subjects of a plot into one picture.
fn picture(subjects: Vec<Subject>) -> Result<Picture, Diagnostics> {
    let title = subjects
        .iter()
        .map(|subject| &*subject.name)
        .collect::<Vec<_>>()
        .join(", ");
    let label = match subjects.as_slice() {
        [only] => only.name.clone(),
        _ => String::new(),
    };
    if subjects.len() > MOST {
        return reject(format!(
            "a plot shows at most {MOST} densities, found {}",
            subjects.len()
        ));
    }
    let is_single = subjects.len() == 1;
    let mut layers = Vec::new();
    for subject in subjects {
        match subject.content {
            PictureContent::Densities(own) => layers.extend(own),
            content if is_single => {
                return Ok(Picture {
                    title,
                    label,
                    content,
                });
            }
            PictureContent::Intervals(_) | PictureContent::Traces(_) => {
                let text = format!("`{}` cannot share a plot with others", subject.name);
                return Err(misuse(subject.span, text)
                    .help("plot the density of a single number instead, such as `fit.beta[0]`")
                    .into());
            }
        }
    }
    Ok(Picture {
        title,
        label,
        content: PictureContent::Densities(layers),
    })
}

impl Session {
    /// Evaluates one subject of a plot.
    fn subject(
        &mut self,
        line: &CommandText,
        range: Range<usize>,
        reply: &mut Reply,
    ) -> Result<Subject, Diagnostics> {
        let text = line.source.text.get(range.clone()).unwrap_or_default().to_owned();
        let after = |word: &str| {
            let rest = text
                .strip_prefix(word)
                .filter(|rest| rest.starts_with(char::is_whitespace));
            rest.map(|rest| trimmed(&line.source.text, range.end - rest.len()..range.end))
        };
        let content = if let Some(range) = after("prior") {
            let written = line.expression(range.clone())?;
            let draws = self.prior_draws(&written, reply)?;
            let names = names_of(line.source.text.get(range).unwrap_or_default(), &draws);
            of_draws(&text, &draws, names, written.span)?
        } else if let Some(range) = after("trace") {
            self.traces(&line.expression(range)?, reply)?
        } else {
            let written = line.expression(range.clone())?;
            self.content(&text, &written, reply)?
        };
        Ok(Subject {
            name: text,
            span: line.span(&range),
            content,
        })
    }

    /// Evaluates an expression that is to be plotted.
    fn content(
        &mut self,
        name: &str,
        written: &Expr,
        reply: &mut Reply,
    ) -> Result<PictureContent, Diagnostics> {
        if let Some(call) = predictive::call_of(&self.module, written) {
            let outputs = self.predictive(&call, DRAWS, reply)?;
            return of_outputs(name, &outputs, written.span);
        }
        let checked = self.checked(written, reply)?;
        let (span, draw) = (checked.expr.span, self.next_draw());
        if let Some(count) = self.noted_draws(&checked.expr, reply) {
            let (draws, _) = self.at_draws(&checked, draw, count)?;
            let names = self.element_names(&checked.expr, &draws.shape[1..]);
            return of_draws(name, &draws, names, span);
        }
        let (datum, computed) = self.computed(&checked, draw)?;
        let marks = match datum {
            Datum::Dist(_) => self.density(&checked, draw)?,
            Datum::Tensor(value) if computed.of(value).0.data.len() > 1 => {
                marks(name, computed.of(value).0.data.clone(), span)?
            }
            _ => {
                let text = "posterior values, distributions, arrays and models can be plotted";
                return Err(misuse(span, text).into());
            }
        };
        Ok(PictureContent::Densities(vec![(name.to_owned(), marks)]))
    }

    /// Returns the draws of an expression, separately for each chain.
    fn traces(&mut self, written: &Expr, reply: &mut Reply) -> Result<PictureContent, Diagnostics> {
        let checked = self.checked(written, reply)?;
        let (span, draw) = (checked.expr.span, self.next_draw());
        let Some(count) = self.posterior_draws(&checked.expr) else {
            let text = "`trace` plots posterior values, such as `trace fit.beta`";
            return Err(misuse(span, text).into());
        };
        let (draws, _) = self.at_draws(&checked, draw, count)?;
        if draws.shape.len() > 1 {
            let text = "`trace` plots one number; choose an element, such as `fit.beta[0]`";
            return Err(misuse(span, text).into());
        }
        let mut rest = draws.data.as_slice();
        let mut chains = Vec::new();
        for length in self.chains(&checked, count)? {
            let (chain, after) = rest.split_at(length.min(rest.len()));
            chains.push(chain.to_vec());
            rest = after;
        }
        Ok(PictureContent::Traces(chains))
    }

    /// Returns the lengths of the chains from which the draws of an expression come. If the
    /// expression depends on several posteriors, its draws are treated as one chain.
    fn chains(&self, checked: &Checked, count: usize) -> Result<Vec<usize>, Diagnostics> {
        let mentioned = evaluate::mentioned(&checked.expr, &self.variables);
        let own = self.variables.iter().filter(|variable| {
            mentioned.contains(&variable.local) && matches!(variable.held, VariableValue::Draws(..))
        });
        let mut chains = Vec::new();
        for variable in own {
            let found = variable.name.split_once('.').and_then(|(infer, site)| {
                let fit = self.fit(infer)?;
                let at = fit.sites().iter().position(|own| own.name == site)?;
                Some(fit.draws(at))
            });
            match found.transpose()?.flatten() {
                Some(draws) if chains.is_empty() || chains == draws.chains => chains = draws.chains,
                _ => return Ok(vec![count]),
            }
        }
        Ok(match chains.iter().sum::<usize>() == count {
            true => chains,
            false => vec![count],
        })
    }

    /// Returns the density of a distribution over numbers, on a range that contains nearly all of
    /// its probability.
    fn density(&self, checked: &Checked, draw: u32) -> Result<PictureMarks, Diagnostics> {
        let span = checked.expr.span;
        let fail = |why: String| Diagnostics::from(misuse(span, why));
        let concrete = self.concrete_at(checked, ValueSizes::Own, draw)?;
        if concrete.sizes().iter().product::<usize>() != 1 {
            return Err(fail(
                "only distributions over one number can be plotted".to_owned(),
            ));
        }
        if concrete.instance.measure == MeasureKind::Point {
            return Err(fail(format!(
                "all mass of `{}` is at one point",
                concrete.instance.name
            )));
        }
        if matches!(concrete.instance.support, Support::Integers(_)) {
            return masses(&concrete).map_err(|why| fail(why.to_string()));
        }
        let stream = self.streams(draw).name("plot");
        let draws = concrete
            .draws(&stream, draw, DRAWS)
            .map_err(|why| fail(why.to_string()))?;
        let sorted = ascending(&draws.data);
        let (low, high) = (quantile(&sorted, 0.005), quantile(&sorted, 0.995));
        let room = 0.15 * (high - low);
        let (least, most) = match concrete.instance.support {
            Support::Interval(low, high) => (low, high),
            _ => (f64::NEG_INFINITY, f64::INFINITY),
        };
        let (low, high) = ((low - room).max(least), (high + room).min(most));
        let at = |point: usize| low + (high - low) * (point as f64 + 0.5) / POINTS as f64;
        let mut shape = vec![POINTS];
        shape.extend(concrete.sizes());
        let points = Tensor::new(shape, (0..POINTS).map(at).collect());
        let heights = concrete.log_densities(&points);
        let all = points.data.iter().zip(heights).map(|(x, log)| (*x, log.exp()));
        let curve: Vec<(f64, f64)> = all.filter(|(_, height)| height.is_finite()).collect();
        match low < high && !curve.is_empty() {
            true => Ok(PictureMarks::Curve(curve)),
            false => Err(fail(format!(
                "the density of `{}` is not finite",
                concrete.instance.name
            ))),
        }
    }
}

/// Returns the values of a discrete distribution and their probabilities, without the tails.
fn masses(concrete: &Concrete) -> Result<PictureMarks, NoDraws> {
    let table = concrete.table()?;
    let all: Vec<f64> = table.iter().map(|masses| masses.data[0]).collect();
    let least = SMALLEST * all.iter().copied().fold(0.0, f64::max);
    let first = all.iter().position(|mass| *mass >= least).unwrap_or(0);
    let last = all.iter().rposition(|mass| *mass >= least).unwrap_or(0);
    let points = all.iter().enumerate().take(last + 1).skip(first);
    Ok(PictureMarks::Masses(
        points.map(|(at, mass)| (at as f64, *mass)).collect(),
    ))
}

/// Returns the content of a plot of draws, `[draws, ..]`. For a number, this is a density. For an
/// array, it consists of intervals.
fn of_draws(
    name: &str,
    draws: &Tensor,
    names: Vec<String>,
    span: Span,
) -> Result<PictureContent, Diagnostics> {
    let columns = columns(draws);
    match columns.as_slice() {
        [only] => {
            let marks = marks(name, only.clone(), span)?;
            Ok(PictureContent::Densities(vec![(name.to_owned(), marks)]))
        }
        _ => {
            let summaries = columns.iter().map(|column| IntervalSummary::of(column));
            Ok(PictureContent::Intervals(
                names.into_iter().zip(summaries).collect(),
            ))
        }
    }
}

/// Returns the plot content for a model's outputs. `name` is the name of the model. For several
/// outputs, the plot has one interval for each element.
fn of_outputs(name: &str, outputs: &[PredictiveDraws], span: Span) -> Result<PictureContent, Diagnostics> {
    if let [only] = outputs {
        return of_draws(name, &only.draws, names_of(name, &only.draws), span);
    }
    let intervals = outputs.iter().flat_map(|output| {
        let names = names_of(&output.name, &output.draws);
        let columns = columns(&output.draws);
        names
            .into_iter()
            .zip(columns)
            .map(|(name, column)| (name, IntervalSummary::of(&column)))
            .collect::<Vec<_>>()
    });
    Ok(PictureContent::Intervals(intervals.collect()))
}

/// Returns the plot marks for the draws `draws` of the scalar `name`.
fn marks(name: &str, draws: Vec<f64>, span: Span) -> Result<PictureMarks, Diagnostics> {
    let sorted = ascending(&draws);
    let is_constant = sorted.first() == sorted.last();
    if is_constant || draws.iter().any(|draw| !draw.is_finite()) {
        let why = match is_constant {
            true => "has the same value at every draw, so its density cannot be plotted",
            false => "is not finite at every draw",
        };
        return Err(misuse(span, format!("`{name}` {why}")).into());
    }
    Ok(match draws.iter().all(|draw| draw.fract() == 0.0) {
        true => PictureMarks::Counts(draws),
        false => PictureMarks::Draws(draws),
    })
}

/// Returns the names of the elements of an array. `name` is the name of the array.
fn names_of(name: &str, draws: &Tensor) -> Vec<String> {
    let sizes = draws.shape.get(1..).unwrap_or_default();
    let elements: usize = sizes.iter().product();
    (0..elements)
        .map(|at| format!("{name}{}", super::posterior::position(at, sizes)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::parts;

    #[test]
    fn commas_in_brackets_do_not_split() {
        let text = ":plot Normal(0, 1), prior M([1, 2]).w , x";
        let found: Vec<&str> = parts(text, 6..text.len())
            .into_iter()
            .map(|part| &text[part])
            .collect();
        assert_eq!(found, ["Normal(0, 1)", "prior M([1, 2]).w", "x"]);
    }
}
