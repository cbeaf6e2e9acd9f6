// SPDX-License-Identifier: MIT
//! Timers: those of one task, or tasks that sleep; and sleeps that are dropped before they end.
use crate::common::*;
use std::future::{poll_fn, Future};
use std::pin::Pin;
use std::task::Poll;
use std::time::{Duration, Instant};
use tokio::time::{sleep_until, Instant as Time, Sleep};

const BATCH: u64 = 64;

fn delay(random: &mut Random, least_ms: u32, most_ms: u32) -> Duration {
    Duration::from_millis((least_ms + random.below(most_ms - least_ms + 1)) as u64)
}

/// Of the process, user and system.
fn cpu_seconds() -> f64 {
    const CLOCK_PROCESS_CPUTIME_ID: i32 = 2;
    extern "C" {
        fn clock_gettime(clock: i32, time: *mut [i64; 2]) -> i32;
    }
    let mut time = [0; 2];
    check("clock_gettime", unsafe { clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &mut time) } as u64, 0);
    time[0] as f64 + time[1] as f64 * 1e-9
}

/// One task and a queue of delays, as for many timers of one owner.
#[cfg(feature = "queue")]
async fn fire_all(size: u64) -> u64 {
    let mut random = Random::new(0);
    let mut queue = tokio_util::time::DelayQueue::new();
    let (mut set, mut sum, mut fired) = (0, 0, 0);
    while fired < size {
        let now = Time::now();
        let mut looked = now;
        for i in set..size.min(set + BATCH) {
            queue.insert_at(i, now + delay(&mut random, 1, 1000));
            set += 1;
        }
        poll_fn(|context| loop {
            match queue.poll_expired(context) {
                Poll::Ready(Some(expired)) => {
                    if looked < expired.deadline() {
                        looked = Time::now(); // else it is not early anyway
                    }
                    check("early", (looked < expired.deadline()) as u64, 0);
                    sum += expired.into_inner();
                    fired += 1;
                }
                Poll::Pending if set == size => return Poll::Pending,
                _ => return Poll::Ready(()),
            }
        })
        .await;
        step_aside().await;
    }
    check("sum", sum, size * (size - 1) / 2);
    fired
}

/// A task for each timer.
#[cfg(not(feature = "queue"))]
async fn fire_all(size: u64) -> u64 {
    use std::sync::atomic::{AtomicU64, Ordering::*};
    static FIRED: AtomicU64 = AtomicU64::new(0);
    let last: &'static tokio::sync::Notify = Box::leak(Box::default());
    let mut random = Random::new(0);
    let mut now = Time::now();
    for i in 0..size {
        let due = now + delay(&mut random, 1, 1000);
        spawn(async move {
            sleep_until(due).await;
            check("early", (Time::now() < due) as u64, 0);
            if FIRED.fetch_add(1, AcqRel) + 1 == size {
                last.notify_one();
            }
        });
        if i % BATCH == BATCH - 1 {
            step_aside().await;
            now = Time::now();
        }
    }
    last.notified().await;
    FIRED.load(SeqCst)
}

pub async fn timer_fire(size: u64) -> Outcome {
    let begin = cpu_seconds();
    let fired = fire_all(size).await;
    let seconds = cpu_seconds() - begin;
    check("fired", fired, size);
    taken(seconds, size)
}

/// A sleep is set when it is polled first, and cancelled when it is dropped. Their places are used
/// again, which saves allocations.
pub async fn timer_cancel(size: u64) -> Outcome {
    let mut random = Random::new(0);
    let mut places: Vec<Pin<Box<Option<Sleep>>>> = (0..BATCH).map(|_| Box::pin(None)).collect();
    let mut fired = 0;
    let mut left = size;
    let start = Instant::now();
    while left > 0 {
        let count = left.min(BATCH);
        let now = Time::now();
        poll_fn(|context| {
            for place in &mut places[..count as usize] {
                place.set(Some(sleep_until(now + delay(&mut random, 1000, 60000))));
                let sleep = place.as_mut().as_pin_mut().unwrap();
                fired += sleep.poll(context).is_ready() as u64;
            }
            Poll::Ready(())
        })
        .await;
        for place in &mut places {
            place.set(None);
        }
        left -= count;
    }
    let result = outcome(start, size);
    check("fired", fired, 0);
    result
}
