//! The reads of outputs: the elements that an expression reads, and the outputs that each output needs.

use crate::dims::DimExpr;
use crate::tree::LocalId;
use bnnc_base::source::Span;
use std::collections::HashMap;

/// The elements of an output that an expression reads.
#[derive(Clone, Debug)]
pub struct Use {
    /// The output.
    pub output: LocalId,
    /// The first element and one past the last element that the expression reads. `None` if data or
    /// a function determine these elements.
    pub elements: Option<[DimExpr; 2]>,
    /// The position of the expression.
    pub span: Span,
}

impl Use {
    /// Returns a use of the same output at unknown elements.
    pub fn somewhere(self) -> Use {
        Use {
            elements: None,
            ..self
        }
    }
}

/// Maps each output to the outputs that its distribution reads, with the positions of the reads in the program.
pub type Needs = HashMap<LocalId, Vec<(LocalId, Span)>>;
