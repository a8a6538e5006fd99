//! Statistics for records that are not independent of each other. They know nothing of the gateway, so that what verifies it may use them too.

mod auc;
mod bootstrap;
mod draw;
mod share;

pub use auc::{Auc, median};
pub use bootstrap::{Compared, Plan, Samples, Spread};
pub use draw::Chance;
pub use share::{Share, exact_interval};
