//! Determines the starts of inference runs. A start consists of random numbers, or comes from an
//! earlier inference block or from a file.

pub mod file;

use crate::Task;
use bnnc_abi::manifest::{InferenceBlock, Init, Start, State};
use bnnc_base::diagnostic::Diagnostic;
use bnnc_base::shape::Sizes;
use bnnc_core::diagnostics;
use bnnc_core::states::{self, StateValues};
use bnnc_math::philox;
use std::collections::HashMap;
use std::sync::Arc;

/// The results of earlier inference blocks on one split, by the name of the block.
pub type EarlierResults = HashMap<String, EarlierResult>;

/// The result of an earlier inference block.
#[derive(Clone, Debug, Default)]
pub struct EarlierResult {
    /// A single value for each state, such as the mean or the mode.
    pub point: Arc<StateValues>,
    /// The states of each member, if the result is an ensemble.
    pub members: Vec<Arc<StateValues>>,
    /// The iterates, or `None` if the result does not contain iterates.
    pub iterates: Option<EarlierIterates>,
}

/// The iterates of an earlier inference block.
#[derive(Clone, Debug)]
pub struct EarlierIterates {
    /// The name of the inference block.
    pub infer: String,
    /// The states. A trained state has one value per iterate (`[count, ..]`). A state that is not
    /// trained has a single value.
    pub values: Arc<StateValues>,
    /// The number of iterates.
    pub count: usize,
}

/// The starts of all members of one inference block, on one split.
pub struct Starts<'a> {
    infer: &'a InferenceBlock,
    earlier: HashMap<String, Arc<StateValues>>,
    /// The given values of each member. If there are more members than sets of given values, each
    /// set is used for several members. Empty if the states have their default starts.
    given: Vec<Arc<StateValues>>,
    /// The iterates of an earlier inference block. `None` if a training run produces the iterates.
    iterates: Option<EarlierIterates>,
}

impl<'a> Starts<'a> {
    /// Reads the start that the options of the inference block name.
    ///
    /// # Errors
    /// Fails if a file cannot be read, its contents do not fit the model, or the earlier inference
    /// block does not have a result on this split.
    pub fn new(
        infer: &'a InferenceBlock,
        earlier: &EarlierResults,
        split: usize,
    ) -> Result<Starts<'a>, Diagnostic> {
        let given = match &infer.start {
            None => Vec::new(),
            Some(Start::File(file)) => vec![Arc::new(file::read(infer, file, split)?)],
            Some(Start::Infer(name)) => match earlier.get(name) {
                Some(found) if found.members.is_empty() => vec![found.point.clone()],
                Some(found) => found.members.clone(),
                None => return Err(diagnostics::nothing_found(&infer.name, name, split)),
            },
        };
        let iterates = match infer.iterated().and_then(|swag| swag.options.iterates.as_ref()) {
            None => None,
            // The compiler has checked that the earlier inference block stores its iterates.
            Some(name) => match earlier.get(name).and_then(|found| found.iterates.clone()) {
                None => return Err(diagnostics::nothing_found(&infer.name, name, split)),
                found => found,
            },
        };
        let points = earlier.iter();
        Ok(Starts {
            infer,
            earlier: points
                .map(|(name, found)| (name.clone(), found.point.clone()))
                .collect(),
            given,
            iterates,
        })
    }

    /// Returns the iterates of an earlier inference block, or `None` if a training run produces the
    /// iterates.
    pub fn iterates(&self) -> Option<&EarlierIterates> {
        self.iterates.as_ref()
    }

    /// Returns the number of different starts that are given. It is larger than one only if an
    /// ensemble is continued.
    pub fn count(&self) -> usize {
        self.given.len()
    }

    /// Returns whether a state of a member starts from a given value. The value must have the size of the state. If not, the
    /// state has its default start.
    pub fn gives(&self, member: usize, state: &str) -> bool {
        let Some(state) = self.infer.states.iter().find(|known| known.name == state) else {
            return false;
        };
        let given = || self.given(member).and_then(|given| given.get(&state.name));
        let fits = |values: &Vec<f64>| values.len() == state.shape.count(&Sizes::default());
        states::taken(state, &self.earlier).is_some() || given().is_some_and(fits)
    }

    /// Returns the given values of a member, or `None` if the states have their default starts.
    fn given(&self, member: usize) -> Option<&StateValues> {
        let given = self.given.get(member % self.given.len().max(1))?;
        Some(given)
    }

    /// Returns the start of a member. States without given values start at random, with this seed.
    /// For an inference block without members, the member is 0.
    pub fn of(&self, seed: u64, member: usize) -> StateValues {
        let mut start = states::start(&self.infer.states, seed, &self.earlier);
        if let Some(given) = self.given(member) {
            self.warm(&mut start, given);
        }
        start
    }

    /// Copies the given values to the states with the same name and size. If a state starts from a
    /// state of another inference block, its value does not change.
    fn warm(&self, start: &mut StateValues, given: &StateValues) {
        let is_open = |state: &&State| states::taken(state, &self.earlier).is_none();
        for state in self.infer.states.iter().filter(is_open) {
            let (Some(own), Some(values)) = (start.get_mut(&state.name), given.get(&state.name)) else {
                continue;
            };
            if own.len() == values.len() {
                own.clone_from(values);
            }
        }
    }
}

/// In a restart, a constant start is shifted at random. The shift is at most this distance on the
/// unconstrained scale.
const JITTER: f64 = 1.0;

impl Starts<'_> {
    /// Returns the start of a member in a task. In all restarts except the first, scalars and
    /// vectors with a constant start are shifted at random, so that the restarts differ. Given
    /// values are not shifted. Matrices are not shifted either, because their starts are already
    /// random, or are constants on purpose.
    pub fn of_task(&self, task: &Task<'_>, member: usize) -> StateValues {
        let seed = task.context.seed;
        let mut start = self.of(seed, member);
        if task.restart == 0 {
            return start;
        }
        let is_constant = |state: &&State| {
            let is_own = state.parameter
                && !state.is_running_mean
                && state.from.is_none()
                && !self.gives(member, &state.name);
            is_own && state.shape.rank() < 2 && matches!(state.init, Init::Constant(_))
        };
        for state in self.infer.states.iter().filter(is_constant) {
            let key = philox::key(seed, &format!("restart/{}", state.name));
            let values = start.get_mut(&state.name).into_iter().flatten();
            for (at, value) in values.enumerate() {
                *value += JITTER * (2.0 * philox::uniform(key, [0, 0, 0], at as u64) - 1.0);
            }
        }
        start
    }
}
