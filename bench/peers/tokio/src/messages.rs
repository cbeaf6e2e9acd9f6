// SPDX-License-Identifier: MIT
//! Rows that send between actors which live as long as the row.
use crate::common::*;
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::oneshot;
use tokio::task::yield_now;

/// Messages of a producer between two yields.
const BATCH: u64 = 256;

pub async fn pingpong(size: u64) -> Outcome {
    let (to_ping, mut ping_box) = mailbox::<u64>();
    let (to_pong, mut pong_box) = mailbox::<u64>();
    let start_box = to_ping.clone();
    let pong = spawn(async move {
        let mut got = 0;
        while let Some(value) = pong_box.recv().await {
            got += 1;
            send(&to_ping, value);
        }
        got
    });
    let ping = spawn(async move {
        let mut got = 0;
        let mut left = ping_box.recv().await.unwrap();
        while left > 0 {
            send(&to_pong, left);
            left = ping_box.recv().await.unwrap() - 1;
            got += 1;
        }
        got
    });
    let start = Instant::now();
    send(&start_box, size);
    let pings = ping.await.unwrap();
    let result = outcome(start, 2 * size);
    check("pongs", pings, size);
    check("pings", pong.await.unwrap(), size);
    result
}

pub async fn ring(size: u64) -> Outcome {
    const ACTORS: usize = 503;
    let (txs, rxs) = mailboxes::<u64>(ACTORS);
    let (done, end) = oneshot::channel();
    let mut done = Some(done);
    let mut members = Vec::new();
    for (i, mut rx) in rxs.into_iter().enumerate() {
        let next = txs[(i + 1) % ACTORS].clone();
        // Only the one that the token ends at can tell.
        let done = if i as u64 == size % ACTORS as u64 { done.take() } else { None };
        members.push(spawn(async move {
            let mut hops = 0;
            while let Some(left) = rx.recv().await {
                if left == 0 {
                    done.unwrap().send(()).unwrap();
                    break;
                }
                hops += 1;
                send(&next, left - 1);
            }
            hops
        }));
    }
    let start = Instant::now();
    send(&txs[0], size);
    end.await.unwrap();
    let result = outcome(start, size);
    drop(txs); // The one that has ended no longer sends: the others end one after another.
    for (i, member) in members.into_iter().enumerate() {
        let extra = (i as u64) < size % ACTORS as u64;
        check("hops of a member", member.await.unwrap(), size / ACTORS as u64 + extra as u64);
    }
    result
}

async fn count(mut rx: Rx<u64>) -> u64 {
    let mut sum = 0;
    while let Some(value) = rx.recv().await {
        sum += value;
        // Faster for one who only takes; the others of these rows never wait for it.
        while let Ok(value) = rx.try_recv() {
            sum += value;
        }
    }
    sum
}

/// Rows counting (one producer) and fanin.
pub async fn counting(producers: u64, size: u64) -> Outcome {
    let (tx, rx) = mailbox::<u64>();
    let consumer = spawn(count(rx));
    let mut starts = Vec::new();
    for _ in 0..producers {
        let tx = tx.clone();
        let (go, started) = oneshot::channel::<()>();
        starts.push(go);
        spawn(async move {
            started.await.unwrap();
            for i in 1..=size {
                send(&tx, 1);
                if i % BATCH == 0 {
                    yield_now().await;
                }
            }
        });
    }
    drop(tx);
    let start = Instant::now();
    for go in starts {
        go.send(()).unwrap();
    }
    let sum = consumer.await.unwrap();
    let result = outcome(start, producers * size);
    check("messages", sum, producers * size);
    result
}

pub async fn forkjoin(size: u64) -> Outcome {
    const ACTORS: usize = 60;
    const ROUNDS: u64 = 16; // before it steps aside
    let (txs, rxs) = mailboxes::<u64>(ACTORS);
    let counters: Vec<_> = rxs.into_iter().map(|rx| spawn(count(rx))).collect();
    let start = Instant::now();
    let driver = spawn(async move {
        for i in 1..=size {
            for tx in &txs {
                send(tx, 1);
            }
            if i % ROUNDS == 0 {
                step_aside().await;
            }
        }
    });
    driver.await.unwrap();
    let mut sums = Vec::new();
    for counter in counters {
        sums.push(counter.await.unwrap());
    }
    let result = outcome(start, ACTORS as u64 * size);
    for sum in sums {
        check("messages of an actor", sum, size);
    }
    result
}

enum Chat {
    Start,
    Ping(u32),
    Pong,
    Stop,
}

pub async fn big(size: u64) -> Outcome {
    const ACTORS: u32 = 120;
    let (txs, rxs) = mailboxes::<Chat>(ACTORS as usize);
    let txs = Arc::new(txs);
    let (done, mut ready) = mailbox::<u64>();
    let mut members = Vec::new();
    for (me, mut rx) in rxs.into_iter().enumerate() {
        let (txs, done) = (txs.clone(), done.clone());
        members.push(spawn(async move {
            let mut random = Random::new(me as u64);
            let (mut pings, mut pongs) = (0, 0);
            loop {
                match rx.recv().await.unwrap() {
                    Chat::Ping(from) => {
                        pings += 1;
                        send(&txs[from as usize], Chat::Pong);
                        continue;
                    }
                    Chat::Pong => pongs += 1,
                    Chat::Start => (),
                    Chat::Stop => return pings,
                }
                if pongs == size {
                    send(&done, pongs);
                } else {
                    let other = random.below(ACTORS - 1) as usize;
                    let other = other + (other >= me) as usize;
                    send(&txs[other], Chat::Ping(me as u32));
                }
            }
        }));
    }
    let start = Instant::now();
    for tx in txs.iter() {
        send(tx, Chat::Start);
    }
    let mut pongs = 0;
    for _ in 0..ACTORS {
        pongs += ready.recv().await.unwrap();
    }
    let result = outcome(start, 2 * ACTORS as u64 * size);
    for tx in txs.iter() {
        send(tx, Chat::Stop);
    }
    check("pongs", pongs, ACTORS as u64 * size);
    check("pings", join_sum(members).await, ACTORS as u64 * size);
    result
}
