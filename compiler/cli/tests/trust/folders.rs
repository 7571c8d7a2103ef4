//! Run folders, predictions from them, and files that changed.
