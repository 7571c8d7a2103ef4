//! Points of phase space, and the leapfrog steps between them.

use crate::adapt::metric::Whitening;
use crate::noise::{Noise, Purpose};
use crate::vector::{add_scaled, dot, sum_scaled};

/// A place for a point. It is taken with one hold, and is free again when all holds are released.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Slot(usize);

#[derive(Clone, Debug)]
struct Point {
    position: Vec<f64>,
    momentum: Vec<f64>,
    gradient: Vec<f64>,
    log_density: f64,
    energy: f64,
    holds: u32,
}

/// The points of a sampler. There are as many as were ever held at once. Momenta and gradients are whitened (Note \[Whitening\]
/// in [`crate::adapt::metric`]).
#[derive(Clone, Debug)]
pub struct Points {
    dimension: usize,
    points: Vec<Point>,
    free: Vec<Slot>,
}

impl Points {
    /// None yet.
    pub fn new(dimension: usize) -> Points {
        Points {
            dimension,
            points: Vec::new(),
            free: Vec::new(),
        }
    }

    /// A free slot, held once.
    pub fn take(&mut self) -> Slot {
        if let Some(slot) = self.free.pop() {
            self.points[slot.0].holds = 1;
            return slot;
        }
        let zeros = vec![0.0; self.dimension];
        self.points.push(Point {
            position: zeros.clone(),
            momentum: zeros.clone(),
            gradient: zeros,
            log_density: f64::NAN,
            energy: f64::NAN,
            holds: 1,
        });
        Slot(self.points.len() - 1)
    }

    /// Adds a hold.
    pub fn hold(&mut self, slot: Slot) {
        self.points[slot.0].holds += 1;
    }

    /// Gives up a hold.
    pub fn release(&mut self, slot: Slot) {
        let point = &mut self.points[slot.0];
        point.holds -= 1;
        if point.holds == 0 {
            self.free.push(slot);
        }
    }

    /// How many slots are held.
    pub fn held(&self) -> usize {
        self.points.len() - self.free.len()
    }

    /// The position.
    pub fn position(&self, slot: Slot) -> &[f64] {
        &self.points[slot.0].position
    }

    /// The momentum.
    pub fn momentum(&self, slot: Slot) -> &[f64] {
        &self.points[slot.0].momentum
    }

    /// The gradient.
    pub fn gradient(&self, slot: Slot) -> &[f64] {
        &self.points[slot.0].gradient
    }

    /// The log density.
    pub fn log_density(&self, slot: Slot) -> f64 {
        self.points[slot.0].log_density
    }

    /// Minus the log density, plus the kinetic energy.
    pub fn energy(&self, slot: Slot) -> f64 {
        self.points[slot.0].energy
    }

    /// Puts a point at a position.
    pub fn place(&mut self, slot: Slot, position: &[f64]) {
        self.points[slot.0].position.copy_from_slice(position);
    }

    /// Says what is known where a point is: the log density and the gradient as it comes, not whitened.
    pub fn know(&mut self, slot: Slot, whitening: &Whitening, log_density: f64, gradient: &[f64]) {
        let point = &mut self.points[slot.0];
        point.log_density = log_density;
        whitening.pull(&mut point.gradient, gradient);
    }

    /// Gives a point a fresh momentum.
    pub fn refresh(&mut self, slot: Slot, noise: Noise, iteration: u64) {
        let point = &mut self.points[slot.0];
        noise.normals(Purpose::Motion, iteration, &mut point.momentum);
        point.energy = dot(&point.momentum, &point.momentum) / 2.0 - point.log_density;
    }

    /// The first half of a leapfrog step: half a kick, and the drift to where the gradient is needed next.
    pub fn depart(&mut self, from: Slot, to: Slot, size: f64, whitening: &Whitening) {
        let Ok([from, to]) = self.points.get_disjoint_mut([from.0, to.0]) else {
            unreachable!("a step ends in a slot of its own");
        };
        sum_scaled(&mut to.momentum, &from.momentum, size / 2.0, &from.gradient);
        whitening.drift(&mut to.position, &from.position, size, &to.momentum);
    }

    /// The second half: the rest of the kick, by the gradient that [`Points::know`] was told.
    pub fn arrive(&mut self, to: Slot, size: f64) {
        let point = &mut self.points[to.0];
        add_scaled(&mut point.momentum, size / 2.0, &point.gradient);
        point.energy = dot(&point.momentum, &point.momentum) / 2.0 - point.log_density;
    }
}
