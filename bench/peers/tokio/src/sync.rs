// SPDX-License-Identifier: MIT
//! Rows of synchronisation: locks that nobody else wants, channels, and a broadcast.
use crate::common::*;
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::{broadcast, mpsc, Mutex, Semaphore};

const CAPACITY: usize = 64;

async fn lock(size: u64) -> u64 {
    let mutex = Mutex::new(0u64);
    for _ in 0..size {
        *mutex.lock().await += 1;
    }
    mutex.into_inner()
}

async fn acquire(size: u64) -> u64 {
    let semaphore = Semaphore::new(4);
    let mut count = 0;
    for _ in 0..size {
        let _permit = semaphore.acquire().await.unwrap();
        count += 1;
    }
    count
}

/// A task with a lock of its own for each worker.
pub async fn mutex(size: u64, workers: u64) -> Outcome {
    let each = size / workers;
    let start = Instant::now();
    let sum = join_sum((0..workers).map(|_| spawn(lock(each))).collect()).await;
    let result = outcome(start, each * workers);
    check("locks", sum, each * workers);
    result
}

pub async fn semaphore(size: u64, workers: u64) -> Outcome {
    let each = size / workers;
    let start = Instant::now();
    let sum = join_sum((0..workers).map(|_| spawn(acquire(each))).collect()).await;
    let result = outcome(start, each * workers);
    check("permits", sum, each * workers);
    result
}

pub async fn channel(senders: u64, size: u64) -> Outcome {
    let each = size / senders;
    let (to, mut from) = mpsc::channel(CAPACITY);
    let start = Instant::now();
    let receiver = spawn(async move {
        let mut sum = 0;
        while let Some(value) = from.recv().await {
            sum += value;
        }
        sum
    });
    for _ in 0..senders {
        let to = to.clone();
        spawn(async move {
            for i in 0..each {
                to.send(i).await.unwrap();
            }
        });
    }
    drop(to);
    let sum = receiver.await.unwrap();
    let result = outcome(start, each * senders);
    check("sum", sum, each * (each - 1) / 2 * senders);
    result
}

/// The next batch comes when all have read the last: nobody lags.
pub async fn broadcast(size: u64) -> Outcome {
    const READERS: u64 = 8;
    let batch = CAPACITY as u64;
    let each = size / READERS / batch * batch;
    let (to, _) = broadcast::channel(CAPACITY);
    let done = Arc::new(Semaphore::new(0));
    let mut readers = Vec::new();
    for _ in 0..READERS {
        let mut from = to.subscribe();
        let done = done.clone();
        readers.push(spawn(async move {
            let mut sum = 0;
            for i in 1..=each {
                sum += from.recv().await.unwrap();
                if i % batch == 0 {
                    done.add_permits(1);
                }
            }
            sum
        }));
    }
    let start = Instant::now();
    for i in 0..each {
        to.send(i).unwrap();
        if (i + 1) % batch == 0 {
            done.acquire_many(READERS as u32).await.unwrap().forget();
        }
    }
    let sum = join_sum(readers).await;
    let result = outcome(start, each * READERS);
    check("sum", sum, each * (each - 1) / 2 * READERS);
    result
}
