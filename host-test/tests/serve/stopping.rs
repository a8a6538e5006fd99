//! SIGTERM and SIGINT: open requests end, new ones are not taken, the log is whole.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::mpsc;

use crate::process::{BENIGN, read_until, serve, serve_with, wait_for};
use crate::wire::{client, upstream};

fn chat() -> String {
    format!("POST /files HTTP/1.1\r\nhost: x\r\nx-request-id: open\r\ncontent-length: {}\r\n\r\n{BENIGN}", BENIGN.len())
}

#[test]
fn a_request_under_way_ends_before_the_server_does() {
    for signal in ["TERM", "INT"] {
        let (go_on, wait) = mpsc::channel::<()>();
        let (address, talking) = upstream(move |mut socket, _| {
            socket.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nfi").unwrap();
            wait.recv().unwrap();
            socket.write_all(b"ne").unwrap();
        });
        let gateway = serve(address);
        let mut socket = client(gateway.address, &chat());
        read_until(&mut socket, "\r\n\r\nfi");
        gateway.signal(signal);
        wait_for(|| TcpStream::connect(gateway.address).is_err().then_some(()));
        go_on.send(()).unwrap();
        let mut rest = String::new();
        socket.read_to_string(&mut rest).unwrap();
        assert_eq!(rest, "ne", "the connection closes after it");
        let (status, lines) = gateway.ended();
        assert!(status.success(), "{status}");
        assert_eq!((lines.len(), &lines[0]["request_id"], &lines[0]["status"]), (1, &"open".into(), &200.into()));
        talking.join().unwrap();
    }
}

#[test]
fn the_grace_has_an_end() {
    let (address, talking) = upstream(|mut socket, _| {
        socket.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nfi").unwrap();
        socket.read_to_end(&mut Vec::new()).unwrap_or_default()
    });
    let gateway = serve_with(address, &["--grace", "0"]);
    let mut socket = client(gateway.address, &chat());
    read_until(&mut socket, "\r\n\r\nfi");
    gateway.signal("TERM");
    let (status, lines) = gateway.ended();
    assert!(status.success(), "{status}");
    assert_eq!((lines.len(), &lines[0]["details"]), (1, &"client_closed".into()));
    assert!(!matches!(socket.read(&mut [0; 2]), Ok(2)));
    talking.join().unwrap();
}

#[test]
fn idle_connections_do_not_hold_the_server_up() {
    let (address, _talking) = upstream(|_, _| ());
    let gateway = serve(address);
    let mut socket = TcpStream::connect(gateway.address).unwrap();
    wait_for(|| socket.write(b"").ok());
    gateway.signal("TERM");
    assert!(gateway.ended().0.success());
    assert_eq!(socket.read(&mut [0]).unwrap_or(0), 0);
}
