//! The diagnostics about binding the inputs and outputs of a model to the columns of its data.

use bnnc_abi::schema::{Field, FieldKind, InputEntry, Schema, word};
use bnnc_base::diagnostic::Diagnostic;
use bnnc_base::quoted::quoted;
use bnnc_base::source::Span;
use bnnc_base::{codes, reports};

codes! {
    /// A position of an axis that is not selected by any value of a column.
    pub UNUSED_POSITION = "E0265", "positions that no row selects":
        "`index(k)` counts positions from 0. If the size is given, or the classes of an output are numbers, bnnc uses the integers of \
         the column as positions. Here a position below the largest one never occurs, usually because the column counts from 1. If the column \
         is an input, the parameter at this position keeps its prior. If it is an output, this class does not have training rows.\n\n\
         ```\nmodel M(x: real) -> grade: index(k) { .. }   // grades are 1, 2, 3: `k` is 4\n\
         model M(x: real) -> grade: index(3) { .. }   // right, with grades 0, 1, 2 in the file\n```\n\n\
         If the size `J` of an input `g: index(J)` is not given elsewhere, the input has one position per distinct \
         integer instead. The values of an input `g: int` are used as positions, for example in `a[g]` or `Embedding(k, 2)`.";

    /// A whole column that is bound to a model although some of its rows are not training rows.
    pub WHOLE_COLUMNS = "E0267", "whole columns together with test or validation rows":
        "A model that takes whole columns treats all rows as one example. It therefore cannot hold out test or validation rows, and cannot use \
         `limit`.\n\n\
         ```\ndata d = json(\"d.json\") { test = fraction(0.1) }   // wrong\n\
         data d = json(\"d.json\")                          // right\n\n\
         model Series() -> y: real[T] { .. }\n```";

    /// An input to which several entries of `inputs = [..]` could be bound.
    pub SEVERAL_ENTRIES = "E0268", "several entries for one input":
        "An expression of one column in `inputs = [..]` feeds the input that has the name of that column. If several \
         entries could feed the same input, write the name of an input before each of them.\n\n\
         ```\n\
         data d = csv(\"d.csv\") { inputs = [age, log(age)] }             // wrong for M\n\
         data d = csv(\"d.csv\") { inputs = [age, log_age = log(age)] }   // right\n\n\
         model M(age: real, log_age: real) -> y: real { .. }\n```";

    /// An input of a model without a matching column.
    pub NO_COLUMN = "E0291", "no such column":
        "Every input and output of a model takes the column (or the array of a JSON file) that has its name. There are \
         two exceptions: a single input `real[d]` or `real[c, h, w]` takes all `inputs` of the data in order, and a \
         single output takes the target of the data. The message lists the columns of the file. A folder of images has a \
         target only if it has a subfolder for each class.\n\n\
         ```\nmodel M(heigth: real) -> weight: real { .. }   // the file has `height`\n```";

    /// A column whose values or shape do not fit the declared type.
    pub WRONG_COLUMN = "E0292", "column does not fit":
        "The type that a model declares for an input or output must allow every value of its column: `index(10)` allows 0 to 9, `bool` \
         allows 0 and 1, `real[3]` needs three numbers per example, and only `index` allows text. A single input `real[3, 32, 32]` \
         needs arrays of these sizes, or 3072 numbers per example in row-major order. If any input or output has one value per example, \
         every output needs one value per example. A single output takes the target of the data. Without the option `target`, the \
         target is the last column, and the other columns must not have the name of the output.\n\n\
         ```\n\
         data d = csv(\"d.csv\")                  // wrong: the columns of the file are x, y, z\n\
         data d = csv(\"d.csv\") { target = y }   // right\n\n\
         model M(x: real) -> y: real { .. }\n\
         ```";
}

reports! {
    /// Reports a column that does not fit the declared type.
    fn wrong(span: Span, text: String, schema: &Schema)
        = error(WRONG_COLUMN, span, "{text}")
        .note("in the data `{}`", schema.name);

    /// Reports an input that receives a whole column although only some rows are training rows.
    fn rows_apart(span: Span, input: &str, column: &str, schema: &Schema)
        let train = schema.train;
        let all = schema.rows.max(train + schema.validation + schema.test);
        = error(WHOLE_COLUMNS, span,
            "`{input}` takes the whole column `{column}`, but only {train} of {all} rows are training rows")
        .label("all rows are one example")
        .help("remove `test`, `validation` and `limit` from the data `{}`, or write the model for one row", schema.name);

    /// Describes an entry of `inputs` that cannot be an element of a real vector, and names the column
    /// of the entry.
    fn aside(span: Span, entry: &InputEntry, field: Option<&Field>)
        let text = field.and_then(|field| Some((field, first_text(field)?)));
        = error(NO_COLUMN, entry.span, "`{}` is not an element of a vector of reals", entry.text)
        .label("text, or one value for all rows")
        .also(span, "takes all inputs in order")
        .notes(text.map(|(field, (word, row))| format!("`{}` contains `{word}` in row {row}", field.name)))
        .helps(text.map(|_| "if the column should contain numbers, correct the file"))
        .helps(text.map(|(field, _)| format!(
            "if the column contains names, remove it from `inputs` and declare an input for it: `{}: index(k)`",
            name_of_input(&field.name)
        )));

    /// Reports an input to which several entries of `inputs` could be bound.
    fn several(span: Span, input: &str, first: &InputEntry, last: &InputEntry)
        let computed = if last.computed { last } else { first };
        = error(SEVERAL_ENTRIES, last.span, "`{}` and `{}` could both feed `{input}`", first.text, last.text)
        .label("this entry uses the same column")
        .also(span, "this input")
        .help("choose one of them: `{input} = {}`", computed.text);

    /// Reports an input that is declared as a whole column in a model whose examples are single rows.
    fn whole_column(span: Span, input: &str, column: &str, model: &str, schema: &Schema)
        = error(WRONG_COLUMN, span, "`{input}` is declared as an array, but a row has one value of `{column}`")
        .note("in the data `{}`", schema.name)
        .label("an input of one row")
        .help("for a model of one row, write `{input}: real`; for a model of whole columns, declare them in the first of two parameter lists: `model {model}({input}: real[n])() -> ..`");

    /// Reports an output of a data item that has inputs but no targets, such as a folder of images without subfolders.
    fn no_targets(span: Span, output: &str, schema: &Schema)
        = error(NO_COLUMN, span, "the data item `{}` has inputs, but no target for `{output}`", schema.name)
        .label("takes the target of each row")
        .help("`images(..)` takes the classes from subfolders: move each image into a subfolder with the name of its class")
        .help("`idx(..)` and `npy(..)` read the targets from a second file: `npy(\"inputs.npy\", \"targets.npy\")`");

    /// Reports a position that no row selects (a warning). `cure` is the advice.
    fn unused_position(span: Span, position: i64, column: &str, size: usize, cure: Gapless<'_>, schema: &Schema)
        = warning(UNUSED_POSITION, span, "no row has the value {position} in `{column}`")
        .label("has the positions 0 to {}", size.saturating_sub(1))
        .note("in the data `{}`", schema.name)
        .help(cure.advice());

    /// Reports a position that no integer of a column selects (a warning).
    fn unused_by_integers(span: Span, position: i64, selected: Selected<'_>, schema: &Schema)
        let Selected { column, input, axis: (axis, at), size } = selected;
        let last = size - 1;
        = warning(UNUSED_POSITION, span,
            "no row has the value {position} in `{column}`, so element {position} of `{axis}` keeps its prior")
        .label("its values are used as positions")
        .also(at, "has the positions 0 to {last}")
        .note("in the data `{}`", schema.name)
        .help("declare `{input}: index(J)` and give the axis the size `J`, so that each distinct value has one position")
        .help_if((position == 0).then(|| format!(
            "or, if `{column}` counts from 1, select by `{input} - 1` and give the axis the size {last}"
        )));

    /// Reports a vector input without a column, in a model that also has other inputs.
    fn vector_among_others(span: Span, input: &str, columns: &[ForVector], schema: &Schema)
        let names = columns.iter().map(|column| &*column.input).collect::<Vec<_>>();
        let declared = names.iter().map(|name| format!("{name}: real")).collect::<Vec<_>>();
        let renamed = columns.iter().filter_map(|column| column.entry.as_deref()).collect::<Vec<_>>();
        = error(NO_COLUMN, span, "the data item `{}` has no column for `{input}`", schema.name)
        .label("a vector takes all inputs of the data only if it is the only input of the model")
        .help("replace the input `{input}` by `{}`, and write `[{}]` wherever the model uses `{input}`",
            declared.join(", "), names.join(", "))
        .help_if((!renamed.is_empty()).then(|| format!("in the data write `inputs = [.., {}, ..]`", renamed.join(", "))));

    /// Reports an output that has a single value for all examples although an input has one value per
    /// example.
    fn unlike(span: Span, output: &str, input: &str, schema: &Schema)
        = error(WRONG_COLUMN, span,
            "`{output}` is one array for all examples, but `{input}` has one value for each example")
        .note("in the data `{}`", schema.name)
        .label("would be observed once for each example")
        .help("observe arrays of different lengths in a model that takes whole arrays, or in separate models");

    /// Reports an output that would be bound to the last column of the data item at `data`, although
    /// another column has its name.
    fn displaced(span: Span, output: &str, last: &str, data: Span)
        = error(WRONG_COLUMN, span,
            "`{output}` would be read from the last column, `{last}`, but the data have a column `{output}`")
        .label("the output")
        .also(data, "does not name its target, so the last column is the target")
        .help("write `target = {output}` in the data item, or name the column that is the target");
}

/// Returns the first text of a column, and its row.
fn first_text(field: &Field) -> Option<(&str, usize)> {
    match (&field.kind, field.text_row) {
        (FieldKind::Levels(levels), Some(row)) => Some((word(levels), row)),
        _ => None,
    }
}

/// Returns a valid name for an input that is bound to a column.
fn name_of_input(column: &str) -> String {
    match bnnc_grammar::is_keyword(column) {
        true => format!("{column}_"),
        false => column.to_owned(),
    }
}

/// Reports that the inputs do not fit into an array of all inputs with the declared sizes.
pub fn other_sizes(span: Span, (input, sizes): (&str, String), schema: &Schema) -> Diagnostic {
    let inputs = schema.inputs;
    let is_array = schema.axes.len() > 1;
    let found = match is_array {
        true => format!("an array {:?}", schema.axes),
        false if inputs == 1 => "one number".to_owned(),
        false => format!("{inputs} numbers"),
    };
    let text = format!("`{input}` is declared as `real[{sizes}]`, but a row of the data is {found}");
    let diagnostic = wrong(span, text, schema).label("takes all inputs of a row");
    let target = schema.target.as_ref();
    let target = target.and_then(|name| schema.fields.iter().find(|field| field.name == *name));
    let is_swapped = inputs == 1 && target.is_some_and(|field| field.shape.iter().product::<usize>() > 1);
    let last_first = schema
        .axes
        .last()
        .into_iter()
        .chain(schema.axes.split_last().map_or(&[][..], |(_, rest)| rest));
    let last_first: Vec<String> = last_first.map(usize::to_string).collect();
    match is_array {
        true if last_first.join(", ") == sizes => diagnostic.help(
            "the axes of an image are channels, rows and columns: in Python, `numpy.moveaxis(images, -1, 1)` puts the channels first",
        ),
        true => diagnostic.help(format!("declare `{input}: real{:?}`", schema.axes)),
        false if is_swapped => {
            diagnostic.help("the rows of the targets are arrays: name the file of inputs first, then the file of targets")
        }
        false => diagnostic.help(format!(
            "the product of the sizes must be {inputs}, with at most one size that is not given"
        )),
    }
}

/// Reports a vector of all inputs if the data do not have numeric inputs.
pub fn no_inputs(span: Span, input: &str, schema: &Schema) -> Diagnostic {
    let text = format!("the data item `{}` has no inputs for `{input}`", schema.name);
    let target = schema.target.as_deref().unwrap_or_default();
    let texts = schema
        .fields
        .iter()
        .filter(|field| matches!(field.kind, FieldKind::Levels(_)) && field.name != target);
    let of_field = |field: &Field| match first_text(field) {
        Some((word, row)) => format!("`{}`, which holds `{word}` in row {row}", field.name),
        None => format!("`{}`", field.name),
    };
    let texts: Vec<String> = texts.map(of_field).collect();
    let diagnostic = Diagnostic::error(&NO_COLUMN, span, text).label("takes the inputs in order");
    match texts.is_empty() {
        true => diagnostic.note("it has no columns besides the target"),
        false => diagnostic
            .note(format!("text cannot be an element of a vector: {}", texts.join("; ")))
            .help("if these columns should contain numbers, correct the file")
            .help("otherwise list only the columns of numbers, `inputs = [a, b]`, or declare a separate input for the text: \
                   `g: index(k)`"),
    }
}

/// Adds advice for a column whose integers count from 1.
pub fn counts_from_one(diagnostic: Diagnostic, column: &str) -> Diagnostic {
    diagnostic.help(format!(
        "`{column}` counts from 1, but positions count from 0: subtract 1 in the file, or declare `{column}: int` and write \
         `[{column} - 1]`"
    ))
}

/// How to bind a column so that a row selects every position.
#[derive(Clone, Copy, Debug)]
pub enum Gapless<'a> {
    /// The values are consecutive integers, so the smallest can be subtracted.
    Shift,
    /// The values of an input have gaps, so the size can be left to the data. The field is the name of the input.
    FromData(&'a str),
    /// The values of an output with classes have gaps, so the classes can be written as text.
    Text,
}

impl Gapless<'_> {
    fn advice(self) -> String {
        match self {
            Gapless::Shift => {
                "subtract the smallest value from this column in the file, or write the labels as text"
                    .to_owned()
            }
            Gapless::FromData(input) => format!(
                "declare `{input}: index(J)`, which has one position per distinct value, or write the labels as text"
            ),
            Gapless::Text => "write the labels as text: each distinct text is then one class".to_owned(),
        }
    }
}

/// An axis with positions that an integer column selects.
pub struct Selected<'a> {
    /// The column.
    pub column: &'a str,
    /// The input to which the column is bound.
    pub input: &'a str,
    /// The name of the parameter or layer with the axis, and the position of its declaration.
    pub axis: (&'a str, Span),
    /// The size of the axis.
    pub size: i64,
}

/// Reports an input or output without a column.
pub fn missing(span: Span, input: &str, names: &[String], schema: &Schema) -> Diagnostic {
    let text = format!("the data item `{}` has no column for `{input}`", schema.name);
    let diagnostic = Diagnostic::error(&NO_COLUMN, span, text)
        .label("no column of this name")
        .suggest_near(input, names.iter().map(String::as_str))
        .note(format!("the columns are {}", quoted(names)));
    let diagnostic = match schema.axes.is_empty() {
        true => diagnostic,
        false => diagnostic.help(format!(
            "a single input `{input}: real{:?}` takes all inputs of a row as one array",
            schema.axes
        )),
    };
    // A column whose name is a keyword is bound to an input with a different name.
    let word = input
        .strip_suffix('_')
        .filter(|word| names.iter().any(|name| name == word));
    if let Some(word) = word {
        return diagnostic.help(format!(
            "feed the input from the column: `inputs = [{input} = \"{word}\"]`"
        ));
    }
    let word = names.iter().find(|name| bnnc_grammar::is_keyword(name));
    if let Some(word) = word {
        return diagnostic.help(format!(
            "`{word}` is a keyword: feed the input from this column by `inputs = [{input} = \"{word}\"]`"
        ));
    }
    let unnamed = schema
        .entries
        .iter()
        .find(|entry| entry.computed && entry.name.is_none());
    match unnamed {
        Some(entry) => diagnostic.help(format!(
            "an entry of `inputs` feeds the input that it names: `{input} = {}`",
            entry.text
        )),
        None => diagnostic,
    }
}

/// A suggested input for one element of a vector.
pub struct ForVector {
    /// The name of the suggested input.
    input: String,
    /// If the column has a different name, the entry of `inputs` that assigns the suggested name.
    entry: Option<String>,
}

impl ForVector {
    /// Suggests an input for an entry of `inputs`. The suggested name is the name of the entry or of the entry's column.
    pub fn new(name: &str, entry: &InputEntry) -> ForVector {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let mut input = name_of_input(&name.replace(|c| !is_plain(c), "_"));
        if !input.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
            input.insert(0, '_');
        }
        let is_renamed = entry.name.is_none() && input != name;
        let value = match entry.computed {
            true => entry.text.clone(),
            false => format!("\"{name}\""),
        };
        let entry = is_renamed.then(|| format!("{input} = {value}"));
        ForVector { input, entry }
    }
}

/// Adds advice if the data have more axes than the declared input. An array is shared by all rows if its length is not the number
/// of rows.
pub fn with_axes(diagnostic: Diagnostic, input: &str, declared: usize, found: usize) -> Diagnostic {
    let axes = match found {
        1 => "n".to_owned(),
        _ => (1..=found)
            .map(|axis| format!("n{axis}"))
            .collect::<Vec<_>>()
            .join(", "),
    };
    match found > declared {
        true => diagnostic
            .help(format!(
                "declare `{input}: real[{axes}]` (the length of this array is not the number of rows, so all rows share the array)"
            ))
            .help(format!(
                "or write the array to a file of its own, `shared = json(\"shared.json\")`, and declare it in the first of two parameter lists: `({input}: real[{axes}])(..)`"
            )),
        false => diagnostic,
    }
}

/// The declaration of an input or output.
#[derive(Clone, Copy)]
pub struct DeclaredPort<'a> {
    /// The name.
    pub name: &'a str,
    /// The type of the elements, as the program writes it.
    pub elements: &'a str,
    /// True if the elements are the numbers of classes, as in `index(3)`.
    pub is_class: bool,
    /// The number of axes.
    pub axes: usize,
}

/// Reports an input or output that does not have as many axes in its declaration as in a row of its field.
pub fn other_axes(span: Span, port: DeclaredPort<'_>, field: &Field, schema: &Schema) -> Diagnostic {
    let DeclaredPort {
        name,
        elements,
        is_class,
        axes,
    } = port;
    let shape = match field.shape.is_empty() {
        true => String::new(),
        false => format!("{:?}", field.shape),
    };
    let wanted = match axes {
        0 => "one number".to_owned(),
        1 => "an array with 1 axis".to_owned(),
        _ => format!("an array with {axes} axes"),
    };
    let found = match field.shape.is_empty() {
        true => "one number".to_owned(),
        false => format!("an array of shape {shape}"),
    };
    let text = format!(
        "`{name}` is declared as {wanted}, but `{}` holds {found} in each row",
        field.name
    );
    let diagnostic = wrong(span, text, schema).label(format!("needs {wanted} in each row"));
    match (is_class, field.shape.as_slice()) {
        (true, [_]) => diagnostic.help(
            "store the number of the class in each row; in Python, `labels.argmax(axis=1)` turns one-hot labels into numbers",
        ),
        _ => diagnostic.help(format!("declare `{name}: {elements}{shape}`")),
    }
}

/// Adds the advice that the column exists in the shared table. A model receives the columns of this
/// table in its first parameter list.
pub fn in_shared_table(diagnostic: Diagnostic, input: &str, model: &str) -> Diagnostic {
    diagnostic.help(format!(
        "`{input}` is in the `shared` table, as one array for all rows: declare it in the first parameter list, `model {model}({input}: real[n])(..) -> ..`"
    ))
}

/// In an error about a column that must contain numbers, adds the number of the first row that contains text.
pub fn with_text_row(diagnostic: Diagnostic, field: &Field, input: &str) -> Diagnostic {
    match field.text_row {
        Some(row) => diagnostic.note(format!("the first row with text is row {row}")).help(format!(
            "if `{}` should contain numbers, correct the file; if it contains names, declare `{input}: index(k)`",
            field.name
        )),
        None => diagnostic,
    }
}

/// Adds the advice for a field of reals that must contain integers.
pub fn with_integers(diagnostic: Diagnostic, field: &Field) -> Diagnostic {
    match field.kind {
        FieldKind::Real => diagnostic.help(
            "if the values are whole numbers, write them as integers, `1` instead of `1.0`; in Python, `labels.astype(int)`",
        ),
        FieldKind::Int(..) | FieldKind::Levels(_) => diagnostic,
    }
}
