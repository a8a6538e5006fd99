//! What the VMs of one gateway remember together, across requests.

mod set;
pub mod table;
