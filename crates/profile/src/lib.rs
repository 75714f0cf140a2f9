//! profile.
