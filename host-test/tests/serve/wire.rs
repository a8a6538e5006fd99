//! Upstreams written byte by byte, for what the test provider does not do.

use std::io::Write as _;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread::{self, JoinHandle};

use crate::process::{PATIENCE, read_until};

/// Listens on a free port and hands the first connection, its request's head read, to `talk`.
pub fn upstream<R: Send + 'static>(talk: impl FnOnce(TcpStream, String) -> R + Send + 'static) -> (SocketAddr, JoinHandle<R>) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let address = listener.local_addr().unwrap();
    let talking = thread::spawn(move || {
        let (mut socket, _) = listener.accept().unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        let head = read_until(&mut socket, "\r\n\r\n");
        talk(socket, head)
    });
    (address, talking)
}

/// A client's connection on which a text was written.
pub fn client(gateway: SocketAddr, text: &str) -> TcpStream {
    let mut socket = TcpStream::connect(gateway).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    socket.write_all(text.as_bytes()).unwrap();
    socket
}
