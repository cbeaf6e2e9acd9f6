// SPDX-License-Identifier: MIT
//! Echo servers: a task per connection. The client prints the result, and the process ends with it.
use crate::common::Outcome;
use std::net::SocketAddr;
use std::process::Command;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UdpSocket};

const BUFFER_SIZE: usize = 4096;

pub fn nothing() -> String {
    String::new()
}

/// On a thread of its own, which sleeps until the client has ended. What report returns is printed
/// behind the client's result.
fn run_client(
    kind: &'static str,
    address: SocketAddr,
    connections: u64,
    size: u64,
    report: impl FnOnce() -> String + Send + 'static,
) {
    std::thread::spawn(move || {
        let client = std::env::var("JZX_BENCH_CLIENT").expect("JZX_BENCH_CLIENT");
        let status = Command::new(client)
            .arg(kind)
            .arg(address.port().to_string())
            .arg(connections.to_string())
            .arg(size.to_string())
            .arg(std::process::id().to_string())
            .status()
            .expect("the client");
        println!("{}", report());
        std::process::exit(status.code().unwrap_or(1));
    });
}

/// Calls `before` with each piece that it has read, and sends it back.
async fn echo(mut stream: TcpStream, before: impl Fn() + Send) {
    let mut buffer = [0u8; BUFFER_SIZE];
    stream.set_nodelay(true).unwrap();
    while let Ok(got) = stream.read(&mut buffer).await {
        if got == 0 {
            return;
        }
        before();
        if stream.write_all(&buffer[..got]).await.is_err() {
            return;
        }
    }
}

pub async fn serve(
    kind: &'static str,
    connections: u64,
    size: u64,
    before: impl Fn() + Copy + Send + 'static,
    report: impl FnOnce() -> String + Send + 'static,
) -> Outcome {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    run_client(kind, listener.local_addr().unwrap(), connections, size, report);
    loop {
        let (stream, _) = listener.accept().await.unwrap();
        tokio::spawn(echo(stream, before));
    }
}

pub async fn tcp(connections: u64, size: u64) -> Outcome {
    serve("tcp", connections, size, || (), nothing).await
}

pub async fn udp(size: u64) -> Outcome {
    let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let mut buffer = [0u8; BUFFER_SIZE];
    run_client("udp", socket.local_addr().unwrap(), 64, size, nothing);
    loop {
        let (got, from) = socket.recv_from(&mut buffer).await.unwrap();
        socket.send_to(&buffer[..got], from).await.unwrap();
    }
}
