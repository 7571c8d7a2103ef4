//! Renders diagnostics as text for people, with the source lines to which they refer. Only this
//! module uses the crate ariadne.

use ariadne::{CharSet, Color, Config, IndexType, Label, Report, ReportKind};
use bnnc_base::diagnostic::{Diagnostic, Place, Severity};
pub use bnnc_base::render::json;
use bnnc_base::render::{self, head, tail};
use bnnc_base::source::{SourceMap, Span};

/// The length, in bytes, of the longest source line that is shown.
const WIDEST: usize = 1000;

/// Renders a diagnostic in the style of rustc.
pub fn text(diagnostic: &Diagnostic, sources: &SourceMap, colour: bool) -> String {
    let (before, framed) = match &diagnostic.at {
        Place::Span(span) => (
            head(diagnostic, colour),
            framed(diagnostic, &labels(diagnostic, *span), (*span, sources), colour),
        ),
        // The error is in a data file. The labels point at the places in the program that name this
        // file.
        Place::File { .. } => (
            render::above(diagnostic, sources, colour),
            named(diagnostic)
                .first()
                .and_then(|(first, ..)| framed(diagnostic, &named(diagnostic), (*first, sources), colour)),
        ),
        Place::Nowhere => (String::new(), None),
    };
    match framed {
        Some(frame) => format!("{before}{frame}{}", tail(diagnostic, colour)),
        None => render::text(diagnostic, sources, colour),
    }
}

/// Returns the ariadne colour for a severity.
fn paint(severity: Severity) -> Color {
    match severity {
        Severity::Error => Color::Red,
        Severity::Warning => Color::Yellow,
        Severity::Note => Color::Cyan,
    }
}

/// Converts a span to ariadne's form: the name of the source and a range of characters. The range
/// is empty only at the end of the text. Returns `None` if the source is unknown.
fn place(span: Span, sources: &SourceMap) -> Option<(String, std::ops::Range<usize>)> {
    let source = sources.get(span.source)?;
    let characters = |byte: u32| {
        let byte = source.text.floor_char_boundary(byte as usize);
        source.text[..byte].chars().count()
    };
    let (start, end, last) = (
        characters(span.start),
        characters(span.end),
        source.text.chars().count(),
    );
    Some((
        render::visible(&source.name),
        start..end.max(start + 1).min(last).max(start),
    ))
}

/// Returns whether a line of the span is too long to be shown.
fn is_too_wide(span: Span, sources: &SourceMap) -> bool {
    let Some(source) = sources.get(span.source) else {
        return true;
    };
    let (start, end) = (span.start as usize, (span.end as usize).min(source.text.len()));
    let from = source.text[..source.text.floor_char_boundary(start)]
        .rfind('\n')
        .map_or(0, |at| at + 1);
    let end = source.text.floor_char_boundary(end);
    let to = source.text[end..]
        .find('\n')
        .map_or(source.text.len(), |at| end + at);
    source.text[from..to.max(from)]
        .lines()
        .any(|line| line.len() > WIDEST)
}

/// Returns the labels in the order of the source text. Each entry consists of the span, the
/// message, and a flag that is true for the main span. A main span without a label is labelled with
/// the title of the code. If another label begins inside the main span, the title is left out,
/// because that label describes the error more precisely.
fn labels(diagnostic: &Diagnostic, span: Span) -> Vec<(Span, &str, bool)> {
    let within =
        |other: Span| other.source == span.source && span.start <= other.start && other.start < span.end;
    let title = match diagnostic.label.as_str() {
        "" => (!diagnostic.labels.iter().any(|label| within(label.span))).then_some(diagnostic.code.title),
        label => Some(label),
    };
    let others = diagnostic
        .labels
        .iter()
        .map(|label| (label.span, label.message.as_str(), false));
    let mut labels: Vec<_> = title
        .map(|title| (span, title, true))
        .into_iter()
        .chain(others)
        .collect();
    labels.sort_by_key(|(place, ..)| (place.source != span.source, place.source, place.start));
    labels
}

/// Returns the labels of a diagnostic about a data file. The labels point at places in the program.
fn named(diagnostic: &Diagnostic) -> Vec<(Span, &str, bool)> {
    let labels = diagnostic.labels.iter();
    labels
        .map(|label| (label.span, label.message.as_str(), false))
        .collect()
}

/// Renders the source lines with their labels. The heading is not included: another function writes
/// it, in the style of rustc.
fn framed(
    diagnostic: &Diagnostic,
    labels: &[(Span, &str, bool)],
    (span, sources): (Span, &SourceMap),
    colour: bool,
) -> Option<String> {
    if labels.iter().any(|(span, ..)| is_too_wide(*span, sources)) {
        return None;
    }
    let config = Config::default()
        .with_color(colour)
        .with_index_type(IndexType::Char)
        .with_char_set(if colour { CharSet::Unicode } else { CharSet::Ascii });
    let paint = paint(diagnostic.severity);
    let mut report = Report::build(ReportKind::Error, place(span, sources)?).with_config(config);
    for (span, message, main) in labels {
        let color = if *main { paint } else { Color::Blue };
        report = report.with_label(
            Label::new(place(*span, sources)?)
                .with_message(*message)
                .with_color(color),
        );
    }
    let texts = sources
        .iter()
        .map(|source| (render::visible(&source.name), render::visible(&source.text)));
    let mut bytes = Vec::new();
    report.finish().write(ariadne::sources(texts), &mut bytes).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let (_, frame) = text.split_once('\n')?;
    Some(
        frame
            .lines()
            .fold(String::new(), |lines, line| lines + line.trim_end() + "\n"),
    )
}
