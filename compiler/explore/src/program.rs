//! Writes and checks the program that represents a question.

use super::diagnostics::ExploreError;
use super::{Question, Way};
use bnnc_abi::schema::{Field, FieldKind, Schema};
use bnnc_abi::symbols::Address;
use bnnc_driver::infer::CompileFailure;
use bnnc_driver::options::CompileOptions;
use bnnc_driver::program::{self, CheckedProgram};
use bnnc_hir::tree::Module;

/// The file name used for the text of a program.
const NAME: &str = "explore.bnn";

/// Returns the compile options for the program of a question.
pub fn options(question: &Question, symbols: &[Address]) -> CompileOptions {
    CompileOptions {
        seed: question.seed,
        symbols: symbols.to_vec(),
        ..CompileOptions::default()
    }
}

/// Returns the checked library.
pub fn library() -> Module {
    program::load(NAME, "", &CompileOptions::default()).module
}

/// Returns the text of the program that computes the divergence of a question in a given way.
pub fn text(question: &Question, way: Way) -> String {
    let Question {
        posterior,
        prior,
        weights,
        taylor,
        draws,
        ..
    } = question;
    let on = on(&prior.family);
    let way = way.options();
    let taylor = match taylor {
        0 => String::new(),
        order => format!(", taylor = {order}"),
    };
    format!(
        "data rows = csv(\"rows.csv\")\n\n\
         model M(x: real) -> y: real {{\n  w: {on}[{weights}] ~ {prior}\n  y ~ Normal(x * w[0], 1)\n}}\n\n\
         posterior Q of M {{\n  w ~ {posterior}\n}}\n\n\
         infer fit = vi(Q, rows) {{ {way}{taylor}, draws = {draws} }}\n"
    )
}

/// Returns the type of a family's values.
fn on(family: &str) -> String {
    let module = library();
    let item = module.dists.iter().find(|item| *item.name == *family);
    item.map_or_else(
        || "real".to_owned(),
        |item| bnnc_hir::show::ty(&item.on, &item.locals),
    )
}

/// Returns the checked program.
///
/// # Errors
/// Fails with the diagnostics of the program.
pub fn load(question: &Question, way: Way) -> Result<CheckedProgram, ExploreError> {
    let text = text(question, way);
    let loaded = program::load(NAME, &text, &CompileOptions::default());
    if !loaded.has_errors() {
        return Ok(loaded);
    }
    let errors = loaded.diagnostics.iter().filter(|one| one.is_error());
    let errors = CompileFailure::Program(errors.cloned().collect());
    Err(ExploreError::of_program(&errors, &loaded))
}

/// Returns the schema of the program's data. The data have one row. A program needs data, but a
/// divergence does not read them.
pub fn schema() -> Schema {
    let field = |name: &str| Field {
        name: name.to_owned(),
        kind: FieldKind::Real,
        distinct: None,
        shape: Vec::new(),
        per_example: true,
        text_row: None,
        extent: None,
        words: false,
        bytes: false,
    };
    Schema {
        name: "rows".to_owned(),
        rows: 1,
        train: 1,
        test: 0,
        validation: 0,
        outliers: 0,
        splits: 1,
        fields: vec![field("x"), field("y")],
        inputs: 1,
        axes: Vec::new(),
        byte_inputs: false,
        columns: vec!["x".to_owned()],
        entries: Vec::new(),
        target: Some("y".to_owned()),
        shared: Vec::new(),
    }
}
