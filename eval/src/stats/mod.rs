//! Statistics for records that are not independent of each other. They know nothing of the gateway, so that what verifies it may use them too.
//! Values are finite numbers; what is equal is a tie.
//!
//! ```text
//! counts of a unit's records -> Share (Wilson, Clopper-Pearson at Kish's number) -> precision at a prevalence
//! scores -> Auc, roc, recall_at over Threshold
//! units of two groups -> Samples -> Spread of any figure, Compared for an AUC -> Ends (BCa, percentiles); Spread::minus compares in pairs
//!                     -> permutation (few units: exact)
//! ```

mod auc;
mod bootstrap;
mod draw;
mod estimate;
mod permutation;
mod precision;
mod roc;
mod settled;
mod share;
mod spread;
mod threshold;

pub use auc::{Auc, median};
pub use bootstrap::{FEWEST_UNITS, Group, Plan, Samples};
pub use draw::Chance;
pub use estimate::{BCA, BY_ENDS, Ends, Estimate, PERCENTILE, WILSON, wilson};
pub use permutation::{MAX_EXACT, Permutation, choose, permutation, permutation_floor};
pub use precision::{PREVALENCES, precision};
pub use roc::{OperatingPoint, recall_at, roc};
pub use settled::settled;
pub use share::{Share, exact_interval};
pub use spread::{Bca, Compared, Spread};
pub use threshold::Threshold;
