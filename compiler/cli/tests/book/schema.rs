//! A validator for the part of JSON Schema that the book's schema uses. The validator reports an
//! error if the schema contains an unknown keyword.

use serde_json::{Map, Value};
use std::path::Path;

/// Keywords that do not constrain the value.
const NOTES: &[&str] = &["$schema", "$id", "$defs", "title", "description"];

/// A schema and its definitions.
pub struct Schema(Value);

impl Schema {
    /// Reads a schema.
    ///
    /// # Panics
    /// Panics if the file is not JSON.
    pub fn read(path: &Path) -> Schema {
        let text =
            std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        Schema(serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display())))
    }

    /// Returns the places where a JSON text violates the schema.
    pub fn faults(&self, text: &str) -> Vec<String> {
        let value: Value = match serde_json::from_str(text) {
            Ok(value) => value,
            Err(error) => return vec![format!("the result is not JSON: {error}")],
        };
        let mut faults = Vec::new();
        self.check(&self.0, &value, "result", &mut faults);
        faults
    }

    fn check(&self, schema: &Value, value: &Value, place: &str, faults: &mut Vec<String>) {
        let Some(keywords) = schema.as_object() else {
            if schema == &Value::Bool(false) {
                faults.push(format!("{place} is not in the schema"));
            }
            return;
        };
        for (keyword, wanted) in keywords {
            match keyword.as_str() {
                "type" if !types(wanted).any(|kind| is_of(kind, value)) => {
                    faults.push(format!("{place} is not {wanted}: {value}"));
                }
                "enum" if !wanted.as_array().is_some_and(|all| all.contains(value)) => {
                    faults.push(format!("{place} is not one of {wanted}: {value}"));
                }
                "minimum" if value.as_f64() < wanted.as_f64() => {
                    faults.push(format!("{place} is below {wanted}: {value}"))
                }
                "required" => self.required(wanted, value, place, faults),
                "items" => {
                    for (at, item) in value.as_array().into_iter().flatten().enumerate() {
                        self.check(wanted, item, &format!("{place}[{at}]"), faults);
                    }
                }
                "properties" | "additionalProperties" | "type" | "enum" | "minimum" => {}
                "$ref" => self.check(self.definition(wanted), value, place, faults),
                "anyOf" => self.any(wanted, value, place, faults),
                note => assert!(NOTES.contains(&note), "the validator does not know `{note}`"),
            }
        }
        self.members(keywords, value, place, faults);
    }

    fn required(&self, wanted: &Value, value: &Value, place: &str, faults: &mut Vec<String>) {
        let Some(object) = value.as_object() else { return };
        for name in wanted.as_array().into_iter().flatten().filter_map(Value::as_str) {
            if !object.contains_key(name) {
                faults.push(format!("{place} has no `{name}`"));
            }
        }
    }

    fn members(&self, keywords: &Map<String, Value>, value: &Value, place: &str, faults: &mut Vec<String>) {
        let Some(object) = value.as_object() else { return };
        let known = keywords.get("properties").and_then(Value::as_object);
        for (name, member) in object {
            let schema = known
                .and_then(|known| known.get(name))
                .or_else(|| keywords.get("additionalProperties"));
            if let Some(schema) = schema {
                self.check(schema, member, &format!("{place}.{name}"), faults);
            }
        }
    }

    fn any(&self, wanted: &Value, value: &Value, place: &str, faults: &mut Vec<String>) {
        let mut all = Vec::new();
        for schema in wanted.as_array().into_iter().flatten() {
            let mut own = Vec::new();
            self.check(schema, value, place, &mut own);
            if own.is_empty() {
                return;
            }
            all.extend(own);
        }
        faults.extend(all);
    }

    fn definition(&self, reference: &Value) -> &Value {
        let name = reference.as_str().and_then(|path| path.strip_prefix("#/$defs/"));
        name.and_then(|name| self.0.get("$defs")?.get(name))
            .unwrap_or_else(|| panic!("the schema has no {reference}"))
    }
}

fn types(wanted: &Value) -> impl Iterator<Item = &str> {
    let single = wanted.as_str();
    let several = wanted.as_array().into_iter().flatten().filter_map(Value::as_str);
    single.into_iter().chain(several)
}

fn is_of(kind: &str, value: &Value) -> bool {
    match kind {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "number" => value.is_number(),
        "integer" => value.is_u64() || value.is_i64(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        other => panic!("the validator does not know the type `{other}`"),
    }
}

#[test]
fn differences_are_found_with_their_place() {
    let schema = serde_json::json!({
        "type": "object",
        "required": ["a"],
        "additionalProperties": false,
        "properties": {"a": {"$ref": "#/$defs/counts"}, "b": {"anyOf": [{"type": "null"}, {"enum": ["x"]}]}},
        "$defs": {"counts": {"type": "array", "items": {"type": "integer", "minimum": 1}}}
    });
    let schema = Schema(schema);
    assert!(schema.faults(r#"{"a": [1, 2], "b": null}"#).is_empty());
    assert_eq!(schema.faults(r#"{"b": "x"}"#), ["result has no `a`"]);
    assert_eq!(schema.faults(r#"{"a": [0]}"#), ["result.a[0] is below 1: 0"]);
    assert_eq!(schema.faults(r#"{"a": [1.5]}"#).len(), 1);
    assert_eq!(
        schema.faults(r#"{"a": [], "c": 1}"#),
        ["result.c is not in the schema"]
    );
    assert_eq!(schema.faults(r#"{"a": [], "b": "y"}"#).len(), 2);
}
