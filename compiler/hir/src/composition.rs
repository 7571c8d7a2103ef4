//! The ways to make a layer of other layers.

/// A kind of layer that is composed of other layers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Composition {
    /// `Sequential(a, b, ..)`: applies its parts one after the other.
    Sequential,
    /// `Residual(inner)`: adds the result of `inner` to the input. `Residual(inner, projection)` adds it to the result of
    /// `projection` instead.
    Residual,
}

impl Composition {
    /// All kinds of composed layers.
    pub const ALL: [Composition; 2] = [Composition::Sequential, Composition::Residual];

    /// Returns the kind with this name.
    pub fn lookup(name: &str) -> Option<Composition> {
        Composition::ALL.into_iter().find(|way| way.name() == name)
    }

    /// Returns the name in programs.
    pub fn name(self) -> &'static str {
        match self {
            Composition::Sequential => "Sequential",
            Composition::Residual => "Residual",
        }
    }

    /// Returns the names of the parts. The parts of `Sequential` do not have names.
    pub fn parts(self) -> &'static [&'static str] {
        match self {
            Composition::Sequential => &[],
            Composition::Residual => &["inner", "projection"],
        }
    }

    /// Returns the path of a part below the path of the layer: `[2]` or `.inner`.
    pub fn path(self, at: usize) -> String {
        match self.parts().get(at) {
            Some(name) => format!(".{name}"),
            None => format!("[{at}]"),
        }
    }
}
