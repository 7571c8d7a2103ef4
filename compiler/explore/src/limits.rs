//! How much one request may ask for.

use std::time::Duration;

/// The most weights.
pub const WEIGHTS: usize = 100_000;

/// The most draws.
pub const DRAWS: usize = 1 << 20;

/// The most numbers that are drawn for one evaluation, weights times draws.
pub const NUMBERS: usize = 1 << 21;

/// The fewest and the most evaluations; one has no variance.
pub const REPETITIONS: (usize, usize) = (2, 1000);

/// The longest Taylor series.
pub const TAYLOR: usize = 12;

/// After this no further evaluation begins.
pub const TIME: Duration = Duration::from_secs(4);

/// The longest head of a request, in bytes.
pub const HEAD: usize = 8 << 10;

/// How long a client may take to send it.
pub const PATIENCE: Duration = Duration::from_secs(5);

/// The most connections at a time.
pub const CONNECTIONS: usize = 32;

/// The most requests that wait for the compiler.
pub const WAITING: usize = 16;
