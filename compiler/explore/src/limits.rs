//! The limits of one request.

use std::time::Duration;

/// The maximum number of weights.
pub const WEIGHTS: usize = 100_000;

/// The maximum number of draws.
pub const DRAWS: usize = 1 << 20;

/// The maximum number of elements of one value in an evaluation. For example, a value may have one
/// element for each weight and draw.
pub const NUMBERS: usize = 1 << 21;

/// The minimum and the maximum number of evaluations. A variance needs at least two evaluations.
pub const REPETITIONS: (usize, usize) = (2, 1000);

/// The maximum order of the Taylor series.
pub const TAYLOR: usize = 12;

/// The time after which no further evaluation starts.
pub const TIME: Duration = Duration::from_secs(4);

/// The maximum size of a request's head in bytes.
pub const HEAD: usize = 8 << 10;

/// The time that a client may take to send the head.
pub const PATIENCE: Duration = Duration::from_secs(5);

/// The maximum number of simultaneous connections.
pub const CONNECTIONS: usize = 32;

/// The maximum number of requests that wait for the compiler.
pub const WAITING: usize = 16;
