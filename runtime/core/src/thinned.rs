//! Selects evenly spaced rows.

use bnnc_data::Rows;

/// Returns the first row and every `every`-th row after it.
pub fn thinned(rows: &Rows, every: usize) -> Rows {
    if every <= 1 {
        return rows.clone();
    }
    let mut kept = rows.clone();
    kept.index = every_row(&rows.index, 1, every);
    kept.count = kept.index.len();
    kept.inputs = every_row(&rows.inputs, rows.width, every);
    for field in &mut kept.fields {
        let width = field.width();
        let kept = (0..rows.count).step_by(every);
        field.values = field
            .values
            .select(kept.flat_map(|row| row * width..(row + 1) * width));
    }
    kept
}

fn every_row<T: Copy>(all: &[T], width: usize, every: usize) -> Vec<T> {
    all.chunks(width.max(1))
        .step_by(every)
        .flatten()
        .copied()
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_third_row_is_kept_whole() {
        assert_eq!(every_row(&[1, 2, 3, 4, 5, 6, 7, 8], 2, 3), [1, 2, 7, 8]);
    }
}
