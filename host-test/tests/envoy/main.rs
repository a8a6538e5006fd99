//! System tests: the built plugin in real Envoy, on the configs as shipped.
//!
//! They need the plugin and Envoy, which `cargo xtask test` builds and installs. Envoys are shared among the tests, so this
//! file is a harness of its own: it can stop them when all tests are done, which a test thread cannot.

mod actions;
mod affinity;
mod approvals;
mod attacks;
mod bypass;
mod compressed;
mod configs;
mod crowd;
mod endpoints;
mod failure;
mod limits;
mod lineage;
mod passing;
mod protocols;
mod replies;
mod responses;
mod runs;
mod soak;
mod stage;
mod streams;

use std::process::ExitCode;
use std::sync::Arc;

use libtest_mimic::{Arguments, Trial};
use stage::Stage;

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let stage = Arc::new(Stage::new());
    let checks = [
        actions::checks(),
        affinity::checks(),
        approvals::checks(),
        attacks::checks(),
        bypass::checks(),
        compressed::checks(),
        configs::checks(),
        crowd::checks(),
        endpoints::checks(),
        failure::checks(),
        limits::checks(),
        lineage::checks(),
        passing::checks(),
        protocols::checks(),
        replies::checks(),
        responses::checks(),
        runs::checks(),
        soak::checks(),
        streams::checks(),
    ];
    let trials = checks.into_iter().flatten().map(|(name, check)| {
        let stage = Arc::clone(&stage);
        // With its causes: what broke off says little without why.
        Trial::test(name, move || stage.run(check).map_err(|error| format!("{error:#}").into()))
    });
    let conclusion = libtest_mimic::run(&arguments, trials.collect());
    drop(stage);
    conclusion.exit_code()
}
