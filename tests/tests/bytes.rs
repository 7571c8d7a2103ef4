//! Images that rows keep as bytes give the same results as the same images in a file of doubles.

use bnnc_base::dtype::Precision;
use bnnc_data::InputValues;
use bnnc_driver::options::CompileOptions;
use bnnc_tests::compile::{self, options};
use bnnc_tests::emulated::{self, Asked};
use std::fs;
use std::path::Path;

const TRAIN: usize = 24;
const TEST: usize = 7;
const PIXELS: usize = 3 * 4 * 5;

const PROGRAM: &str = "use layers::Dense
data photos = npy(\"x.npy\", \"y.npy\") { test = npy(\"test-x.npy\", \"test-y.npy\"), scale = 1 / 255, normalise = channels }
model Net(x: real[3, 4, 5]) -> kind: index(3) {
  out = Dense(3, prior = Normal(0, 1))
  kind ~ Categorical(logits = out(flatten(x)))
}
posterior Q of Net { out.* ~ Normal(scale = 0.1) }
infer plain = vi(Q, photos) { epochs = 4, batch = 5, predictive_draws = 6 }
infer changed = map(Net, photos) { epochs = 4, batch = 5, augment = [crop(1), flip, rotate(10), mixup(0.3)] }
infer gaussian = laplace(Net, photos) { start = changed, predictive_draws = 6 }
infer chain = nuts(Net, photos) { chains = 1, warmup = 10, draws = 8 }
";

/// Writes a NumPy file of `rows` rows. The elements are bytes or doubles.
fn npy(file: &Path, shape: &str, values: &[u8], is_byte: bool) {
    let kind = if is_byte { "|u1" } else { "<f8" };
    let header = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}");
    let header = format!("{header:<117}\n");
    let elements: Vec<u8> = match is_byte {
        true => values.to_vec(),
        false => values
            .iter()
            .flat_map(|value| f64::from(*value).to_le_bytes())
            .collect(),
    };
    let start = [b"\x93NUMPY\x01\x00".as_slice(), &[118, 0]].concat();
    fs::write(file, [start, header.into_bytes(), elements].concat()).expect("the file is written");
}

/// Runs the program and returns the results without durations and the predicted memory. Checks that rows keep bytes as bytes.
fn results(is_byte: bool, precision: Precision, on_device: bool) -> String {
    let folder = std::env::temp_dir().join(format!("bnnc-bytes-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("the folder is made");
    let pixels = |rows: usize, first: usize| -> Vec<u8> {
        (0..rows * PIXELS)
            .map(|at| ((first + at) * 97 + at * at * 13) as u8)
            .collect()
    };
    let kinds = |rows: usize| -> Vec<u8> { (0..rows).map(|row| (row * 5 % 3) as u8).collect() };
    for (name, rows) in [("", TRAIN), ("test-", TEST)] {
        let images = folder.join(format!("{name}x.npy"));
        npy(
            &images,
            &format!("({rows}, 3, 4, 5)"),
            &pixels(rows, rows),
            is_byte,
        );
        npy(
            &folder.join(format!("{name}y.npy")),
            &format!("({rows},)"),
            &kinds(rows),
            true,
        );
    }
    let options = CompileOptions {
        attach: on_device.then_some(emulated::attach),
        ..options("cranelift", Some(precision))
    };
    let compiled = compile::text(&folder.join("photos.bnn"), PROGRAM, &options);
    let result = compile::run(&compiled.manifest, 1);
    for rows in [
        &result.outcomes[0].dataset.train,
        &result.outcomes[0].dataset.test,
    ] {
        assert_eq!(matches!(rows.inputs, InputValues::Byte(_)), is_byte);
    }
    let mut json = bnnc_report::result::json(&compiled.manifest, &result);
    compile::without_seconds(&mut json);
    let infers = json["infer"].as_object_mut().expect("inference blocks");
    for infer in infers.values_mut() {
        infer["cost"]
            .as_object_mut()
            .map(|cost| cost.shift_remove("peak_bytes"));
    }
    infers.values().map(|infer| infer.to_string() + "\n").collect()
}

#[test]
fn bytes_and_reals_have_the_same_results() {
    for precision in [Precision::F32, Precision::F64] {
        let expected = results(false, precision, false);
        assert!(expected.contains("accuracy"), "{expected}");
        for on_device in [false, true] {
            emulated::asked();
            assert_eq!(
                results(true, precision, on_device),
                expected,
                "{precision} {on_device}"
            );
            let has_gathered = emulated::asked()
                .iter()
                .any(|asked| matches!(asked, Asked::Gather(_)));
            assert_eq!(has_gathered, on_device);
        }
    }
}
