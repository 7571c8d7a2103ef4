//! At published draws, the log densities of compiled models agree with the log densities in
//! `by_hand`.

use super::by_hand;
use bnnc_abi::data::DataSpec;
use bnnc_abi::manifest::{Binding, DataSource};
use bnnc_base::shape::Sizes;
use bnnc_data::Dataset;
use bnnc_driver::compile;
use bnnc_driver::infer::Compilation;
use bnnc_driver::options::CompileOptions;
use bnnc_driver::program;
use bnnc_graph::eval::evaluate;
use bnnc_graph::function::Function;
use bnnc_graph::tensor::Tensor;
use bnnc_rewrite::density::Densities;
use serde_json::Value;
use std::collections::HashMap;
use std::path::PathBuf;

fn folder() -> PathBuf {
    bnnc_tests::root().join("examples/posteriors")
}

/// The density functions of an example program, and its data.
struct Posterior {
    densities: Densities,
    bindings: Vec<Binding>,
    dataset: Dataset,
    data: Value,
}

impl Posterior {
    fn load(name: &str) -> Posterior {
        let path = folder().join(format!("{name}.bnn"));
        let text = std::fs::read_to_string(&path).unwrap();
        let options = CompileOptions::default();
        let program = program::load(&path.display().to_string(), &text, &options);
        assert!(!program.has_errors(), "{name}: {:#?}", program.diagnostics);
        let spec: DataSpec = compile::data(&program, &options).unwrap().remove(0);
        let schema = bnnc_data::schema(&spec).unwrap();
        let id = program.module.infers.ids().next().unwrap();
        let mut compilation = Compilation::new(&program, id, &options);
        let elaborated = compilation.elaborate(&schema).unwrap();
        let densities = compilation.density(&elaborated.model).unwrap();
        let json = std::fs::read_to_string(&spec.files[0]).unwrap();
        Posterior {
            densities,
            bindings: elaborated.bound.ports,
            dataset: bnnc_data::LoadedData::read(&spec).unwrap().dataset(0, 0).unwrap(),
            data: serde_json::from_str(&json).unwrap(),
        }
    }

    /// Returns the value of a port for one row of data.
    fn datum(&self, port: &str, row: usize) -> Option<Tensor> {
        let rows = &self.dataset.train;
        let binding = self.bindings.iter().find(|binding| binding.port == port)?;
        Some(match &binding.from {
            DataSource::Row => Tensor::scalar(row as f64),
            DataSource::Inputs => {
                let inputs = &rows.input(row);
                Tensor::new(vec![rows.width], inputs.to_vec())
            }
            DataSource::Field(name) => {
                let field = rows.field(name).unwrap();
                let width = field.width();
                let values = (0..width).map(|at| field.values.real(row * width + at));
                Tensor::new(field.shape.clone(), values.collect())
            }
            DataSource::Input(at) => Tensor::scalar(rows.input(row)[*at]),
            DataSource::Whole(name) if self.dataset.whole(name).is_none() => {
                let field = rows.field(name).unwrap();
                let values = (0..field.values.len()).map(|at| field.values.real(at));
                let shape = std::iter::once(rows.count).chain(field.shape.iter().copied());
                Tensor::new(shape.collect(), values.collect())
            }
            DataSource::Whole(name) | DataSource::Shared(name) => {
                let array = self.dataset.whole(name).or(self.dataset.shared(name)).unwrap();
                let values = (0..array.values.len()).map(|at| array.values.real(at));
                Tensor::new(array.shape.clone(), values.collect())
            }
        })
    }

    fn call(&self, function: &Function, sites: &HashMap<&str, Tensor>, row: usize) -> f64 {
        let argument = |param| {
            let name = &**function.param_name(param).unwrap();
            let site = sites.get(name).cloned();
            site.or_else(|| self.datum(name, row))
                .unwrap_or_else(|| panic!("no value for `{name}`"))
        };
        let arguments: Vec<Tensor> = function.params.iter().map(|param| argument(*param)).collect();
        evaluate(function, &arguments, &Sizes::default())[0].data[0]
    }

    /// Returns the log prior plus the log likelihood of all examples.
    fn log_density(&self, sites: &HashMap<&str, Tensor>) -> f64 {
        let is_whole = |binding: &Binding| binding.from.is_shared();
        let examples = match self.bindings.iter().all(is_whole) {
            true => 1,
            false => self.dataset.train.count,
        };
        let row = |row| self.call(&self.densities.row_log_likelihood, sites, row);
        let likelihood: f64 = (0..examples).map(row).sum();
        likelihood + self.call(&self.densities.log_prior, sites, 0)
    }
}

/// The names of sites, each with its number of elements (`None` for a scalar). The sites are in the
/// same order as the columns of the draws.
type Sites = [(&'static str, Option<usize>)];

fn split<'s>(sites: &'s Sites, mut point: &[f64]) -> HashMap<&'s str, Tensor> {
    let mut tensors = HashMap::new();
    for (name, size) in sites {
        let (own, rest) = point.split_at(size.unwrap_or(1));
        let shape = size.iter().copied().collect();
        tensors.insert(*name, Tensor::new(shape, own.to_vec()));
        point = rest;
    }
    assert!(point.is_empty());
    tensors
}

/// Checks that both log densities agree up to rounding errors, relative to their size.
fn check(name: &str, sites: &Sites, by_hand: fn(&Value, &[f64]) -> f64, points: &[&[f64]]) {
    let posterior = Posterior::load(name);
    for point in points {
        let got = posterior.log_density(&split(sites, point));
        let want = by_hand(&posterior.data, point);
        assert!(
            (got - want).abs() <= 1e-11 * want.abs(),
            "{name}: {got} is not {want} at {point:?}"
        );
    }
}

#[test]
fn autoregression() {
    check(
        "ar5",
        &[("alpha", None), ("beta", Some(5)), ("sigma", None)],
        by_hand::ar5,
        &[
            &[
                0.00226254513228999,
                0.733069449045603,
                0.460118109766908,
                0.164211193906057,
                -0.161187911427737,
                -0.301836082809681,
                0.148442598567578,
            ],
            &[
                -0.00994413492775111,
                0.583295574021558,
                0.64675724987019,
                0.138893674802324,
                -0.141436502993137,
                -0.325525996988614,
                0.140736711915515,
            ],
        ],
    );
}

#[test]
fn independent_coefficients() {
    check(
        "blr-independent",
        &[("beta", Some(5)), ("sigma", None)],
        by_hand::blr,
        &[
            &[
                0.999572926168461,
                1.00016669571089,
                0.999998871928129,
                1.00157364056443,
                1.00081184155853,
                0.92135514510207,
            ],
            &[
                1.00116240123521,
                0.999730986207969,
                1.0008546759346,
                1.00063865509795,
                1.0021266642277,
                1.09793861574746,
            ],
        ],
    );
}

/// Three points. The order of the elements is theta[1..8], mu, tau.
const SCHOOLS: [[f64; 10]; 3] = [
    [
        10.6802773011458,
        9.71770681295263,
        7.77507099674238,
        9.02804654605565,
        9.65893576633312,
        8.82344036757095,
        9.67957708445449,
        13.7360810246561,
        9.33884525330527,
        1.7939466756273,
    ],
    [
        10.0414760457198,
        3.16174265904984,
        -2.53474334599348,
        4.03931524632712,
        0.201941090328499,
        4.80014436957404,
        7.71257003491462,
        3.84282129221976,
        3.34821368427168,
        3.42839516885394,
    ],
    [
        -4.31799360648692,
        -4.45015767899743,
        -5.36874829819218,
        -4.24990174415131,
        -4.85537243546317,
        -4.74539255516695,
        -5.76665643048138,
        -6.35027458795918,
        -4.79976024419547,
        0.749392121060776,
    ],
];

#[test]
fn eight_schools_centred() {
    let points: Vec<&[f64]> = SCHOOLS.iter().map(|point| &point[..]).collect();
    let sites = [("theta", Some(8)), ("mu", None), ("tau", None)];
    check("eight-schools-centred", &sites, by_hand::schools_centred, &points);
}

#[test]
fn eight_schools() {
    let standardised = SCHOOLS.map(|mut point| {
        let (mu, tau) = (point[8], point[9]);
        for theta in &mut point[..8] {
            *theta = (*theta - mu) / tau;
        }
        point
    });
    let points: Vec<&[f64]> = standardised.iter().map(|point| &point[..]).collect();
    let sites = [("eta", Some(8)), ("mu", None), ("tau", None)];
    check("eight-schools", &sites, by_hand::schools, &points);
}

#[test]
fn kidscore() {
    check(
        "kidscore-momiq",
        &[("beta", Some(2)), ("sigma", None)],
        by_hand::kidscore,
        &[
            &[23.5114724040815, 0.62293696499426, 17.9078870749646],
            &[17.3974733772582, 0.695823824102456, 18.0740427519489],
        ],
    );
}

#[test]
fn earnings() {
    check(
        "log-earnings",
        &[("beta", Some(4)), ("sigma", None)],
        by_hand::earnings,
        &[
            &[
                9.29870288670758,
                0.00424397921513262,
                -0.394912375761904,
                0.0114688499752157,
                0.896888055440874,
            ],
            &[
                9.43600358281584,
                0.000623617806603511,
                -1.54854101182216,
                0.0294652635866343,
                0.859114107090157,
            ],
        ],
    );
}

#[test]
fn mesquite() {
    check(
        "log-mesquite",
        &[("beta", Some(7)), ("sigma", None)],
        by_hand::mesquite,
        &[
            &[
                5.53946422872905,
                0.506072897863022,
                0.136538881640774,
                -0.625857981879638,
                0.49679221431101,
                0.260705820753442,
                -0.507354086776692,
                0.341788723940727,
            ],
            &[
                4.98744735724666,
                -0.451120090494184,
                1.14920092642209,
                -0.21969631001667,
                1.14779237518825,
                0.171986424163158,
                -0.274383685898904,
                0.357430157240461,
            ],
        ],
    );
}

/// The test also compares the likelihood at the mode with its published value.
#[test]
fn votes() {
    let mode = [-1.4021299127132363, 0.3259947055405652];
    check(
        "nes-logit",
        &[("alpha", None), ("beta", Some(1))],
        by_hand::votes,
        &[&mode, &[-1.8, 0.45]],
    );
    let posterior = Posterior::load("nes-logit");
    let at_mode = by_hand::votes(&posterior.data, &mode);
    assert!((at_mode + 778.4580667704877).abs() < 1e-9, "{at_mode}");
}
