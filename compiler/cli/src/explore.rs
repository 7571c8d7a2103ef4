//! What `bnnc explore` serves: one page, and the answers of the compiler that it shows.

pub mod answers;
mod http;
mod limits;
mod measure;
pub mod server;
