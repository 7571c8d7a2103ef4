//! Finds the instruction set extensions of this processor.

macro_rules! detect {
    ($detect:ident, $name:expr, [$($known:tt),*]) => {
        match $name {
            $($known => std::arch::$detect!($known),)*
            _ => false,
        }
    };
}

/// Returns whether this processor has an instruction set extension. Names are those of `std::arch`.
/// For a name that is not listed here, the result is false.
#[cfg(target_arch = "x86_64")]
fn has(name: &str) -> bool {
    detect!(
        is_x86_feature_detected,
        name,
        [
            "sse3",
            "ssse3",
            "sse4.1",
            "sse4.2",
            "popcnt",
            "avx",
            "avx2",
            "fma",
            "f16c",
            "bmi1",
            "bmi2",
            "lzcnt",
            "avxvnni",
            "avx512f",
            "avx512dq",
            "avx512vl",
            "avx512bw",
            "avx512cd",
            "avx512ifma",
            "avx512vbmi",
            "avx512vbmi2",
            "avx512vnni",
            "avx512bitalg",
            "avx512vpopcntdq",
            "avx512bf16",
            "gfni",
            "vaes",
            "vpclmulqdq"
        ]
    )
}

/// Returns whether this processor has an instruction set extension. Names are those of `std::arch`.
/// For a name that is not listed here, the result is false.
#[cfg(target_arch = "aarch64")]
fn has(name: &str) -> bool {
    detect!(
        is_aarch64_feature_detected,
        name,
        ["lse", "fp16", "paca", "pacg", "dotprod"]
    )
}

/// Returns false, because bnnc does not know the extensions of this processor architecture.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn has(_: &str) -> bool {
    false
}

/// Returns the needed extensions that this processor lacks.
pub fn missing_features(needed: &[String]) -> Vec<String> {
    needed.iter().filter(|name| !has(name)).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_extension_is_missing() {
        let needed = ["sse3", "a0x"].map(str::to_owned);
        let missing = missing_features(&needed);
        assert!(missing.contains(&"a0x".to_owned()));
        #[cfg(target_arch = "x86_64")]
        assert_eq!(
            missing.contains(&"sse3".to_owned()),
            !is_x86_feature_detected!("sse3")
        );
    }
}
