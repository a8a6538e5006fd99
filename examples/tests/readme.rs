//! Every command of README.md, typed into a shell in one folder, in order. One whose line ends in `# fails` must fail, all others must not.

use std::path::Path;
use std::process::{Command, Output};

const README: &str = include_str!("../README.md");
const FAILS: &str = "# fails";

fn commands() -> Vec<&'static str> {
    let blocks = README.split("```sh\n").skip(1).filter_map(|rest| rest.split("```").next());
    blocks.flat_map(str::lines).collect()
}

fn run(folder: &Path, command: &str) -> Output {
    let mut command = command.to_owned();
    for (name, path) in [
        ("memory-store", env!("CARGO_BIN_EXE_memory-store")),
        ("scheduler", env!("CARGO_BIN_EXE_scheduler")),
        ("tamper", env!("CARGO_BIN_EXE_tamper")),
    ] {
        command = command.replace(&format!("cargo run -p floodmark-examples --bin {name} --"), &format!("'{path}'"));
    }
    assert!(!command.contains("cargo"), "{command}");
    Command::new("sh").arg("-c").arg(&command).current_dir(folder).env_remove("FLOODMARK_KEYS").output().unwrap()
}

#[test]
fn the_commands_do_what_the_page_says() {
    let root = tempfile::tempdir().unwrap();
    let mut folder = root.path().to_owned();
    let (mut printed, mut refused) = (Vec::new(), Vec::new());
    for command in commands() {
        if let Some(inner) = command.strip_prefix("cd ") {
            folder.push(inner);
            continue;
        }
        let output = run(&folder, command);
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
        assert_eq!(output.status.success(), !command.ends_with(FAILS), "{command}\n{}\n{}", text(&output.stdout), text(&output.stderr));
        if command.ends_with(FAILS) {
            refused.push(text(&output.stderr));
        } else if [" recall ", " tick "].iter().any(|word| command.contains(word)) {
            printed.push(text(&output.stdout));
        }
    }
    let label = floodmark_core::lineage::LABEL;
    let digest = r#"fire  digest of alice: mail.send {"to":"alice@acme.example"}"#;
    let ask = r#"ask   weekly of alice: may it call mail.send with {"to":"team@acme.example"}? No mandate covers it."#;
    let fire = r#"fire  weekly of alice: mail.send {"to":"team@acme.example"}"#;
    let keep = "keep  sync of alice: untrusted";
    let expected = [
        "Alice wants a window seat.".to_owned(),
        format!("{label}\nThe lounge opens at six."),
        format!("{label}\nThe lounge opens at six."),
        [digest, keep, ask].join("\n"),
        [digest, keep, fire].join("\n"),
        ["keep  digest of alice: content_mismatch", keep, "keep  weekly of alice: broken_parent"].join("\n"),
    ];
    assert_eq!(printed, expected);
    for (text, words) in refused.iter().zip([
        "offer is kept back",
        "content_mismatch",
        "broken_parent",
        "alice has no entry \"meal\"",
        "somebody moved it",
        "1 rows are not as they were sealed",
        "the head says 4 rows, there are 3",
        "the head says 4 rows, there are 3",
        "its head says change 4, there was change 5",
        "are not as they were sealed",
    ]) {
        assert!(text.contains(words), "{words}: {text}");
    }
    assert_eq!(refused.len(), 10);
    // All of it is in the one folder, which git ignores.
    assert!(root.path().read_dir().unwrap().all(|made| made.unwrap().file_name() == "target"));
    assert!(include_str!("../../.gitignore").lines().any(|line| line == "/target"));
}

#[test]
fn errors_say_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let fails = |command: &str| {
        let output = run(folder.path(), command);
        assert!(!output.status.success(), "{command}");
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let store = "cargo run -p floodmark-examples --bin memory-store --";
    assert!(fails(&format!("{store} recall seat")).contains("name a file with --keys, or set FLOODMARK_KEYS"));
    assert!(fails(&format!("FLOODMARK_KEYS=k=11 {store} recall seat")).contains("key 1 must be ID=SECRET with 64 hex digits"));
    let key = format!("FLOODMARK_KEYS=k={}", "5a".repeat(32));
    assert!(fails(&format!("{key} {store} recall seat")).contains("make a new one with `init`"));
    assert!(run(folder.path(), &format!("{key} {store} init")).status.success());
    assert!(fails(&format!("{key} {store} init")).contains("the store is there already"));
    assert!(fails(&format!("{key} {store} recall seat")).contains("alice has no entry \"seat\""));
    assert!(fails(&format!("{key} {store} remember a b --channel users")).contains("no such channel"));
    // The secret itself is in no error.
    assert!(!fails(&format!("FLOODMARK_KEYS=k={}x {store} recall seat", "5a".repeat(31))).contains("5a5a"));
}
