//! What infers start from: random numbers, what earlier infers found, and files.

pub mod file;

use crate::Task;
use bnnc_abi::manifest::{Infer, Init, Start, State};
use bnnc_base::diagnostic::Diagnostic;
use bnnc_base::shape::Sizes;
use bnnc_core::codes;
use bnnc_core::states::{self, Values};
use bnnc_math::philox;
use std::collections::HashMap;
use std::sync::Arc;

/// What the infers that came before found on one split, by name.
pub type Earlier = HashMap<String, Found>;

/// What an earlier infer found.
#[derive(Clone, Debug, Default)]
pub struct Found {
    /// Its states, as a point.
    pub point: Arc<Values>,
    /// Those of each member, where it is an ensemble.
    pub members: Vec<Arc<Values>>,
    /// Its iterates, where it holds them.
    pub iterates: Option<Iterates>,
}

/// The iterates that an infer found.
#[derive(Clone, Debug)]
pub struct Iterates {
    /// Its name.
    pub infer: String,
    /// The states that move as `[count, ..]`, the others as they are.
    pub values: Arc<Values>,
    /// How many there are.
    pub count: usize,
}

/// The starts of one infer on one split.
pub struct Starts<'a> {
    infer: &'a Infer,
    earlier: HashMap<String, Arc<Values>>,
    /// Values for the members in turn; none where the starts are those of the states.
    given: Vec<Arc<Values>>,
    /// Those that are taken in the place of a training.
    iterates: Option<Iterates>,
}

impl<'a> Starts<'a> {
    /// Finds what the infer is told to start from.
    ///
    /// # Errors
    /// A file that cannot be read or does not fit; an earlier infer that found nothing on this split.
    pub fn new(infer: &'a Infer, earlier: &Earlier, split: usize) -> Result<Starts<'a>, Diagnostic> {
        let given = match &infer.start {
            None => Vec::new(),
            Some(Start::File(file)) => vec![Arc::new(file::read(infer, file, split)?)],
            Some(Start::Infer(name)) => match earlier.get(name) {
                Some(found) if found.members.is_empty() => vec![found.point.clone()],
                Some(found) => found.members.clone(),
                None => return Err(codes::nothing_found(&infer.name, name, split)),
            },
        };
        let iterates = match infer.iterated().and_then(|swag| swag.options.iterates.as_ref()) {
            None => None,
            // The compiler has seen that the earlier infer holds some.
            Some(name) => match earlier.get(name).and_then(|found| found.iterates.clone()) {
                None => return Err(codes::nothing_found(&infer.name, name, split)),
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

    /// The iterates that are taken in the place of a training.
    pub fn iterates(&self) -> Option<&Iterates> {
        self.iterates.as_ref()
    }

    /// How many different starts were given: more than one where an ensemble is continued.
    pub fn count(&self) -> usize {
        self.given.len()
    }

    /// Whether a state of a member starts from what was given for it, in its own size, rather than as a state begins by itself.
    pub fn gives(&self, member: usize, state: &str) -> bool {
        let Some(state) = self.infer.states.iter().find(|known| known.name == state) else {
            return false;
        };
        let values = match &state.from {
            Some((infer, name)) => self.earlier.get(infer).and_then(|found| found.get(name)),
            None => self.given(member).and_then(|given| given.get(&state.name)),
        };
        values.is_some_and(|values| values.len() == state.shape.count(&Sizes::default()))
    }

    /// What was given for a member.
    fn given(&self, member: usize) -> Option<&Values> {
        let given = self.given.get(member % self.given.len().max(1))?;
        Some(given)
    }

    /// The start of a member, with random numbers of a seed where nothing else is said. An infer that has no members starts as the first.
    pub fn of(&self, seed: u64, member: usize) -> Values {
        let mut start = states::start(&self.infer.states, seed, &self.earlier);
        if let Some(given) = self.given(member) {
            warm(self.infer, &mut start, given);
        }
        start
    }
}

/// Restarts begin within this of a constant start, on the unconstrained scale.
const JITTER: f64 = 1.0;

impl Starts<'_> {
    /// The start of a member in a task. Restarts after the first move the scalars and vectors that start at a constant; what is given, and matrices, whose
    /// starts are random or empty by intent, stay.
    pub fn of_task(&self, task: &Task<'_>, member: usize) -> Values {
        let seed = task.context.seed;
        let mut start = self.of(seed, member);
        if task.restart == 0 {
            return start;
        }
        let is_constant = |state: &&State| {
            let is_own = state.parameter && state.from.is_none() && !self.gives(member, &state.name);
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

/// Takes what is given for every state of the same name and size that is not taken from another infer.
fn warm(infer: &Infer, start: &mut Values, given: &Values) {
    for state in infer.states.iter().filter(|state| state.from.is_none()) {
        let (Some(own), Some(values)) = (start.get_mut(&state.name), given.get(&state.name)) else {
            continue;
        };
        if own.len() == values.len() {
            own.clone_from(values);
        }
    }
}
