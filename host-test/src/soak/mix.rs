//! The kinds of requests that a soak sends.

use std::io::Write as _;
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::bench::body::{Kind, chat};
use crate::client::{Call, Protocol};

const OPENAI: &str = "/v1/chat/completions";
const ANTHROPIC: &str = "/v1/messages";
/// As in envoy-config/*.yaml.
const CAP: usize = 1_000_000;
/// A client that gives up does so in the middle of its body: after this time, of a body that takes much longer.
const GIVES_UP: Duration = Duration::from_millis(40);
const PAUSE: Duration = Duration::from_millis(15);

/// What must become of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expect {
    /// This status.
    Status(u16),
    /// No answer, since the client gives up.
    GivenUp,
}

/// One kind of request.
#[derive(Clone, Debug)]
pub struct Shot {
    /// Its name in the table.
    pub name: String,
    /// The request.
    pub call: Call,
    /// How it is spoken.
    pub protocol: Protocol,
    /// What must become of it.
    pub expect: Expect,
}

impl Expect {
    /// Whether an answer, or none, is as it must be.
    #[must_use]
    pub fn meets(self, status: Option<u16>) -> bool {
        match self {
            Self::Status(one) => status == Some(one),
            Self::GivenUp => status.is_none(),
        }
    }
}

/// All kinds, each over HTTP/1.1 and HTTP/2. Small requests come more often than large ones, as they do.
#[must_use]
pub fn shots() -> Vec<Shot> {
    let benign = |bytes| Call::post(OPENAI, chat(Kind::Benign, bytes));
    let attack = |bytes| Call::post(OPENAI, chat(Kind::Attack, bytes));
    let cut = |call: Call, size| call.cut(&[size], Duration::ZERO);
    let gzip = |kind| Call::post(OPENAI, gzipped(&chat(kind, 8_000))).header("content-encoding", "gzip");
    let (passes, refused) = (Expect::Status(200), Expect::Status(403));
    let kinds = [
        ("benign 1 KB", benign(1_000), passes),
        ("benign 4 KB", benign(4_000), passes),
        ("attack 2 KB", attack(2_000), refused),
        ("benign 1 KB, chunked", cut(benign(1_000), 100), passes),
        ("no body", Call::get("/v1/models"), passes),
        ("benign 16 KB", benign(16_000), passes),
        ("attack 2 KB, chunked", cut(attack(2_000), 300), refused),
        ("benign 2 KB, trailers", benign(2_000).trailer("x-sum", "7"), passes),
        ("attack 2 KB, trailers", attack(2_000).trailer("x-sum", "7"), refused),
        ("benign, Anthropic", Call::post(ANTHROPIC, chat(Kind::Benign, 3_000)), passes),
        ("benign 200 KB, chunked", cut(benign(200_000), 16_384), passes),
        ("given up", benign(20_000).cut(&[1_000], PAUSE).timeout(GIVES_UP), Expect::GivenUp),
        ("attack 200 KB", attack(200_000), refused),
        ("cut off in the JSON", Call::post(OPENAI, chat(Kind::Benign, 2_000)[..1_500].to_owned()), refused),
        ("no JSON", Call::post(OPENAI, "}{ not JSON at all"), refused),
        ("no UTF-8", Call::post(OPENAI, b"{\"messages\":[{\"role\":\"user\",\"content\":\"caf\xe9\"}]}".to_vec()), refused),
        ("benign, gzip", gzip(Kind::Benign), passes),
        ("attack, gzip", gzip(Kind::Attack), refused),
        ("at the cap", benign(CAP), passes),
        ("oversize, declared", benign(CAP + 1), refused),
        ("oversize, chunked", cut(benign(CAP + 100_000), 65_536), refused),
        ("upload elsewhere", Call::post("/upload", vec![b'u'; 1_500_000]).header("content-type", "application/octet-stream"), passes),
    ];
    let small = kinds.iter().take(10).cycle().take(30).cloned().collect::<Vec<_>>();
    let (few, many) = (kinds.into_iter().skip(10), small);
    let order = many.into_iter().chain(few);
    order.flat_map(|(name, call, expect)| [Protocol::Http1, Protocol::Http2].map(|protocol| shot(name, &call, protocol, expect))).collect()
}

fn shot(name: &str, call: &Call, protocol: Protocol, expect: Expect) -> Shot {
    let spoken = if protocol == Protocol::Http1 { "h1" } else { "h2" };
    Shot { name: format!("{name}, {spoken}"), call: call.clone().over(protocol), protocol, expect }
}

fn gzipped(text: &str) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    // Writing to memory cannot fail.
    let _ = encoder.write_all(text.as_bytes());
    encoder.finish().unwrap_or_default()
}
