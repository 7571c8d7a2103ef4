//! Tests of options: values that the checker accepts can be read, and options that a built
//! executable may set have a field in the manifest.

use bnnc_abi::augmentation::Augmentation;
use bnnc_abi::manifest::{RateSchedule, Training};
use bnnc_abi::method::declare::{Mismatch, OptionGroup, OptionSource, Ranking, RawOption};
use bnnc_abi::method::{self, Finds, MethodDef, OptionKind};
use bnnc_abi::methods::collapsed::CollapsedOptions;
use bnnc_abi::methods::dropout::DropoutOptions;
use bnnc_abi::methods::iterates::{EnsembleOptions, IterateOptions, SwagOptions};
use bnnc_abi::methods::laplace;
use bnnc_abi::methods::sampling::{ChainOptions, Transition};
use bnnc_abi::methods::variational::ViOptions;
use std::sync::Arc;

/// Reads all options of a method, at most one of which has a given value. Returns the number of
/// options of the method.
fn read(method: &MethodDef, given: Option<(&str, RawOption<'_>)>) -> Result<usize, Mismatch> {
    let source = OptionSource {
        records: method.options,
        given: &|name| {
            given
                .filter(|(option, _)| *option == name)
                .map(|(_, given)| given)
        },
    };
    fn group<T: OptionGroup>(method: &MethodDef, source: &OptionSource<'_>) -> Result<usize, Mismatch> {
        match method.has::<T>() {
            true => T::read(source).map(|_| T::OPTIONS.len()),
            false => Ok(0),
        }
    }
    let groups = [
        group::<ChainOptions>,
        group::<CollapsedOptions>,
        group::<DropoutOptions>,
        group::<EnsembleOptions>,
        group::<IterateOptions>,
        group::<SwagOptions>,
        group::<Training>,
        group::<ViOptions>,
        group::<laplace::GaussianOptions>,
    ];
    let mut count = 0;
    for group in groups {
        count += group(method, &source)?;
    }
    if let Finds::Chains(sampler) = method.finds {
        Transition::read(sampler, &source)?;
        count = method.options.len();
    }
    Ok(count)
}

#[test]
fn defaults_of_all_options_can_be_read() {
    for method in method::ALL.iter() {
        let options = method.options.len();
        assert_eq!(read(method, None), Ok(options), "`{}`", method.name);
    }
}

/// For every kind of option, reads the values that the checker accepts.
fn read_all(method: &MethodDef, option: &str, kind: OptionKind) {
    let check = |given: RawOption<'_>| {
        let found = read(method, Some((option, given)));
        assert!(
            found.is_ok(),
            "`{option}` of `{}`: {given:?} gives {found:?}",
            method.name
        );
    };
    let words = |words: &[&str]| words.iter().for_each(|word| check(RawOption::Call(word, &[])));
    let names = [Arc::from("first"), Arc::from("second.w")];
    match kind {
        OptionKind::Int(least, most) => [least, most].map(RawOption::Int).into_iter().for_each(check),
        OptionKind::Real(..) | OptionKind::AtLeast(_) => check(RawOption::Real(0.5)),
        OptionKind::Bool => [false, true].map(RawOption::Bool).into_iter().for_each(check),
        OptionKind::Word(all) => words(all),
        OptionKind::Optimiser => check(RawOption::Optimiser),
        OptionKind::Infer => check(RawOption::Infer("fit")),
        OptionKind::Fractions => check(RawOption::Reals(&[0.0, 0.5])),
        OptionKind::Names => check(RawOption::Names(&names)),
        OptionKind::Augmentations => check(RawOption::Augmentations(&[Augmentation::Flip])),
        OptionKind::Schedule => check(RawOption::Schedule(&RateSchedule::Constant)),
        OptionKind::Call(forms) => forms
            .iter()
            .for_each(|form| check(RawOption::Call(form.word, &vec![2.0; form.numbers]))),
        OptionKind::Start => {
            check(RawOption::Infer("fit"));
            check(RawOption::File("weights.safetensors"));
        }
        OptionKind::NumberOr(_, _, all) => {
            check(RawOption::Real(0.5));
            words(all);
        }
        OptionKind::Weights(scores) => {
            words(&["all", "last_layer"]);
            check(RawOption::Names(&names));
            check(RawOption::Subnetwork(3.0, Ranking::Infer("fit")));
            for score in scores {
                check(RawOption::Subnetwork(3.0, Ranking::Score(score)));
            }
        }
    }
}

#[test]
fn values_that_the_checker_accepts_can_be_read() {
    for method in method::ALL.iter() {
        for option in method.options {
            read_all(method, option.name, option.kind);
        }
    }
}

#[test]
fn values_of_other_types_are_bugs() {
    let Some(nuts) = method::lookup("nuts") else {
        panic!("there is no `nuts`");
    };
    for (option, given) in [
        ("metric", RawOption::Call("thick", &[])),
        ("metric", RawOption::Int(1)),
        ("max_depth", RawOption::Int(-1)),
        ("max_depth", RawOption::Call("all", &[])),
        ("step_size", RawOption::Bool(true)),
    ] {
        assert_eq!(read(nuts, Some((option, given))), Err(Mismatch(option)));
    }
}

#[test]
fn methods_change_defaults_of_groups() {
    let default = |method: &str, option: &str| {
        let method = method::lookup(method);
        method
            .and_then(|method| method.option(option))
            .map(|option| option.default)
    };
    assert_eq!(default("nuts", "draws"), Some("1000"));
    assert_eq!(default("sgld", "draws"), Some("10000"));
    assert_eq!(default("mala", "target_acceptance"), Some("0.574"));
    assert_eq!(default("map", "schedule"), Some("cooldown"));
    assert_eq!(default("swag", "schedule"), Some("constant"));
    assert_eq!(default("laplace", "precision"), Some("f64"));
}

#[test]
fn synonyms_belong_to_one_option_of_a_method() {
    for method in method::ALL.iter() {
        let mut seen: Vec<&str> = method.options.iter().map(|option| option.name).collect();
        for option in method.options {
            for word in option.synonyms {
                assert!(!seen.contains(word), "`{word}` twice in `{}`", method.name);
                seen.push(word);
            }
        }
    }
}
