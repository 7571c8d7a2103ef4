//! The names of inputs and results of compiled programs that do not come from the model.

use std::sync::Arc;

macro_rules! ports {
    ($($(#[$doc:meta])* $name:ident = $word:literal;)*) => {
        /// An input or a result of a program that the compiler adds to those of the model.
        ///
        /// Its text contains `$`, which the language does not allow in names: a parameter or a column called `loss` or `step` is another port.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum PortName { $($(#[$doc])* $name,)* }

        impl PortName {
            /// Every name.
            pub const ALL: &[PortName] = &[$(PortName::$name,)*];

            /// Returns the port's name in programs.
            pub const fn text(self) -> &'static str {
                match self { $(PortName::$name => concat!("$", $word),)* }
            }
        }
    };
}

ports! {
    /// The derivative of a variance with respect to an input.
    Bend = "bend";
    /// The factors of chosen elements of a state.
    Chosen = "chosen";
    /// The cotangent of one result.
    Cotangent = "cotangent";
    /// The cotangents of the outputs, one for each column.
    Cotangents = "cotangents";
    /// The negative second derivative of the log likelihood with respect to the outputs.
    Curvature = "curvature";
    /// The weighted divergence term of a loss.
    Divergence = "divergence";
    /// The number of a draw; as a result, a draw of an output.
    Draw = "draw";
    /// The number of a row of the data.
    Example = "example";
    /// The first of two factors.
    First = "first";
    /// The number of the first draw of a call.
    FirstDraw = "draw0";
    /// The number of the first row of a call.
    FirstRow = "row0";
    /// A gradient with respect to a state.
    Gradient = "gradient";
    /// The positions of chosen elements of a state.
    Index = "index";
    /// The number of the training step, counted from 1.
    Iteration = "iteration";
    /// The derivatives of the outputs with respect to states.
    Jacobian = "jacobian";
    /// The differences whose zeros are the kinks of a piecewise function.
    Kinks = "kinks";
    /// A KL divergence.
    Kl = "kl";
    /// The factor of the divergence in the loss.
    KlWeight = "kl_weight";
    /// The left factor of a Kronecker product.
    Left = "left";
    /// The value of a piecewise function.
    Location = "location";
    /// The log density of the sites.
    LogDensity = "log_density";
    /// The log likelihood of the rows.
    LogLikelihood = "log_likelihood";
    /// The log prior of the sites.
    LogPrior = "log_prior";
    /// The log prior of all sites, if another result has the log prior of some.
    LogPriorOfAll = "log_prior_of_all";
    /// The loss of a training step.
    Loss = "loss";
    /// The factors of the elements of a pruned site.
    Mask = "mask";
    /// The mean of an output or of a site.
    Mean = "mean";
    /// Changes of the chosen elements, for each row.
    Moves = "moves";
    /// The outputs of the network.
    Outputs = "outputs";
    /// The number of positions outside their axes.
    Outside = "outside";
    /// The present value of the parameter that an optimiser updates.
    Parameter = "parameter";
    /// Positions along an axis, by number.
    Position = "position";
    /// Precisions of the prior.
    Precision = "precision";
    /// The probabilities of the classes of an output.
    Probabilities = "probabilities";
    /// A product of the curvature and a vector.
    Product = "product";
    /// The learning rate.
    Rate = "rate";
    /// The right factor of a Kronecker product.
    Right = "right";
    /// The rows of positions, by number.
    Row = "row";
    /// The number of rows in the data divided by those in a call; or the scale of a distribution.
    Scale = "scale";
    /// The second of two factors, or a second derivative.
    Second = "second";
    /// A first derivative.
    Slope = "slope";
    /// The covariance of the outputs.
    Spread = "spread";
    /// Sums of squared derivatives.
    Squares = "squares";
    /// The step coordinate of noise.
    Step = "step";
    /// The observed values.
    Target = "target";
    /// Variances.
    Variance = "variance";
    /// A vector that a matrix is multiplied by.
    Vector = "vector";
}

impl PortName {
    /// The coordinates of noise.
    pub const COORDINATES: [PortName; 3] = [PortName::Draw, PortName::Example, PortName::Step];

    /// Returns the port with this name in programs.
    pub fn named(text: &str) -> Option<PortName> {
        PortName::ALL.iter().copied().find(|port| port.text() == text)
    }

    /// Returns the name of the port that belongs to one state, parameter, input or output.
    pub fn of(self, owner: &str) -> String {
        format!("{owner}/{}", self.text())
    }

    /// Returns the name of one of several ports.
    pub fn at(self, number: usize) -> String {
        format!("{}/{number}", self.text())
    }

    /// Returns the number in a name from [`PortName::at`].
    pub fn number(self, name: &str) -> Option<usize> {
        name.strip_prefix(self.text())?.strip_prefix('/')?.parse().ok()
    }
}

impl From<PortName> for Arc<str> {
    fn from(port: PortName) -> Arc<str> {
        port.text().into()
    }
}
