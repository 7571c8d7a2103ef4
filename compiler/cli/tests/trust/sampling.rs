//! Samplers on posteriors that their adaptation used to miss.
