//! The diagnostic that reports that a schedule is longer than the training.

use bnnc_abi::manifest::Length;
use bnnc_base::number::rounded;
use bnnc_base::{codes, reports};

codes! {
    pub(super) UNREACHED = "E0721", "a schedule that is longer than the training":
        "The times of `steps`, `swa` and `warmup` are in the unit that the program uses for the length of the training: epochs if it sets `epochs = \
         300`, or steps if it sets `steps = 20000`. A time after the end of the training is never reached: a late milestone does not lower the \
         rate, and after a long `warmup`, the rate has not reached its full value.\n\n\
         Wrong: `steps = 5000, schedule = steps([10000, 15000], 0.1)`.\n\n\
         Right: `steps = 20000, schedule = steps([10000, 15000], 0.1)`.";
}

reports! {
    /// A warning: the training of `infer` ends before `time`, although the `schedule` of `infer` contains this time.
    fn unreached(infer: &str, schedule: &str, time: f64, length: Length)
        let (count, unit) = match length {
            Length::Epochs(count) => (count, "epochs"),
            Length::Steps(count) => (count, "steps"),
        };
        let time = rounded(time, 6);
        = program_warning(UNREACHED, "`{infer}` has {count} {unit}, but its schedule `{schedule}` needs {time}")
        .note("the training ends before the learning rate has followed its schedule")
        .help("use times below {count}, or a longer training: `{unit} = ..`");
}
