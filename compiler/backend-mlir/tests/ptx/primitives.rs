//! Primitives on the machine against their naive references.
