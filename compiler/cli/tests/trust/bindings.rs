//! How columns, levels and indices of data reach the model.
