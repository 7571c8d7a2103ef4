//! The book in `docs/`: its pages, links, programs and tables.
//!
//! `BNNC_BLESS=1 cargo test --workspace --test book` writes the tables. The programs of the book are executed by the tests beside the
//! binary, in `compiler/cli/tests/book`.

mod pages;
mod programs;
mod tables;
