// SPDX-License-Identifier: MIT
//! Rows of futures: one that is kept by another task, and tasks that are started and joined.
use crate::common::*;
use std::sync::atomic::{AtomicU64, Ordering::*};
use std::time::Instant;
use tokio::sync::{oneshot, Notify};

/// The sender for the answer.
struct Promise(oneshot::Sender<Promise>);

async fn play(mut future: oneshot::Receiver<Promise>, size: u64) -> (u64, oneshot::Receiver<Promise>) {
    let mut received = 0;
    for _ in 0..size {
        let next = future.await.unwrap();
        received += 1;
        let (mine, answer) = oneshot::channel();
        future = answer;
        if next.0.send(Promise(mine)).is_err() {
            panic!("nobody waits");
        }
    }
    (received, future)
}

pub async fn resolve(size: u64) -> Outcome {
    let (first, first_end) = oneshot::channel();
    let (second, second_end) = oneshot::channel();
    let players = [spawn(play(first_end, size)), spawn(play(second_end, size))];
    let start = Instant::now();
    if first.send(Promise(second)).is_err() {
        panic!("nobody waits");
    }
    let mut received = Vec::new();
    for player in players {
        received.push(player.await.unwrap());
    }
    let result = outcome(start, 2 * size);
    for (count, _) in received {
        check("promises", count, size);
    }
    result
}

pub async fn join(size: u64) -> Outcome {
    const TASKS: u64 = 1000;
    let mut sum = 0;
    let mut tasks = Vec::with_capacity(TASKS as usize);
    let start = Instant::now();
    for _ in 0..size {
        tasks.extend((0..TASKS).map(|i| spawn(async move { i })));
        for task in tasks.drain(..) {
            sum += task.await.unwrap();
        }
    }
    let result = outcome(start, TASKS * size);
    check("sum", sum, size * (TASKS * (TASKS - 1) / 2));
    result
}

static LIVES: AtomicU64 = AtomicU64::new(0);

pub async fn lives(size: u64) -> Outcome {
    const BATCH: u64 = 64;
    let done: &'static Notify = Box::leak(Box::default());
    let start = Instant::now();
    for i in 1..=size {
        spawn(async move {
            if LIVES.fetch_add(1, AcqRel) + 1 == size {
                done.notify_one();
            }
        });
        if i % BATCH == 0 {
            step_aside().await;
        }
    }
    done.notified().await;
    let result = outcome(start, size);
    check("lives", LIVES.load(SeqCst), size);
    result
}
