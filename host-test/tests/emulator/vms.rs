//! Several VMs in one process, and a VM that is started anew. Envoy chooses by itself which of its VMs a request meets, so what two of them
//! do at once can be shown in the emulator only.

use std::thread;

use floodmark_host::emulator::{Gateway, Options, Process, Request, UpstreamReply};

use crate::wat_plugin::{engines, plugin, texts};

fn get() -> Request {
    Request::new("GET", "/")
}

fn on_headers(code: &str) -> Vec<u8> {
    plugin(&format!(r#"(func (export "proxy_on_request_headers") (param i32 i32 i32) (result i32) {code} (i32.const 0))"#))
}

#[test]
fn a_vm_id_keeps_its_data_to_itself() {
    let show = r#"(call $say (call $shared @"key" (i32.const 16) (i32.const 20) (i32.const 24)))"#;
    let wasm = on_headers(&format!(r#"{show} (drop (call $share @"key" @"value" (i32.const 0)))"#));
    let process = Process::default();
    let start = |vm_id: &str| Gateway::start_in(&process, &wasm, "", Options { vm_id: vm_id.to_owned(), ..Options::default() }).unwrap();
    let (mut first, mut same, mut other) = (start("a"), start("a"), start("b"));
    for gateway in [&mut first, &mut same, &mut other] {
        gateway.exchange(&get(), &UpstreamReply::ok()).unwrap();
    }
    // 0 is found, 1 is not found.
    assert_eq!([texts(&first), texts(&same), texts(&other)].concat(), ["1", "0", "1"]);
}

/// Adds one to a four-byte number in shared data, and tries again when another VM was quicker.
const COUNTING: &str = r#"
    (loop $again
      (i32.store (i32.const 40) (i32.const 0))
      (i32.store (i32.const 24) (i32.const 0))
      (if (i32.eqz (call $shared @"count" (i32.const 16) (i32.const 20) (i32.const 24)))
        (then (i32.store (i32.const 40) (i32.load (i32.load (i32.const 16))))))
      (i32.store (i32.const 40) (i32.add (i32.load (i32.const 40)) (i32.const 1)))
      (br_if $again (call $share @"count" (i32.const 40) (i32.const 4) (i32.load (i32.const 24)))))
    (global.set $free (i32.const 65536))"#;

#[test]
fn no_update_is_lost_when_several_vms_write_with_the_version_they_read() {
    const VMS: u32 = 4;
    const ROUNDS: u32 = 200;
    for engine in engines() {
        let process = Process::default();
        let start = |wasm: &[u8]| Gateway::start_in(&process, wasm, "", Options { engine, ..Options::default() }).unwrap();
        // The key is made first: writers who all find it missing overwrite each other, in Envoy as here.
        start(&on_headers(COUNTING)).exchange(&get(), &UpstreamReply::ok()).unwrap();
        thread::scope(|scope| {
            for _ in 0..VMS {
                let mut gateway = start(&on_headers(COUNTING));
                scope.spawn(move || (0..ROUNDS).for_each(|_| drop(gateway.exchange(&get(), &UpstreamReply::ok()).unwrap())));
            }
        });
        let read = r#"(drop (call $shared @"count" (i32.const 16) (i32.const 20) (i32.const 24)))
            (drop (call $set_property @"count" (i32.load (i32.const 16)) (i32.load (i32.const 20))))"#;
        let seen = start(&on_headers(read)).exchange(&get(), &UpstreamReply::ok()).unwrap();
        assert_eq!(seen.filter_state["wasm.count"], (VMS * ROUNDS + 1).to_le_bytes());
    }
}

#[test]
fn metrics_are_those_of_the_process() {
    let wasm = plugin(
        r#"(func (export "proxy_on_configure") (param i32 i32) (result i32) (drop (call $define (i32.const 0) @"c" (i32.const 40))) (i32.const 1))
           (func (export "proxy_on_request_headers") (param i32 i32 i32) (result i32)
             (drop (call $increment (i32.load (i32.const 40)) (i64.const 1))) (i32.const 0))"#,
    );
    let process = Process::default();
    let mut vms = [(); 2].map(|()| Gateway::start_in(&process, &wasm, "", Options::default()).unwrap());
    for gateway in &mut vms {
        gateway.exchange(&get(), &UpstreamReply::ok()).unwrap();
    }
    vms[0].reload().unwrap();
    vms[0].exchange(&get(), &UpstreamReply::ok()).unwrap();
    assert_eq!(vms.map(|gateway| gateway.metric("c")), [Some(3); 2]);
}

#[test]
fn a_plugin_that_trapped_serves_again_when_reloaded_and_its_streams_are_lost() {
    let wasm = plugin(
        r#"(func (export "proxy_on_request_body") (param i32 i32 i32) (result i32)
             (if (i32.eq (local.get 1) (i32.const 3)) (then unreachable)) (i32.const 0))
           (func (export "proxy_on_request_headers") (param i32 i32 i32) (result i32)
             (drop (call $share @"kept" @"v" (i32.const 0))) (i32.const 0))"#,
    );
    for engine in engines() {
        let mut gateway = Gateway::start(&wasm, "", Options { engine, ..Options::default() }).unwrap();
        let open = gateway.open(&Request::new("POST", "/").chunks(["x"])).unwrap();
        let trap = gateway.exchange(&Request::new("POST", "/").chunks(["abc"]), &UpstreamReply::ok()).unwrap_err();
        assert_eq!(gateway.send_chunk(open, b"x", true), Err(trap.clone()));
        assert_eq!(gateway.trapped(), Some(&trap));
        gateway.reload().unwrap();
        assert_eq!(gateway.trapped(), None);
        let lost = gateway.send_chunk(open, b"x", true).unwrap_err();
        assert_eq!(lost.cause, "the stream ended with the VM that it ran in");
        let fresh = gateway.open(&get()).unwrap();
        assert!(fresh > open, "a lost stream's number must not mean another stream");
        assert_eq!(gateway.exchange(&get(), &UpstreamReply::ok()).unwrap().reply().unwrap().status, 200);
    }
}
