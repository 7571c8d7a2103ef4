//! Tests training that does not converge, that gets worse, that depends on its start, or that is
//! interrupted.

mod interrupted;
mod length;
mod swag;

use crate::support::trial::Trial;

/// Returns a table of `y = 3 + 2 u - v` with noise, and the root mean square of the residuals about the least-squares plane.
fn plane() -> (String, f64) {
    let count = 60;
    let rows: Vec<[f64; 3]> = (0..count)
        .map(|i| {
            let (u, v) = (f64::from(i) / 30.0 - 1.0, f64::from(i * 7 % 11) / 5.0 - 1.0);
            [u, v, 3.0 + 2.0 * u - v + (f64::from(i * 13 % 17) / 17.0 - 0.47)]
        })
        .collect();
    // The least-squares plane solves the normal equations, here by Cramer's rule.
    let sum = |of: &dyn Fn(&[f64; 3]) -> f64| rows.iter().map(of).sum::<f64>();
    let n = f64::from(count);
    let (u, v, y) = (sum(&|r| r[0]), sum(&|r| r[1]), sum(&|r| r[2]));
    let (uu, uv, vv) = (
        sum(&|r| r[0] * r[0]),
        sum(&|r| r[0] * r[1]),
        sum(&|r| r[1] * r[1]),
    );
    let (uy, vy) = (sum(&|r| r[0] * r[2]), sum(&|r| r[1] * r[2]));
    let determinant = |m: [[f64; 3]; 3]| {
        m[0][0] * (m[1][1] * m[2][2] - m[1][2] * m[2][1]) - m[0][1] * (m[1][0] * m[2][2] - m[1][2] * m[2][0])
            + m[0][2] * (m[1][0] * m[2][1] - m[1][1] * m[2][0])
    };
    let columns = [[n, u, v], [u, uu, uv], [v, uv, vv], [y, uy, vy]];
    let with = |at: usize| {
        let mut chosen = [columns[0], columns[1], columns[2]];
        if at < 3 {
            chosen[at] = columns[3];
        }
        determinant(chosen)
    };
    let [a, b, c] = [0, 1, 2].map(|at| with(at) / with(3));
    let squares = sum(&|r| (r[2] - a - b * r[0] - c * r[1]).powi(2));
    let lines = rows.iter().map(|[u, v, y]| format!("{u},{v},{y}\n"));
    let table = std::iter::once("u,v,y\n".to_owned()).chain(lines).collect();
    (table, (squares / n).sqrt())
}

const MODEL: &str = "
data rows = csv(\"rows.csv\")

model Plane(x: real[d]) -> y: real {
  a ~ Normal(0, 10)
  b: real[d]      ~ Normal(0, 10)
  sigma: positive ~ HalfNormal(10)
  y ~ Normal(a + dot(b, x), sigma)
}

posterior Wide of Plane { a, b, sigma ~ Normal(0, 1) }
";

fn planes(infers: &str) -> (Trial, f64) {
    let (table, sigma) = plane();
    let trial = Trial::new()
        .file("rows.csv", table)
        .program(&format!("{MODEL}\n{infers}"));
    (trial, sigma)
}
