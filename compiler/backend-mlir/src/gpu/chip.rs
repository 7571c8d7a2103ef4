//! The GPUs for which code can be compiled.

/// A GPU that can be chosen with the option `--gpu`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chip {
    /// The name of the GPU, such as `sm_80`.
    pub name: &'static str,
    /// Ten times the compute capability of the GPU.
    pub capability: u32,
    /// The oldest version of PTX that supports the GPU, as an LLVM feature such as `+ptx70`.
    pub features: &'static str,
}

/// Every supported GPU, oldest first.
pub const ALL: &[Chip] = &[
    Chip::new("sm_80", 80, "+ptx70"),
    Chip::new("sm_86", 86, "+ptx71"),
    Chip::new("sm_87", 87, "+ptx74"),
    Chip::new("sm_89", 89, "+ptx78"),
    Chip::new("sm_90", 90, "+ptx78"),
    Chip::new("sm_100", 100, "+ptx86"),
    Chip::new("sm_120", 120, "+ptx87"),
];

impl Chip {
    const fn new(name: &'static str, capability: u32, features: &'static str) -> Chip {
        Chip {
            name,
            capability,
            features,
        }
    }
}

/// The default GPU. Code for this GPU runs on all GPUs of its architecture and of later ones, which
/// are the GPUs from 2020 on.
pub const DEFAULT: Chip = ALL[0];

/// Returns the GPU with this name.
pub fn lookup(name: &str) -> Option<Chip> {
    ALL.iter().copied().find(|chip| chip.name == name)
}
