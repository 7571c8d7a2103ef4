//! Agents that eat or leave mushrooms, each with a network that learns from its own plays.

use crate::mushrooms::{COLUMNS, Forest, Mushroom};
use bnnc_abi::manifest::{InferenceBlock, Manifest};
use bnnc_abi::schema::{Field, FieldKind, Schema};
use bnnc_core::context::{Context, Stop};
use bnnc_data::Rows;
use bnnc_data::table::ArrayValues;
use bnnc_driver::compile::compile;
use bnnc_driver::options::CompileOptions;
use bnnc_driver::program;
use bnnc_driver::render;
use bnnc_math::philox;
use bnnc_training::online::Online;
use std::collections::HashMap;

/// The number of plays that an agent remembers.
const MEMORY: usize = 4096;

/// The network gets rewards divided by this number.
const UNIT: f64 = 10.0;

/// The actions: eat and leave.
const ACTIONS: [bool; 2] = [true, false];

/// The rule that an agent uses to choose an action.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Policy {
    /// The best action under one draw of the weights.
    Thompson,
    /// A random action with this probability, otherwise the best action under the point estimate.
    Greedy(f64),
    /// A random action.
    Uniform,
}

/// The length of the game, and the amount of training after each play.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// The number of plays.
    pub plays: usize,
    /// The number of training steps after each play.
    pub steps: usize,
}

/// Compiles `mushrooms.bnn`. The data file of this program does not exist, because the plays are generated; this function gives the columns of the
/// file.
///
/// # Errors
/// Returns the diagnostics of the program as text.
pub fn compiled(seed: u64) -> Result<Manifest, String> {
    let options = CompileOptions {
        seed,
        symbols: bnnc_kernels::arrays::symbols(),
        ..CompileOptions::default()
    };
    let program = program::load("mushrooms.bnn", include_str!("mushrooms.bnn"), &options);
    let text = |found: &bnnc_base::diagnostic::Diagnostic| render::text(found, &program.sources, false);
    if program.has_errors() {
        return Err(program.diagnostics.iter().map(text).collect());
    }
    let reward = Field {
        name: "reward".to_owned(),
        kind: FieldKind::Real,
        distinct: None,
        shape: Vec::new(),
        per_example: true,
        text_row: None,
        extent: None,
        words: false,
        bytes: false,
    };
    let schema = Schema {
        name: "plays".to_owned(),
        rows: MEMORY,
        train: MEMORY,
        test: 0,
        validation: 0,
        outliers: 0,
        splits: 1,
        fields: vec![reward],
        inputs: COLUMNS + ACTIONS.len(),
        axes: Vec::new(),
        byte_inputs: false,
        columns: Vec::new(),
        entries: Vec::new(),
        target: Some("reward".to_owned()),
        shared: Vec::new(),
    };
    let schemas = HashMap::from([("plays".to_owned(), schema)]);
    match compile(&program, &schemas, &options) {
        Ok(compiled) => Ok(compiled.manifest),
        Err(failure) => Err(format!("{failure:?}")),
    }
}

/// Returns the cumulative regret of a policy after each play.
///
/// # Errors
/// Fails if the run reaches a limit of the machine.
pub fn regrets(
    manifest: &Manifest,
    policy: Policy,
    settings: Settings,
    context: &Context,
) -> Result<Vec<f64>, Stop> {
    let forest = Forest::new(context.seed);
    let name = match policy {
        Policy::Thompson => "thompson",
        Policy::Greedy(_) | Policy::Uniform => "point",
    };
    let Some(infer) = manifest.infers.iter().find(|infer| infer.name == name) else {
        return Ok(Vec::new());
    };
    let mut agent = Agent::new(infer, policy, context)?;
    let (mut sum, mut sums) = (0.0, Vec::with_capacity(settings.plays));
    for play in 0..settings.plays {
        let mushroom = forest.mushroom(play);
        let eat = agent.choose(&mushroom, play)?;
        sum += mushroom.regret(eat);
        sums.push(sum);
        if policy != Policy::Uniform {
            agent.learn(&mushroom, eat, settings.steps)?;
        }
    }
    Ok(sums)
}

struct Agent<'a> {
    policy: Policy,
    network: Online<'a>,
    /// The key of random choices.
    key: u64,
}

impl<'a> Agent<'a> {
    fn new(infer: &'a InferenceBlock, policy: Policy, context: &Context) -> Result<Agent<'a>, Stop> {
        Ok(Agent {
            policy,
            network: Online::new(infer, MEMORY, context)?,
            key: philox::key(context.seed, "agent"),
        })
    }

    /// Returns whether the agent eats the mushroom.
    fn choose(&mut self, mushroom: &Mushroom, play: usize) -> Result<bool, Stop> {
        let draw = |at| philox::uniform(self.key, [0, 0, play as u32], at);
        let at_random = match self.policy {
            Policy::Thompson => 0.0,
            Policy::Greedy(share) => share,
            Policy::Uniform => 1.0,
        };
        if draw(0) < at_random {
            return Ok(draw(1) < 0.5);
        }
        let mut expected = Vec::new();
        // The weights are drawn once for each play. Both actions use the same draw.
        let rows = rows(&ACTIONS.map(|eat| (mushroom, eat)), None);
        self.network
            .predict(&rows, play..play + 1, |_, block| expected.clone_from(&block.mean))?;
        Ok(expected[0] > expected[1])
    }

    fn learn(&mut self, mushroom: &Mushroom, eat: bool, steps: usize) -> Result<(), Stop> {
        let reward = mushroom.reward(eat) / UNIT;
        self.network.observe(&rows(&[(mushroom, eat)], Some(reward)))?;
        self.network.learn(steps)?;
        Ok(())
    }
}

/// Returns pairs of a mushroom and an action as input rows of the network.
fn rows(plays: &[(&Mushroom, bool)], reward: Option<f64>) -> Rows {
    let mut inputs = Vec::with_capacity(plays.len() * (COLUMNS + ACTIONS.len()));
    for (mushroom, eat) in plays {
        inputs.extend_from_slice(&mushroom.columns);
        inputs.extend(ACTIONS.map(|action| f64::from(u8::from(action == *eat))));
    }
    let fields = reward.map(|reward| ("reward".to_owned(), ArrayValues::Real(vec![reward])));
    Rows::of(COLUMNS + ACTIONS.len(), inputs, fields.into_iter().collect())
}
