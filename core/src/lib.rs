//! All judgement of Floodmark, in `no_std` with `alloc`: no I/O, no clock, no SDK.
#![no_std]
#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::expect_used, clippy::indexing_slicing, clippy::panic, clippy::unwrap_used))]

extern crate alloc;

pub mod limits;
pub mod score;
pub mod text;
pub mod wire;
