// SPDX-License-Identifier: MIT
//! What a request, or a task that was made ready, waits for where other tasks compute.
use crate::common::*;
use crate::net;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc;
use std::time::{Duration, Instant};
use tokio::runtime::Handle;
use tokio::task::yield_now;

const SEED: u64 = 0x9E37_79B9_7F4A_7C15;
const CONNECTIONS: u64 = 64;
const SERVER_US: u64 = 200;
const COMPUTES_US: u64 = 30000;
const FIRST_US: u64 = 8000;
const STEP_US: u64 = 3700;
const WARM_ROUNDS: u64 = 5;

/// What a message or a request computes, and what comes out of it.
#[derive(Clone, Copy)]
struct Job {
    steps: u32,
    result: u64,
}

/// The CPU time of this thread.
fn thread_cpu_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    let status = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    check("clock_gettime", status as u64, 0);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

impl Job {
    /// A job of so much CPU time: the least of several short runs is what its steps take.
    fn new(us: u64) -> Job {
        const STEPS: u32 = 1 << 20;
        let time = |i| {
            let start = thread_cpu_ns();
            use_up(work(STEPS, i));
            thread_cpu_ns() - start
        };
        let least_ns = (0..16).map(time).min().unwrap();
        let steps = (us * 1000 * STEPS as u64 / least_ns) as u32;
        Job { steps, result: work(steps, SEED) }
    }

    fn run(&self) {
        check("the result of a job", work(self.steps, SEED), self.result);
    }
}

const NONE: AtomicU64 = AtomicU64::new(0);
/// Of the tasks that compute.
static TURNS: [AtomicU64; 4] = [NONE; 4];

async fn compute(job: Job, begin: impl Fn() + Send) {
    loop {
        begin();
        job.run();
        yield_now().await;
    }
}

pub async fn hogs(count: usize, us: u64, size: u64) -> Outcome {
    let job = Job::new(us);
    let start = Instant::now();
    for turns in &TURNS[..count] {
        spawn(compute(job, move || {
            turns.fetch_add(1, Relaxed);
        }));
    }
    let report = move || {
        let all = TURNS[..count].iter().map(|turns| turns.load(Relaxed));
        if all.clone().any(|turns| turns == 0) {
            panic!("a hog had no turn");
        }
        let seconds = (all.sum::<u64>() * us) as f64 * 1e-6;
        format!("{:.3}", seconds / start.elapsed().as_secs_f64() * 100.0)
    };
    net::serve("rate", CONNECTIONS, size, || (), report).await
}

pub async fn server(size: u64) -> Outcome {
    let job = Job::new(SERVER_US);
    net::serve("wall", CONNECTIONS, size, move || job.run(), net::nothing).await
}

/// On a thread beside the runtime. An old task is woken by a channel.
fn make_ready(
    runtime: Handle,
    turns: mpsc::Receiver<()>,
    is_old: bool,
    size: u64,
) -> Vec<f64> {
    let (ran, answers) = mpsc::channel();
    let (wake, mut wakes) = mailbox();
    let old = ran.clone();
    runtime.spawn(async move {
        while wakes.recv().await.is_some() {
            old.send(Instant::now()).unwrap();
        }
    });
    let mut delays = Vec::with_capacity(size as usize);
    for round in 0..WARM_ROUNDS + size {
        turns.try_iter().count(); // those that have begun already
        turns.recv().unwrap();
        std::thread::sleep(Duration::from_micros(round * STEP_US % FIRST_US));
        let start = Instant::now();
        if is_old {
            send(&wake, ());
        } else {
            let ran = ran.clone();
            runtime.spawn(async move { ran.send(Instant::now()).unwrap() });
        }
        let delay = answers.recv().unwrap().duration_since(start);
        if round >= WARM_ROUNDS {
            delays.push(delay.as_secs_f64() * 1e6);
        }
    }
    delays
}

pub async fn waits(is_old: bool, size: u64) -> Outcome {
    let (begin, turns) = mpsc::channel();
    spawn(compute(Job::new(COMPUTES_US), move || begin.send(()).unwrap_or(())));
    let runtime = Handle::current();
    let start = Instant::now();
    let (done, delays) = tokio::sync::oneshot::channel();
    std::thread::spawn(move || done.send(make_ready(runtime, turns, is_old, size)).unwrap());
    let mut delays = delays.await.unwrap();
    let mut result = outcome(start, size);
    let size = size as usize;
    delays.sort_by(|a, b| a.partial_cmp(b).unwrap());
    result.amount = delays[size / 2];
    result.notes = format!("0 {:.1} {:.1}", delays[size * 9 / 10], delays[size - 1]);
    result
}
