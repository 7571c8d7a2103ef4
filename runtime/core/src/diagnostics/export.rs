//! Diagnostics of results that cannot be exported.

use bnnc_base::{codes, reports};

codes! {
    pub(super) NO_STAN_CSV = "E0585", "draws that are not written as Stan CSV":
        "`--out DIR` writes the draws of each chain as `stan/INFER_CHAIN.csv`, with one column per element of each parameter. For more \
         than 16,384 elements, this file is not written, because few tools read lines of that length. `posterior.zarr` in the same \
         folder holds all draws.\n\n\
         Wrong: looking for `stan/fit_1.csv` of a network with 79,510 weights.\n\nRight: `arviz` or `xarray` on `posterior.zarr`.";
}

reports! {
    /// A warning: a posterior has too many elements to be written as Stan CSV.
    fn no_stan_csv(infer: &str, elements: usize)
        = data_warning(NO_STAN_CSV, "no Stan CSV is written for `{infer}`: it has {elements} elements, more than 16384")
        .help("read the draws from `posterior.zarr`");
}
