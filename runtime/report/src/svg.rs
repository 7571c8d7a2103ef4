//! Plots as SVG text. A plot has two axes with round ticks, marks at data coordinates, and a legend at the top.
//!
//! The colours are defined by style classes ([`STYLE`]). The same SVG text can therefore be used on light pages, on dark pages and on paper.

use crate::ticks::{Ticks, ticks};
use bnnc_data::metrics::extent;
use std::fmt::Write;

/// The style sheet of all plots. The blue, orange and green of the style sheet are from the palette of Okabe and Ito. Colour-blind readers can
/// distinguish these colours.
pub const STYLE: &str = include_str!("plot.css");

const LEFT: f64 = 62.0;
const RIGHT: f64 = 18.0;
const TOP: f64 = 58.0;
const BOTTOM: f64 = 50.0;

/// The approximate width of a letter at a font size of 12 pixels.
const LETTER: f64 = 6.4;

/// The additional width of a wide letter.
const WIDER: f64 = 4.0;

/// An axis of a plot.
#[derive(Clone, Debug, PartialEq)]
pub struct PlotAxis {
    /// The quantity that the axis shows, with its unit.
    pub label: String,
    /// The value at the start of the axis.
    pub low: f64,
    /// The value at the end of the axis.
    pub high: f64,
    /// The names of the positions 0, 1 and so on. The vector is empty if the axis shows numbers.
    pub names: Vec<String>,
}

impl PlotAxis {
    /// Returns an axis that contains all finite values. Both ends have some additional room.
    pub fn around(label: &str, values: impl Iterator<Item = f64>) -> PlotAxis {
        let (low, high) = extent(values.filter(|value| value.is_finite()));
        let (low, high) = if low <= high { (low, high) } else { (0.0, 1.0) };
        let room = if high > low {
            0.04 * (high - low)
        } else {
            0.5 * low.abs().max(1.0)
        };
        PlotAxis::between(label, low - room, high + room)
    }

    /// Returns an axis that begins at `low` and ends at `high`.
    pub fn between(label: &str, low: f64, high: f64) -> PlotAxis {
        PlotAxis {
            label: label.to_owned(),
            low,
            high,
            names: Vec::new(),
        }
    }

    /// Returns a vertical axis that shows names. The first name is at the top.
    pub fn named(label: &str, names: Vec<String>) -> PlotAxis {
        PlotAxis {
            label: label.to_owned(),
            low: names.len() as f64 - 0.4,
            high: -0.6,
            names,
        }
    }

    /// Returns the ticks of a vertical axis that is `height` pixels high.
    fn ticks(&self, height: f64) -> Ticks {
        match self.names.len() {
            0 => ticks(self.low, self.high, (height / 50.0).max(4.0) as usize),
            count => Ticks {
                values: (0..count).map(|at| at as f64).collect(),
                decimals: 0,
            },
        }
    }

    /// Returns the labels of the ticks, or the names if the axis shows names.
    fn labels(&self, height: f64) -> Vec<String> {
        let Ticks { values, decimals } = self.ticks(height);
        let label = |value: &f64| match self.names.get(*value as usize) {
            Some(name) => shortened(name),
            None => number(*value, decimals),
        };
        values.iter().map(label).collect()
    }

    /// Returns the place of a value on the axis, from 0 at the start of the axis to 1 at its end.
    pub(crate) fn place(&self, value: f64) -> f64 {
        (value - self.low) / (self.high - self.low)
    }
}

/// The shape of a sample in the legend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Swatch {
    /// A filled box.
    Box,
    /// A line.
    Line,
    /// A dot.
    Dot,
}

/// A plot. Marks are added to it one by one. Marks outside the axes are clipped.
#[derive(Clone, Debug)]
pub struct Plot {
    title: String,
    size: (f64, f64),
    x: PlotAxis,
    y: PlotAxis,
    /// The width of the margin for the labels of the vertical axis.
    left: f64,
    marks: String,
    legend: Vec<(Swatch, &'static str, String)>,
}

impl Plot {
    /// Returns an empty plot. `size` is its width and height in pixels.
    pub fn new(title: &str, size: (f64, f64), x: PlotAxis, y: PlotAxis) -> Plot {
        Plot {
            title: title.to_owned(),
            left: margin(&y.labels(size.1 - TOP - BOTTOM)),
            size,
            x,
            y,
            marks: String::new(),
            legend: Vec::new(),
        }
    }

    fn inner(&self) -> (f64, f64) {
        (self.size.0 - self.left - RIGHT, self.size.1 - TOP - BOTTOM)
    }

    /// Returns the pixel coordinates of a point, relative to the rectangle between the axes.
    fn at(&self, (x, y): (f64, f64)) -> (f64, f64) {
        let (width, height) = self.inner();
        // Coordinates far outside the plot are clamped, so that their numbers do not become too long.
        let pixel = |place: f64, size: f64| place.clamp(-9.0, 10.0) * size;
        (
            pixel(self.x.place(x), width),
            pixel(1.0 - self.y.place(y), height),
        )
    }

    fn path(&self, points: impl Iterator<Item = (f64, f64)>) -> String {
        let mut path = String::new();
        for point in points.filter(|(x, y)| x.is_finite() && y.is_finite()) {
            let (x, y) = self.at(point);
            let _ = write!(path, "{}{x:.1} {y:.1}", if path.is_empty() { "M" } else { "L" });
        }
        path
    }

    /// Draws the area between two curves. `low` and `high` hold the heights of the curves at the positions `x`.
    pub fn band(&mut self, class: &'static str, x: &[f64], low: &[f64], high: &[f64]) {
        let there = x.iter().copied().zip(low.iter().copied());
        let back = x.iter().copied().zip(high.iter().copied()).rev();
        let path = self.path(there.chain(back));
        let _ = writeln!(self.marks, r#"<path class="{class}" d="{path}Z"/>"#);
    }

    /// Draws a line that connects points.
    pub fn line(&mut self, class: &'static str, points: impl Iterator<Item = (f64, f64)>) {
        let path = self.path(points);
        let _ = writeln!(self.marks, r#"<path class="{class}" d="{path}"/>"#);
    }

    /// Draws vertical lines. Each line is given as `(x, low, high)`.
    pub fn bars(&mut self, class: &'static str, bars: impl Iterator<Item = (f64, f64, f64)>) {
        let mut path = String::new();
        for (x, low, high) in bars.filter(|(x, low, high)| (x + low + high).is_finite()) {
            let ((x, start), (_, end)) = (self.at((x, low)), self.at((x, high)));
            let _ = write!(path, "M{x:.1} {start:.1}V{end:.1}");
        }
        let _ = writeln!(self.marks, r#"<path class="{class}" d="{path}"/>"#);
    }

    /// Draws horizontal lines. Each line is given as `(y, low, high)`.
    pub fn rows(&mut self, class: &'static str, rows: impl Iterator<Item = (f64, f64, f64)>) {
        let mut path = String::new();
        for (y, low, high) in rows.filter(|(y, low, high)| (y + low + high).is_finite()) {
            let ((start, y), (end, _)) = (self.at((low, y)), self.at((high, y)));
            let _ = write!(path, "M{start:.1} {y:.1}H{end:.1}");
        }
        let _ = writeln!(self.marks, r#"<path class="{class}" d="{path}"/>"#);
    }

    /// Draws dots. Each dot is given as `(x, y, radius in pixels)`.
    pub fn dots(&mut self, class: &'static str, dots: impl Iterator<Item = (f64, f64, f64)>) {
        let _ = writeln!(self.marks, r#"<g class="{class}">"#);
        for (x, y, radius) in dots.filter(|(x, y, _)| x.is_finite() && y.is_finite()) {
            let (x, y) = self.at((x, y));
            let _ = write!(self.marks, r#"<circle cx="{x:.1}" cy="{y:.1}" r="{radius:.1}"/>"#);
        }
        self.marks.push_str("</g>\n");
    }

    /// Adds an entry that explains a style class to the legend.
    pub fn legend(&mut self, swatch: Swatch, class: &'static str, text: &str) {
        self.legend.push((swatch, class, text.to_owned()));
    }

    /// Returns the plot as an `svg` element of HTML.
    pub fn render(&self) -> String {
        let (width, height) = self.inner();
        let left = self.left;
        let mut text = open(&self.title, self.size);
        self.axes(&mut text);
        let _ = write!(
            text,
            "<svg x=\"{left}\" y=\"{TOP}\" width=\"{width}\" height=\"{height}\">\n{}</svg>\n",
            self.marks
        );
        let (bottom, right) = (TOP + height, self.left + width);
        let _ = writeln!(text, r#"<path class="axis" d="M{left} {TOP}V{bottom}H{right}"/>"#);
        self.draw_legend(&mut text);
        text.push_str("</svg>\n");
        text
    }

    fn axes(&self, text: &mut String) {
        let (width, height) = self.inner();
        let left = self.left;
        let (bottom, right) = (TOP + height, self.left + width);
        let Ticks { values, decimals } = ticks(self.x.low, self.x.high, (width / 66.0) as usize);
        for value in values {
            let x = self.left + self.at((value, self.y.low)).0;
            let _ = writeln!(text, r#"<path class="grid" d="M{x:.1} {TOP}V{bottom}"/>"#);
            let label = number(value, decimals);
            text.push_str(&text_at((x, bottom + 17.0), MIDDLE, &label));
        }
        let labelled = self.y.ticks(height).values.into_iter().zip(self.y.labels(height));
        for (value, label) in labelled {
            let y = TOP + self.at((self.x.low, value)).1;
            let _ = writeln!(text, r#"<path class="grid" d="M{left} {y:.1}H{right}"/>"#);
            text.push_str(&text_at((left - 7.0, y + 4.0), END, &label));
        }
        labels(text, left, self.size, &self.x.label, &self.y.label);
    }

    /// Draws the legend in one line. If the entries do not fit, the gaps between them shrink.
    fn draw_legend(&self, text: &mut String) {
        let (mut x, y) = (LEFT, 42.0);
        let width = |label: &str| 24.0 + length(label);
        let entries: f64 = self.legend.iter().map(|(_, _, label)| width(label)).sum();
        let room = self.size.0 - LEFT - RIGHT - entries;
        let gap = (room / self.legend.len().saturating_sub(1).max(1) as f64).clamp(4.0, 18.0);
        for (swatch, class, label) in &self.legend {
            let _ = match swatch {
                Swatch::Box => writeln!(
                    text,
                    r#"<rect class="{class}" x="{x:.1}" y="{}" width="18" height="11"/>"#,
                    y - 6.0
                ),
                Swatch::Line => writeln!(text, r#"<path class="{class}" d="M{x:.1} {y}h18"/>"#),
                Swatch::Dot => writeln!(
                    text,
                    r#"<g class="{class}"><circle cx="{:.1}" cy="{y}" r="3.5"/></g>"#,
                    x + 9.0
                ),
            };
            text.push_str(&text_at((x + 24.0, y + 4.0), "", label));
            x += width(label) + gap;
        }
    }
}

/// Returns the approximate width of a label in pixels.
fn length(label: &str) -> f64 {
    let wide = label.chars().filter(|letter| "mwMW%".contains(*letter)).count();
    label.chars().count() as f64 * LETTER + wide as f64 * WIDER
}

/// Names on an axis are shortened to at most this number of characters.
const NAME: usize = 24;

fn shortened(name: &str) -> String {
    match name.chars().count() > NAME {
        true => name.chars().take(NAME - 1).chain(['\u{2026}']).collect(),
        false => name.to_owned(),
    }
}

/// Returns the width of the margin that the labels of a vertical axis need.
fn margin(labels: &[String]) -> f64 {
    let longest = labels.iter().map(|label| length(label));
    longest.fold(LEFT, |margin, length| margin.max(length + 32.0))
}

/// Draws counts as a square, with one row per true class and one column per predicted class. The classes are labelled with `names`, or with their
/// indices if `names` is empty.
pub fn matrix(title: &str, counts: &[Vec<usize>], names: &[String]) -> String {
    let names: Vec<String> = match names.len() == counts.len() {
        true => names.iter().map(|name| shortened(name)).collect(),
        false => (0..counts.len()).map(|class| class.to_string()).collect(),
    };
    let classes = counts.len().max(1);
    let cell = (360.0 / classes as f64).clamp(14.0, 70.0);
    let side = cell * classes as f64;
    let left = margin(&names);
    let longest = names.iter().map(|name| length(name)).fold(0.0, f64::max);
    // If the names are wider than a column, they are rotated by 40 degrees.
    let is_rotated = longest > cell - 4.0;
    let deeper = if is_rotated { 0.65 * longest } else { 0.0 };
    // The letters of a title are a sixth wider than other letters.
    let room = LEFT + 1.17 * length(title) + RIGHT;
    let size = ((left + side + RIGHT).max(room), TOP + side + BOTTOM + deeper);
    let mut text = open(title, size);
    for (row, counts) in counts.iter().enumerate() {
        let total = counts.iter().sum::<usize>().max(1) as f64;
        let y = TOP + row as f64 * cell;
        for (column, &count) in counts.iter().enumerate() {
            let x = left + column as f64 * cell;
            // The square root makes small numbers of errors visible next to large numbers of correct predictions.
            let share = (count as f64 / total).sqrt();
            let _ = writeln!(
                text,
                r#"<rect class="cell" fill-opacity="{share:.2}" x="{x:.1}" y="{y:.1}" width="{cell:.1}" height="{cell:.1}"/>"#
            );
            if count > 0 && cell >= 22.0 {
                let class = if share > 0.5 { "on" } else { "off" };
                let (x, y) = (x + cell / 2.0, y + cell / 2.0 + 4.0);
                let _ = writeln!(
                    text,
                    r#"<text class="{class}" x="{x:.1}" y="{y:.1}" text-anchor="middle">{count}</text>"#
                );
            }
        }
        let name = &names[row];
        let (x, y) = (left + (row as f64 + 0.5) * cell, y + cell / 2.0 + 4.0);
        text.push_str(&text_at((left - 7.0, y), END, name));
        let below = TOP + side + 17.0;
        text.push_str(&match is_rotated {
            true => rotated(&format!("{x:.1} {below:.1}"), -40, END, name),
            false => text_at((x, below), MIDDLE, name),
        });
    }
    let drawn = (left + side + RIGHT, size.1);
    labels(&mut text, left, drawn, "predicted class", "true class");
    text.push_str("</svg>\n");
    text
}

/// Shows an image of this many pixels below a title. `file` is a PNG file in base 64. Pixels are enlarged without blurring them.
pub fn sheet(title: &str, (width, height): (usize, usize), file: &str) -> String {
    let title_width = 2.0 * LEFT + 1.17 * length(title);
    let factor = (600.0 / width.max(1) as f64).clamp(1.0, 4.0);
    let (width, height) = (factor * width as f64, factor * height as f64);
    let size = ((LEFT + width + RIGHT).max(title_width), TOP + height);
    format!(
        "{}<image x=\"{LEFT}\" y=\"{}\" width=\"{width:.0}\" height=\"{height:.0}\" style=\"image-rendering: pixelated\" \
         href=\"data:image/png;base64,{file}\"/>\n</svg>\n",
        open(title, size),
        TOP - 20.0,
    )
}

fn open(title: &str, (width, height): (f64, f64)) -> String {
    let title = escape(title);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"plot\" viewBox=\"0 0 {width:.0} {height:.0}\" \
         width=\"{width:.0}\" height=\"{height:.0}\" role=\"img\" aria-label=\"{title}\">\n\
         <text class=\"title\" x=\"{LEFT}\" y=\"22\">{title}</text>\n"
    )
}

fn labels(text: &mut String, left: f64, (width, height): (f64, f64), x: &str, y: &str) {
    let middle = (left + width - RIGHT) / 2.0;
    text.push_str(&text_at((middle, height - 12.0), MIDDLE, x));
    let middle = (TOP + height - BOTTOM) / 2.0;
    text.push_str(&rotated(&format!("16 {middle:.1}"), -90, MIDDLE, y));
}

/// The attributes of a text that is centred at its position, and of a text that ends there.
const MIDDLE: &str = r#" text-anchor="middle""#;
const END: &str = r#" text-anchor="end""#;

/// Returns the element of a text at a position in pixels.
fn text_at((x, y): (f64, f64), anchor: &str, text: &str) -> String {
    format!(
        "<text x=\"{x:.1}\" y=\"{y:.1}\"{anchor}>{}</text>\n",
        escape(text)
    )
}

/// Returns the element of a text that is rotated by some degrees around its position, `X Y`.
fn rotated(position: &str, degrees: i32, anchor: &str, text: &str) -> String {
    let text = escape(text);
    format!("<text transform=\"translate({position}) rotate({degrees})\"{anchor}>{text}</text>\n")
}

/// Returns a plot as the content of a separate file, with the style sheet and a background.
pub fn standalone(plot: &str) -> String {
    match plot.split_once(">\n") {
        Some((open, rest)) => {
            format!(
                "{open}>\n<style>\n{STYLE}</style>\n<rect class=\"ground\" width=\"100%\" height=\"100%\"/>\n{rest}"
            )
        }
        None => plot.to_owned(),
    }
}

/// Formats the label of a tick.
pub(crate) fn number(value: f64, decimals: usize) -> String {
    // Minus zero is shown without the minus sign.
    let value = if value == 0.0 { 0.0 } else { value };
    if value.abs() >= 1e6 || decimals > 5 {
        format!("{value:.1e}")
    } else {
        format!("{value:.decimals$}").replace('-', "\u{2212}")
    }
}

/// Escapes text so that it can be the content of an element or an attribute.
pub fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unit(low: f64, high: f64) -> Plot {
        let axis = PlotAxis::between("x", low, high);
        Plot::new(
            "t",
            (LEFT + RIGHT + 100.0, TOP + BOTTOM + 100.0),
            axis.clone(),
            axis,
        )
    }

    #[test]
    fn labels_with_many_digits_have_room() {
        let of = |low: f64, high: f64| {
            let x = PlotAxis::between("x", 0.0, 1.0);
            let y = PlotAxis::between("y", low, high);
            Plot::new("t", (720.0, 420.0), x, y).left
        };
        assert_eq!(of(0.0, 1.0), LEFT);
        // The margin must have room for six letters and for the title of the axis.
        assert!(of(1.5362, 1.5368) >= 6.0 * LETTER + 30.0);
    }

    #[test]
    fn pixels_grow_right_and_down() {
        let plot = unit(0.0, 2.0);
        assert_eq!(plot.at((0.0, 0.0)), (0.0, 100.0));
        assert_eq!(plot.at((1.0, 2.0)), (50.0, 0.0));
    }

    #[test]
    fn values_that_are_not_finite_are_not_drawn() {
        let mut plot = unit(0.0, 2.0);
        plot.line("mean", [(0.0, f64::NAN), (1.0, 1.0)].into_iter());
        assert!(plot.render().contains(r#"d="M50.0 50.0""#));
    }

    #[test]
    fn text_is_escaped() {
        assert_eq!(escape("a<b & \"c\""), "a&lt;b &amp; &quot;c&quot;");
    }

    #[test]
    fn an_axis_around_nothing_or_one_value_has_a_length() {
        for values in [vec![], vec![3.0], vec![f64::NAN]] {
            let axis = PlotAxis::around("x", values.into_iter());
            assert!(axis.low < axis.high);
        }
    }

    /// The last entry of a long legend ends inside the plot. The entries of a short legend do not overlap.
    #[test]
    fn a_legend_fits_into_its_plot() {
        let last = |labels: &[&str]| {
            let axis = || PlotAxis::between("", 0.0, 1.0);
            let mut plot = Plot::new("", (460.0, 320.0), axis(), axis());
            labels
                .iter()
                .for_each(|label| plot.legend(Swatch::Line, "mean", label));
            let text = plot.render();
            let end = text.rfind("h18").unwrap_or_default();
            let start = text[..end].rfind("d=\"M").unwrap_or_default() + 4;
            let x = text[start..end].split(' ').next().map(str::parse::<f64>);
            x.and_then(Result::ok).unwrap_or(f64::NAN)
        };
        let long = ["maximum", "diagonal", "1000 selected", "1000 random"];
        let end = last(&long) + 24.0 + length("1000 random");
        assert!((end - (460.0 - RIGHT)).abs() < 0.1, "{end}");
        assert!((last(&["a", "b"]) - (LEFT + 24.0 + LETTER + 18.0)).abs() < 0.1);
    }
}
