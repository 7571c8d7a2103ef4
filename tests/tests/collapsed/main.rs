//! Collapsed inference: the integrals over the box of the iterates agree with closed forms and with
//! brute force. The iterates may come from other inference blocks.

#![allow(clippy::unwrap_used)]
#![cfg(feature = "collapsed")]

mod classes;
mod draws;
mod integrals;
mod published;
mod setup;
mod sources;
