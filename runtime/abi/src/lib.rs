//! The data that compiled code and the runtime share: plans, primitives, method records, data specifications, manifests.
//!
//! The compiler writes these data and the runtime reads them. The compiler and the runtime do not depend on each other.

pub mod accelerator;
pub mod artefact;
pub mod augmentation;
pub mod binding;
pub mod code;
pub mod corruption;
pub mod cost;
pub mod data;
pub mod design;
pub mod device;
pub mod diagnostics;
pub mod manifest;
pub mod method;
pub mod methods;
pub mod metrics;
pub mod names;
pub mod part;
pub mod plan;
pub mod ports;
pub mod primitive;
pub mod rate_schedule;
pub mod run_options;
pub mod schema;
pub mod settings;
pub mod site_report;
pub mod symbols;
