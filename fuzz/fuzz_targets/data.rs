//! Checks that the readers of data files do not panic on arbitrary bytes. Run this target with
//! `cargo fuzz run data`.
#![no_main]

use bnnc_abi::data::Format;
use bnnc_base::caught::is_catching;
use libfuzzer_sys::fuzz_target;

fuzz_target!(
    init: {
        // The panic hook of the fuzzer ends the process. The hook is replaced here, so that a
        // reader can catch a panic of the library that it uses.
        let abort = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if !is_catching() {
                abort(info);
            }
        }));
    },
    |bytes: &[u8]| {
        let Some((first, rest)) = bytes.split_first() else { return };
        let (format, name) = match first % 7 {
            0 => (Format::Csv, "fuzz.csv"),
            1 => (Format::Json, "fuzz.json"),
            2 => (Format::Npy, "fuzz.npy"),
            3 => (Format::Parquet, "fuzz.parquet"),
            4 => (Format::Cifar, "fuzz.bin"),
            5 => (Format::Images, "fuzz.png"),
            _ => (Format::Idx, "fuzz-idx"),
        };
        let path = std::env::temp_dir().join(format!("bnnc-{}-{name}", std::process::id()));
        if std::fs::write(&path, rest).is_ok() {
            let _ = bnnc_data::read::read_inputs(format, &path, None, &bnnc_data::read::Reading::within(None));
        }
    }
);
