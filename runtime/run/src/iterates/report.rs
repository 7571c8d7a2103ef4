//! What is said about iterates and members: diagnostics of the result object, and lines of the table for people.

use super::Collected;
use crate::result::{finite, number};
use bnnc_abi::iterates::Covariance;
use bnnc_abi::manifest::{Infer, Work};
use serde_json::{Map, Value, json};

/// Adds to the diagnostics of an infer.
pub fn diagnostics(value: &mut Value, infer: &Infer, found: &Collected, rows: usize) {
    let fitted = &found.fitted;
    value["loss"] = finite(fitted.loss);
    value["loss_per_row"] = finite(fitted.loss / rows.max(1) as f64);
    value["epochs"] = json!(fitted.epochs);
    value["steps"] = json!(fitted.steps);
    match &infer.work {
        Work::Swag(swag) => {
            let (form, rank) = match swag.covariance {
                Covariance::Point => ("point", 0),
                Covariance::Diagonal => ("diagonal", 0),
                Covariance::LowRank(_) => ("low_rank", found.iterates.1),
            };
            value["best_epoch"] = json!(fitted.best_epoch);
            value["iterates"] = json!(found.iterates.0);
            value["covariance"] = json!(form);
            value["rank"] = json!(rank);
            value["scale"] = finite(swag.scale);
        }
        _ => {
            let trainings = found.trainings.iter().map(|training| {
                json!({
                    "seed": training.seed,
                    "loss": finite(training.loss),
                    "epochs": training.epochs,
                    "best_epoch": training.best_epoch,
                    "steps": training.steps,
                })
            });
            value["members"] = trainings.collect();
        }
    }
    let sites = infer.reports.iter();
    let sites: Map<String, Value> = sites.map(|site| (site.name.clone(), json!(site.kl))).collect();
    value["sites"] = Value::Object(sites);
}

/// Lines of the table.
pub fn table(infer: &Infer, found: &Collected, rows: usize) -> String {
    let per_row = |loss: f64| number(-loss / rows.max(1) as f64);
    let mut text = format!(
        "  {:<21} {:>10}\n",
        "log posterior / row",
        per_row(found.fitted.loss)
    );
    match &infer.work {
        Work::Swag(_) => {
            let (iterates, rank) = found.iterates;
            text.push_str(&format!("  {:<21} {iterates:>10}\n", "iterates"));
            if rank > 0 {
                text.push_str(&format!("  {:<21} {rank:>10}\n", "rank"));
            }
        }
        _ => {
            text.push_str(&format!("  {:<21} {:>10}\n", "members", found.members.len()));
            let losses = || found.trainings.iter().map(|training| training.loss);
            let (best, worst) = (
                losses().fold(f64::INFINITY, f64::min),
                losses().fold(f64::NEG_INFINITY, f64::max),
            );
            let range = format!("{} to {}", per_row(worst), per_row(best));
            text.push_str(&format!("  {:<21} {range:>10}\n", "of each member"));
        }
    }
    text.push('\n');
    text
}

/// What was done, in a few words.
pub fn work(infer: &Infer, found: &Collected) -> String {
    let Collected { fitted, iterates, .. } = found;
    match &infer.work {
        Work::Swag(_) => format!(
            "{} epochs, {} steps, {} iterates",
            fitted.epochs, fitted.steps, iterates.0
        ),
        _ => format!("{} members, {} steps", found.members.len(), fitted.steps),
    }
}
