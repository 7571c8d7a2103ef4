//! Selects evenly spaced rows.

use bnnc_data::Rows;

/// Returns the first row and every `every`-th row after it.
pub fn thinned(rows: &Rows, every: usize) -> Rows {
    if every <= 1 {
        return rows.clone();
    }
    let places: Vec<usize> = (0..rows.count).step_by(every).collect();
    let mut kept = rows.clone();
    kept.index = places.iter().map(|place| rows.index[*place]).collect();
    kept.count = places.len();
    kept.inputs = rows.inputs.select(&places, rows.width);
    for field in &mut kept.fields {
        let width = field.width();
        let kept = (0..rows.count).step_by(every);
        field.values = field
            .values
            .select(kept.flat_map(|row| row * width..(row + 1) * width));
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_third_row_is_kept_whole() {
        let rows = Rows::of(2, (1..=8).map(f64::from).collect(), Vec::new());
        let kept = thinned(&rows, 3);
        assert_eq!((kept.count, &*kept.index), (2, &[0, 3][..]));
        assert_eq!(*kept.inputs.reals(), [1.0, 2.0, 7.0, 8.0]);
    }
}
