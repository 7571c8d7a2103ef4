//! Tests runs that are interrupted by a signal.

use crate::support::run;
use crate::{
    PROGRAM, arguments, assert_resumed, assert_same, finish, spawn, start, undisturbed, wait_for, workshop,
};
use std::fs;
use std::process::{Child, Command};
use std::time::Duration;

fn signal(child: &Child, name: &str) {
    let sent = Command::new("kill")
        .args([name, &child.id().to_string()])
        .status()
        .unwrap();
    assert!(sent.success());
}

#[test]
fn an_interrupted_run_keeps_its_results() {
    let workshop = workshop("interrupt");
    let (expected, _) = undisturbed(&workshop);
    for (infer, name) in [("turning", "-INT"), ("sliding", "-TERM")] {
        let out = workshop.join(infer);
        let interrupted = || {
            let _ = fs::remove_dir_all(&out);
            let child = start(&workshop, "--out", &out);
            wait_for(&out, &format!("{infer}-0-0.chain"));
            signal(&child, name);
            child.wait_with_output().unwrap()
        };
        // On a busy machine, a run may end before the signal is sent. The test therefore tries
        // several times.
        let outputs = (0..10).map(|_| interrupted());
        let output = outputs
            .into_iter()
            .find(|output| !output.status.success())
            .unwrap();
        let reported = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(130), "{reported}");
        assert!(
            reported.contains("interrupted: ") && reported.contains("--resume"),
            "{reported}"
        );
        let text = fs::read_to_string(out.join("result.json")).unwrap();
        let result: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(result["interrupted"], true);
        assert!(
            result["infer"]["found"]["seconds"].is_object(),
            "what was finished is there"
        );
        finish(&workshop, "--resume", &out);
        assert_same(&expected, &out, &format!("interrupted in {infer}"));
    }
}

/// A failed inference does not remove the results of earlier inferences.
#[test]
fn a_failed_inference_keeps_earlier_results() {
    let workshop = workshop("failure");
    let program = workshop.join("line.bnn");
    let steep = "\ninfer steep = map(Line, rows) {\n  epochs = 5\n  optimiser = SGD(1e200)\n}\n";
    fs::write(&program, format!("{PROGRAM}{steep}")).unwrap();
    let out = workshop.join("out");
    let mut words = arguments(&workshop, "--out", &out);
    words.extend(["--only", "found,steep"].map(str::to_owned));
    let output = run(words);
    assert_eq!(output.status, 1, "{}", output.stderr);
    assert!(output.stderr.contains("E0501"), "{}", output.stderr);
    assert!(output.stdout.contains("found"), "{}", output.stdout);
    let text = fs::read_to_string(out.join("result.json")).unwrap();
    let result: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert!(result["infer"]["found"]["seconds"].is_object());
    assert!(result["infer"]["steep"].is_null());
    assert!(result["stopped"].as_str().unwrap().starts_with("E0501"));
}

/// `timeout` sends its signal to the process and to its group, so that the signal arrives twice.
#[test]
fn a_signal_that_arrives_twice_at_once_keeps_the_results() {
    let workshop = workshop("doubled");
    let out = workshop.join("out");
    let words = arguments(&workshop, "--out", &out)
        .into_iter()
        .chain(["--only", "found", "--set", "found.epochs=100000000"].map(str::to_owned));
    let child = spawn(words.collect());
    wait_for(&out, "run.json");
    let id = child.id();
    let twice = format!("kill -TERM {id}; sleep 0.02; kill -TERM {id}");
    assert!(
        Command::new("sh")
            .args(["-c", &twice])
            .status()
            .unwrap()
            .success()
    );
    let output = child.wait_with_output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{stderr}");
    assert!(stderr.contains("continues the run from here"), "{stderr}");
    let text = fs::read_to_string(out.join("result.json")).unwrap();
    let result: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(result["interrupted"], true);
}

#[test]
fn a_second_signal_ends_the_process() {
    let workshop = workshop("twice");
    let out = workshop.join("out");
    let mut child = start(&workshop, "--out", &out);
    wait_for(&out, "turning-0-0.chain");
    signal(&child, "-INT");
    // A signal that follows immediately is treated as a repetition of the first one.
    std::thread::sleep(Duration::from_millis(300));
    let _ = Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    finish(&workshop, "--resume", &out);
}

#[test]
fn training_stops_after_an_epoch() {
    let workshop = workshop("training");
    let out = workshop.join("out");
    let words = |how: &str| {
        let mut words = arguments(&workshop, how, &out);
        words.extend(["--only", "found", "--set", "found.epochs=100000000"].map(str::to_owned));
        words
    };
    let child = spawn(words("--out"));
    wait_for(&out, "run.json");
    let second = run(words("--resume"));
    assert_eq!(second.status, 3);
    assert!(second.stderr.contains("E0512"), "{}", second.stderr);
    signal(&child, "-INT");
    let output = child.wait_with_output().unwrap();
    let reported = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{reported}");
    let again = format!(
        "`bnnc run {} --set found.epochs=100000000 --only found --resume {}`",
        workshop.join("line.bnn").display(),
        out.display()
    );
    assert!(
        reported.contains(&again),
        "the command names the program and its settings: {reported}"
    );
    let text = fs::read_to_string(out.join("result.json")).unwrap();
    let result: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(result["interrupted"], true);
    let epochs = result["infer"]["found"]["diagnostics"]["epochs"]
        .as_u64()
        .unwrap();
    assert!((1..100_000_000).contains(&epochs), "{epochs}");
    assert!(
        !out.join("checkpoint").join("found-0.fit").exists(),
        "half a fit is not kept"
    );
}

/// The transformations of an epoch depend on the number of the epoch and on the rows. A run that goes on in the middle of an epoch has the same
/// images as a run without a pause. The report shows some of the images.
#[test]
fn interrupted_trainings_on_transformed_images_resume_to_the_same_bytes() {
    let workshop = workshop("images");
    let pixel = |row: usize, at: usize| ((row * 31 + at * 17 + row * at * 7) % 23) as f64 / 10.0;
    let image = |row: usize| {
        let line = |y: usize| {
            format!(
                "{:?}",
                (0..5).map(|x| pixel(row, 5 * y + x)).collect::<Vec<f64>>()
            )
        };
        format!("[[{}]]", (0..4).map(line).collect::<Vec<String>>().join(", "))
    };
    let images: Vec<String> = (0..30).map(image).collect();
    let targets: Vec<f64> = (0..30).map(|row| (row * 5 % 8) as f64 / 3.0).collect();
    let rows = format!("{{\"x\": [{}], \"y\": {targets:?}}}", images.join(", "));
    fs::write(workshop.join("rows.json"), rows).unwrap();
    let program = "data rows = json(\"rows.json\") { target = y }\nmodel Net(x: real[1, 4, 5]) -> y: real {\n  hidden = Dense(8)\n  \
                   out = Dense(1)\n  y ~ Normal(out(tanh(hidden(flatten(x))))[0], 0.3)\n}\n\
                   infer found = map(Net, rows) { epochs = 10000, batch = 7, augment = [crop(1), flip, rotate(15), cutout(2), mixup(0.2)] }\n";
    fs::write(workshop.join("line.bnn"), program).unwrap();
    let whole = assert_resumed(&workshop);
    let report = fs::read_to_string(whole.join("report.html")).unwrap();
    assert!(
        report.contains("with crop(1), flip, rotate(15), cutout(2), mixup(0.2)</text>"),
        "{report}"
    );
    assert_eq!(
        report.matches("href=\"data:image/png;base64,iVBORw0KGgo").count(),
        1
    );
}
