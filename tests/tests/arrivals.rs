//! Tests of learning from rows that arrive one at a time.
#![allow(clippy::unwrap_used, reason = "a failed test is a panic")]

use bnnc_core::context::{Context, Stop};
use bnnc_kernels::pool::Pool;
use bnnc_tests::compile;
use bnnc_training::online::Online;
use std::sync::Arc;

/// Rows that arrive one at a time do not form epochs, so a KL divergence cannot be spread over the
/// batches of an epoch.
#[test]
fn a_divergence_that_is_spread_over_an_epoch_is_rejected() {
    let folder = std::env::temp_dir().join(format!("bnnc-arrivals-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("d.csv"), "x,y\n0,1\n1,2\n2,2\n3,4\n").unwrap();
    for (weight, is_rejected) in [("exact", false), ("graves", true), ("blundell", true)] {
        let text = format!(
            "data d = csv(\"d.csv\") {{ target = y }}
model Line(x: real) -> y: real {{
  w ~ Normal(0, 1)
  y ~ Normal(w * x, 1)
}}
posterior Q of Line {{
  w ~ Normal(scale = 0.1)
}}
infer fit = vi(Q, d) {{ steps = 2, batch = 2, kl_weight = {weight} }}
"
        );
        let compiled = compile::text(
            &folder.join("line.bnn"),
            &text,
            &compile::options("cranelift", None),
        );
        let context = Context::new(Arc::new(Pool::new(1)), 1);
        let started = Online::new(&compiled.manifest.infers[0], 4, &context);
        match (started, is_rejected) {
            (Ok(_), false) => {}
            (Err(Stop::Diagnostics(found)), true) => assert_eq!(found[0].code.id, "E0590"),
            (started, _) => panic!("{weight}: {:?}", started.err()),
        }
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

/// Random transformations of images depend on the epoch.
#[test]
fn transformed_images_are_rejected() {
    let folder = std::env::temp_dir().join(format!("bnnc-arriving-images-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(
        folder.join("d.json"),
        "{\"x\": [[[[0, 1]]], [[[1, 3]]], [[[2, 0]]]], \"y\": [1, 2, 3]}",
    )
    .unwrap();
    for (augment, is_rejected) in [("", false), (", augment = [flip]", true)] {
        let text = format!(
            "data d = json(\"d.json\") {{ target = y }}
model Line(x: real[1, 1, 2]) -> y: real {{
  w: real[2] ~ Normal(0, 1)
  y ~ Normal(dot(w, flatten(x)), 1)
}}
infer fit = map(Line, d) {{ steps = 2, batch = 2{augment} }}
"
        );
        let path = folder.join("line.bnn");
        let compiled = compile::text(&path, &text, &compile::options("cranelift", None));
        let context = Context::new(Arc::new(Pool::new(1)), 1);
        let started = Online::new(&compiled.manifest.infers[0], 4, &context);
        match (started, is_rejected) {
            (Ok(_), false) => {}
            (Err(Stop::Diagnostics(found)), true) => assert_eq!(found[0].code.id, "E0590"),
            (started, _) => panic!("{augment}: {:?}", started.err()),
        }
    }
    std::fs::remove_dir_all(&folder).unwrap();
}
