//! The identities of the items of a program, and of the variables of an item.

bnnc_base::id!(
    /// A variable of an item: a parameter, a dim name, an assigned name, a site or a loop counter.
    LocalId,
    "local"
);
bnnc_base::id!(
    /// A constant.
    ConstId,
    "const"
);
bnnc_base::id!(
    /// A function.
    FnId,
    "fn"
);
bnnc_base::id!(
    /// A layer.
    LayerId,
    "layer"
);
bnnc_base::id!(
    /// A distribution.
    DistId,
    "dist"
);
bnnc_base::id!(
    /// An optimiser.
    OptimiserId,
    "optimiser"
);
bnnc_base::id!(
    /// A data item.
    DataId,
    "data"
);
bnnc_base::id!(
    /// A model.
    ModelId,
    "model"
);
bnnc_base::id!(
    /// A posterior.
    PosteriorId,
    "posterior"
);
bnnc_base::id!(
    /// An inference block.
    InferId,
    "infer"
);
