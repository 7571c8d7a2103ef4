//! Tests the contents of reports, such as names and comparisons.

mod comparisons;
mod contents;
mod names;

use crate::support::trial::Trial;
use serde_json::Value;

/// Thirty draws from a normal distribution, rounded to four decimal places.
const VALUES: [f64; 30] = [
    2.3047, 1.9600, 3.7505, 2.9406, 0.0490, 0.6978, 2.1278, 1.6838, 1.9832, 1.1470, 2.8794, 2.7778, 2.0660,
    3.1272, 2.4675, 1.1407, 2.3688, 1.0411, 2.8784, 1.9501, 1.8151, 1.3190, 3.2225, 1.8453, 1.5716, 1.6479,
    2.5323, 2.3654, 2.4127, 2.4308,
];

fn values() -> String {
    VALUES
        .iter()
        .fold("y\n".to_owned(), |text, value| text + &format!("{value}\n"))
}

const LOCATION: &str = "
data d = csv(\"d.csv\")

model M() -> y: real {
  mu ~ Normal(0, 10)
  y ~ Normal(mu, 1)
}

model Wide() -> y: real {
  mu ~ Normal(0, 10)
  y ~ Normal(mu, 3)
}

posterior Q of M {
  mu ~ Normal(2, 0.2)
}

posterior Fixed of M {
  mu ~ Point(2)
}
";

fn location(rest: &str) -> Trial {
    Trial::new()
        .file("d.csv", values())
        .program(&format!("{LOCATION}\n{rest}"))
}

fn line<'a>(result: &'a Value, infer: &str) -> &'a Value {
    let mut lines = result["compare"][0]["lines"].as_array().expect("lines").iter();
    lines.find(|line| line["infer"] == infer).expect("a line")
}
