//! Work for each byte does not grow with a body: fuel of whole judgements in wasm, on what each reader finds hardest, at three sizes.
//!
//! Fuel counts instructions, so it is the same on any machine.

mod detector;
mod lineage;
mod requests;
mod responses;
mod runs;
#[path = "../support/mod.rs"]
mod support;

use std::fmt::Write as _;

use floodmark_host::emulator::{Gateway, Options, Request, UpstreamReply};
use support::plugin;

const PATH: &str = "/v1/chat/completions";
const SIZES: [usize; 3] = [4 << 10, 64 << 10, 1 << 20];

/// Repeats `unit` between `start` and `end`, to `bytes` in all or a little less.
fn fill(start: &str, unit: &str, end: &str, bytes: usize) -> Vec<u8> {
    let room = bytes - start.len() - end.len();
    [start, &unit.repeat(room / unit.len()), end].concat().into_bytes()
}

/// What is hard for a reader.
struct Hard {
    name: &'static str,
    body: fn(usize) -> Vec<u8>,
    /// A budget of core/src/limits.rs ends the work in large bodies, so a byte of them may take far less.
    budget: bool,
}

const fn hard(name: &'static str, body: fn(usize) -> Vec<u8>) -> Hard {
    Hard { name, body, budget: false }
}

const fn until_spent(name: &'static str, body: fn(usize) -> Vec<u8>) -> Hard {
    Hard { name, body, budget: true }
}

fn gateway(settings: &str) -> Gateway {
    let config = format!(r#"{{"version":1,"defaults":{{"max_body_bytes":4000000,{settings}}}}}"#);
    let options = Options { buffer_limit_bytes: usize::MAX, ..Options::default() };
    Gateway::start(&plugin(), &config, options).unwrap()
}

/// Fuel for each byte of a request or of its reply, at each size.
fn fuel(gateway: &mut Gateway, messages: impl Fn(usize) -> (Request, UpstreamReply)) -> [f64; SIZES.len()] {
    SIZES.map(|bytes| {
        let (request, reply) = messages(bytes);
        let exchange = gateway.exchange(&request, &reply).unwrap();
        gateway.take_logs();
        assert!(exchange.fuel > 0);
        exchange.fuel as f64 / bytes as f64
    })
}

/// Fails with the whole table when one row is not flat.
fn flat(rows: impl IntoIterator<Item = (String, bool, [f64; SIZES.len()])>) {
    let mut table = String::new();
    let mut good = true;
    for (name, budget, fuel) in rows {
        let [small, middle, large] = fuel;
        let grew = middle > 2.0 * small || large > 2.0 * small.min(middle);
        let fell = small > 2.0 * middle || small.max(middle) > 2.0 * large;
        good &= !grew && (budget || !fell);
        writeln!(table, "{name:<52} {small:>9.1} {middle:>9.1} {large:>9.1}").unwrap();
    }
    println!("{table}");
    assert!(good, "fuel for each byte of {SIZES:?} bytes is not flat within 2 times:\n{table}");
}
