//! Points of phase space, and the leapfrog steps between them.

use crate::adapt::metric::Whitening;
use crate::noise::{ChainNoise, Purpose, TrialStep};
use crate::vector::{add_scaled, dot, sum_scaled};

/// A slot that stores one point, with a count of its users (holds). A new slot has one hold. A slot is free again when all holds are released.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PointSlot(usize);

#[derive(Clone, Debug)]
struct Point {
    position: Vec<f64>,
    momentum: Vec<f64>,
    gradient: Vec<f64>,
    log_density: f64,
    energy: f64,
    holds: u32,
}

/// The points that a sampler has stored. There are as many slots as the largest number of points that were held at the same time. Momenta and
/// gradients are whitened (Note \[Whitening\] in [`crate::adapt::metric`]).
#[derive(Clone, Debug)]
pub struct Points {
    dimension: usize,
    points: Vec<Point>,
    free: Vec<PointSlot>,
}

impl Points {
    /// Creates an empty collection of points with `dimension` elements.
    pub fn new(dimension: usize) -> Points {
        Points {
            dimension,
            points: Vec::new(),
            free: Vec::new(),
        }
    }

    /// Returns a free slot, and adds one hold to it.
    pub fn take(&mut self) -> PointSlot {
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
        PointSlot(self.points.len() - 1)
    }

    /// Adds one hold to a slot.
    pub fn hold(&mut self, slot: PointSlot) {
        self.points[slot.0].holds += 1;
    }

    /// Releases one hold on a slot.
    pub fn release(&mut self, slot: PointSlot) {
        let point = &mut self.points[slot.0];
        point.holds -= 1;
        if point.holds == 0 {
            self.free.push(slot);
        }
    }

    /// Returns the number of slots that are held.
    pub fn held(&self) -> usize {
        self.points.len() - self.free.len()
    }

    /// Returns the position of a point.
    pub fn position(&self, slot: PointSlot) -> &[f64] {
        &self.points[slot.0].position
    }

    /// Returns the whitened momentum of a point.
    pub fn momentum(&self, slot: PointSlot) -> &[f64] {
        &self.points[slot.0].momentum
    }

    /// Returns the whitened gradient at a point.
    pub fn gradient(&self, slot: PointSlot) -> &[f64] {
        &self.points[slot.0].gradient
    }

    /// Returns the log density at a point.
    pub fn log_density(&self, slot: PointSlot) -> f64 {
        self.points[slot.0].log_density
    }

    /// Returns the energy of a point: the kinetic energy minus the log density.
    pub fn energy(&self, slot: PointSlot) -> f64 {
        self.points[slot.0].energy
    }

    /// Sets the position of a point.
    pub fn place(&mut self, slot: PointSlot, position: &[f64]) {
        self.points[slot.0].position.copy_from_slice(position);
    }

    /// Sets the log density and the gradient at a point. The gradient in the argument is not whitened yet.
    pub fn know(&mut self, slot: PointSlot, whitening: &Whitening, log_density: f64, gradient: &[f64]) {
        let point = &mut self.points[slot.0];
        point.log_density = log_density;
        whitening.pull(&mut point.gradient, gradient);
    }

    /// Draws a fresh momentum for a point in this iteration.
    pub fn refresh(&mut self, slot: PointSlot, noise: ChainNoise, iteration: u64) {
        let point = &mut self.points[slot.0];
        noise.normals(Purpose::Motion, iteration, &mut point.momentum);
        point.energy = dot(&point.momentum, &point.momentum) / 2.0 - point.log_density;
    }

    /// Draws a fresh momentum for a trial step before an iteration.
    pub fn refresh_for_trial(
        &mut self,
        slot: PointSlot,
        noise: ChainNoise,
        (iteration, trial): (u64, TrialStep),
    ) {
        let point = &mut self.points[slot.0];
        noise.trial_normals(iteration, trial, &mut point.momentum);
        point.energy = dot(&point.momentum, &point.momentum) / 2.0 - point.log_density;
    }

    /// Takes the first part of a leapfrog step: makes half of the momentum update, and moves to the new position, whose gradient is needed
    /// next.
    pub fn depart(&mut self, from: PointSlot, to: PointSlot, size: f64, whitening: &Whitening) {
        let Ok([from, to]) = self.points.get_disjoint_mut([from.0, to.0]) else {
            unreachable!("a step ends in a slot of its own");
        };
        sum_scaled(&mut to.momentum, &from.momentum, size / 2.0, &from.gradient);
        whitening.drift(&mut to.position, &from.position, size, &to.momentum);
    }

    /// Takes the second part of a leapfrog step: makes the other half of the momentum update, with the gradient that [`Points::know`] set.
    pub fn arrive(&mut self, to: PointSlot, size: f64) {
        let point = &mut self.points[to.0];
        add_scaled(&mut point.momentum, size / 2.0, &point.gradient);
        point.energy = dot(&point.momentum, &point.momentum) / 2.0 - point.log_density;
    }
}
