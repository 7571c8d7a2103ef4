//! The book in `docs/`: its pages, links, programs and tables.
//!
//! The command `BNNC_BLESS=1 cargo test --workspace --test book` writes the tables. Tests next to
//! the binary, in `compiler/cli/tests/book`, execute the programs of the book.

mod pages;
mod programs;
mod tables;
