//! Adds tips to errors about invalid command lines that the argument parser does not give. They
//! concern options of items, and programs without their extension.

use crate::arguments::CommandLine;
use crate::session::with_ending;
use bnnc_abi::method::{self, OptionDef, OptionKind};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, CommandFactory};
use std::ffi::OsString;
use std::path::Path;

/// Replaces the tips of the argument parser. `arguments` is the whole command line.
pub fn add(error: &mut clap::Error, arguments: &[OsString]) {
    let tips = match error.kind() {
        ErrorKind::UnknownArgument => of_option(error, arguments),
        ErrorKind::InvalidSubcommand => of_command(error),
        _ => return,
    };
    // A suggestion of the parser, such as "to pass '--epochs' as a value, use '-- --epochs'", is
    // removed, because no command accepts such a value.
    error.remove(ContextKind::Suggested);
    if !tips.is_empty() {
        let tips = tips.into_iter().map(Into::into).collect();
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(tips));
    }
}

fn word(error: &clap::Error, kind: ContextKind) -> Option<&str> {
    match error.get(kind) {
        Some(ContextValue::String(word)) => Some(word),
        _ => None,
    }
}

/// Returns tips for an option that the command does not have.
fn of_option(error: &clap::Error, arguments: &[OsString]) -> Vec<String> {
    let option = word(error, ContextKind::InvalidArg).and_then(|option| option.strip_prefix("--"));
    let Some(option) = option else { return Vec::new() };
    let option = option.split('=').next().unwrap_or(option);
    let commands = CommandLine::command();
    let words = arguments.iter().skip(1).map(|word| word.to_string_lossy());
    let own = words.filter_map(|word| commands.find_subcommand(&*word)).next();
    let sets = own.is_some_and(|command| has(command, "set"));
    let others: Vec<String> = commands
        .get_subcommands()
        .filter(|command| has(command, option))
        .map(|command| format!("`bnnc {}`", command.get_name()))
        .collect();
    if !others.is_empty() {
        return vec![format!("`--{option}` is an option of {}", others.join(", "))];
    }
    let settings = settings(&option.replace('-', "_"));
    let run = if sets { "" } else { "bnnc run FILE " };
    let tips: Vec<String> = settings
        .iter()
        .map(|(item, setting)| format!("an option of {item}: `{run}--set {setting}`"))
        .collect();
    match tips.is_empty() && sets && error.get(ContextKind::SuggestedArg).is_none() {
        true => vec![
            "set an option of an item by the item's name, for example `--set fit.draws=500` for `infer fit`"
                .to_owned(),
        ],
        false => tips,
    }
}

fn has(command: &Command, option: &str) -> bool {
    command
        .get_arguments()
        .any(|argument| argument.get_long() == Some(option))
}

/// Returns the kinds of items that have an option with this name or synonym, each with the text
/// that sets the option. For example, `learning_rate` is a synonym for the optimiser of a training
/// run, and for the step size of a chain.
fn settings(word: &str) -> Vec<(String, String)> {
    let mut settings: Vec<(String, String)> = Vec::new();
    for method in method::ALL.iter() {
        let Some(option) = method.option(word).or_else(|| method.synonym(word)) else {
            continue;
        };
        let setting = match option.kind {
            OptionKind::Optimiser => format!("'NAME.{}={}'", option.name, option.default),
            _ => format!("NAME.{}={}", option.name, value(option)),
        };
        if !settings.iter().any(|(_, known)| *known == setting) {
            let item = format!("`infer NAME = {}(..)`", method.name);
            settings.push((item, setting));
        }
    }
    settings
}

/// Returns the value that a tip shows. It is the option's default, unless a shell would split the
/// default into words.
fn value(option: &OptionDef) -> &'static str {
    let is_plain = |text: &str| {
        text.chars()
            .all(|c| c.is_ascii_alphanumeric() || "._-".contains(c))
    };
    match option.default {
        "" => "VALUE",
        default if is_plain(default) => default,
        _ => "VALUE",
    }
}

/// Returns the tip for a word that is neither a command nor a program.
fn of_command(error: &clap::Error) -> Vec<String> {
    let Some(file) = word(error, ContextKind::InvalidSubcommand) else {
        return Vec::new();
    };
    match with_ending(Path::new(file)) {
        Some(program) => vec![format!("run the program by `bnnc {}`", program.display())],
        None if error.get(ContextKind::SuggestedSubcommand).is_some() => Vec::new(),
        None => vec![format!(
            "`{file}` does not exist; programs are files that end in `.bnn`"
        )],
    }
}
