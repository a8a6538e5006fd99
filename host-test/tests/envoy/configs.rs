//! Configs: those that are shipped, and those that must be refused with the key's path.

use floodmark_host::envoy;

use crate::stage::{Stage, assert_judged, call, case, checks};

checks![
    a_bad_config_is_refused_with_the_path_of_its_key,
    json_text_works_as_well_as_a_struct,
    counters_have_labels_on_the_prometheus_page,
    the_log_names_version_and_tables,
    the_kill_switch_lets_attacks_pass_unread,
];

async fn a_bad_config_is_refused_with_the_path_of_its_key(stage: &Stage) -> anyhow::Result<()> {
    for (name, from, to, path) in [
        ("enforce", "mode: enforce", "mode: enforced", "defaults.mode"),
        ("enforce", "hold_headers: false", "hold_header: false", "defaults.hold_header"),
        ("enforce", "max_body_bytes: 1000000", "max_body_bytes: 0", "defaults.max_body_bytes"),
        ("monitor", "version: 1", "version: 2", "version"),
        ("monitor", "enabled: true", "enabled: soon", "enabled"),
    ] {
        let config = stage.config(name).await?.replace(from, to)?;
        let log = envoy::refused(&stage.options()?, &config).await?;
        let wanted = format!("floodmark configuration refused at {path}: ");
        // One line a VM, and Envoy gives up at the first.
        assert_eq!(log.matches(&wanted).count(), 1, "{to}: no line {wanted:?} in\n{log}");
    }
    Ok(())
}

/// The other carrier, with the very values of the shipped config and with a bad one.
async fn json_text_works_as_well_as_a_struct(stage: &Stage) -> anyhow::Result<()> {
    let shipped = stage.config("enforce").await?;
    let json = shipped.plugin_json()?;
    let (id, case) = ("json-text", case("slow_burn")?);
    let envoy = stage.start(shipped.clone().with_plugin_text(&json)?).await?;
    assert_eq!(call(&case).id(id).send(envoy.address()).await?.status, 403);
    assert_judged(&envoy, id, &case).await?;

    let bad = shipped.with_plugin_text(&json.replace("1000000", "\"a lot\""))?;
    let log = envoy::refused(&stage.options()?, &bad).await?;
    assert!(log.contains("floodmark configuration refused at defaults.max_body_bytes: "), "{log}");
    Ok(())
}

async fn counters_have_labels_on_the_prometheus_page(stage: &Stage) -> anyhow::Result<()> {
    let envoy = stage.start(stage.config("enforce").await?).await?;
    assert_eq!(call(&case("slow_burn")?).send(envoy.address()).await?.status, 403);
    let page = envoy.admin_get("/stats/prometheus?filter=floodmark").await?;
    let samples: Vec<&str> = page.lines().filter(|line| !line.starts_with('#')).collect();
    for wanted in [
        "floodmark_judged{verdict=\"block\",mode=\"enforce\"} 1",
        "floodmark_judged{verdict=\"allow\",mode=\"enforce\"} 0",
        "floodmark_passed{why=\"no_body\"} 0",
        "floodmark_issues{issue=\"invalid_utf8\"} 0",
        "floodmark_detector{rule=\"persistence\"} 0",
        "floodmark_rejected{} 1",
    ] {
        assert!(samples.contains(&wanted), "no {wanted} in\n{page}");
    }
    assert!(samples.iter().all(|line| ["_verdict=", "_mode=", "_rule="].iter().all(|label| !line.contains(label))), "{page}");
    Ok(())
}

async fn the_log_names_version_and_tables(stage: &Stage) -> anyhow::Result<()> {
    let log = stage.enforce().await?.log()?;
    let wanted = format!("floodmark {} (git ", env!("CARGO_PKG_VERSION"));
    let tables = format!("tables {} detector {}", floodmark_tables::CATEGORIES.fingerprint, floodmark_tables::DETECTOR.version);
    assert!(log.lines().any(|line| line.contains(&wanted) && line.contains(&tables)), "no {wanted}... {tables} in\n{log}");
    Ok(())
}

async fn the_kill_switch_lets_attacks_pass_unread(stage: &Stage) -> anyhow::Result<()> {
    let config = stage.config("enforce").await?.replace("enabled: true", "enabled: false")?;
    let (id, envoy, case) = ("kill-switch", stage.start(config).await?, case("slow_burn")?);
    let answer = call(&case).id(id).send(envoy.address()).await?;
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert_eq!(envoy.access_line(id).await?.field("verdict"), None);
    stage.assert_whole(&envoy, id, case.body.get().as_bytes()).await?;
    assert_eq!(envoy.stat("wasmcustom.floodmark_passed_why=off").await?, 1);
    Ok(())
}
