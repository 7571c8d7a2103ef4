//! Starts from files.

use crate::setup::{LINE, NET, close, collected, folder, rejected, seeded, single, stopped, values};
use bnnc_run::out;
use bnnc_tests::compile as compiling;
use std::path::{Path, PathBuf};

/// Writes a safetensors file. The file consists of the length of the header, the header, and the
/// data.
fn safetensors(path: &Path, tensors: &[(&str, &str, &[usize], Vec<u8>)]) {
    let mut at = 0;
    let mut header = Vec::new();
    for (name, dtype, shape, bytes) in tensors {
        let end = at + bytes.len();
        header.push(format!(
            "\"{name}\":{{\"dtype\":\"{dtype}\",\"shape\":{shape:?},\"data_offsets\":[{at},{end}]}}"
        ));
        at = end;
    }
    let header = format!("{{{}}}", header.join(","));
    let mut file = (header.len() as u64).to_le_bytes().to_vec();
    file.extend(header.bytes());
    tensors.iter().for_each(|(_, _, _, bytes)| file.extend(bytes));
    std::fs::write(path, file).unwrap();
}

fn double(values: &[f64]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

/// Writes the weights of [`NET`] to a file, in three precisions.
fn write_net(path: &Path) {
    let w: Vec<f32> = (0..15).map(|at| at as f32 / 8.0 - 1.0625).collect();
    // The half-precision representations of 1, 2, 0.5, -1 and 0.25.
    let halves: Vec<u8> = [0x3C00u16, 0x4000, 0x3800, 0xBC00, 0x3400]
        .iter()
        .flat_map(|bits| bits.to_le_bytes())
        .collect();
    safetensors(
        path,
        &[
            ("hidden.w", "F32", &[5, 3], single(&w)),
            ("hidden.b", "F16", &[5], halves),
            ("out.w", "F64", &[1, 5], double(&[0.1, 0.2, 0.3, 0.4, 0.5])),
            ("out.b", "F64", &[1], double(&[-0.5])),
            ("sigma", "F64", &[], double(&[0.25])),
        ],
    );
}

/// If the states of a method are values of sites, an inference block with this method can start
/// from a file. The path of the file is relative to the folder of the program.
#[test]
fn inferences_start_from_files() {
    let folder = folder("file");
    write_net(&folder.join("net.safetensors"));
    let file = "start = safetensors(\"net.safetensors\")";
    let still = format!("epochs = 2, optimiser = SGD(1e-300), {file}");
    let text = format!(
        "{NET}infer fit = map(Net, d) {{ {still} }}
infer swag = swag(Net, d) {{ {still}, warmup = 0 }}
infer members = ensemble(Net, d) {{ {still}, members = 2 }}
infer dropped = dropout(Net, d) {{ {still} }}
infer chains = hmc(Net, d) {{ {file}, chains = 1, warmup = 0, draws = 1, steps = 1, step_size = 1e-9 }}
"
    );
    let result = compiling::run(&seeded(&folder, &text, 1).manifest, 1);
    let w: Vec<f64> = (0..15).map(|at| f64::from(at) / 8.0 - 1.0625).collect();
    for infer in ["fit", "dropped", "members", "swag", "chains"] {
        let found = values(&result, infer);
        close(&found["hidden.w/loc"][..15], &w, 1e-6);
        close(&found["hidden.b/loc"][..5], &[1.0, 2.0, 0.5, -1.0, 0.25], 1e-6);
        close(&found["out.w/loc"][..5], &[0.1, 0.2, 0.3, 0.4, 0.5], 1e-6);
        close(&found["sigma/loc"][..1], &[0.25f64.ln()], 1e-6);
    }
    let members = collected(&result, "members");
    assert_eq!(members.members[0], members.members[1]);
}

/// An inference block can start from a file with the results of `map`. The name of the inference
/// block in the file may be different.
#[test]
fn an_inference_starts_from_the_file_of_a_run() {
    let folder = folder("continue");
    let text = format!("{NET}infer first = map(Net, d) {{ epochs = 4 }}\n");
    let compiled = seeded(&folder, &text, 1);
    let result = compiling::run(&compiled.manifest, 1);
    let saved = compiling::saved(PathBuf::new());
    out::write(&folder.join("run"), &compiled.manifest, &result, saved).unwrap();
    let text = format!(
        "{NET}infer fit = map(Net, d) {{ epochs = 1, optimiser = SGD(1e-300), start = \
         safetensors(\"run/posterior.safetensors\") }}\n"
    );
    let again = compiling::run(&seeded(&folder, &text, 2).manifest, 1);
    assert_eq!(values(&result, "first"), values(&again, "fit"));
}

#[test]
fn files_that_do_not_fit_the_model_are_rejected() {
    let folder = folder("unfit");
    let path = folder.join("net.safetensors");
    let text =
        format!("{NET}infer fit = map(Net, d) {{ epochs = 1, start = safetensors(\"net.safetensors\") }}\n");
    let compiled = seeded(&folder, &text, 1);
    let notes = || {
        let diagnostic = stopped(&compiled);
        assert_eq!(diagnostic.code.id, "E0530", "{diagnostic:?}");
        diagnostic.notes.join("\n")
    };
    assert!(notes().contains("No such file"), "{}", notes());
    std::fs::write(&path, "nothing").unwrap();
    assert!(!notes().is_empty());
    safetensors(
        &path,
        &[
            ("hidden.w", "F64", &[3, 5], double(&[0.0; 15])),
            ("hidden.b", "I64", &[5], double(&[0.0; 5])),
            ("out.w", "F64", &[1, 5], double(&[0.0, 0.0, f64::NAN, 0.0, 0.0])),
            ("sigma", "F64", &[], double(&[-0.25])),
            ("out.bias", "F64", &[1], double(&[-0.5])),
        ],
    );
    let notes = notes();
    for line in [
        "`hidden.w` is of shape [3, 5], expected of shape [5, 3]",
        "`hidden.b` holds I64",
        "element 2 of `out.w` is NaN",
        "element 0 of `sigma` is -0.25, which is outside the interval from 0 to inf",
        "the file has no `out.b`, which is of shape [1]",
        "the model has no parameter `out.bias`",
    ] {
        assert!(notes.contains(line), "{notes}");
    }
}

/// A file of values does not contain the parameters of a variational family. It does not contain
/// the state of a site in the non-centred parameterisation either.
#[test]
fn files_cannot_start_states_that_are_not_values() {
    let start = "start = safetensors(\"net.safetensors\")";
    let family = format!(
        "{LINE}posterior Q of Line {{
  out.* ~ Normal(scale = 0.1)
}}
infer fit = vi(Q, d) {{ epochs = 1, {start} }}\n"
    );
    let diagnostic = rejected("family", &family);
    assert_eq!(diagnostic.code.id, "E0620");
    assert!(diagnostic.message.contains("`Normal`"), "{}", diagnostic.message);
    let noise = format!("{LINE}infer fit = nuts(Line, d) {{ non_centered = [out.w], {start} }}\n");
    assert_eq!(rejected("noise", &noise).code.id, "E0620");
}
