//! The commands that documents show do work: with other ports, and with what a test built.

use floodmark_host::client::Call;
use floodmark_host::upstream::Upstream;

use crate::process::{BENIGN, CHAT, attack, serve_with};
use crate::support::repository;

const START: &str = "cargo run --quiet --profile tool -p floodmark-host -- serve ";

#[tokio::test(flavor = "multi_thread")]
async fn documented_commands_serve() {
    for (document, count) in [("README.md", 1), ("docs/serve.md", 1)] {
        let text = std::fs::read_to_string(repository(document)).unwrap();
        let commands: Vec<_> = text.lines().filter_map(|line| line.strip_prefix(START)).collect();
        assert_eq!(commands.len(), count, "{document} shows how to serve");
        for command in commands {
            let upstream = Upstream::start().await.unwrap();
            let words: Vec<_> = command.split_whitespace().collect();
            let config = repository(value(&words, "--config").unwrap()).display().to_string();
            for (flag, shown) in [("--listen", "127.0.0.1:8080"), ("--upstream", "http://127.0.0.1:8000")] {
                assert_eq!(value(&words, flag), Some(shown), "{document}");
            }
            let known = ["--config", "--listen", "--upstream", "--admin"];
            assert!(words.iter().all(|word| !word.starts_with("--") || known.contains(word)), "{document}: {command}");
            let gateway = serve_with(upstream.address(), &["--config", &config]);
            assert_eq!(Call::post(CHAT, BENIGN).send(gateway.address).await.unwrap().status, 200);
            assert_eq!(Call::post(CHAT, attack()).send(gateway.address).await.unwrap().status, 403);
        }
    }
}

fn value<'a>(words: &[&'a str], flag: &str) -> Option<&'a str> {
    words.iter().skip_while(|word| **word != flag).nth(1).copied()
}
