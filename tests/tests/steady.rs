//! After the first epochs, training does not allocate memory.

use bnnc_abi::manifest::{InferenceBlock, Work};
use bnnc_base::dtype::Precision;
use bnnc_core::context::Context;
use bnnc_core::states::start;
use bnnc_data::Dataset;
use bnnc_driver::options::CompileOptions;
use bnnc_kernels::pool::Pool;
use bnnc_tests::compile::{self, options};
use bnnc_tests::step::fit;
use std::alloc::{GlobalAlloc, Layout, System};
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// An allocator that passes every call to the system's allocator. The allocator counts the
/// allocations.
struct Counting;

static ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call is passed to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller guarantees the conditions.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, address: *mut u8, layout: Layout) {
        // SAFETY: the caller guarantees the conditions.
        unsafe { System.dealloc(address, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Returns the number of allocations during a fit of `epochs` epochs.
fn allocations(infer: &InferenceBlock, dataset: &Dataset, epochs: usize, context: &Context) -> usize {
    let mut infer = infer.clone();
    let Work::Train(train) = &mut infer.work else {
        panic!("`{}` does not train", infer.name);
    };
    train.options.epochs = Some(epochs);
    let states = start(&infer.states, 1, &HashMap::new());
    let before = ALLOCATIONS.load(Ordering::Relaxed);
    let fitted = fit(&infer, dataset, states, context);
    let after = ALLOCATIONS.load(Ordering::Relaxed);
    assert!(fitted.is_ok_and(|fitted| fitted.epochs == epochs));
    after - before
}

/// Writes two programs and their data. Returns the paths of the programs. In the first, a parameter affects the
/// positions that rows select, so every step must check positions. The second transforms the images of every batch.
fn written() -> [PathBuf; 2] {
    let folder = std::env::temp_dir().join(format!("bnnc-steady-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("the folder is created");
    let rows: String = (0..300).map(|row| format!("{},{}\n", row % 2, row % 7)).collect();
    let program = "data d = csv(\"d.csv\")
model M(g: int) -> y: real {
  a: real[3] ~ Normal(0, 1)
  t ~ Normal(0, 1)
  y ~ Normal(a[g * (if t > -99 { 2 } else { 9 })] + t, 1)
}
infer fit = map(M, d)
";
    let digits = bnnc_tests::root().join("examples/digits/data");
    let images = format!(
        "data d = idx(\"{0}/train-images.gz\", \"{0}/train-labels.gz\") {{ scale = 1 / 126 }}
model M(x: real[1, 28, 28]) -> digit: index(10) {{
  w: real[10, 784] ~ Normal(0, 0.1)
  digit ~ Categorical(logits = w @ flatten(x))
}}
infer fit = map(M, d) {{ batch = 300, augment = [crop(2), flip, rotate(10), cutout(4), mixup(0.2)] }}
",
        digits.display()
    );
    for (name, text) in [
        ("d.csv", format!("g,y\n{rows}")),
        ("program.bnn", program.to_owned()),
        ("images.bnn", images),
    ] {
        std::fs::write(folder.join(name), text).expect("the file is written");
    }
    ["program.bnn", "images.bnn"].map(|name| folder.join(name))
}

/// A fit of nine epochs makes exactly as many allocations as a fit of three epochs. All of them
/// belong to the start and the end of the fit.
///
/// The number of training rows is not a multiple of the batch size. Every epoch therefore has a
/// step with fewer rows. This file has only one test, because the counter is a global variable.
#[test]
fn more_epochs_allocate_no_more_memory() {
    let cases: &[(&str, &[&str])] = &[
        ("examples/yacht/yacht.bnn", &[]),
        ("examples/concrete/heteroscedastic.bnn", &[]),
        (
            "examples/concrete/concrete.bnn",
            &["fit.samples=3", "fit.batch=200"],
        ),
        ("examples/digits/digits.bnn", &["fit.batch=300"]),
        ("examples/radon/radon.bnn", &[]),
        ("examples/eight-schools/eight-schools.bnn", &[]),
    ];
    let written = written().map(|path| path.to_string_lossy().into_owned());
    let written = written.iter().map(|path| (path.as_str(), &[][..]));
    for (path, settings) in cases.iter().copied().chain(written) {
        for (precision, threads) in [(Precision::F32, 1), (Precision::F32, 2), (Precision::F64, 2)] {
            let options = CompileOptions {
                settings: settings.iter().map(|setting| setting.to_string()).collect(),
                ..options("cranelift", Some(precision))
            };
            let compiled = compile::file(&bnnc_tests::root().join(path), &options);
            let context = Context::new(Arc::new(Pool::new(threads)), 1);
            for infer in &compiled.manifest.infers {
                assert_eq!(infer.reached.is_empty(), !path.ends_with("program.bnn"));
                let dataset = compiled.dataset(&infer.data);
                let counts = |_| [3, 9].map(|epochs| allocations(infer, &dataset, epochs, &context));
                // A thread allocates its workspace when it begins its first task, which may be late
                // in the fit. The comparison is therefore repeated.
                let last = (0..5).map(counts).find(|[few, many]| few == many);
                let name = format!("{path} {} {precision} {threads} threads", infer.name);
                assert!(last.is_some(), "{name}: {:?}", counts(0));
            }
        }
    }
}
