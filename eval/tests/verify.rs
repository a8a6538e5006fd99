//! The command `floodmark-eval verify`: what it prints and how it ends.

use std::path::Path;
use std::process::{Command, Output};

fn verify(options: &[&str]) -> Output {
    let receipts = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/receipts");
    Command::new(env!("CARGO_BIN_EXE_floodmark-eval")).arg("verify").args(options).current_dir(receipts).output().unwrap()
}

#[test]
fn the_papers_figures_are_expected_of_the_receipts() {
    let options = ["--receipt", "grafts.csv", "--baseline", "native.csv", "--drift", "0.43"];
    // As the paper prints them.
    let printed = [
        "--expect",
        "attack_persistence_delta_median=.0421",
        "--expect",
        "sham_persistence_delta_median=.0150",
        "--expect",
        "persistence_delta.auc=.708",
        "--expect",
        "attack_peak_delta_median=.0056",
        "--expect",
        "sham_peak_delta_median=.0136",
        "--expect",
        "peak_delta.auc=.417",
    ];
    let met = verify(&[&options[..], &printed].concat());
    assert!(met.status.success(), "{}", String::from_utf8_lossy(&met.stderr));
    let printed = String::from_utf8(met.stdout).unwrap();
    assert!(printed.contains("| peak | +0.005650 | +0.013650 | 0.416667 |") && printed.contains("| 10 | 24 | 4 |"), "{printed}");
    assert!(printed.contains("as expected: peak_delta.auc=.417"), "{printed}");

    let unmet = verify(&[&options[..], &["--expect", "peak_delta.auc=.418"]].concat());
    assert!(!unmet.status.success());
    assert!(String::from_utf8_lossy(&unmet.stderr).contains("not as expected: peak_delta.auc=.418, but it is 0.41666"));
    assert!(String::from_utf8_lossy(&unmet.stdout).contains("| peak |"), "the report comes first");
}

#[test]
fn a_receipt_that_is_none_ends_in_an_error() {
    let missing = verify(&["--receipt", "none.csv"]);
    assert!(!missing.status.success() && String::from_utf8_lossy(&missing.stderr).contains("cannot read the receipt none.csv"));
    let native = verify(&["--receipt", "native.csv"]);
    assert!(String::from_utf8_lossy(&native.stderr).contains("native.csv:2: group `native` is none of attack, benign, sham"));
}
