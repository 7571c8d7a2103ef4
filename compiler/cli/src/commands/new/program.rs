//! Writes the text of the program.

use super::facts::shown;
use super::likelihood::OutputLikelihood;
use super::model::{self, ModelPart, ModelText};
use super::names::reference;
use bnnc_abi::data::Format;

/// A column and its name in the program.
#[derive(Clone, Debug)]
pub struct NamedColumn {
    /// The name of the column in the file.
    pub column: String,
    /// The name of the input or output in the model.
    pub name: String,
}

impl NamedColumn {
    /// Returns whether the two names are equal. In this case, the input or output is bound to the
    /// column without an entry in the data item.
    fn is_same(&self) -> bool {
        self.column == self.name
    }
}

/// A column of groups.
#[derive(Clone, Debug)]
pub struct GroupColumn {
    /// The names of the column.
    pub named: NamedColumn,
    /// The number of groups.
    pub levels: usize,
    /// The ratio of the variance of the output between groups to its variance within groups, if it is
    /// known.
    pub variance_ratio: Option<f64>,
}

/// The paths of a program and of its data.
#[derive(Debug)]
pub struct ProgramPaths {
    /// The path of the program, as the user gave it.
    pub program: String,
    /// The path of the data, relative to the folder of the program.
    pub data: String,
}

/// Everything that determines the text of the program.
#[derive(Debug)]
pub struct ProgramPlan {
    /// The paths of the program and of the data.
    pub paths: ProgramPaths,
    /// The format of the data.
    pub format: Format,
    /// The name of the data item.
    pub item: String,
    /// The output.
    pub output: NamedColumn,
    /// The distribution of the output, and the reason for this choice.
    pub choice: (OutputLikelihood, String),
    /// The inputs with a coefficient.
    pub numbers: Vec<NamedColumn>,
    /// The inputs with one effect per value.
    pub groups: Vec<GroupColumn>,
    /// The name and a description of each column of the file.
    pub columns: Vec<(String, String)>,
    /// True if some columns of the file are not among the inputs.
    pub is_partial: bool,
    /// The number of rows that the program reads.
    pub rows: usize,
    /// The reason why all rows are training rows. `None` if some rows are test rows.
    pub untested: Option<String>,
    /// Remarks on missing values and on the order of the rows.
    pub remarks: Vec<String>,
}

/// The largest number of columns that the comment describes one by one. If there are more, it
/// states how many are left.
const MOST_DESCRIBED: usize = 40;

/// If a step of the sampler reads more numbers than this, a comment warns that a run takes minutes.
const MANY_NUMBERS: usize = 300_000;

impl ProgramPlan {
    /// Returns whether the vector `x` is the only input.
    pub fn has_vector(&self) -> bool {
        self.groups.is_empty() && !self.numbers.is_empty()
    }

    /// Returns the text of the program, before it is formatted.
    pub fn text(&self) -> String {
        let mut text = self.head();
        text += &self.data_item();
        let linear = model::of(self, ModelPart::Linear);
        text += &format!("{}\n{}\n", linear.text, self.inference(&linear));
        if !self.numbers.is_empty() {
            text += &self.network();
        }
        text
    }

    fn head(&self) -> String {
        // The comment contains only the file name, because the path depends on the folder in which `bnnc new`
        // was run.
        let program = self.paths.program.rsplit('/').next().unwrap_or_default();
        let mut text = comment(&format!(
            "A first model of `{}`, written by `bnnc new`. Everything in it is a guess that you can change. Run it:",
            shown(&self.output.column)
        ));
        text += &format!("//\n//   bnnc run {program}\n//\n// The columns of the data:\n//\n");
        let described = self.columns.iter().take(MOST_DESCRIBED);
        let width = described
            .clone()
            .map(|(name, _)| name.chars().count())
            .max()
            .unwrap_or(0);
        for (name, about) in described {
            text += &format!("//   {name:<width$}  {about}\n");
        }
        if let Some(more @ 1..) = self.columns.len().checked_sub(MOST_DESCRIBED) {
            text += &format!("//   and {more} more\n");
        }
        for remark in &self.remarks {
            text += "//\n";
            text += &comment(remark);
        }
        text + "\n"
    }

    fn data_item(&self) -> String {
        let mut options = Vec::new();
        if let Some(inputs) = self.inputs() {
            let why = match self.has_vector() {
                true => {
                    "The columns that explain the output, in the order of the vector `x`. Delete a name to leave its column out."
                }
                false => "The columns that the data item standardises or renames for the model.",
            };
            options.push(comment(why) + &format!("inputs = [{}]\n", inputs.join(", ")));
        }
        options.push(
            comment("The output: the column that the model predicts.")
                + &format!("target = {}\n", self.target()),
        );
        options.push(match &self.untested {
            None => {
                comment("A fifth of the rows, chosen at random, is not used for fitting. The run measures its predictions on these rows.")
                    + "test = fraction(0.2)\n"
            }
            Some(why) => comment(&format!("No rows are kept for testing, because {why}.")),
        });
        let is_scaled = self.choice.0.is_standardised();
        let scaled: Vec<&str> = [(!self.numbers.is_empty(), "inputs"), (is_scaled, "target")]
            .into_iter()
            .filter(|(is_in, _)| *is_in)
            .map(|(_, word)| word)
            .collect();
        let list = scaled.join(", ");
        let why = "Subtract the mean and divide by the standard deviation, so that the same priors suit every column. Results in units of the output are \
                   converted back; coefficients stay on the standardised scale.";
        match scaled.len() {
            0 => {}
            1 => options.push(comment(why) + &format!("standardise = {list}\n")),
            _ => options.push(comment(why) + &format!("standardise = [{list}]\n")),
        }
        let (item, format, data) = (&self.item, self.format.word(), &self.paths.data);
        format!(
            "data {item} = {format}(\"{data}\") {{\n{}}}\n\n",
            options.join("\n")
        )
    }

    /// Returns the entries of `inputs = [..]`, or `None` if the program does not need this option.
    fn inputs(&self) -> Option<Vec<String>> {
        let entry = |named: &NamedColumn| match named.is_same() || self.has_vector() {
            true => reference(&named.column),
            false => format!("{} = {}", named.name, reference(&named.column)),
        };
        let renamed = self
            .groups
            .iter()
            .map(|group| &group.named)
            .filter(|named| !named.is_same());
        let entries: Vec<String> = self.numbers.iter().chain(renamed).map(entry).collect();
        (!entries.is_empty() && self.is_partial).then_some(entries)
    }

    /// Returns the value of the option `target`.
    fn target(&self) -> String {
        let column = reference(&self.output.column);
        match self.choice.0 {
            OutputLikelihood::Either(value) => format!("{column} == {value}"),
            _ => column,
        }
    }

    fn inference(&self, model: &ModelText) -> String {
        let mut text = comment(
            "`nuts` draws from the posterior with four Markov chains. The run warns if they have not converged; `bnnc doc nuts` lists the options.",
        );
        let mut options = Vec::new();
        if !model.non_centered.is_empty() {
            text += &comment(
                "`non_centered` samples these parameters in units of their own scale, which is easier where the rows determine them only roughly.",
            );
            options.push(format!("non_centered = [{}]", model.non_centered.join(", ")));
        }
        if model.has_weak_effects {
            text += &comment(
                "A higher `target_acceptance` makes smaller steps, which prevents divergences near effects of size zero.",
            );
            options.push("target_acceptance = 0.95".to_owned());
        }
        if self.rows < self.numbers.len() {
            text += &comment(
                "With more inputs than rows, the scales of the model are uncertain and their draws correlated, so the chains are longer than the default of 1000.",
            );
            options.push("draws = 2500".to_owned());
        }
        if self.rows * self.numbers.len() > MANY_NUMBERS {
            text += &comment(
                "Each step reads all rows, which takes minutes here. To try things out, write `limit = 1000` into the data item.",
            );
        }
        let options = match options.is_empty() {
            true => String::new(),
            false => format!(" {{ {} }}", options.join(", ")),
        };
        format!("{text}infer fit = nuts(Linear, {}){options}\n", self.item)
    }

    /// Returns the model of the network as a comment.
    fn network(&self) -> String {
        let network = model::of(self, ModelPart::Network);
        let mut code = format!("{}\nposterior MeanField of Network {{\n", network.text);
        for line in &network.posterior {
            code += &format!("  {line}\n");
        }
        code += &format!(
            "}}\n\ninfer network = vi(MeanField, {}) {{ restarts = 3 }}\n",
            self.item
        );
        if self.untested.is_none() {
            code += "\ncompare fit, network by log_likelihood\n";
        }
        let mut text = comment(
            "A Bayesian neural network for the same data: `eta` may then be any smooth function of the numbers. To fit it too, delete the two slashes and \
             the blank at the beginning of each line below. `vi` approximates the posterior by independent normal distributions, which is fast.",
        );
        let formatted = super::formatted(&code).unwrap_or(code);
        text.push('\n');
        for line in formatted.lines() {
            text += format!("// {line}").trim_end();
            text.push('\n');
        }
        text
    }
}

/// Returns a text as a comment with lines of at most 100 characters.
pub fn comment(text: &str) -> String {
    let mut lines = String::new();
    let mut line = String::from("//");
    for word in text.split_whitespace() {
        if line.chars().count() + 1 + word.chars().count() > 100 && line.len() > 2 {
            lines += &line;
            lines.push('\n');
            line = String::from("//");
        }
        line.push(' ');
        line += word;
    }
    lines + &line + "\n"
}
