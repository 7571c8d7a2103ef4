//! Checks that data match the data that the program was compiled for.

use bnnc_abi::data::{DataSpec, Test};
use bnnc_abi::manifest::{Binding, DataSource, InferenceBlock, Manifest};
use bnnc_abi::schema::{Elements, Field, Schema, with_rank};
use bnnc_base::diagnostic::Diagnostic;
use bnnc_command::diagnostics;
use std::collections::HashMap;
use std::path::Path;

/// Returns one diagnostic for each difference between the data and the data of the build.
pub fn differences(manifest: &Manifest, schemas: &HashMap<String, Schema>) -> Vec<Diagnostic> {
    let mut diagnostics: Vec<Diagnostic> = Vec::new();
    for infer in &manifest.infers {
        let spec = manifest.data.iter().find(|spec| spec.name == infer.data);
        let Some((spec, schema)) = spec.zip(schemas.get(&infer.data)) else {
            continue;
        };
        for text in infer
            .bindings
            .iter()
            .filter_map(|binding| difference(binding, schema))
        {
            let mut diagnostic = diagnostics::other_data(&spec.name, file(spec), &text);
            if let Test::Files(files) = &spec.test {
                let names: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
                diagnostic = diagnostic.note(format!("its test rows are those of {}", names.join(", ")));
            }
            if !diagnostics.contains(&diagnostic) {
                diagnostics.push(diagnostic);
            }
        }
    }
    diagnostics
}

/// Returns the file that a diagnostic refers to.
fn file(spec: &DataSpec) -> &Path {
    spec.files.first().map_or(Path::new(""), |file| file)
}

/// Returns a description of the difference between the data and an input or output, or `None` if
/// they match.
fn difference(binding: &Binding, schema: &Schema) -> Option<String> {
    let (name, fields) = match &binding.from {
        DataSource::Inputs => return inputs(binding, schema),
        DataSource::Input(at) => return input(*at, schema.inputs),
        DataSource::Row => return rows(binding, schema.rows),
        DataSource::Field(name) | DataSource::Whole(name) => (name, &schema.fields),
        DataSource::Shared(name) => (name, &schema.shared),
    };
    let Some(field) = fields.iter().find(|field| field.name == *name) else {
        return Some(format!("the column `{name}` is missing"));
    };
    shape(binding, field, schema).or_else(|| binding.misfit(field))
}

fn inputs(binding: &Binding, schema: &Schema) -> Option<String> {
    let expected: usize = binding.shape.iter().product();
    if schema.inputs != expected {
        let found = schema.inputs;
        return Some(format!(
            "the program was compiled for {expected} inputs, but the data have {found}"
        ));
    }
    let (rank, axes) = (binding.shape.len(), &schema.axes);
    let is_other = rank > 1 && axes.len() > 1 && with_rank(axes, rank).as_ref() != Some(&binding.shape);
    is_other.then(|| {
        let built = &binding.shape;
        format!("the program was compiled for inputs {built:?}, but the inputs of the data are {axes:?}")
    })
}

fn input(at: usize, found: usize) -> Option<String> {
    (at >= found).then(|| {
        format!(
            "the program needs the input with index {at} (counted from 0), but the data have {found} inputs"
        )
    })
}

fn rows(binding: &Binding, found: usize) -> Option<String> {
    match binding.elements {
        Elements::Index(rows) if rows != found => Some(format!(
            "the program was compiled for {rows} rows, but the data have {found}"
        )),
        _ => None,
    }
}

fn shape(binding: &Binding, field: &Field, schema: &Schema) -> Option<String> {
    let of_row = matches!(binding.from, DataSource::Field(_));
    if of_row != field.per_example && binding.shape == field.shape {
        return Some(match of_row {
            true => format!(
                "`{}` had one value per row at the build, but is one value for all rows now",
                field.name
            ),
            false => format!(
                "`{}` was one value for all rows at the build, but has one value per row now",
                field.name
            ),
        });
    }
    let mut found = field.shape.clone();
    if !of_row && field.per_example {
        // The port holds a whole column, so its first axis runs over all rows.
        found.insert(0, schema.rows);
    }
    let words = |shape: &[usize]| match shape {
        [] => "one value".to_owned(),
        _ => format!("{shape:?}"),
    };
    (found != binding.shape).then(|| {
        let (expected, found) = (words(&binding.shape), words(&found));
        format!("`{}` was {expected} at the build, but is {found} now", field.name)
    })
}

/// Replaces the names of axes and classes by the names that the present data have.
pub fn relabel(infers: &mut [InferenceBlock], schemas: &HashMap<String, Schema>) {
    for infer in infers {
        if let Some(schema) = schemas.get(&infer.data) {
            infer.names.relabel(schema);
        }
    }
}
