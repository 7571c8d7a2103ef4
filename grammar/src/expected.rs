//! Describes, in a few plain words, the set of tokens that the parser could have accepted.

use crate::token::{TERMINALS, TerminalRole};

/// The set of terminals that the parser could have accepted.
pub struct Expected<'e>(pub &'e [String]);

impl Expected<'_> {
    /// Returns whether the set contains a terminal.
    pub fn has(&self, terminal: &str) -> bool {
        self.0.iter().any(|name| name.trim_matches('"') == terminal)
    }

    /// Returns whether a value may begin here.
    pub fn value(&self) -> bool {
        self.has("int")
    }

    /// Returns whether a name may stand here but no other value may.
    pub fn name(&self) -> bool {
        self.has("name") && !self.value()
    }

    /// Returns whether the construct could end here, so that a new line, a new item or a closing brace may follow.
    pub fn complete(&self) -> bool {
        self.has("return") || self.has("model") || (self.has("}") && self.name()) || self.0.is_empty()
    }

    /// Returns whether a complete expression comes before this place, so that an operator may follow.
    pub fn after_expression(&self) -> bool {
        self.has("+") && !self.value()
    }

    /// Describes the set in at most three phrases.
    pub fn phrase(&self) -> String {
        if self.after_expression() && self.complete() {
            return "an operator or a new line".to_owned();
        }
        let mut phrases = Vec::new();
        if self.value() {
            phrases.push("a value");
        } else if self.has("model") {
            phrases.push("an item such as `model` or `data`");
        } else if self.has("return") {
            phrases.push("a statement");
        } else if self.name() {
            phrases.push(if self.has("dist") { "a type" } else { "a name" });
        }
        phrases.extend(self.of_role(TerminalRole::Mark));
        for role in [
            TerminalRole::Name,
            TerminalRole::Operator,
            TerminalRole::Item,
            TerminalRole::Statement,
            TerminalRole::Value,
        ] {
            if phrases.is_empty() {
                phrases.extend(self.of_role(role));
            }
        }
        phrases.dedup();
        phrases.truncate(3);
        join(&phrases)
    }

    fn of_role(&self, wanted: TerminalRole) -> impl Iterator<Item = &'static str> {
        let rows = TERMINALS
            .iter()
            .filter(move |(terminal, role, _)| *role == wanted && self.has(terminal));
        rows.filter(|(terminal, ..)| !self.goes_without_saying(terminal))
            .map(|(_, _, phrase)| *phrase)
    }

    /// Returns whether a message should not mention a terminal, because it is much rarer here than the alternatives.
    fn goes_without_saying(&self, terminal: &str) -> bool {
        match terminal {
            "," | ":" => self.has("=") || self.has("~"),
            "::" => self.has("model"),
            "for" => self.has("return") || self.has(",") || self.has(")"),
            _ => false,
        }
    }
}

fn join(phrases: &[&str]) -> String {
    match phrases {
        [] => "nothing more".to_owned(),
        [only] => (*only).to_owned(),
        [head @ .., last] => format!("{} or {last}", head.join(", ")),
    }
}
