//! Names, comparisons and everything else a report must show.
