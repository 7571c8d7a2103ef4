//! Names, scales, links and types of a program.
