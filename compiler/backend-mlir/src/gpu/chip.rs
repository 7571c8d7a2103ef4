//! The processors that code can be made for.

/// A graphics processor: the value of `--gpu`, and the oldest version of PTX that knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chip {
    /// As in `sm_80`.
    pub name: &'static str,
    /// Ten times its compute capability.
    pub capability: u32,
    /// As in `+ptx70`.
    pub features: &'static str,
}

/// Every processor, oldest first.
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

/// Its code runs on every processor from the year 2020 on.
pub const DEFAULT: Chip = ALL[0];

/// The processor with this name.
pub fn lookup(name: &str) -> Option<Chip> {
    ALL.iter().copied().find(|chip| chip.name == name)
}
