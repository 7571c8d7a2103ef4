//! Selects evenly spaced rows.

use bnnc_data::Rows;
use bnnc_data::table::ArrayValues;

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
        field.values = match &field.values {
            ArrayValues::Byte(all) => ArrayValues::Byte(every_row(all, width, every)),
            ArrayValues::Int(all) => ArrayValues::Int(every_row(all, width, every)),
            ArrayValues::Real(all) => ArrayValues::Real(every_row(all, width, every)),
            ArrayValues::Level { codes, levels } => ArrayValues::Level {
                codes: every_row(codes, width, every),
                levels: levels.clone(),
            },
        };
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
