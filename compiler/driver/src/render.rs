//! Diagnostics for people (through ariadne, here only) and for programs (one JSON object per line).

use ariadne::{CharSet, Config, IndexType, Label, Report, ReportKind};
use bnnc_base::diagnostic::{Diagnostic, Place, Severity};
use bnnc_base::source::{SourceId, SourceMap, Span};
use std::collections::HashMap;

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

fn kind(severity: Severity) -> (ReportKind<'static>, &'static str, &'static str) {
    match severity {
        Severity::Error => (ReportKind::Error, "error", "\u{1b}[31m"),
        Severity::Warning => (ReportKind::Warning, "warning", "\u{1b}[33m"),
        Severity::Note => (ReportKind::Advice, "note", "\u{1b}[36m"),
    }
}

fn plain(diagnostic: &Diagnostic, place: Option<&str>, colour: bool) -> String {
    let (_, word, paint) = kind(diagnostic.severity);
    let head = format!("{word}[{}]", diagnostic.code.id);
    let head = if colour { format!("{paint}{head}\u{1b}[0m") } else { head };
    let mut text = format!("{head}: {}\n", diagnostic.message);
    if let Some(place) = place {
        text.push_str(&format!("  --> {place}\n"));
    }
    if !diagnostic.label.is_empty() {
        text.push_str(&format!("   | {}\n", diagnostic.label));
    }
    diagnostic.notes.iter().for_each(|note| text.push_str(&format!("   = note: {note}\n")));
    diagnostic.help.iter().for_each(|help| text.push_str(&format!("   = help: {help}\n")));
    text
}

/// A cache of ariadne's for a source map.
type Cache = HashMap<SourceId, (String, ariadne::Source<String>)>;

fn spanned(diagnostic: &Diagnostic, span: Span, sources: &SourceMap, colour: bool) -> String {
    let mut cache = Cache::new();
    for id in diagnostic.labels.iter().map(|label| label.span.source).chain([span.source]) {
        if let Some(source) = sources.get(id) {
            cache.insert(id, (source.name.to_string(), ariadne::Source::from(source.text.to_string())));
        }
    }
    let (kind, _, _) = kind(diagnostic.severity);
    let config = Config::default()
        .with_color(colour)
        .with_index_type(IndexType::Byte)
        .with_char_set(if colour { CharSet::Unicode } else { CharSet::Ascii });
    let name = |id: SourceId| sources.get(id).map_or_else(String::new, |source| source.name.to_string());
    let place = |span: Span| (name(span.source), span.start as usize..(span.end as usize).max(span.start as usize));
    let message = if diagnostic.label.is_empty() { "here" } else { &diagnostic.label };
    let mut report = Report::build(kind, place(span))
        .with_config(config)
        .with_code(diagnostic.code.id)
        .with_message(&diagnostic.message)
        .with_label(Label::new(place(span)).with_message(message).with_color(ariadne::Color::Red));
    for label in &diagnostic.labels {
        let label = Label::new(place(label.span)).with_message(&label.message).with_color(ariadne::Color::Cyan);
        report = report.with_label(label);
    }
    for note in &diagnostic.notes {
        report = report.with_note(note);
    }
    for help in &diagnostic.help {
        report = report.with_help(help);
    }
    let named = cache.into_values().map(|(name, source)| (name, source.text().to_owned()));
    let mut bytes = Vec::new();
    match report.finish().write(ariadne::sources(named), &mut bytes) {
        Ok(()) => String::from_utf8_lossy(&bytes).into_owned(),
        Err(_) => plain(diagnostic, None, colour),
    }
}

/// Renders a diagnostic as one JSON object on one line: code, severity, message, place, labels, notes, help.
pub fn json(diagnostic: &Diagnostic, sources: &SourceMap) -> String {
    let (_, word, _) = kind(diagnostic.severity);
    let list = |texts: &[String]| texts.iter().map(|text| quoted(text)).collect::<Vec<_>>().join(",");
    let labels: Vec<String> = diagnostic
        .labels
        .iter()
        .map(|label| format!("{{{},\"message\":{}}}", span_json(label.span, sources), quoted(&label.message)))
        .collect();
    let place = match &diagnostic.at {
        Place::Span(span) => span_json(*span, sources),
        Place::File { path, row, column } => {
            format!("\"file\":{},\"line\":{row},\"column\":{column}", quoted(&path.display().to_string()))
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
    let Some(source) = sources.get(span.source) else { return "\"file\":null".to_owned() };
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
