//! Generates mushrooms from a seed. Noisy attributes indicate whether a mushroom is poisonous.

use bnnc_math::philox;

/// The number of values of each of the 22 attributes, as in the mushroom data of Schlimmer (1987).
pub const ATTRIBUTES: [usize; 22] = [6, 4, 10, 2, 9, 2, 2, 2, 12, 2, 5, 4, 4, 9, 9, 1, 4, 3, 5, 9, 6, 7];

/// The number of columns of a mushroom: one for each value of each attribute.
pub const COLUMNS: usize = 117;

/// For each attribute, the probability of a value that is usual for the kind of mushroom. Half of the values are usual for edible mushrooms, and the
/// other half for poisonous mushrooms. The most informative attributes are, in this order, the smell, the spores, the gills and the population. A
/// single attribute never shows with certainty whether a mushroom is poisonous.
const USUAL: [f64; 22] = [
    0.85, 0.85, 0.85, 0.85, 0.99, 0.85, 0.85, 0.85, 0.85, 0.85, 0.85, 0.85, 0.85, 0.85, 0.85, 0.85, 0.85,
    0.85, 0.85, 0.85, 0.85, 0.85,
];

/// The reward of an edible mushroom.
const FOOD: f64 = 5.0;

/// A poisonous mushroom has this reward with probability one half, and otherwise the reward `FOOD`.
const POISON: f64 = -35.0;

/// A mushroom.
pub struct Mushroom {
    /// The attributes in one-hot encoding.
    pub columns: Vec<f64>,
    /// True if the mushroom is poisonous. Agents cannot see this.
    is_poisonous: bool,
    /// The reward of eating the mushroom.
    eaten: f64,
}

impl Mushroom {
    /// Returns the reward of eating or leaving the mushroom.
    pub fn reward(&self, eat: bool) -> f64 {
        if eat { self.eaten } else { 0.0 }
    }

    /// Returns the regret of an action: the expected reward of the best action, minus the expected reward of this action. The best action depends on
    /// whether the mushroom is poisonous.
    pub fn regret(&self, eat: bool) -> f64 {
        match (self.is_poisonous, eat) {
            (false, false) => FOOD,
            (true, true) => -0.5 * (FOOD + POISON),
            (false, true) | (true, false) => 0.0,
        }
    }
}

/// An infinite sequence of mushrooms.
pub struct Forest {
    kinds: u64,
    attributes: u64,
    /// For each attribute, true if its odd values are usual for poisonous mushrooms.
    is_odd_poison: [bool; 22],
}

impl Forest {
    /// Creates the forest that belongs to a seed.
    pub fn new(seed: u64) -> Forest {
        let key = philox::key(seed, "forest/rule");
        Forest {
            kinds: philox::key(seed, "forest/kinds"),
            attributes: philox::key(seed, "forest/attributes"),
            is_odd_poison: std::array::from_fn(|at| philox::uniform(key, [0; 3], at as u64) < 0.5),
        }
    }

    /// Returns the mushroom of a play.
    pub fn mushroom(&self, play: usize) -> Mushroom {
        let draw = |at| philox::uniform(self.kinds, [0, 0, play as u32], at);
        let is_poisonous = draw(0) < 0.5;
        let mut columns = Vec::with_capacity(COLUMNS);
        for (at, count) in ATTRIBUTES.iter().enumerate() {
            let value = self.value(play, at, is_poisonous);
            columns.extend((0..*count).map(|other| f64::from(u8::from(other == value))));
        }
        Mushroom {
            columns,
            is_poisonous,
            eaten: if is_poisonous && draw(1) < 0.5 {
                POISON
            } else {
                FOOD
            },
        }
    }

    /// Returns the value of an attribute. With probability `USUAL`, the value is a usual value for this kind of mushroom. Otherwise, it is another
    /// value.
    fn value(&self, play: usize, at: usize, is_poisonous: bool) -> usize {
        let draw = |part: usize| {
            let element = (2 * at + part) as u64;
            philox::uniform(self.attributes, [0, 0, play as u32], element)
        };
        let is_usual = draw(0) < USUAL[at];
        let is_odd = (is_usual == is_poisonous) == self.is_odd_poison[at];
        let count = ATTRIBUTES[at];
        let odd = count / 2;
        // An attribute with one value is not informative.
        match is_odd && odd > 0 {
            true => 2 * below(odd, draw(1)) + 1,
            false => 2 * below(count - odd, draw(1)),
        }
    }
}

/// Maps a uniform number in (0, 1) to an integer in `0..count`.
fn below(count: usize, uniform: f64) -> usize {
    ((uniform * count as f64) as usize).min(count - 1)
}
