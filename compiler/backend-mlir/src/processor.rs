//! The capabilities of the host processor. Code is compiled for this processor.

/// Returns the processor extensions that the code may use. The names are those that `std::arch` uses.
pub(crate) fn features() -> Vec<String> {
    #[cfg(target_arch = "x86_64")]
    {
        macro_rules! detected {
            ($($name:tt)*) => { [$(($name, std::arch::is_x86_feature_detected!($name))),*] };
        }
        let known = detected!(
            "sse3" "ssse3" "sse4.1" "sse4.2" "popcnt" "avx" "avx2" "fma" "f16c" "bmi1" "bmi2" "lzcnt" "avx512f" "avx512bw"
            "avx512cd" "avx512dq" "avx512vl" "avx512ifma" "avx512vbmi" "avx512vbmi2" "avx512vnni" "avx512bitalg" "avx512vpopcntdq"
            "avx512bf16" "gfni" "vaes" "vpclmulqdq"
        );
        let present = known.into_iter().filter(|(_, is_present)| *is_present);
        present.map(|(name, _)| name.to_owned()).collect()
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        Vec::new()
    }
}

/// Returns whether the processor has a fused multiply-add instruction. Without it, the inlined
/// functions are made from other recordings.
pub(crate) fn has_fused_products() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        std::arch::is_x86_feature_detected!("fma")
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        cfg!(target_arch = "aarch64")
    }
}
