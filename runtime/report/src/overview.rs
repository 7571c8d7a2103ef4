//! The parts of the report that concern the whole run: the table of contents, warnings, failures,
//! the data, and the program.

use crate::page::{table, ticked};
use crate::result::place;
use crate::svg::escape;
use bnnc_abi::manifest::Manifest;
use bnnc_base::diagnostic::{Diagnostic, Severity};
use bnnc_core::context::Stop;
use bnnc_core::number::number;
use bnnc_data::Standardisation;
use bnnc_data::describe::scores;
use bnnc_inference::outcome::RunResult;
use std::fmt::Write;

/// Writes links to the sections of the inference blocks if there are several.
pub fn contents(body: &mut String, result: &RunResult) {
    let names = result.outcomes.iter().map(|outcome| &outcome.name);
    let link = |name: &String| {
        let name = escape(name);
        format!("<a href=\"#{name}\">{name}</a>")
    };
    let links: Vec<String> = names.chain(&result.failed).map(link).collect();
    if links.len() < 2 {
        return;
    }
    let _ = writeln!(body, "<nav class=\"facts\">{}</nav>", links.join(" \u{b7} "));
}

/// Writes the warnings of the run.
pub fn warnings(body: &mut String, result: &RunResult) {
    let rows = result.warnings.iter().map(row);
    table(body, "Warnings", &["", "", "advice"], rows);
}

/// Writes a section about the inference block that failed, with its diagnostics.
pub fn failure(body: &mut String, result: &RunResult) {
    let (Some(name), Some(stop)) = (&result.failed, &result.stopped) else {
        return;
    };
    let name = escape(name);
    let _ = writeln!(body, "<h2 id=\"{name}\">{name} <small>failed</small></h2>");
    match stop {
        Stop::Diagnostics(diagnostics) => {
            table(body, "Errors", &["", "", "advice"], diagnostics.iter().map(row));
        }
        Stop::Fault(_) | Stop::Interrupted => {
            let _ = writeln!(body, "<p>{}</p>", ticked(&stop.to_string()));
        }
    }
}

fn row(diagnostic: &Diagnostic) -> Vec<String> {
    let severity = match diagnostic.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "note",
    };
    let at = place(&diagnostic.at).map(|at| format!("<code>{}</code>", escape(&at)));
    let facts = std::iter::once(&diagnostic.message).chain(&diagnostic.notes);
    let facts: Vec<String> = facts.map(|text| ticked(text)).chain(at).collect();
    let advice: Vec<String> = diagnostic.help.iter().map(|help| ticked(help)).collect();
    vec![
        format!("{severity} {}", diagnostic.code.id),
        facts.join("<br>"),
        advice.join("<br>"),
    ]
}

/// Writes a section about the data of the run: the files, the rows, the columns that models use,
/// and the standardisation of these columns.
pub fn data(body: &mut String, manifest: &Manifest, result: &RunResult) {
    for spec in &manifest.data {
        let infer = manifest.infers.iter().find(|infer| infer.data == spec.name);
        let outcome =
            infer.and_then(|infer| result.outcomes.iter().find(|outcome| outcome.name == infer.name));
        let Some(outcome) = outcome else { continue };
        let dataset = &outcome.dataset;
        let files: Vec<String> = spec.files.iter().map(|file| file_name(file)).collect();
        let _ = writeln!(
            body,
            "<h2 id=\"data-{0}\">{0} <small>data</small></h2>\n<p class=\"facts\">{1}: {2} training, {3} validation and {4} test rows</p>",
            escape(&spec.name),
            escape(&files.join(", ")),
            dataset.train.count,
            dataset.validation.count,
            dataset.test.count,
        );
        let preparation = &dataset.preparation;
        let target = preparation
            .target_name
            .iter()
            .map(|name| (name, "target", preparation.target));
        let inputs = preparation.columns.iter().zip(&preparation.inputs);
        let inputs = inputs.map(|(name, map)| (name, "input", *map));
        let rows = inputs.chain(target).map(|(name, role, map)| {
            vec![
                format!("<code>{}</code>", escape(name)),
                role.to_owned(),
                scale(scores(name, spec, preparation).copied().chain([map])),
            ]
        });
        table(body, "Columns", &["column", "", "scale"], rows.take(COLUMNS));
    }
}

/// Describes how the values of columns were shifted and scaled.
fn scale(maps: impl Iterator<Item = Standardisation>) -> String {
    let maps = maps.filter(|map| *map != Standardisation::IDENTITY);
    let text = |map: Standardisation| format!("minus {}, divided by {}", number(map.mean), number(map.sd));
    match maps.map(text).collect::<Vec<_>>() {
        none if none.is_empty() => "as in the file".to_owned(),
        some => some.join("; then "),
    }
}

/// The report lists at most this number of columns.
const COLUMNS: usize = 200;

/// Returns the name of a file without its folder. The folder is left out because it differs between
/// machines.
pub fn file_name(file: &std::path::Path) -> String {
    file.file_name().map_or_else(
        || file.display().to_string(),
        |name| name.to_string_lossy().into_owned(),
    )
}

/// Writes the text of the program.
pub fn program(body: &mut String, text: &str) {
    let _ = writeln!(
        body,
        "<h2 id=\"program\">Program</h2>\n<pre>{}</pre>",
        escape(text.trim_end())
    );
}
