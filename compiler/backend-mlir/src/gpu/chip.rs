//! The GPUs that code can be compiled for.

/// A GPU that the option `--gpu` accepts.
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
    Chip {
        name: "sm_80",
        capability: 80,
        features: "+ptx70",
    },
    Chip {
        name: "sm_86",
        capability: 86,
        features: "+ptx71",
    },
    Chip {
        name: "sm_87",
        capability: 87,
        features: "+ptx74",
    },
    Chip {
        name: "sm_89",
        capability: 89,
        features: "+ptx78",
    },
    Chip {
        name: "sm_90",
        capability: 90,
        features: "+ptx78",
    },
    Chip {
        name: "sm_100",
        capability: 100,
        features: "+ptx86",
    },
    Chip {
        name: "sm_120",
        capability: 120,
        features: "+ptx87",
    },
];

/// The default GPU. Code for this GPU runs on all GPUs of its architecture and of later
/// architectures: on the GPUs from 2020 on.
pub const DEFAULT: Chip = ALL[0];

/// Returns the GPU with this name.
pub fn lookup(name: &str) -> Option<Chip> {
    ALL.iter().copied().find(|chip| chip.name == name)
}
