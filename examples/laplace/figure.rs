//! Arranges several plots in one figure, with additional colours of curves.

use bnnc_report::svg::{Plot, standalone};

/// The CSS classes of the curves in order: the palette of Okabe and Ito, then the same colours with dashed lines.
pub const CURVES: [&str; 12] = [
    "curve0", "curve1", "curve2", "curve3", "curve4", "curve5", "curve6", "dash0", "dash1", "dash2", "dash3",
    "dash4",
];

const COLOURS: [&str; 7] = [
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#777",
];

/// The styles of [`CURVES`].
fn style() -> String {
    let rule = |(at, class): (usize, &&str)| {
        let dashes = if class.starts_with("dash") {
            " stroke-dasharray: 5 4;"
        } else {
            ""
        };
        let number = class
            .trim_start_matches(char::is_alphabetic)
            .parse()
            .unwrap_or(at);
        format!(
            ".plot .{class} {{ stroke: {}; stroke-width: 1.8;{dashes} }}\n",
            COLOURS[number]
        )
    };
    CURVES.iter().enumerate().map(rule).collect()
}

/// Arranges plots under a title, in rows of `columns` plots. All plots have the same `size` in pixels.
pub fn page(title: &str, plots: &[Plot], size: (f64, f64), columns: usize) -> String {
    let rows = plots.len().div_ceil(columns.max(1));
    let (width, height) = (size.0 * columns as f64, size.1 * rows as f64 + 34.0);
    let mut inner = String::new();
    for (at, plot) in plots.iter().enumerate() {
        let (x, y) = (at % columns, at / columns);
        let place = format!(
            "<svg x=\"{}\" y=\"{}\" ",
            size.0 * x as f64,
            34.0 + size.1 * y as f64
        );
        inner.push_str(&plot.render().replacen("<svg ", &place, 1));
    }
    let whole = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"plot\" viewBox=\"0 0 {width:.0} {height:.0}\" width=\"{width:.0}\" \
         height=\"{height:.0}\" role=\"img\" aria-label=\"{title}\">\n<text class=\"title\" x=\"20\" y=\"24\">{title}</text>\n{inner}</svg>\n"
    );
    standalone(&whole).replacen("</style>", &format!("{}</style>", style()), 1)
}
