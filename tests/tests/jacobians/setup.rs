//! The networks of these tests, their programs, and the values of their inputs.

use bnnc_abi::code::Artifact;
use bnnc_base::dtype::{DType, Precision};
use bnnc_base::shape::Sizes;
use bnnc_driver::infer::{Compilation, ElaboratedInference};
use bnnc_driver::options::CompileOptions;
use bnnc_driver::{backends, compile, program};
use bnnc_graph::eval::evaluate;
use bnnc_graph::function::Function;
use bnnc_graph::tensor::Tensor;
use bnnc_kernels::executor::Machine;
use bnnc_kernels::pool::Pool;
use bnnc_loops::backend;
use bnnc_loops::ir::LoopProgram;
use bnnc_rewrite::density::Densities;
use bnnc_rewrite::methods::laplace::{self, Approximation, OptionalPrograms, choice};
use bnnc_rewrite::methods::task::RewriteError;
use bnnc_rewrite::pass::PassContext;
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

static FOLDERS: AtomicUsize = AtomicUsize::new(0);

pub const ALL: OptionalPrograms = OptionalPrograms {
    jacobian: true,
    selected: true,
    squares: true,
    spread: true,
    factors: true,
    products: true,
    smaller: false,
};

/// Returns the programs of the inference block `fit` in a text. The table of the inference block
/// has `width` inputs, and a target `y` that is 0 or 1. If there is only one input, its values are
/// whole numbers below 3.
pub fn approximated(name: &str, text: &str, width: usize, wanted: OptionalPrograms) -> Approximation {
    tried(name, text, width, wanted).unwrap()
}

/// Returns the programs as [`approximated`] does. Returns the reason instead if the compiler cannot
/// generate them.
pub fn tried(
    name: &str,
    text: &str,
    width: usize,
    wanted: OptionalPrograms,
) -> Result<Approximation, RewriteError> {
    on_model(name, text, width, |densities, elaborated, context| {
        let problem = elaborated.problem(densities);
        laplace::approximation(problem, (choice::OverWeights::All, wanted), context)
    })
}

/// Applies a function to the densities of the model in a text. The table is the same as in
/// [`approximated`].
pub fn on_model<T>(
    name: &str,
    text: &str,
    width: usize,
    make: impl FnOnce(&Densities, &ElaboratedInference, &mut PassContext) -> T,
) -> T {
    let number = FOLDERS.fetch_add(1, Ordering::Relaxed);
    let folder = std::env::temp_dir().join(format!("bnnc-jacobians-{}-{number}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let columns: Vec<String> = (0..width).map(|at| format!("x{at}")).collect();
    let mut table = columns.join(",") + ",y\n";
    for row in 0..8 {
        let cell = |at: usize| match width {
            1 => (row % 3).to_string(),
            _ => format!("0.{}", (row * 7 + at * 3) % 10),
        };
        let cells: Vec<String> = (0..width).map(cell).collect();
        table += &format!("{},{}\n", cells.join(","), row % 2);
    }
    std::fs::write(folder.join("rows.csv"), table).unwrap();
    let options = CompileOptions::default();
    let path = folder.join("program.bnn");
    let program = program::load(&path.display().to_string(), text, &options);
    assert!(!program.has_errors(), "{name}: {:#?}", program.diagnostics);
    let spec = compile::data(&program, &options).unwrap().remove(0);
    let schema = bnnc_data::schema(&spec).unwrap();
    std::fs::remove_dir_all(Path::new(&folder)).unwrap();
    let id = compile::chosen(&program, &options).unwrap()[0];
    let mut compilation = Compilation::new(&program, id, &options);
    let elaborated = compilation
        .elaborate(&schema)
        .unwrap_or_else(|_| panic!("{name}"));
    let densities = compilation
        .density(&elaborated.model)
        .unwrap_or_else(|_| panic!("{name}"));
    make(&densities, &elaborated, &mut compilation.context)
}

/// Returns a network that consists of a layer, an activation, another layer, and an observation.
pub fn network(hidden: usize, outputs: usize, activation: &str, target: &str, observed: &str) -> String {
    format!(
        "use layers::Dense
data rows = csv(\"rows.csv\") {{ target = y }}
model Net(x: real[d]) -> y: {target} {{
  hidden = Dense({hidden})
  last   = Dense({outputs})
  sigma: positive ~ HalfNormal(1)
  f = last({activation}(hidden(x)))
  y ~ {observed}
}}
infer fit = map(Net, rows) {{ epochs = 1 }}
"
    )
}

/// Returns a number that depends on a name and a position. Over the positions, these numbers do not
/// have a short period.
pub fn number(name: &str, at: usize) -> f64 {
    let seed = name
        .bytes()
        .fold(7u64, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte.into()));
    let mixed = (seed.wrapping_add(at as u64 * 2_654_435_761)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let mixed = (mixed ^ (mixed >> 29)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    (mixed >> 11) as f64 / (1u64 << 53) as f64 * 1.6 - 0.8
}

/// Returns the values of all inputs of a function, in order. An input that is not in `given` gets
/// default numbers.
pub fn inputs(function: &Function, sizes: &Sizes, given: &HashMap<String, Tensor>) -> Vec<Tensor> {
    let one = |param| {
        let name = function.param_name(param).unwrap().to_string();
        let ty = function.ty(param);
        let shape = ty.shape.resolve(sizes);
        let mut at = 0;
        given.get(&name).cloned().unwrap_or_else(|| {
            Tensor::from_fn(shape, |_| {
                at += 1;
                match ty.dtype {
                    DType::Real => number(&name, at),
                    DType::Int | DType::Bool => ((at * 5) % 3 % 2) as f64,
                }
            })
        })
    };
    function.params.iter().map(|param| one(*param)).collect()
}

/// Evaluates a function, and returns its results by name.
pub fn results(
    function: &Function,
    sizes: &Sizes,
    given: &HashMap<String, Tensor>,
) -> HashMap<String, Tensor> {
    let values = evaluate(function, &inputs(function, sizes, given), sizes);
    let names = function.results.iter().map(|(name, _)| name.to_string());
    names.zip(values).collect()
}

/// Lowers a function to loops, for a backend whose products read windows in place.
pub fn lowered(function: &Function, precision: Precision) -> LoopProgram {
    lowered_for(function, precision, true)
}

/// Lowers a function to loops. `views` is true if the products of the backend read windows in place.
fn lowered_for(function: &Function, precision: Precision, views: bool) -> LoopProgram {
    let options = bnnc_lower::LoweringOptions {
        name: function.name.clone(),
        precision,
        seed: 1,
        states: Vec::new(),
        views,
    };
    let program = bnnc_lower::lower(function, &options).unwrap();
    bnnc_loops::verify::verify(&program).unwrap();
    program
}

/// Compiles a function to machine code and runs it. Returns its results by name.
pub fn compiled(
    function: &Function,
    precision: Precision,
    sizes: &Sizes,
    given: &HashMap<String, Tensor>,
) -> HashMap<String, Vec<f64>> {
    executed(function, lowered(function, precision), sizes, given)
}

/// Returns the results in f64 of the loops for backends whose products do not read windows in place. GPUs are such backends.
pub fn compiled_without_views(function: &Function, sizes: &Sizes) -> HashMap<String, Vec<f64>> {
    let program = lowered_for(function, Precision::F64, false);
    executed(function, program, sizes, &HashMap::new())
}

fn executed(
    function: &Function,
    program: LoopProgram,
    sizes: &Sizes,
    given: &HashMap<String, Tensor>,
) -> HashMap<String, Vec<f64>> {
    let options = backend::BackendOptions {
        symbols: bnnc_kernels::arrays::symbols(),
        ..backend::BackendOptions::default()
    };
    let code = backends::ALL[0].compile(&program, &options).unwrap();
    let artifact = Artifact {
        plan: Arc::new(program.plan),
        code,
    };
    let mut machine = Machine::new(&artifact, *sizes, Arc::new(Pool::new(1))).unwrap();
    for (param, value) in function.params.iter().zip(inputs(function, sizes, given)) {
        let name = function.param_name(*param).unwrap();
        match function.ty(*param).dtype {
            DType::Int => {
                let values: Vec<i32> = value.data.iter().map(|x| *x as i32).collect();
                machine.write_int(name, &values).unwrap();
            }
            DType::Real | DType::Bool => machine.write_real(name, &value.data).unwrap(),
        }
    }
    machine.run().unwrap();
    let names = function.results.iter().map(|(name, _)| name.to_string());
    names
        .map(|name| (name.clone(), machine.read_real(&name).unwrap()))
        .collect()
}

/// Panics if a number differs from the expected number `w` by more than `tolerance * (1 + abs(w))`.
pub fn assert_close(got: &[f64], want: &[f64], tolerance: f64, context: &str) {
    assert_eq!(got.len(), want.len(), "{context}");
    for (at, (g, w)) in got.iter().zip(want).enumerate() {
        let same = (g - w).abs() <= tolerance * (1.0 + w.abs());
        assert!(same, "{context}: element {at} is {g}, expected {w}");
    }
}
