//! Transforms the images of a batch of training rows after they were gathered.

use bnnc_abi::binding::images;
use bnnc_abi::manifest::{Binding, DataSource, InferenceBlock, Train};
use bnnc_abi::ports::PortName;
use bnnc_base::dtype::Precision;
use bnnc_base::fault::Fault;
use bnnc_core::feed::Feed;
use bnnc_data::augment::{Augmenter, Pair, RowImages};
use bnnc_data::scaled::Pixel;
use bnnc_data::{ImageSize, Preparation, Rows, Standardisation};
use bnnc_kernels::executor::Machine;
use bnnc_math::philox;

/// The input whose images are transformed, and the transformations.
#[derive(Clone, Debug)]
pub struct AugmentedInput {
    /// The name of the input.
    pub port: String,
    from: DataSource,
    images: Augmenter,
    /// The standardisation of each element; empty for the units of the file.
    maps: Vec<Standardisation>,
    precision: Precision,
    /// Each output of the model with the input that takes its values in the partners of the rows.
    outputs: Vec<(String, String)>,
    /// The pairs of the rows of a step, and their partners.
    pairs: Vec<Pair>,
    partners: Vec<u32>,
}

/// Returns the image that the training transforms. The compiler has checked that the model has exactly one.
fn image<'a>(infer: &'a InferenceBlock, train: &Train) -> Option<(&'a Binding, ImageSize)> {
    if train.options.augment.is_empty() {
        return None;
    }
    let is_output = |port: &str| infer.outputs.iter().any(|output| output.name == port);
    let binding = images(&infer.bindings, is_output).next()?;
    Some((binding, ImageSize::of(&binding.shape)?))
}

impl AugmentedInput {
    /// Prepares the transformations of a training run with this seed. Returns `None` if the training does not transform images.
    pub fn new(
        infer: &InferenceBlock,
        train: &Train,
        preparation: &Preparation,
        seed: u64,
    ) -> Option<AugmentedInput> {
        let (binding, frame) = image(infer, train)?;
        let maps = match &binding.from {
            DataSource::Inputs => preparation.inputs.as_slice(),
            DataSource::Field(name) => {
                let mut named = preparation.named.iter();
                named
                    .find(|(own, _)| own == name)
                    .map_or(&[][..], |(_, maps)| maps)
            }
            DataSource::Input(_) | DataSource::Row | DataSource::Whole(_) | DataSource::Shared(_) => &[],
        };
        let key = philox::key(seed, &format!("augment/{}", infer.name));
        Some(AugmentedInput {
            port: binding.port.clone(),
            from: binding.from.clone(),
            images: Augmenter::new(frame, &train.options.augment, maps, key),
            maps: maps.to_vec(),
            precision: train.step.plan.precision,
            outputs: (infer.outputs.iter())
                .map(|output| (output.name.clone(), PortName::Partner.of(&output.name)))
                .collect(),
            pairs: Vec::new(),
            partners: Vec::new(),
        })
    }

    /// Prepares a feed for [`AugmentedInput::apply`].
    pub fn prepare(&self, feed: &mut Feed) {
        feed.keep_on_host(&self.port);
    }

    /// Transforms the images of the rows that the feed has written to the machine. If rows are mixed, also writes the outputs of their partners.
    /// Epochs are counted from 0.
    ///
    /// # Errors
    /// Fails only if the machine has a bug.
    pub fn apply(
        &mut self,
        machine: &mut Machine,
        feed: &Feed,
        rows: &[u32],
        epoch: usize,
    ) -> Result<(), Fault> {
        // The program of the running means leaves out inputs that no mean depends on.
        if !machine.has_port(&self.port) {
            return Ok(());
        }
        let (images, port) = (&mut self.images, &self.port);
        let all = RowImages {
            count: feed.rows,
            read: &|row, image| feed.read(port, row, image),
        };
        match self.precision {
            Precision::F32 => images.apply(machine.view_mut::<f32>(port)?, rows, epoch, &all),
            Precision::F64 => images.apply(machine.view_mut::<f64>(port)?, rows, epoch, &all),
        }
        self.pair(machine, feed, rows, epoch)
    }

    /// Writes the share of each row, and the outputs of its partner. A program that does not use outputs does not have these inputs.
    fn pair(&mut self, machine: &mut Machine, feed: &Feed, rows: &[u32], epoch: usize) -> Result<(), Fault> {
        if !machine.has_port(PortName::Share.text()) {
            return Ok(());
        }
        self.pairs.clear();
        let pairs = rows
            .iter()
            .filter_map(|row| self.images.pair(*row, feed.rows, epoch));
        self.pairs.extend(pairs);
        self.partners.clear();
        self.partners.extend(self.pairs.iter().map(|pair| pair.partner));
        for (output, partner) in &self.outputs {
            feed.write_to(machine, (output, partner), &self.partners)?;
        }
        let name = PortName::Share.text();
        let shares = self.pairs.iter().map(|pair| pair.share);
        match self.precision {
            Precision::F32 => put(machine.view_mut::<f32>(name)?, shares),
            Precision::F64 => put(machine.view_mut::<f64>(name)?, shares),
        }
        Ok(())
    }

    /// Returns the sizes of the images.
    pub fn frame(&self) -> ImageSize {
        self.images.frame()
    }

    /// Returns the image of one row, `[channels, height, width]`, in the units of the model. Returns `None` if the rows do not have it.
    pub fn image(&self, rows: &Rows, row: usize) -> Option<Vec<f64>> {
        match &self.from {
            DataSource::Inputs => Some(rows.input(row).into_owned()),
            DataSource::Field(name) => {
                let field = rows.field(name)?;
                let width = field.width();
                Some(
                    (row * width..(row + 1) * width)
                        .map(|at| field.real(at))
                        .collect(),
                )
            }
            DataSource::Input(_) | DataSource::Row | DataSource::Whole(_) | DataSource::Shared(_) => None,
        }
    }

    /// Converts an image from the units of the model to the units of the file, multiplied by the `scale` of the data item.
    pub fn undo(&self, image: &mut [f64]) {
        let pixels = image.iter_mut().zip(&self.maps);
        pixels.for_each(|(pixel, map)| *pixel = map.undo(*pixel));
    }

    /// Returns the image of a row as a step of an epoch reads it, `[channels, height, width]`, in the units of the model. Returns `None` if the
    /// rows do not have it.
    pub fn transformed(&mut self, rows: &Rows, row: u32, epoch: usize) -> Option<Vec<f64>> {
        let mut image = self.image(rows, row as usize)?;
        let others = self.clone();
        let all = RowImages {
            count: rows.count,
            read: &|row, to| {
                if let Some(image) = others.image(rows, row as usize) {
                    to.copy_from_slice(&image);
                }
            },
        };
        self.images.apply(&mut image, &[row], epoch, &all);
        Some(image)
    }
}

fn put<T: Pixel>(to: &mut [T], shares: impl Iterator<Item = f64>) {
    to.iter_mut()
        .zip(shares)
        .for_each(|(to, share)| *to = T::of(share));
}

/// Returns the number of bytes of the transformations of one training run on `rows` rows.
pub fn bytes(infer: &InferenceBlock, train: &Train, rows: usize) -> u64 {
    // Three images, twice two numbers per element for its standardisation, and a pair and a partner for each row of a step.
    let rows = 24 * train.options.batch_of(rows) as u64;
    image(infer, train).map_or(0, |(_, frame)| {
        rows + 7 * 8 * (frame.planes * frame.pixels()) as u64
    })
}
