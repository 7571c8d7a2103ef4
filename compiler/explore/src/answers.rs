//! Answers requests: reads and checks the parameters of a request, and lets the compiler compute
//! the content of the response.

use super::http::{HttpRequest, Response};
use super::limits;
use super::measure::{Measured, measure};
use crate::chosen::{ChosenArgument, ChosenDistribution, DistributionRole};
use crate::diagnostics::ExploreError;
use crate::drawing::{Drawing, DrawnKind};
use crate::exact::exact;
use crate::families::{DistributionParameter, Family, families};
use crate::{CompiledDivergence, Question, Way, compile, program};
use bnnc_kernels::pool::Pool;
use serde_json::{Value, json};
use std::sync::Arc;

/// The page, with all scripts and styles that it needs.
const PAGE: &str = concat!(
    include_str!("page/head.html"),
    "<style>\n",
    include_str!("page/style.css"),
    "</style>\n",
    include_str!("page/body.html"),
    "<script>\n",
    include_str!("page/choices.js"),
    "</script>\n<script>\n",
    include_str!("page/charts.js"),
    "</script>\n<script>\n",
    include_str!("page/graph.js"),
    "</script>\n<script>\n",
    include_str!("page/page.js"),
    "</script>\n</body>\n</html>\n",
);

/// The state that determines the responses.
pub struct ServedAnswers {
    families: Vec<Family>,
    pool: Arc<Pool>,
}

impl ServedAnswers {
    /// Creates the state with the families of the library and a pool of `threads` threads.
    pub fn new(threads: usize) -> ServedAnswers {
        ServedAnswers {
            families: families(&program::library()),
            pool: Arc::new(Pool::new(threads)),
        }
    }

    /// Returns the response to a request that does not need the compiler, or `None` for any other request.
    pub fn quick(&self, request: &HttpRequest) -> Option<Response> {
        match &*request.path {
            "/" => Some(Response::page(PAGE)),
            "/api/families" => Some(Response::json(&self.choices())),
            "/api/question" | "/api/measure" => None,
            path => Some(Response::error("404 Not Found", &format!("there is no `{path}`"))),
        }
    }

    /// Returns the response to a request that needs the compiler.
    pub fn slow(&self, request: &HttpRequest) -> Response {
        let answer = match &*request.path {
            "/api/question" => self.question(request),
            _ => self.measurement(request),
        };
        match answer {
            Ok(value) => Response::json(&value),
            Err(why) => Response::error("400 Bad Request", &why.to_string()),
        }
    }

    fn choices(&self) -> Value {
        let families: Vec<Value> = self.families.iter().map(family).collect();
        json!({
            "families": families,
            "limits": {
                "weights": limits::WEIGHTS, "draws": limits::DRAWS, "numbers": limits::NUMBERS,
                "repetitions": limits::REPETITIONS.1, "taylor": limits::TAYLOR,
            },
            "version": env!("CARGO_PKG_VERSION"),
        })
    }

    fn asked(&self, request: &HttpRequest) -> Result<Question, ExploreError> {
        let chosen = |key: &str, role: DistributionRole| {
            let text = request
                .value(key)
                .ok_or_else(|| ExploreError::Request(format!("`{key}` is missing")))?;
            ChosenDistribution::read(text, role, &self.families)
        };
        let seed = request.value("seed").unwrap_or("0");
        Ok(Question {
            posterior: chosen("q", DistributionRole::Posterior)?,
            prior: chosen("p", DistributionRole::Prior)?,
            weights: integer(request, "n", (1, limits::WEIGHTS), 1)?,
            draws: integer(request, "m", (1, limits::DRAWS), 1)?,
            taylor: integer(request, "taylor", (0, limits::TAYLOR), 0)?,
            seed: seed
                .parse()
                .map_err(|_| ExploreError::Request(format!("`seed` must be an integer, found `{seed}`")))?,
        })
    }

    /// Computes the properties of a question: the estimator that the compiler chooses, the graph
    /// for each way to compute the divergence, and the exact value for comparison.
    fn question(&self, request: &HttpRequest) -> Result<Value, ExploreError> {
        let question = self.asked(request)?;
        let symbols = bnnc_kernels::arrays::symbols();
        let ways = Way::ALL.map(|way| {
            let about = match compile(&question, way, &symbols) {
                Ok(compiled) => self.compiled(&compiled, &question),
                Err(error) => json!({ "error": error.to_string() }),
            };
            (way.name().to_owned(), about)
        });
        let exact = exact(&question).unwrap_or_default();
        Ok(json!({
            "posterior": question.posterior.to_string(),
            "prior": question.prior.to_string(),
            "weights": question.weights,
            "draws": question.draws,
            "quadrature": exact.value.map(|value| value * question.weights as f64),
            "transformed": exact.transformed,
            "curve": exact.curve,
            "ways": serde_json::Map::from_iter(ways),
        }))
    }

    fn compiled(&self, compiled: &CompiledDivergence, question: &Question) -> Value {
        // Without draws, the divergence is the same in every evaluation, so one evaluation is
        // enough.
        let examined = &compiled.examined;
        let value = match examined.sampled {
            true => None,
            false => measure(compiled, 1, 2, &self.pool, limits::TIME)
                .ok()
                .and_then(|measured| measured.values.first().copied()),
        };
        json!({
            "report": examined.report,
            "program": examined.program,
            "sampled": examined.sampled,
            "value": value,
            "seconds": compiled.seconds,
            "graph": graph(&examined.drawing, question.draws),
        })
    }

    /// Estimates the divergence repeatedly, with new noise each time.
    fn measurement(&self, request: &HttpRequest) -> Result<Value, ExploreError> {
        let question = self.asked(request)?;
        let repetitions = integer(request, "r", limits::REPETITIONS, limits::REPETITIONS.0)?;
        let name = request.value("way").unwrap_or("best");
        let way = Way::from_name(name)
            .ok_or_else(|| ExploreError::Request(format!("there is no estimator `{name}`")))?;
        let compiled = compile(&question, way, &bnnc_kernels::arrays::symbols())?;
        let numbers = compiled.examined.drawing.largest(question.draws);
        if numbers > limits::NUMBERS {
            return Err(ExploreError::Request(format!(
                "one value of this graph has {numbers} numbers for {} weights and {} draws; the limit is {}",
                question.weights,
                question.draws,
                limits::NUMBERS
            )));
        }
        let measured = measure(&compiled, question.draws, repetitions, &self.pool, limits::TIME)?;
        Ok(summary(&measured, way, &question))
    }
}

/// Reads an integer between two bounds.
fn integer(
    request: &HttpRequest,
    key: &str,
    (least, most): (usize, usize),
    default: usize,
) -> Result<usize, ExploreError> {
    let Some(text) = request.value(key) else {
        return Ok(default);
    };
    match text.parse() {
        Ok(value) if (least..=most).contains(&value) => Ok(value),
        _ => Err(ExploreError::Request(format!(
            "`{key}` must be an integer from {least} to {most}, found `{text}`"
        ))),
    }
}

fn family(family: &Family) -> Value {
    let parameters: Vec<Value> = family.parameters.iter().map(parameter).collect();
    json!({
        "name": family.name, "about": family.about, "on": family.on, "posterior": family.approximates,
        "prior": family.is_prior, "parameters": parameters,
    })
}

fn parameter(parameter: &DistributionParameter) -> Value {
    let finite = |end: f64| end.is_finite().then_some(end);
    json!({
        "name": parameter.name, "type": parameter.ty, "whole": parameter.whole,
        "low": parameter.ends.and_then(|(low, _)| finite(low)),
        "high": parameter.ends.and_then(|(_, high)| finite(high)),
        "default": argument(&parameter.default),
    })
}

fn argument(argument: &ChosenArgument) -> Value {
    match argument {
        ChosenArgument::Number { value, .. } => json!(value),
        ChosenArgument::Family(chosen) => {
            let arguments = chosen.arguments.iter();
            let arguments: Vec<Value> = arguments.map(|(_, value)| self::argument(value)).collect();
            json!({ "family": chosen.family, "arguments": arguments })
        }
    }
}

/// The numbers of draws for which the response contains the sizes of graphs.
const TOLD: [usize; 5] = [1, 10, 100, 1000, 1_000_000];

fn graph(drawing: &Drawing, draws: usize) -> Value {
    let nodes: Vec<Value> = drawing
        .nodes
        .iter()
        .map(|node| {
            let kind = match node.kind {
                DrawnKind::State => "state",
                DrawnKind::Input => "input",
                DrawnKind::Op => "op",
                DrawnKind::Result => "result",
            };
            json!({
                "name": node.name, "type": node.ty, "kind": kind, "from": node.operands,
                "gradient": node.gradient, "drawn": node.count.1 > 0,
            })
        })
        .collect();
    let sizes: Vec<Value> = TOLD
        .iter()
        .map(|draws| json!([draws, drawing.gradient_numbers(*draws)]))
        .collect();
    json!({
        "nodes": nodes, "gradient_nodes": drawing.gradient_nodes(),
        "gradient_numbers": drawing.gradient_numbers(draws), "sizes": sizes,
    })
}

/// Returns the mean and the spread of the estimates as JSON. A value that is not finite becomes
/// `null`.
fn summary(measured: &Measured, way: Way, question: &Question) -> Value {
    let count = measured.values.len() as f64;
    let mean = measured.values.iter().sum::<f64>() / count;
    let squares: f64 = measured.values.iter().map(|x| (x - mean) * (x - mean)).sum();
    let variance = squares / (count - 1.0).max(1.0);
    json!({
        "way": way.name(), "draws": question.draws, "repetitions": measured.values.len(),
        "mean": mean, "variance": variance, "deviation": variance.sqrt(), "error": (variance / count).sqrt(),
        "seconds": measured.seconds, "bytes": measured.bytes, "values": measured.values,
    })
}
