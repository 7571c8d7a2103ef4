//! Diagnostics for people (through ariadne, here only) and for programs (one JSON object per line).

use ariadne::{CharSet, Color, Config, IndexType, Label, Report, ReportKind};
use bnnc_base::diagnostic::{Diagnostic, Place, Severity};
use bnnc_base::source::{SourceMap, Span};

/// Lines of more bytes are not shown.
const WIDEST: usize = 1000;

/// Renders a diagnostic in rustc's manner.
pub fn text(diagnostic: &Diagnostic, sources: &SourceMap, colour: bool) -> String {
    match &diagnostic.at {
        Place::Span(span) => spanned(diagnostic, *span, sources, colour),
        Place::File { path, row, column } => {
            let mut place = path.display().to_string();
            if *row > 0 {
                place.push_str(&format!(":{row}"));
            }
            if *column > 0 {
                place.push_str(&format!(":{column}"));
            }
            plain(diagnostic, Some(&place), colour)
        }
        Place::Nowhere => plain(diagnostic, None, colour),
    }
}

/// The word of a severity and the colours it is painted in, as a terminal and as ariadne know them.
fn kind(severity: Severity) -> (&'static str, &'static str, Color) {
    match severity {
        Severity::Error => ("error", "\u{1b}[1;31m", Color::Red),
        Severity::Warning => ("warning", "\u{1b}[1;33m", Color::Yellow),
        Severity::Note => ("note", "\u{1b}[1;36m", Color::Cyan),
    }
}

/// `error[E0207]: message`.
fn head(diagnostic: &Diagnostic, colour: bool) -> String {
    let (word, paint, _) = kind(diagnostic.severity);
    let (code, message) = (diagnostic.code.id, &diagnostic.message);
    match colour {
        true => format!("{paint}{word}[{code}]\u{1b}[0m\u{1b}[1m: {message}\u{1b}[0m\n"),
        false => format!("{word}[{code}]: {message}\n"),
    }
}

/// The facts and the advice, one line each.
fn tail(diagnostic: &Diagnostic, colour: bool) -> String {
    let notes = diagnostic.notes.iter().map(|note| ("note", note));
    let help = diagnostic.help.iter().map(|help| ("help", help));
    let line = |(word, text): (&str, &String)| {
        let text = text.replace('\n', "\n           ");
        match colour {
            true => format!("   = \u{1b}[1m{word}\u{1b}[0m: {text}\n"),
            false => format!("   = {word}: {text}\n"),
        }
    };
    notes.chain(help).map(line).collect()
}

fn plain(diagnostic: &Diagnostic, place: Option<&str>, colour: bool) -> String {
    let place = place.map(|place| format!("  --> {place}\n")).unwrap_or_default();
    let label = match diagnostic.label.as_str() {
        "" => String::new(),
        label => format!("   | {label}\n"),
    };
    format!(
        "{}{place}{label}{}",
        head(diagnostic, colour),
        tail(diagnostic, colour)
    )
}

/// A place as ariadne wants it: the name of the text and a range of characters, empty only at the end of the text.
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
        source.name.to_string(),
        start..end.max(start + 1).min(last).max(start),
    ))
}

fn spanned(diagnostic: &Diagnostic, span: Span, sources: &SourceMap, colour: bool) -> String {
    framed(diagnostic, span, sources, colour)
        .map(|frame| format!("{}{frame}{}", head(diagnostic, colour), tail(diagnostic, colour)))
        .unwrap_or_else(|| {
            let place = sources.get(span.source).map(|source| {
                let (line, column) = line_column(&source.text, span.start as usize);
                format!("{}:{line}:{column}", source.name)
            });
            plain(diagnostic, place.as_deref(), colour)
        })
}

/// Whether the lines of a span are too long to be shown.
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

/// What is written below which place, and whether it is the main one, in the order of the text. A main place without a
/// text of its own is named after its code, unless the other labels point into it: then they say it better.
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

/// The source lines with their labels; the head of the report is written apart, as rustc writes it.
fn framed(diagnostic: &Diagnostic, span: Span, sources: &SourceMap, colour: bool) -> Option<String> {
    if labels(diagnostic, span)
        .iter()
        .any(|(span, ..)| is_too_wide(*span, sources))
    {
        return None;
    }
    let config = Config::default()
        .with_color(colour)
        .with_index_type(IndexType::Char)
        .with_char_set(if colour { CharSet::Unicode } else { CharSet::Ascii });
    let (_, _, paint) = kind(diagnostic.severity);
    let mut report = Report::build(ReportKind::Error, place(span, sources)?).with_config(config);
    for (span, message, main) in labels(diagnostic, span) {
        let color = if main { paint } else { Color::Blue };
        report = report.with_label(
            Label::new(place(span, sources)?)
                .with_message(message)
                .with_color(color),
        );
    }
    let texts = sources
        .iter()
        .map(|source| (source.name.to_string(), source.text.to_string()));
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

/// Renders a diagnostic as one JSON object on one line: code, severity, message, place, labels, notes, help.
pub fn json(diagnostic: &Diagnostic, sources: &SourceMap) -> String {
    let (word, _, _) = kind(diagnostic.severity);
    let list = |texts: &[String]| {
        texts
            .iter()
            .map(|text| quoted(text))
            .collect::<Vec<_>>()
            .join(",")
    };
    let labels: Vec<String> = diagnostic
        .labels
        .iter()
        .map(|label| {
            format!(
                "{{{},\"message\":{}}}",
                span_json(label.span, sources),
                quoted(&label.message)
            )
        })
        .collect();
    let place = match &diagnostic.at {
        Place::Span(span) => span_json(*span, sources),
        Place::File { path, row, column } => {
            format!(
                "\"file\":{},\"line\":{row},\"column\":{column}",
                quoted(&path.display().to_string())
            )
        }
        Place::Nowhere => "\"file\":null".to_owned(),
    };
    format!(
        "{{\"code\":{},\"severity\":{},\"message\":{},{place},\"label\":{},\"labels\":[{}],\"notes\":[{}],\"help\":[{}]}}",
        quoted(diagnostic.code.id),
        quoted(word),
        quoted(&diagnostic.message),
        quoted(&diagnostic.label),
        labels.join(","),
        list(&diagnostic.notes),
        list(&diagnostic.help),
    )
}

fn span_json(span: Span, sources: &SourceMap) -> String {
    let Some(source) = sources.get(span.source) else {
        return "\"file\":null".to_owned();
    };
    let (line, column) = line_column(&source.text, span.start as usize);
    let (end_line, end_column) = line_column(&source.text, span.end as usize);
    format!(
        "\"file\":{},\"line\":{line},\"column\":{column},\"end_line\":{end_line},\"end_column\":{end_column}",
        quoted(&source.name)
    )
}

/// 1-based line and column (in characters) of a byte.
pub fn line_column(text: &str, byte: usize) -> (usize, usize) {
    let mut byte = byte.min(text.len());
    while !text.is_char_boundary(byte) {
        byte -= 1;
    }
    let before = &text[..byte];
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().map_or(0, |last| last.chars().count()) + 1;
    (line, column)
}

/// A JSON string.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            c if c.is_control() => quoted.push_str(&format!("\\u{:04x}", c as u32)),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}
