//! Creates small tables with known structure from seeded random numbers.

/// Returns uniform numbers in (0, 1) from SplitMix64 (Steele, Lea and Flood 2014).
pub fn uniform(seed: u64, count: usize) -> Vec<f64> {
    let mut state = seed;
    let next = move || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (((z ^ (z >> 31)) >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    };
    std::iter::repeat_with(next).take(count).collect()
}

/// Returns standard normal numbers by the method of Box and Muller.
pub fn normal(seed: u64, count: usize) -> Vec<f64> {
    let uniforms = uniform(seed ^ 0x5eed, 2 * count);
    let pairs = uniforms.chunks_exact(2);
    pairs
        .map(|pair| (-2.0 * pair[0].ln()).sqrt() * (std::f64::consts::TAU * pair[1]).cos())
        .collect()
}

/// Evaluates a function at the index of each row.
pub fn each(count: usize, of: impl Fn(usize) -> f64) -> Vec<f64> {
    (0..count).map(of).collect()
}

/// Returns a table in the CSV format.
pub fn csv(columns: &[(&str, Vec<f64>)]) -> String {
    let names: Vec<&str> = columns.iter().map(|(name, _)| *name).collect();
    let mut text = names.join(",") + "\n";
    for row in 0..columns[0].1.len() {
        let cells: Vec<String> = columns
            .iter()
            .map(|(_, values)| values[row].to_string())
            .collect();
        text += &(cells.join(",") + "\n");
    }
    text
}

/// Returns a table with `y = 1 + 2 x + noise`. `x` is uniform in (-1, 1), and `noise` is the
/// standard deviation of the noise.
pub fn line(count: usize, noise: f64) -> String {
    let x = each(count, |row| 2.0 * uniform(1, count)[row] - 1.0);
    let e = normal(2, count);
    let y = each(count, |row| 1.0 + 2.0 * x[row] + noise * e[row]);
    csv(&[("x", x), ("y", y)])
}

/// Returns a table whose target is 0 or 1. The log odds of 1 are `0.5 + 2 x`.
pub fn votes(count: usize) -> String {
    let (x, u) = (normal(3, count), uniform(4, count));
    let y = each(count, |row| {
        f64::from(u8::from(u[row] < 1.0 / (1.0 + (-0.5 - 2.0 * x[row]).exp())))
    });
    csv(&[("x", x), ("y", y)])
}

/// Returns a table of Poisson counts, drawn by inversion. The logarithm of the mean is `1 + x / 2`.
pub fn counts(count: usize) -> String {
    let (x, u) = (normal(5, count), uniform(6, count));
    let y = each(count, |row| {
        let mean = (1.0 + 0.5 * x[row]).exp();
        let (mut k, mut p) = (0.0, (-mean).exp());
        let mut below = p;
        while below < u[row] {
            k += 1.0;
            p *= mean / k;
            below += p;
        }
        k
    });
    csv(&[("x", x), ("y", y)])
}

/// Returns a table with the classes 0, 1 and 2. The class of a row is the nearest of three centres
/// in one dimension.
pub fn classes(count: usize) -> String {
    let (x, e) = (normal(7, count), normal(8, count));
    let y = each(count, |row| {
        let seen = x[row] + 0.3 * e[row];
        f64::from(u8::from(seen > -0.4)) + f64::from(u8::from(seen > 0.4))
    });
    csv(&[("x", x), ("y", y)])
}

/// Returns the numbers below `count` in a fixed random order.
pub fn shuffled(count: usize) -> Vec<usize> {
    let keys = uniform(9, count);
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_by(|a, b| keys[*a].total_cmp(&keys[*b]));
    order
}
