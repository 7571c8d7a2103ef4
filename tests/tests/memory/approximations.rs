//! Laplace approximations, and inferences that use earlier inferences.

use crate::setup::{beside_others, folder, measured, network, peak_of_thread, predicted, table};
use bnnc_base::dtype::Precision;
use bnnc_core::context::Context;
use bnnc_driver::options::CompileOptions;
use bnnc_kernels::pool::Pool;
use bnnc_methods::laplace::{joint, memory, slopes};
use bnnc_tests::compile;
use bnnc_tests::compile::options;
use std::sync::Arc;

/// The number of bytes by which a run may exceed the prediction. Names, tables of ports and small
/// vectors are not predicted.
const SLACK: u64 = 512 << 10;

/// A Laplace approximation in any form needs at most the predicted memory, and not much less. The
/// prediction is just as accurate if the factors and the noise are tuned during the search.
#[test]
fn approximations_are_predicted_in_every_form() {
    let _turn = beside_others();
    let folder = folder();
    let file = table(&folder, 300);
    let mut faults = Vec::new();
    for (hidden, precision, options) in [
        (2000, Precision::F32, "structure = functional"),
        (
            2000,
            Precision::F32,
            "structure = functional, online = true, prior_structure = layer",
        ),
        (
            2000,
            Precision::F32,
            "structure = diagonal, online = true, prior_structure = diagonal",
        ),
        (20_000, Precision::F64, "structure = diagonal"),
        (400, Precision::F64, "structure = kronecker"),
        (30, Precision::F64, "structure = kronecker"),
        (120, Precision::F64, "structure = full"),
        (
            120,
            Precision::F64,
            "structure = full, prior_precision = marginal_likelihood",
        ),
        (1000, Precision::F64, "over = last_layer"),
        (1000, Precision::F64, "structure = low_rank(20)"),
        (5000, Precision::F64, "over = subnetwork(600)"),
        (5000, Precision::F64, "over = subnetwork(20, by = random)"),
        (100, Precision::F64, "over = subnetwork(300, by = marginal)"),
        (1000, Precision::F64, "structure = functional(100)"),
        (
            1000,
            Precision::F64,
            "structure = diagonal, link = weights, predictive_draws = 200",
        ),
    ] {
        let infer = format!("laplace(Net, rows) {{ epochs = 2, {options},");
        let program = network(&file, hidden, "").replace("vi(Q, rows) { epochs = 1,", &infer);
        let path = folder.join("approximations.bnn");
        let compiled = compile::text(&path, &program, &self::options("cranelift", Some(precision)));
        let (predicted, measured) = (predicted(&compiled), measured(&compiled));
        let ratio = predicted as f64 / measured as f64;
        println!("{options}: predicted {predicted}, measured {measured}, ratio {ratio:.3}");
        let is_near = measured <= predicted + SLACK && predicted * 4 <= measured * 5 + 4 * SLACK;
        faults.extend((!is_near).then(|| format!("{options}: {predicted} for {measured}")));
    }
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

/// The program has three inference blocks: a small one, a large one, and another small one. The
/// last block does not need the results of the first two. If the results do not all fit into
/// memory, the error names the memory of the earlier results, and the option that leaves these
/// results out.
#[test]
fn earlier_inferences_are_named_in_the_error() {
    let _turn = beside_others();
    let folder = folder();
    let file = table(&folder, 300);
    let small = "infer fit = laplace(Net, rows) { epochs = 1, structure = diagonal }";
    let infers = format!(
        "infer large = laplace(Net, rows) {{ epochs = 1 }}\n{}\n",
        small.replace("fit", "last")
    );
    let program = network(&file, 60, "");
    let at = program.find("posterior Q").unwrap_or(program.len());
    let program = format!("{}{infers}", &program[..at]);
    let compile =
        |program: &str| compile::text(&folder.join("earlier.bnn"), program, &options("cranelift", None));
    let both = compile(&program);
    let [large, last] = &both.manifest.infers[..] else {
        panic!("two infers")
    };
    let earlier = |infer| bnnc_run::cost::peaks::earlier(&both.manifest, infer);
    let alone = compile(&program.replace("infer large = laplace(Net, rows) { epochs = 1 }\n", ""));
    assert_eq!(earlier(large), 0);
    // The earlier results in memory are a factor of the precision matrix (601 by 601 numbers), and
    // the predictions for sixty rows.
    assert!(earlier(last) >= 601 * 601 * 8 && earlier(last) < 601 * 601 * 8 + (64 << 10));
    let limit = predicted(&alone);
    assert!(last.cost.peak_bytes >= limit + 601 * 601 * 8);
    let rejection = bnnc_run::cost::advice::too_little_memory(&both.manifest, last, limit);
    assert!(
        rejection
            .notes
            .iter()
            .any(|note| note.contains("the results of earlier inferences"))
    );
    assert!(rejection.help.iter().any(|help| help.contains("`--only last`")));
    let rejection = bnnc_run::cost::advice::too_little_memory(&both.manifest, last, limit / 2);
    assert!(!rejection.help.iter().any(|help| help.contains("--only")));
}

/// All Gaussians of a mixture are in memory at the same time. Each member has a matrix of 721 by
/// 721 numbers, because there are 721 weights.
#[test]
fn approximations_of_ensembles_are_predicted() {
    let _turn = beside_others();
    let folder = folder();
    let file = table(&folder, 300);
    let mixture = |members: usize| {
        let infer = format!(
            "ensemble(Net, rows) {{ epochs = 1, members = {members} }}\ninfer mixture = laplace(Net, rows) {{ start = fit,"
        );
        let program =
            network(&file, 72, "predictive_draws = 10").replace("vi(Q, rows) { epochs = 1,", &infer);
        let program = program.replace("optimiser = Adam(1e-3), ", "");
        let path = folder.join("members.bnn");
        let compiled = compile::text(&path, &program, &options("cranelift", None));
        (predicted(&compiled), measured(&compiled))
    };
    let (few, many) = (mixture(2), mixture(12));
    println!("predicted and measured {few:?} {many:?}");
    assert!(few.1 <= few.0 && many.1 <= many.0, "{few:?} {many:?}");
    let matrix = 8 * 721 * 721;
    assert!(
        many.1 - few.1 >= 10 * matrix && many.0 < 2 * many.1,
        "{few:?} {many:?}"
    );
}

/// The joint covariances and the derivatives of a saved run need approximately the predicted
/// memory.
#[test]
fn joint_covariances_and_slopes_are_predicted() {
    let _turn = beside_others();
    let folder = folder();
    let file = table(&folder, 600);
    let mut faults = Vec::new();
    for structure in ["full", "diagonal", "kronecker", "functional(100)", "low_rank(20)"] {
        let infer =
            format!("laplace(Net, rows) {{ epochs = 1, optimiser = Adam(1e-3), structure = {structure}");
        let program =
            network(&file, 120, "").replace("vi(Q, rows) { epochs = 1, optimiser = Adam(1e-3), ", &infer);
        let asked = CompileOptions {
            jacobians: true,
            ..options("cranelift", Some(Precision::F64))
        };
        let compiled = compile::text(&folder.join("asked.bnn"), &program, &asked);
        let result = compile::run(&compiled.manifest, 1);
        let infer = &compiled.manifest.infers[0];
        let (outcome, laplace) = (&result.outcomes[0], infer.laplace().expect("an approximation"));
        let found = &outcome.splits[0].found;
        let found: &bnnc_methods::laplace::Approximated = found.of().expect("an approximation");
        let context = Context::new(Arc::new(Pool::new(1)), 1);
        let (dataset, members) = (&outcome.dataset, &found.members[..]);
        let (rows, programs) = (&dataset.train, (infer, laplace));
        let mut check = |what: &str, predicted: u64, made: &dyn Fn() -> bool| {
            let measured = peak_of_thread(|| assert!(made()));
            println!("{what}, {structure}: predicted {predicted}, measured {measured}");
            // The prediction does not include names and tables of ports.
            let is_near = measured <= predicted + (64 << 10) && predicted < 2 * measured;
            faults.extend((!is_near).then(|| format!("{what}, {structure}: {predicted} for {measured}")));
        };
        check(
            "together",
            memory::together(infer, laplace, 1, rows.count),
            &|| joint::covariance(members, programs, rows, dataset, &context).is_ok(),
        );
        check("slopes", memory::sloping(infer, laplace, 1, rows.count), &|| {
            slopes::slopes(members, programs, rows, dataset, &context).is_ok()
        });
    }
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}
