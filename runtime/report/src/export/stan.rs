//! Writes draws as Stan CSV files.

use super::Export;
use bnnc_abi::manifest::InferenceBlock;
use bnnc_base::diagnostic::Diagnostic;
use bnnc_base::shape::Sizes;
use bnnc_core::context::Stop;
use bnnc_data::write::stan_csv::{ChainWriter, CsvSite, Settings};
use std::fs;
use std::path::Path;

/// If all sites together have more elements than this, no file is written. The reason is that no tool reads lines of
/// a megabyte.
const COLUMNS: usize = 1 << 14;

/// Returns the number of elements of all sampled sites, if this number is too large for Stan CSV.
pub fn too_long(infer: &InferenceBlock) -> Option<usize> {
    infer.sampling()?;
    let drawn = infer.reports.iter().filter(|site| !site.is_fixed);
    let sizes = drawn.map(|site| site.shape.resolve(&Sizes::default()).iter().product::<usize>());
    Some(sizes.sum()).filter(|elements| *elements > COLUMNS)
}

impl Export<'_> {
    /// Writes one file per chain, `INFER_1.csv`, `INFER_2.csv` and so on, to a folder. The folder is created if it does not exist.
    ///
    /// # Errors
    /// Fails if a file cannot be read or written, or if there is too little memory.
    pub fn stan(&self, folder: &Path) -> Result<(), Stop> {
        let name = |chain: usize| folder.join(format!("{}_{chain}.csv", self.of.infer.name));
        let wanted = self.of.sites();
        let shapes: Vec<Vec<usize>> = wanted.iter().map(|site| self.of.shape(*site)).collect();
        let chains = match too_long(self.of.infer) {
            None => self.chains(),
            Some(_) => Vec::new(),
        };
        if chains.is_empty() && !folder.exists() {
            return Ok(());
        }
        let made = fs::create_dir_all(folder);
        made.map_err(|error| bnnc_core::diagnostics::cannot_write(folder, &error.to_string()))?;
        // An earlier run may have had more chains. The files of additional chains are removed. Otherwise, tools would read them as chains of
        // this run.
        let mut stale = chains.len() + 1;
        while fs::remove_file(name(stale)).is_ok() {
            stale += 1;
        }
        let names: Vec<Vec<String>> = wanted.iter().map(|site| self.element_names(*site)).collect();
        let parameters = wanted
            .iter()
            .zip(&shapes)
            .zip(&names)
            .map(|((site, shape), names)| CsvSite {
                name: &self.of.infer.reports[*site].name,
                shape,
                names,
            });
        let parameters: Vec<CsvSite<'_>> = parameters.collect();
        for (number, chain) in chains.into_iter().enumerate() {
            self.chain(&name(number + 1), (number + 1, chain), &parameters)?;
        }
        Ok(())
    }

    /// Returns the names of the elements of a site. The result is empty if no axis of the site has names.
    fn element_names(&self, site: usize) -> Vec<String> {
        let name = &self.of.infer.reports[site].name;
        let shape = self.of.shape(site);
        let names = &self.of.infer.names;
        let mut axes = shape.iter().enumerate();
        match axes.any(|(at, size)| names.axis(name, at, *size).is_some()) {
            true => (0..shape.iter().product())
                .map(|at| names.element(name, &shape, at))
                .collect(),
            false => Vec::new(),
        }
    }

    fn chain(
        &self,
        path: &Path,
        (number, chain): (usize, usize),
        parameters: &[CsvSite<'_>],
    ) -> Result<(), Stop> {
        let Some(sampling) = self.of.infer.sampling() else {
            return Ok(());
        };
        let settings = Settings {
            model: &self.of.infer.name,
            seed: self.of.context.seed,
            chain: number,
            warmup: sampling.options.warmup,
            draws: sampling.options.draws,
            thin: sampling.options.thin,
            saves_warmup: false,
            transition: &sampling.transition,
        };
        let mut file = ChainWriter::create(path, &settings, self.sampled.stats(), parameters)?;
        let of = &self.sampled.chains[chain];
        let first = self.sampled.layout.dimension;
        let step_size = of.stats.iter().position(|name| *name == "step_size");
        let record = of.store.records(0..1)?;
        let step_size = step_size.map_or(f64::NAN, |at| record[first + at]);
        file.adapted(step_size, &of.inverse_metric)?;
        let wanted = self.of.sites();
        let (mut before, mut block) = (0, Vec::with_capacity(wanted.len()));
        let mut written: Result<(), Diagnostic> = Ok(());
        self.programs()?.visit(chain, &wanted, |site, values| {
            block.push(values.to_vec());
            if wanted.last() == Some(&site) && written.is_ok() {
                let rows = self.lines(&mut file, (chain, before), parameters, &block);
                written = rows.map(|rows| before += rows);
                block.clear();
            }
        })?;
        written?;
        Ok(file.finish()?)
    }

    /// Writes the draws of a chain as lines. `before` is the index of the first draw. `block` holds the values of each site. Returns the number
    /// of draws that were written.
    fn lines(
        &self,
        file: &mut ChainWriter,
        (chain, before): (usize, usize),
        parameters: &[CsvSite<'_>],
        block: &[Vec<f64>],
    ) -> Result<usize, Diagnostic> {
        let widths = parameters
            .iter()
            .map(|parameter| parameter.shape.iter().product());
        let widths: Vec<usize> = widths.collect();
        let elements: usize = block.iter().map(Vec::len).sum();
        let rows = elements / widths.iter().sum::<usize>().max(1);
        let store = &self.sampled.chains[chain].store;
        let records = store.records(before..before + rows)?;
        let mut values = Vec::with_capacity(elements / rows.max(1));
        for (row, record) in records.chunks_exact(store.layout().width()).enumerate() {
            values.clear();
            for (site, width) in block.iter().zip(&widths) {
                values.extend_from_slice(&site[row * width..(row + 1) * width]);
            }
            file.draw(&record[self.sampled.layout.dimension..], &values)?;
        }
        Ok(rows)
    }
}
