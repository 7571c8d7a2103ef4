//! The labels of a contraction. In `ij,bj->bi`, a letter names each axis of both operands and of the result.

use crate::diagnostics::CallError;
use std::fmt;

/// The parsed labels of a contraction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContractionLabels {
    /// The letters of the first operand.
    pub left: Vec<char>,
    /// The letters of the second operand.
    pub right: Vec<char>,
    /// The letters of the result.
    pub result: Vec<char>,
}

impl ContractionLabels {
    /// Parses labels such as `ij,bj->bi`. The error describes the first mistake.
    pub fn parse(text: &str) -> Result<ContractionLabels, CallError> {
        let form = || CallError::Rule(format!("labels such as `ij,bj->bi`, found `{text}`"));
        let (operands, result) = text.split_once("->").ok_or_else(form)?;
        let (left, right) = operands.split_once(',').ok_or_else(form)?;
        let labels = ContractionLabels {
            left: left.chars().collect(),
            right: right.chars().collect(),
            result: result.chars().collect(),
        };
        for part in [&labels.left, &labels.right, &labels.result] {
            if !part.iter().all(char::is_ascii_alphabetic) {
                return Err(form());
            }
            if let Some(twice) = part.iter().enumerate().find(|(at, c)| part[..*at].contains(c)) {
                return Err(CallError::Rule(format!(
                    "each letter once per operand, found `{}` twice in `{text}`",
                    twice.1
                )));
            }
        }
        match labels
            .result
            .iter()
            .find(|c| !labels.left.contains(c) && !labels.right.contains(c))
        {
            Some(letter) => Err(CallError::Rule(format!(
                "`{letter}` of the result in an operand of `{text}`"
            ))),
            None => Ok(labels),
        }
    }

    /// Returns the labels of a contraction that has already been checked.
    pub fn checked(text: &str) -> ContractionLabels {
        ContractionLabels::parse(text)
            .unwrap_or_else(|why| unreachable!("labels of a checked contraction: {why}"))
    }

    /// Returns every letter: first those of the result, then those over which the contraction sums.
    pub fn all(&self) -> Vec<char> {
        let mut letters = self.result.clone();
        for letter in self.left.iter().chain(&self.right) {
            if !letters.contains(letter) {
                letters.push(*letter);
            }
        }
        letters
    }

    /// Returns the letters of the axes over which the contraction sums.
    pub fn summed(&self) -> Vec<char> {
        self.all().split_off(self.result.len())
    }

    /// Returns a letter that does not occur in the labels.
    pub fn unused(&self) -> char {
        let used = self.all();
        let free = ('a'..='z').chain('A'..='Z').find(|letter| !used.contains(letter));
        free.unwrap_or_else(|| unreachable!("a contraction has fewer axes than there are letters"))
    }
}

impl fmt::Display for ContractionLabels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = |letters: &[char]| letters.iter().collect::<String>();
        write!(
            f,
            "{},{}->{}",
            text(&self.left),
            text(&self.right),
            text(&self.result)
        )
    }
}
