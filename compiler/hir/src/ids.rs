//! The identities of the items of a program, and of the variables of an item.

bnnc_base::id! {
    /// A variable of an item: a parameter, a dim name, an assigned name, a site or a loop counter.
    LocalId, "local";
    /// A constant.
    ConstId, "const";
    /// A function.
    FnId, "fn";
    /// A layer.
    LayerId, "layer";
    /// A distribution.
    DistId, "dist";
    /// An optimiser.
    OptimiserId, "optimiser";
    /// A data item.
    DataId, "data";
    /// A model.
    ModelId, "model";
    /// A posterior.
    PosteriorId, "posterior";
    /// An inference block.
    InferId, "infer";
}
