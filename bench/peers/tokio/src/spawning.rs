// SPDX-License-Identifier: MIT
//! Rows that spawn actors all the time, and the memory of idle ones. The result of a child comes
//! back through its JoinHandle, which is its channel to the parent.
use crate::common::*;
use std::sync::atomic::{AtomicU64, Ordering::*};
use std::time::Instant;
use tokio::sync::{oneshot, Notify};
use tokio::task::yield_now;

static SUM: AtomicU64 = AtomicU64::new(0);

pub async fn create(size: u64) -> Outcome {
    const BATCH: u64 = 64;
    let done: &'static Notify = Box::leak(Box::default());
    let start = Instant::now();
    for i in 1..=size {
        let (tx, rx) = oneshot::channel::<u64>();
        spawn(async move {
            let value = rx.await.unwrap();
            if SUM.fetch_add(value, AcqRel) + value == size {
                done.notify_one();
            }
        });
        tx.send(1).unwrap();
        if i % BATCH == 0 {
            step_aside().await;
        }
    }
    done.notified().await;
    let result = outcome(start, size);
    check("sum", SUM.load(SeqCst), size);
    result
}

fn spawn_skynet(number: u64, size: u64) -> JoinHandle<u64> {
    const CHILDREN: u64 = 10;
    spawn(async move {
        if size == 1 {
            return number;
        }
        let share = size / CHILDREN;
        let children: [_; CHILDREN as usize] =
            std::array::from_fn(|i| spawn_skynet(number + i as u64 * share, share));
        let mut sum = 0;
        // With several workers the last one spawned runs first: fewer wakes.
        for child in children.into_iter().rev() {
            sum += child.await.unwrap();
        }
        sum
    })
}

pub async fn skynet(size: u64) -> Outcome {
    let start = Instant::now();
    let sum = spawn_skynet(0, size).await.unwrap();
    let result = outcome(start, (10 * size - 1) / 9);
    check("sum", sum, size * (size - 1) / 2);
    result
}

/// The number, and how many actors it took.
fn spawn_fib(n: u32) -> JoinHandle<(u32, u32)> {
    spawn(async move {
        if n <= 2 {
            return (1, 1);
        }
        let (first, second) = (spawn_fib(n - 1), spawn_fib(n - 2));
        let (first, second) = (first.await.unwrap(), second.await.unwrap());
        (first.0 + second.0, first.1 + second.1 + 1)
    })
}

pub async fn fib(size: u64) -> Outcome {
    const ACTORS: u32 = 150_049;
    let start = Instant::now();
    for _ in 0..size {
        let (number, actors) = spawn_fib(25).await.unwrap();
        check("number", number as u64, 75_025);
        check("actors", actors as u64, ACTORS as u64);
    }
    outcome(start, ACTORS as u64 * size)
}

fn resident_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1024
}

pub async fn memory(size: u64) -> Outcome {
    const WAVE: u64 = 1000; // actors that have a message at once
    let before = resident_bytes();
    let start = Instant::now();
    let mut actors = Vec::with_capacity(size as usize);
    for i in 1..=size {
        let (tx, mut rx) = mailbox::<u64>();
        spawn(async move {
            while let Some(value) = rx.recv().await {
                SUM.fetch_add(value, AcqRel);
            }
        });
        send(&tx, 1);
        actors.push(tx);
        while (i % WAVE == 0 || i == size) && SUM.load(Acquire) != i {
            yield_now().await;
        }
    }
    let mut result = outcome(start, size);
    result.amount = (resident_bytes() - before) as f64;
    check("messages", SUM.load(SeqCst), size);
    check("actors alive", actors.iter().filter(|tx| !tx.is_closed()).count() as u64, size);
    result
}
