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
    /// The first element that the expression reads, and the element after the last one. `None` if
    /// these depend on data or on a function.
    pub elements: Option<[DimExpr; 2]>,
    /// The position of the expression.
    pub span: Span,
}

impl Use {
    /// Returns a use that reads unknown elements of the same output.
    pub fn somewhere(self) -> Use {
        Use {
            elements: None,
            ..self
        }
    }
}

/// For each output, the outputs that its distribution reads, and the positions in the program where it reads
/// them.
pub type Needs = HashMap<LocalId, Vec<(LocalId, Span)>>;
