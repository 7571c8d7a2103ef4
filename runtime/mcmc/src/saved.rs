//! Writes and reads the saved states of samplers.

use crate::seam::Corrupt;
use serde::{Serialize, de::DeserializeOwned};

/// Returns a state as bytes. The bytes include the kind of the sampler.
pub fn write<State: Serialize>(kind: &str, state: &State) -> Vec<u8> {
    match postcard::to_allocvec(&(kind, state)) {
        Ok(bytes) => bytes,
        Err(error) => unreachable!("states hold numbers and vectors of known lengths: {error}"),
    }
}

/// Reads a state that [`write()`] wrote.
///
/// # Errors
/// The bytes belong to another kind of sampler, or were not written by [`write()`].
pub fn read<State: DeserializeOwned>(kind: &str, bytes: &[u8]) -> Result<State, Corrupt> {
    let ((of, state), rest): ((String, State), &[u8]) =
        postcard::take_from_bytes(bytes).map_err(|_| Corrupt)?;
    if of == kind && rest.is_empty() {
        Ok(state)
    } else {
        Err(Corrupt)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_of_other_states_are_rejected() {
        let bytes = write("sgld", &(3_u64, vec![1.5, -0.0]));
        let of = |kind, bytes: &[u8]| read::<(u64, Vec<f64>)>(kind, bytes);
        assert_eq!(of("sgld", &bytes), Ok((3, vec![1.5, -0.0])));
        assert_eq!(of("sghmc", &bytes), Err(Corrupt));
        assert_eq!(of("sgld", &bytes[..bytes.len() - 1]), Err(Corrupt));
        assert_eq!(of("sgld", &[&bytes[..], &[0]].concat()), Err(Corrupt));
        assert_eq!(of("sgld", &[]), Err(Corrupt));
    }
}
