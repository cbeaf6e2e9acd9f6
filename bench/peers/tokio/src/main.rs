// SPDX-License-Identifier: MIT
//! Tokio's side of the race: a task with its channel per actor. See ../../README.md.
mod common;
mod futures;
mod latency;
mod messages;
mod meeting;
mod net;
mod parallel;
mod servers;
mod spawning;
mod sync;
mod timers;

use common::Outcome;
use tokio::runtime::{Builder, Runtime};

fn runtime(workers: usize, row: &str) -> Runtime {
    let mut builder = match workers {
        1 => Builder::new_current_thread(),
        _ => Builder::new_multi_thread(),
    };
    if workers > 1 {
        builder.worker_threads(workers);
    }
    if row.starts_with("timer-") {
        builder.enable_time();
    }
    if ["tcp-", "udp-", "latency-"].iter().any(|kind| row.starts_with(kind)) {
        builder.enable_io();
    }
    builder.build().unwrap()
}

async fn run(row: String, size: u64, workers: u64) -> Outcome {
    match row.as_str() {
        "pingpong" => messages::pingpong(size).await,
        "ring" => messages::ring(size).await,
        "counting" => messages::counting(1, size).await,
        "fanin" => messages::counting(100, size).await,
        "forkjoin" => messages::forkjoin(size).await,
        "big" => messages::big(size).await,
        "create" => spawning::create(size).await,
        "skynet" => spawning::skynet(size).await,
        "fib" => spawning::fib(size).await,
        "memory" => spawning::memory(size).await,
        "chameneos" => meeting::chameneos(size).await,
        "philosophers" => meeting::philosophers(size).await,
        "buffer" => servers::buffer(size).await,
        "dictionary" => servers::dictionary(size).await,
        "chat" => servers::chat(size).await,
        "quicksort" => parallel::quicksort(size as usize).await,
        "nqueens" => parallel::nqueens(size as u32).await,
        "sieve" => parallel::sieve(size).await,
        "timer-fire" => timers::timer_fire(size).await,
        "timer-cancel" => timers::timer_cancel(size).await,
        "async-await" => futures::resolve(size).await,
        "async-join" => futures::join(size).await,
        "async-spawn" => futures::lives(size).await,
        "sync-mutex" => sync::mutex(size, workers).await,
        "sync-semaphore" => sync::semaphore(size, workers).await,
        "sync-channel" => sync::channel(1, size).await,
        "sync-fanin" => sync::channel(4, size).await,
        "sync-broadcast" => sync::broadcast(size).await,
        "tcp-64" => net::tcp(64, size).await,
        "tcp-1000" => net::tcp(1000, size).await,
        "udp-64" => net::udp(size).await,
        "latency-none" => latency::hogs(0, 1, size).await,
        "latency-1x5ms" => latency::hogs(1, 5000, size).await,
        "latency-1x50ms" => latency::hogs(1, 50000, size).await,
        "latency-4x5ms" => latency::hogs(4, 5000, size).await,
        "latency-server" => latency::server(size).await,
        "latency-fresh" => latency::waits(false, size).await,
        "latency-old" => latency::waits(true, size).await,
        _ => std::process::exit(3),
    }
}

fn main() {
    // Every failed check panics: one line, and exit code 1 instead of an abort.
    std::panic::set_hook(Box::new(|info| {
        eprintln!("{}", info.to_string().replace('\n', " "));
        std::process::exit(1);
    }));
    let args: Vec<String> = std::env::args().collect();
    let number = |i: usize| args.get(i).and_then(|s| s.parse::<u64>().ok()).filter(|n| *n > 0);
    let (size, workers) = match (args.len(), number(2), number(3)) {
        (4, Some(size), Some(workers)) => (size, workers as usize),
        _ => {
            eprintln!("usage: peer-tokio ROW SIZE WORKERS");
            std::process::exit(2);
        }
    };
    let row = args[1].clone();
    // In a task of its own: the task of block_on is slower to wake than others.
    let runtime = runtime(workers, &row);
    let outcome = runtime.block_on(async { tokio::spawn(run(row, size, workers as u64)).await.unwrap() });
    println!("{:.9} {} {:.1} {}", outcome.seconds, outcome.ops, outcome.amount, outcome.notes);
    std::process::exit(0);
}
