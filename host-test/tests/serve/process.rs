//! A running `floodmark-host serve`, and upstreams that do exactly what a test writes.

use std::io::{BufRead as _, BufReader, Read as _};
use std::net::SocketAddr;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use floodmark_host::client::Call;
use serde_json::Value;

use crate::support::{plugin_path, repository};

/// Longest wait for anything that should come soon.
pub const PATIENCE: Duration = Duration::from_secs(30);
pub const CHAT: &str = "/v1/chat/completions";
pub const BENIGN: &str = r#"{"model":"m","messages":[{"role":"user","content":"Hello"},{"role":"assistant","content":"Hi"},{"role":"user","content":"What is the time?"}]}"#;

/// The command, killed on drop.
pub struct Serve {
    child: Child,
    pub address: SocketAddr,
    pub admin: SocketAddr,
    lines: Arc<Mutex<Vec<Value>>>,
    reading: Option<JoinHandle<()>>,
}

/// The command on the shipped enforce config, before an upstream.
pub fn serve(upstream: SocketAddr) -> Serve {
    serve_with(upstream, &[])
}

/// The same with more arguments.
pub fn serve_with(upstream: SocketAddr, args: &[&str]) -> Serve {
    let wasm = plugin_path().display().to_string();
    let config = repository("envoy-config/enforce.yaml").display().to_string();
    let upstream = format!("http://{upstream}");
    let mut all = vec!["--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--upstream", &upstream];
    for (flag, default) in [("--wasm", wasm.as_str()), ("--config", &config), ("--workers", "2")] {
        if !args.contains(&flag) {
            all.extend([flag, default]);
        }
    }
    all.extend(args);
    let mut child = command(&all).spawn().unwrap();
    let mut errors = BufReader::new(child.stderr.take().unwrap()).lines();
    let mut said = Vec::new();
    let mut address_after = |start: &str| loop {
        let line = errors.next().unwrap_or_else(|| panic!("it ended before it listened: {said:?}")).unwrap();
        if let Some(rest) = line.strip_prefix(start) {
            return rest.split([' ', '/']).next().unwrap().parse::<SocketAddr>().unwrap();
        }
        said.push(line);
    };
    let (address, admin) = (address_after("listening on http://"), address_after("metrics on http://"));
    // Nobody may leave the pipe full.
    thread::spawn(move || errors.for_each(drop));
    let lines = Arc::new(Mutex::new(Vec::new()));
    let (out, kept) = (child.stdout.take().unwrap(), Arc::clone(&lines));
    let reading = thread::spawn(move || {
        for line in BufReader::new(out).lines() {
            kept.lock().unwrap().push(serde_json::from_str(&line.unwrap()).unwrap());
        }
    });
    Serve { child, address, admin, lines, reading: Some(reading) }
}

/// The command with arguments, not yet started.
pub fn command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_floodmark-host"));
    command.arg("serve").args(args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Exit code and error output of a command that does not start.
pub fn refused(args: &[&str]) -> (Option<i32>, String) {
    let output = command(args).output().unwrap();
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

impl Serve {
    /// The access log's lines so far that `wanted` picks; waits until there are `count`.
    pub fn lines(&self, count: usize, wanted: impl Fn(&Value) -> bool) -> Vec<Value> {
        wait_for(|| {
            let lines: Vec<Value> = self.lines.lock().unwrap().iter().filter(|line| wanted(line)).cloned().collect();
            (lines.len() >= count).then_some(lines)
        })
    }

    /// The access log's line of a request.
    pub fn line(&self, id: &str) -> Value {
        self.lines(1, |line| line["request_id"] == id).remove(0)
    }

    /// A value of the metrics page; 0 when it is not there.
    pub async fn metric(&self, series: &str) -> u64 {
        let page = Call::get("/metrics").send(self.admin).await.unwrap().text();
        page.lines().find_map(|line| line.strip_prefix(series)?.trim().parse().ok()).unwrap_or(0)
    }

    /// Sends a signal.
    pub fn signal(&self, name: &str) {
        assert!(Command::new("kill").args([&format!("-{name}"), &self.child.id().to_string()]).status().unwrap().success());
    }

    /// Waits for the end; gives it with the whole access log.
    pub fn ended(mut self) -> (ExitStatus, Vec<Value>) {
        let status = wait_for(|| self.child.try_wait().unwrap());
        self.reading.take().unwrap().join().unwrap();
        let lines = self.lines.lock().unwrap().clone();
        (status, lines)
    }
}

impl Drop for Serve {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Looks again and again until there is something.
pub fn wait_for<R>(mut look: impl FnMut() -> Option<R>) -> R {
    let started = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(started.elapsed() < PATIENCE, "it does not come");
        thread::sleep(Duration::from_millis(5));
    }
}

/// An attack of the demo.
pub fn attack() -> Vec<u8> {
    let text = std::fs::read_to_string(repository("testdata/demo.jsonl")).unwrap();
    let line: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    assert_eq!(line["expect"]["verdict"], "block");
    line["body"].to_string().into_bytes()
}

/// Reads from a socket until `end` is read.
pub fn read_until(socket: &mut std::net::TcpStream, end: &str) -> String {
    let (mut text, mut byte) = (Vec::new(), [0]);
    while !text.ends_with(end.as_bytes()) {
        let read = socket.read(&mut byte).unwrap();
        assert!(read == 1, "the connection ended after {:?}", String::from_utf8_lossy(&text));
        text.push(byte[0]);
    }
    String::from_utf8(text).unwrap()
}
