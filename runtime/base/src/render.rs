//! Renders diagnostics as text without source lines, or as JSON with one object per line.

use crate::diagnostic::{Diagnostic, Place, Severity};
use crate::source::{SourceMap, Span};

/// Replaces characters that would change how a terminal shows a text. Control characters, except
/// newline and tab, could move the cursor or change colours. Other characters change the direction
/// of text. Each of these characters becomes one U+FFFD.
pub fn visible(text: &str) -> String {
    let is_hidden = |c: char| {
        let turns = matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        (c.is_control() && !matches!(c, '\n' | '\t')) || turns
    };
    text.chars()
        .map(|c| if is_hidden(c) { '\u{fffd}' } else { c })
        .collect()
}

/// Renders a diagnostic in the style of rustc. The place is shown as the name of the text, the line
/// and the column.
pub fn text(diagnostic: &Diagnostic, sources: &SourceMap, colour: bool) -> String {
    above(diagnostic, sources, colour) + &tail(diagnostic, colour)
}

/// Renders the lines above the notes and the help. These lines contain the message, its place and
/// its label.
pub fn above(diagnostic: &Diagnostic, sources: &SourceMap, colour: bool) -> String {
    let place = match &diagnostic.at {
        Place::Span(span) => sources.get(span.source).map(|source| {
            let (line, column) = line_column(&source.text, span.start as usize);
            format!("{}:{line}:{column}", visible(&source.name))
        }),
        Place::File { path, row, column } => {
            let mut place = visible(&path.display().to_string());
            if *row > 0 {
                place.push_str(&format!(":{row}"));
            }
            if *column > 0 {
                place.push_str(&format!(":{column}"));
            }
            Some(place)
        }
        Place::Nowhere => None,
    };
    let place = place.map(|place| format!("  --> {place}\n")).unwrap_or_default();
    let label = match diagnostic.label.as_str() {
        "" => String::new(),
        label => format!("   | {}\n", visible(label)),
    };
    head(diagnostic, colour) + &place + &label
}

/// Returns the word for a severity, and the escape sequence of the colour in which it is shown.
fn kind(severity: Severity) -> (&'static str, &'static str) {
    match severity {
        Severity::Error => ("error", "\u{1b}[1;31m"),
        Severity::Warning => ("warning", "\u{1b}[1;33m"),
        Severity::Note => ("note", "\u{1b}[1;36m"),
    }
}

/// Renders the first line of a diagnostic, such as `error[E0207]: message`.
pub fn head(diagnostic: &Diagnostic, colour: bool) -> String {
    let (word, paint) = kind(diagnostic.severity);
    let (code, message) = (diagnostic.code.id, visible(&diagnostic.message));
    match colour {
        true => format!("{paint}{word}[{code}]\u{1b}[0m\u{1b}[1m: {message}\u{1b}[0m\n"),
        false => format!("{word}[{code}]: {message}\n"),
    }
}

/// Renders the notes and the help of a diagnostic, each on a separate line.
pub fn tail(diagnostic: &Diagnostic, colour: bool) -> String {
    let notes = diagnostic.notes.iter().map(|note| ("note", note));
    let help = diagnostic.help.iter().map(|help| ("help", help));
    let line = |(word, text): (&str, &String)| {
        let text = visible(text).replace('\n', "\n           ");
        match colour {
            true => format!("   = \u{1b}[1m{word}\u{1b}[0m: {text}\n"),
            false => format!("   = {word}: {text}\n"),
        }
    };
    notes.chain(help).map(line).collect()
}

/// Renders a diagnostic as one JSON object on one line. The object has the code, the severity, the
/// message, the place, the labels, the notes and the help.
pub fn json(diagnostic: &Diagnostic, sources: &SourceMap) -> String {
    let (word, _) = kind(diagnostic.severity);
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
            let mut place = format!("\"file\":{}", quoted(&path.display().to_string()));
            for (name, number) in [("line", row), ("column", column)] {
                if *number > 0 {
                    place.push_str(&format!(",\"{name}\":{number}"));
                }
            }
            place
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

/// Returns the line and the column of a byte. Both are counted from 1. Columns are counted in characters.
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

/// Returns a text as a JSON string with its quotes.
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
