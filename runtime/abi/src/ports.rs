//! The names of those inputs and results of compiled programs that do not come from the model.

use std::sync::Arc;

macro_rules! ports {
    ($($(#[$doc:meta])* $name:ident = $word:literal;)*) => {
        /// The name of an input or a result which the compiler adds, and which the model does not
        /// contain.
        ///
        /// The text of the name contains `$`, which the language does not allow in names. A
        /// parameter or a column called `loss` or `step` is therefore a different port.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum PortName { $($(#[$doc])* $name,)* }

        impl PortName {
            /// All names of ports.
            pub const ALL: &[PortName] = &[$(PortName::$name,)*];

            /// Returns the port's name in programs.
            pub const fn text(self) -> &'static str {
                match self { $(PortName::$name => concat!("$", $word),)* }
            }
        }
    };
}

ports! {
    /// The derivative of the variance of an output with respect to an input.
    Bend = "bend";
    /// For each chosen column, 1 if the column is an element of the state, else 0.
    Chosen = "chosen";
    /// The largest norm of the gradient of the loss.
    Clip = "clip";
    /// The cotangent of one result of a program.
    Cotangent = "cotangent";
    /// The cotangents of the outputs, one for each column.
    Cotangents = "cotangents";
    /// The negative second derivative of the log likelihood with respect to the outputs.
    Curvature = "curvature";
    /// The KL divergence term in the loss, with its weight.
    Divergence = "divergence";
    /// An input with this name is the number of a draw. A result with this name is a draw of an output.
    Draw = "draw";
    /// The number of a row of the data.
    Example = "example";
    /// The eigenvectors of the first of two Kronecker factors; or a first derivative.
    First = "first";
    /// The number of the first draw of a call.
    FirstDraw = "draw0";
    /// The number of the first data row of a call.
    FirstRow = "row0";
    /// A gradient with respect to a state.
    Gradient = "gradient";
    /// The positions of chosen elements among the elements of a state.
    Index = "index";
    /// The number of the training step, counted from 1.
    Iteration = "iteration";
    /// The derivatives of the outputs with respect to states.
    Jacobian = "jacobian";
    /// The functions whose zeros are the kinks of a piecewise function.
    Kinks = "kinks";
    /// A KL divergence.
    Kl = "kl";
    /// The weight of the KL divergence in the loss.
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
    /// The log prior of all sites. This port is used if another result is the log prior of some
    /// sites only.
    LogPriorOfAll = "log_prior_of_all";
    /// The loss of a training step.
    Loss = "loss";
    /// For each element of a pruned site, the factor 0 or 1 on its draws.
    Mask = "mask";
    /// The mean of an output or of a site.
    Mean = "mean";
    /// For each row, the numbers that are added to the chosen elements.
    Moves = "moves";
    /// The outputs of the network.
    Outputs = "outputs";
    /// The number of positions that lie outside their axes.
    Outside = "outside";
    /// The value, before an update, of the parameter that an optimiser updates.
    Parameter = "parameter";
    /// The values of an output in the rows that the rows of a step are mixed with.
    Partner = "partner";
    /// Positions along an axis; one port for each check.
    Position = "position";
    /// The diagonal elements of the precision of the prior.
    Precision = "precision";
    /// The probabilities of the classes of an output.
    Probabilities = "probabilities";
    /// The product of the curvature and a vector.
    Product = "product";
    /// The learning rate.
    Rate = "rate";
    /// The right factor of a Kronecker product.
    Right = "right";
    /// The rows to which checked positions belong; one port for each check.
    Row = "row";
    /// The number of rows in the data divided by the number of rows in a call; or the scale of a
    /// distribution.
    Scale = "scale";
    /// The eigenvectors of the second of two Kronecker factors; or a second derivative.
    Second = "second";
    /// For each row that is mixed with another row, the share of its own outputs in the log likelihood.
    Share = "share";
    /// A first derivative.
    Slope = "slope";
    /// The covariance of the outputs.
    Spread = "spread";
    /// Sums of squared Jacobian elements.
    Squares = "squares";
    /// The step number: one of the coordinates that select random numbers.
    Step = "step";
    /// The observed values.
    Target = "target";
    /// Variances of the outputs or of weights.
    Variance = "variance";
    /// A vector by which a matrix is multiplied.
    Vector = "vector";
}

impl PortName {
    /// The ports of the coordinates that select the random numbers of a noise site.
    pub const COORDINATES: [PortName; 3] = [PortName::Draw, PortName::Example, PortName::Step];

    /// Returns the port with this name in programs.
    pub fn named(text: &str) -> Option<PortName> {
        PortName::ALL.iter().copied().find(|port| port.text() == text)
    }

    /// Returns the name of the port that belongs to one owner: a state, a parameter, an input or an output.
    pub fn of(self, owner: &str) -> String {
        format!("{owner}/{}", self.text())
    }

    /// Returns the name of port `number` of several ports with this name.
    pub fn at(self, number: usize) -> String {
        format!("{}/{number}", self.text())
    }

    /// Returns the number in a name that [`PortName::at`] returned.
    pub fn number(self, name: &str) -> Option<usize> {
        name.strip_prefix(self.text())?.strip_prefix('/')?.parse().ok()
    }
}

impl From<PortName> for Arc<str> {
    fn from(port: PortName) -> Arc<str> {
        port.text().into()
    }
}
