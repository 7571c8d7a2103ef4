//! Reads JSON data in Stan's form. A file is one object of scalars and rectangular arrays.

use super::{Parsed, Reading, bytes};
use crate::diagnostics::{self, At, Faults};
use crate::levels::Levels;
use crate::table::{Array, ArrayValues};
use bnnc_base::diagnostic::Diagnostic;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::Value;
use std::fmt;
use std::path::Path;

/// The number of bytes that one member of an object takes, without the text of its name.
const MEMBER: usize = size_of::<String>() + size_of::<Value>() + 8 + 16;

/// Returns an upper bound on the memory of the values and arrays that are parsed from a text, in
/// bytes. The bound is a sum over characters: each character that comes before a value, a member or
/// a string adds a fixed number of bytes.
fn memory(text: &[u8]) -> usize {
    let of_mark = |byte: &u8| match byte {
        // In the array that is built from a list, a number takes 8 bytes, and 8 further bytes while
        // integers are converted to reals. The sum is counted twice, because a growing list can
        // reserve up to twice the space that it uses.
        b',' => 2 * (size_of::<Value>() + 8 + 8),
        // A list reserves space for at least four values. The allocator adds a header of 16 bytes.
        b'[' => 4 * size_of::<Value>() + 16 + 2 * (8 + 8),
        // A member of an object takes memory for a name, a hash, and a slot of 16 bytes in a table of hashes. An
        // object reserves space for at least four members.
        b'{' => 4 * MEMBER,
        b':' => 2 * MEMBER,
        // A string takes as many bytes as it is long, plus a header of at most 32 bytes.
        b'"' => 16,
        _ => 0,
    };
    let marks: usize = text.iter().map(of_mark).sum();
    match text.contains(&b'"') {
        true => marks + text.len(),
        false => marks,
    }
}

/// Reads a JSON file.
pub(super) fn read(path: &Path, target: Option<&str>, reading: &Reading) -> Result<Parsed, Faults> {
    let text = bytes(path, reading)?;
    let (arrays, rows) = arrays(path, &text, target, reading)?;
    reading.free(text.len());
    Ok(Parsed::plain(arrays, rows))
}

/// Returns the arrays of a file, and the number of examples. If a target is named, the number of
/// examples is the length of the target's first axis. Without a target, the number of examples is
/// the most frequent length of an array. If several lengths are equally frequent, the largest of
/// them is used. An array of this length has one element per example. Arrays that are not read are
/// counted too.
fn arrays(
    path: &Path,
    bytes: &[u8],
    target: Option<&str>,
    reading: &Reading,
) -> Result<(Vec<Array>, usize), Faults> {
    if std::str::from_utf8(bytes).is_err() {
        return Err(vec![diagnostics::not_utf8(At::file(path))]);
    }
    let tree = memory(bytes);
    reading.take(path, tree).map_err(|fault| vec![fault])?;
    let Members(members) = serde_json::from_slice(bytes).map_err(|error| {
        let (row, column) = (error.line(), error.column());
        let detail = without_place(&error.to_string());
        vec![diagnostics::malformed(At { path, row, column }, "json", &detail)]
    })?;
    let mut arrays = Vec::new();
    let mut faults = Vec::new();
    for (name, value) in members.iter().filter(|(name, _)| reading.reads(name)) {
        match array(path, name, (value, reading)) {
            Err(fault) if diagnostics::is_too_large(&fault) => return Err(vec![fault]),
            Ok(array) => arrays.push(array),
            Err(fault) => faults.push(fault),
        }
    }
    if members.is_empty() {
        faults.push(diagnostics::no_rows(path, "values"));
    }
    if !faults.is_empty() {
        return Err(faults);
    }
    let examples = examples(&members, target);
    drop(members);
    reading.free(tree);
    let kept: usize = arrays.iter().map(|array| 8 * array.values.len()).sum();
    reading.take(path, kept).map_err(|fault| vec![fault])?;
    for array in &mut arrays {
        array.per_example = array
            .shape
            .first()
            .is_some_and(|&length| Some(length) == examples);
    }
    Ok((arrays, examples.unwrap_or(1)))
}

/// The members of the top-level object. Duplicate names are kept, because the caller reports them
/// as errors.
struct Members(Vec<(String, Value)>);

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Members, D::Error> {
        deserializer.deserialize_map(Collect)
    }
}

struct Collect;

impl<'de> Visitor<'de> for Collect {
    type Value = Members;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object of arrays")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members, A::Error> {
        let mut members = Vec::new();
        while let Some(member) = map.next_entry()? {
            members.push(member);
        }
        Ok(Members(members))
    }
}

/// Returns the message of `serde_json` without its suffix `at line 1 column 2`. The diagnostic has
/// the place in a separate field.
fn without_place(message: &str) -> String {
    message
        .rsplit_once(" at line ")
        .map_or(message, |(text, _)| text)
        .to_string()
}

fn examples(members: &[(String, Value)], target: Option<&str>) -> Option<usize> {
    let length = |(_, value): &(String, Value)| value.as_array().map(Vec::len).filter(|length| *length > 0);
    let named = target.and_then(|target| members.iter().find(|(name, _)| name == target));
    if let Some(length) = named.and_then(length) {
        return Some(length);
    }
    let lengths: Vec<usize> = members.iter().filter_map(length).collect();
    lengths
        .iter()
        .copied()
        .max_by_key(|length| (lengths.iter().filter(|other| *other == length).count(), *length))
}

/// Converts one member of the top-level object to an array.
fn array(path: &Path, name: &str, (value, reading): (&Value, &Reading)) -> Result<Array, Diagnostic> {
    let mut shape = Vec::new();
    let mut inner = value;
    while let Value::Array(items) = inner {
        shape.push(items.len());
        let Some(first) = items.first() else {
            let text = "expected at least one element, found an empty list";
            return Err(diagnostics::bad_json(path, name, text));
        };
        inner = first;
    }
    let mut leaves = match inner {
        Value::String(_) => Leaves::Text(Levels::default(), reading),
        _ => Leaves::Int(Vec::new()),
    };
    collect(path, &mut name.to_string(), value, &shape, &mut leaves)?;
    let words = is_of_words(value);
    let values = match leaves {
        Leaves::Int(mut values) => {
            values.shrink_to_fit();
            ArrayValues::Int(values)
        }
        Leaves::Real(mut values) => {
            values.shrink_to_fit();
            ArrayValues::Real(values)
        }
        Leaves::Text(levels, _) => levels.finish(),
    };
    Ok(Array {
        name: name.to_string(),
        per_example: false,
        shape,
        values,
        words,
        spellings: None,
    })
}

/// Returns whether all elements of a value are `true` or `false`.
fn is_of_words(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.iter().all(is_of_words),
        other => other.is_boolean(),
    }
}

enum Leaves<'a> {
    Int(Vec<i64>),
    Real(Vec<f64>),
    /// Strings, with the limit on the memory of their levels.
    Text(Levels, &'a Reading),
}

/// Collects the elements of a value. The value must have the expected shape. `place` is the path of
/// the value, such as `X[3][1]`.
fn collect(
    path: &Path,
    place: &mut String,
    value: &Value,
    shape: &[usize],
    leaves: &mut Leaves<'_>,
) -> Result<(), Diagnostic> {
    let bad = |place: &str, text: &str| Err(diagnostics::bad_json(path, place, text));
    match (value, shape.split_first()) {
        (Value::Array(items), Some((&size, inner))) => {
            if items.len() != size {
                return Err(diagnostics::ragged_json(path, place, size, items.len()));
            }
            for (i, item) in items.iter().enumerate() {
                let length = place.len();
                place.push_str(&format!("[{i}]"));
                collect(path, place, item, inner, leaves)?;
                place.truncate(length);
            }
            Ok(())
        }
        (Value::Array(_), None) => bad(place, "expected a single value, found a list"),
        (Value::Number(_) | Value::Bool(_) | Value::String(_), Some(_)) => {
            bad(place, "expected a list, found a single value")
        }
        (Value::Null, _) => bad(place, "expected a value, found null"),
        (Value::Object(_), _) => bad(place, "expected a value or a list, found an object"),
        (leaf, None) => push(path, place, leaf, leaves),
    }
}

fn push(path: &Path, place: &str, leaf: &Value, leaves: &mut Leaves<'_>) -> Result<(), Diagnostic> {
    let bad = |text: &str| Err(diagnostics::bad_json(path, place, text));
    let integer = leaf.as_i64().or(leaf.as_bool().map(i64::from));
    match (leaves, leaf.as_str(), integer, leaf.as_f64()) {
        (Leaves::Text(levels, reading), Some(text), _, _) => reading.take(path, levels.push(text))?,
        (Leaves::Text(..), None, _, _) => return bad("expected text, found a number"),
        (_, Some(_), _, _) => return bad("expected a number, found text"),
        (Leaves::Int(values), None, Some(value), _) => values.push(value),
        (Leaves::Real(values), None, Some(value), _) => values.push(value as f64),
        (Leaves::Real(values), None, None, Some(value)) if value.is_finite() => values.push(value),
        (leaves @ Leaves::Int(_), None, None, Some(value)) if value.is_finite() => {
            let Leaves::Int(so_far) = &*leaves else {
                unreachable!("matched above")
            };
            let widened = so_far.iter().map(|&int| int as f64).chain([value]).collect();
            *leaves = Leaves::Real(widened);
        }
        _ => return bad("expected a finite number, found another value"),
    }
    Ok(())
}
