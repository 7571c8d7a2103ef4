//! Plots that consist of plain ASCII characters, for terminals. A plot has two axes with round ticks, and marks at data coordinates.

use crate::svg::{PlotAxis, number};
use crate::ticks::{Ticks, ticks};

/// The number of lines that a plot has if its vertical axis shows numbers.
const LINES: usize = 12;

/// The smallest number of columns that a plot may have between its left and right ends.
const NARROWEST: usize = 20;

/// The number of columns that each tick label of the horizontal axis needs.
const TICK: usize = 12;

/// The largest number of characters that a name on a vertical axis may have.
const NAME: usize = 24;

/// A plot of characters. Marks are added to it one by one. Later marks are drawn over earlier marks. Marks outside the axes are left out.
#[derive(Clone, Debug)]
pub struct CharacterPlot {
    title: String,
    legend: Vec<(char, String)>,
    x: PlotAxis,
    y: PlotAxis,
    /// The labels of the lines. All have the same number of characters.
    labels: Vec<String>,
    lines: Vec<Vec<char>>,
}

impl CharacterPlot {
    /// Returns an empty plot. The plot is at most `width` characters wide, unless the marks need more room. If the vertical axis shows
    /// names, the plot has one line for each name.
    pub fn new(title: &str, width: usize, x: PlotAxis, y: PlotAxis) -> CharacterPlot {
        let labels = labels(&y);
        let columns = width.saturating_sub(labels[0].chars().count() + 2).max(NARROWEST);
        CharacterPlot {
            title: title.to_owned(),
            legend: Vec::new(),
            lines: vec![vec![' '; columns]; labels.len()],
            labels,
            x,
            y,
        }
    }

    /// Returns the left and the right end of each column in data coordinates.
    fn columns(&self) -> impl Iterator<Item = (f64, f64)> + use<> {
        let columns = self.lines[0].len();
        let (low, step) = (self.x.low, (self.x.high - self.x.low) / columns as f64);
        (0..columns).map(move |at| (low + step * at as f64, low + step * (at + 1) as f64))
    }

    /// Returns the line and the column that contain a point. Returns `None` if the point is outside the plot.
    fn cell(&self, (x, y): (f64, f64)) -> Option<(usize, usize)> {
        let within = |place: f64, cells: usize| {
            let is_inside = (0.0..=1.0).contains(&place);
            is_inside.then(|| ((place * cells as f64) as usize).min(cells - 1))
        };
        let line = within(1.0 - self.y.place(y), self.lines.len())?;
        Some((line, within(self.x.place(x), self.lines[0].len())?))
    }

    /// Draws a mark at a point.
    pub fn point(&mut self, mark: char, point: (f64, f64)) {
        if let Some((line, column)) = self.cell(point) {
            self.lines[line][column] = mark;
        }
    }

    /// Fills the columns below a curve. `height` returns the height of the curve over a column, given the two ends of the column.
    pub fn fill(&mut self, mark: char, height: impl Fn(f64, f64) -> f64) {
        let lines = self.lines.len();
        for (column, (low, high)) in self.columns().enumerate() {
            let share = self.y.place(height(low, high));
            let filled = if share > 0.0 {
                (share * lines as f64).round()
            } else {
                0.0
            } as usize;
            for line in self.lines.iter_mut().rev().take(filled.min(lines)) {
                line[column] = mark;
            }
        }
    }

    /// Draws a curve as a line. Parts that are not above the lower end of the vertical axis are left out.
    pub fn curve(&mut self, mark: char, height: impl Fn(f64, f64) -> f64) {
        let lines = self.lines.len();
        let mut before = self.y.low;
        for (column, (low, high)) in self.columns().enumerate() {
            let now = height(low, high);
            if now.max(before) > self.y.low {
                let share = |height: f64| (1.0 - self.y.place(height)).clamp(0.0, 1.0);
                let line = |height: f64| ((share(height) * lines as f64) as usize).min(lines - 1);
                let (first, last) = (line(now.max(before)), line(now.min(before)));
                self.lines[first..=last]
                    .iter_mut()
                    .for_each(|line| line[column] = mark);
            }
            before = now;
        }
    }

    /// Draws a horizontal line from `low` to `high` at `y`.
    pub fn interval(&mut self, mark: char, y: f64, (low, high): (f64, f64)) {
        let (low, high) = (low.max(self.x.low), high.min(self.x.high));
        // With two points for each column, every column between the ends contains a point.
        let points = 2 * self.lines[0].len();
        if low <= high {
            for point in 0..=points {
                self.point(mark, (low + (high - low) * point as f64 / points as f64, y));
            }
        }
    }

    /// Adds an entry that explains a mark to the legend.
    pub fn legend(&mut self, mark: char, text: &str) {
        self.legend.push((mark, text.to_owned()));
    }

    /// Returns the plot as lines of text.
    pub fn render(&self) -> String {
        let mut text = format!("{}\n", self.title);
        if !self.legend.is_empty() {
            let entries = self.legend.iter().map(|(mark, text)| format!("{mark} {text}"));
            text.push_str(&format!("{}\n", entries.collect::<Vec<_>>().join("   ")));
        }
        for (label, line) in self.labels.iter().zip(&self.lines) {
            let marks: String = line.iter().collect();
            text.push_str(format!("{label} |{marks}").trim_end());
            text.push('\n');
        }
        text + &self.below()
    }

    /// Returns the horizontal axis as three lines. The first line has a mark at each tick, the second line contains the labels of the ticks,
    /// and the third line contains the label of the axis.
    fn below(&self) -> String {
        let columns = self.lines[0].len();
        let indent = " ".repeat(self.labels[0].chars().count() + 1);
        let mut axis = vec!['-'; columns];
        let mut labels = vec![' '; columns];
        let Ticks { values, decimals } = ticks(self.x.low, self.x.high, columns / TICK);
        for value in values {
            let place = self.x.place(value).clamp(0.0, 1.0);
            let at = ((place * columns as f64) as usize).min(columns - 1);
            let label = ascii(value, decimals);
            let start = at
                .saturating_sub(label.len() / 2)
                .min(columns.saturating_sub(label.len()));
            // If a label would touch the previous label, it is left out.
            let is_free = labels[start.saturating_sub(1)..]
                .iter()
                .all(|letter| *letter == ' ');
            axis[at] = '+';
            if is_free && start + label.len() <= columns {
                labels[start..start + label.len()].copy_from_slice(&label.chars().collect::<Vec<_>>());
            }
        }
        let line = |cells: Vec<char>| cells.into_iter().collect::<String>();
        let (axis, labels) = (line(axis), line(labels));
        let mut text = format!("{indent}+{axis}\n{}\n", format!("{indent} {labels}").trim_end());
        if !self.x.label.is_empty() {
            let room = columns.saturating_sub(self.x.label.chars().count()) / 2;
            text.push_str(&format!("{indent} {}{}\n", " ".repeat(room), self.x.label));
        }
        text
    }
}

/// Returns the label of a tick. The label uses the ASCII minus sign, because every terminal can
/// show it.
fn ascii(value: f64, decimals: usize) -> String {
    number(value, decimals).replace('\u{2212}', "-")
}

/// Returns the label of each line for a vertical axis. All labels are padded to the same width.
fn labels(axis: &PlotAxis) -> Vec<String> {
    let labels: Vec<String> = match axis.names.is_empty() {
        true => {
            let Ticks { values, decimals } = ticks(axis.low, axis.high, LINES / 3);
            let line = |value: f64| ((1.0 - axis.place(value)) * LINES as f64) as usize;
            let mut labels = vec![String::new(); LINES];
            for value in values {
                labels[line(value).min(LINES - 1)] = ascii(value, decimals);
            }
            labels
        }
        false => {
            let short = |name: &String| name.chars().take(NAME).collect();
            axis.names.iter().map(short).collect()
        }
    };
    let width = labels
        .iter()
        .map(|label| label.chars().count())
        .max()
        .unwrap_or(0);
    match axis.names.is_empty() {
        true => labels.iter().map(|label| format!("{label:>width$}")).collect(),
        false => labels.iter().map(|label| format!("{label:<width$}")).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_filled_up_to_the_curve() {
        let (x, y) = (PlotAxis::between("x", 0.0, 40.0), PlotAxis::between("", 0.0, 1.0));
        let mut plot = CharacterPlot::new("t", 46, x, y);
        assert_eq!(plot.lines[0].len(), 41);
        plot.fill('#', |low, high| 0.5 * (low + high) / 40.0);
        let heights: Vec<usize> = (0..41)
            .map(|column| plot.lines.iter().filter(|line| line[column] == '#').count())
            .collect();
        assert!(heights.is_sorted());
        // The curve rises from 0 to 1 across 41 columns. Each of the 12 lines represents a twelfth
        // of this height.
        for (column, height) in heights.iter().enumerate() {
            let share = (column as f64 + 0.5) / 41.0;
            assert!((*height as f64 - 12.0 * share).abs() <= 0.5 + 1e-9, "{column}");
        }
    }

    #[test]
    fn a_plot_is_ascii_and_as_wide_as_asked() {
        let x = PlotAxis::between("beta", -2.0, 2.0);
        let y = PlotAxis::between("", 0.0, 0.4);
        let mut plot = CharacterPlot::new("Normal(0, 1)", 60, x, y);
        plot.curve('*', |low, high| (-0.125 * (low + high).powi(2)).exp() * 0.3989);
        plot.legend('*', "density");
        let text = plot.render();
        assert!(text.is_ascii(), "{text}");
        assert!(
            text.lines()
                .all(|line| line.len() <= 60 && line == line.trim_end())
        );
        assert_eq!(text.lines().count(), 2 + LINES + 3);
        let peak = text.lines().position(|line| line.contains("***"));
        assert_eq!(peak, Some(2), "the mode is at the top\n{text}");
        // The curve is a connected line, so every column has a mark.
        let marked = |column: usize| plot.lines.iter().any(|line| line[column] == '*');
        assert!((0..plot.lines[0].len()).all(marked), "{text}");
        for tick in ["-2", "-1", " 0", " 1", "0.4", "0.0"] {
            assert!(text.contains(tick), "{tick}\n{text}");
        }
    }

    #[test]
    fn marks_outside_the_axes_are_left_out() {
        let x = PlotAxis::between("", 0.0, 1.0);
        let y = PlotAxis::named("", vec!["a".to_owned(), "b".to_owned()]);
        let mut plot = CharacterPlot::new("t", 30, x, y);
        plot.interval('-', 1.0, (-5.0, 0.5));
        plot.point('o', (7.0, 0.0));
        plot.point('o', (f64::NAN, 0.0));
        let text = plot.render();
        assert!(!text.contains('o'));
        let second = text.lines().nth(2).unwrap_or_default();
        assert!(second.starts_with("b |----"), "{text}");
    }

    #[test]
    fn an_interval_ends_where_numbers_are_far_apart() {
        // Near 1e16, neighbouring numbers differ by 2. This difference is larger than the width of a column.
        let x = PlotAxis::between("", 1e16, 1e16 + 4.0);
        let y = PlotAxis::named("", vec!["a".to_owned(), "b".to_owned()]);
        let mut plot = CharacterPlot::new("t", 60, x, y);
        plot.interval('-', 1.0, (1e16, 1e16 + 4.0));
        assert!(plot.render().contains('-'));
    }
}
