//! What the tests share: one upstream, one Envoy for each config, the demo's conversations.

use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;

use anyhow::{Context as _, bail};
use floodmark_host::client::{Answer, Call};
use floodmark_host::demo::{self, Case, Seen};
use floodmark_host::envoy::{self, Config, Envoy, Options};
use floodmark_host::upstream::{Received, Upstream};
use tokio::runtime::Runtime;
use tokio::sync::OnceCell;

pub type Checking<'a> = Pin<Box<dyn Future<Output = anyhow::Result<()>> + Send + 'a>>;
pub type Check = fn(&Stage) -> Checking<'_>;

/// Makes a list of named checks of async functions that take the stage.
macro_rules! checks {
    ($($name:ident),+ $(,)?) => {
        /// This file's checks.
        pub fn checks() -> Vec<(&'static str, $crate::stage::Check)> {
            vec![$({
                fn run(stage: &$crate::stage::Stage) -> $crate::stage::Checking<'_> {
                    Box::pin($name(stage))
                }
                let name = concat!(module_path!(), "::", stringify!($name));
                (name.split_once("::").map_or(name, |(_, name)| name), run as $crate::stage::Check)
            }),+]
        }
    };
}
pub(crate) use checks;

/// See the file's first line.
pub struct Stage {
    upstream: OnceCell<Upstream>,
    enforce: OnceCell<Envoy>,
    monitor: OnceCell<Envoy>,
    held: OnceCell<Envoy>,
    plain: OnceCell<Envoy>,
    // Last, so that it outlives what was started on it.
    runtime: Runtime,
}

impl Stage {
    pub fn new() -> Self {
        Self {
            upstream: OnceCell::new(),
            enforce: OnceCell::new(),
            monitor: OnceCell::new(),
            held: OnceCell::new(),
            plain: OnceCell::new(),
            runtime: Runtime::new().expect("a tokio runtime"),
        }
    }

    /// Runs one check to its end, on a thread of the runtime: Envoy ends itself (`PR_SET_PDEATHSIG`) when the thread ends that started it, and those that
    /// run checks end before the stage does.
    pub fn run(self: &Arc<Self>, check: Check) -> anyhow::Result<()> {
        let stage = Arc::clone(self);
        let checking = self.runtime.spawn(async move { check(&stage).await });
        match self.runtime.block_on(checking) {
            Ok(outcome) => outcome,
            Err(failed) => std::panic::resume_unwind(failed.into_panic()),
        }
    }

    pub async fn upstream(&self) -> anyhow::Result<&Upstream> {
        self.upstream.get_or_try_init(Upstream::start).await
    }

    /// Envoy on enforce.yaml.
    pub async fn enforce(&self) -> anyhow::Result<&Envoy> {
        self.enforce.get_or_try_init(|| async { self.start(self.config("enforce").await?).await }).await
    }

    /// Envoy on monitor.yaml.
    pub async fn monitor(&self) -> anyhow::Result<&Envoy> {
        self.monitor.get_or_try_init(|| async { self.start(self.config("monitor").await?).await }).await
    }

    /// Envoy on enforce.yaml with both keys set that hold headers back.
    pub async fn held(&self) -> anyhow::Result<&Envoy> {
        let config = async {
            self.config("enforce")
                .await?
                .replace("allow_on_headers_stop_iteration: false", "allow_on_headers_stop_iteration: true")?
                .replace("hold_headers: false", "hold_headers: true")
        };
        self.held.get_or_try_init(|| async { self.start(config.await?).await }).await
    }

    /// Envoy on enforce.yaml without the plugin.
    pub async fn plain(&self) -> anyhow::Result<&Envoy> {
        let config = async { self.config("enforce").await?.without_filter() };
        self.plain.get_or_try_init(|| async { self.start(config.await?).await }).await
    }

    /// A shipped config, before this stage's upstream.
    pub async fn config(&self, name: &str) -> anyhow::Result<Config> {
        self.config_with(name, &wasm()?).await
    }

    /// The same with another module.
    pub async fn config_with(&self, name: &str, wasm: &Path) -> anyhow::Result<Config> {
        Config::shipped(name, wasm, self.upstream().await?.address())
    }

    /// An Envoy of the test's own, for exact counters or a changed config.
    pub async fn start(&self, config: Config) -> anyhow::Result<Envoy> {
        Envoy::start(&self.options()?, &config).await
    }

    pub fn options(&self) -> anyhow::Result<Options> {
        Ok(Options { binary: envoy::binary(None)?, concurrency: 2 })
    }

    /// What the upstream received under `id`, once nothing more can come.
    pub async fn received(&self, envoy: &Envoy, id: &str) -> anyhow::Result<Vec<Received>> {
        let journal = self.upstream().await?.journal();
        envoy.settle(journal).await?;
        Ok(journal.received(id))
    }

    /// Asserts that the upstream got no byte of the body sent under `id`.
    pub async fn assert_no_byte(&self, envoy: &Envoy, id: &str) -> anyhow::Result<()> {
        let received = self.received(envoy, id).await?;
        assert!(received.len() <= 1, "{id}: {} requests instead of at most one", received.len());
        let seen = Seen::of(&received);
        assert!(matches!(seen, Seen::Nothing | Seen::Broken(0)), "{id}: the upstream received {seen}");
        Ok(())
    }

    /// Asserts that the upstream got exactly `body` in one request under `id`.
    pub async fn assert_whole(&self, envoy: &Envoy, id: &str, body: &[u8]) -> anyhow::Result<()> {
        let received = self.received(envoy, id).await?;
        assert_eq!(received.len(), 1, "{id}: {} requests instead of one", received.len());
        assert_eq!(Seen::of(&received), Seen::Whole(body.len()), "{id}");
        assert!(received[0].body == body, "{id}: the body was changed on the way");
        Ok(())
    }
}

/// The plugin: `FLOODMARK_WASM`, else where `cargo xtask wasm` puts it.
pub fn wasm() -> anyhow::Result<PathBuf> {
    built("FLOODMARK_WASM", "floodmark.wasm")
}

/// The plugin that can be made to trap: `FLOODMARK_TRAP_WASM`, else where `cargo xtask test` puts it.
pub fn trapping_wasm() -> anyhow::Result<PathBuf> {
    built("FLOODMARK_TRAP_WASM", "floodmark-trap-for-tests.wasm")
}

fn built(variable: &str, name: &str) -> anyhow::Result<PathBuf> {
    let built = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/wasm").join(name);
    let path = std::env::var_os(variable).map_or(built, PathBuf::from);
    if !path.is_file() {
        bail!("no plugin at {}; run `cargo xtask test --only tests`, which builds it", path.display());
    }
    Ok(path)
}

/// A conversation of testdata/demo.jsonl.
pub fn case(id: &str) -> anyhow::Result<Case> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/demo.jsonl");
    demo::load(&path)?.into_iter().find(|case| case.id == id).with_context(|| format!("no case {id} in {}", path.display()))
}

/// The request of a conversation.
pub fn call(case: &Case) -> Call {
    Call::post(&case.path, case.body.get().to_owned())
}

/// `config` with trailers let through: from HTTP/1.1 clients too, and to an HTTP/2 upstream.
pub fn with_trailers(config: Config) -> anyhow::Result<Config> {
    let http2 = "type: STATIC
      typed_extension_protocol_options:
        envoy.extensions.upstreams.http.v3.HttpProtocolOptions:
          \"@type\": type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions
          explicit_http_config: {http2_protocol_options: {}}";
    let trailers = "codec_type: AUTO
                http_protocol_options: {enable_trailers: true}";
    config.replace("codec_type: AUTO", trailers)?.replace("type: STATIC", http2)
}

/// Asserts that the access log has the case's verdict and score under `id`.
pub async fn assert_judged(envoy: &Envoy, id: &str, case: &Case) -> anyhow::Result<()> {
    let line = envoy.access_line(id).await?;
    assert_eq!(line.field("verdict").as_deref(), Some(case.expect.verdict.as_str()), "{id}");
    let score: f64 = line.field("score").with_context(|| format!("{id}: no score"))?.parse()?;
    assert!((score - case.expect.score).abs() <= 1e-9, "{id}: score {score} instead of {}", case.expect.score);
    Ok(())
}

/// Asserts that an answer is the plugin's refusal in OpenAI's shape, for `rule`.
pub fn assert_openai_refusal(answer: &Answer, rule: &str, id: &str) -> anyhow::Result<()> {
    assert_eq!(answer.status, 403, "{id}: {}", answer.text());
    assert_eq!(answer.header("content-type"), Some("application/json"), "{id}");
    let body = answer.json()?;
    let error = body["error"].as_object().with_context(|| format!("no error object in {body}"))?;
    let mut keys: Vec<&str> = error.keys().map(String::as_str).collect();
    keys.sort_unstable();
    assert_eq!(keys, ["code", "message", "param", "type"], "OpenAI's clients read all four: {body}");
    assert_eq!(body.as_object().map(serde_json::Map::len), Some(1), "{body}");
    assert_eq!(error["code"], "floodmark_blocked");
    assert_eq!(error["type"], "invalid_request_error");
    assert!(error["param"].is_null(), "{body}");
    let message = error["message"].as_str().unwrap_or_default();
    assert!(message.contains(rule), "{message:?} does not name {rule}");
    assert!(message.contains(id), "{message:?} does not name the event {id}");
    assert_eq!(answer.header("x-floodmark-verdict"), Some("block"), "{id}");
    assert_eq!(answer.header("x-floodmark-event-id"), Some(id));
    Ok(())
}
