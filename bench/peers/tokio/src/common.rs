// SPDX-License-Identifier: MIT
//! What the rows share.
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::task::{Context, Poll};
use std::time::Instant;

pub use tokio::spawn;
pub use tokio::sync::mpsc::{
    unbounded_channel as mailbox, UnboundedReceiver as Rx, UnboundedSender as Tx,
};
pub use tokio::task::JoinHandle;

pub struct Outcome {
    pub seconds: f64,
    pub ops: u64,
    pub amount: f64,
    /// What is printed behind it.
    pub notes: String,
}

pub fn taken(seconds: f64, ops: u64) -> Outcome {
    Outcome { seconds, ops, amount: 0.0, notes: String::new() }
}

pub fn outcome(start: Instant, ops: u64) -> Outcome {
    taken(start.elapsed().as_secs_f64(), ops)
}

pub fn check(what: &str, got: u64, expected: u64) {
    if got != expected {
        panic!("{}: {}, expected {}", what, got, expected);
    }
}

pub fn send<T>(to: &Tx<T>, message: T) {
    if to.send(message).is_err() {
        panic!("a message to an actor that has ended");
    }
}

/// Goes to the end of the queue. Tokio's own yield_now() waits until the worker has nothing else to
/// do or looks for events; with two workers that is slower for one who feeds many.
#[derive(Default)]
pub struct StepAside(bool);

impl Future for StepAside {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if self.0 {
            return Poll::Ready(());
        }
        self.0 = true;
        context.waker().wake_by_ref();
        Poll::Pending
    }
}

pub fn step_aside() -> StepAside {
    StepAside::default()
}

/// So many mailboxes: the ends to send to, and the ends to receive from.
pub fn mailboxes<T>(count: usize) -> (Vec<Tx<T>>, Vec<Rx<T>>) {
    (0..count).map(|_| mailbox()).unzip()
}

pub async fn join_sum(handles: Vec<JoinHandle<u64>>) -> u64 {
    let mut sum = 0;
    for handle in handles {
        sum += handle.await.unwrap();
    }
    sum
}

pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random((seed + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    /// xorshift64
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub fn below(&mut self, limit: u32) -> u32 {
        (((self.next() >> 32) * limit as u64) >> 32) as u32
    }
}

/// The barrier keeps LLVM from taking all steps at once.
pub fn work(n: u32, mut x: u64) -> u64 {
    for _ in 0..n {
        x = x.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        unsafe { core::arch::asm!("/* {0} */", inout(reg) x, options(pure, nomem, nostack)) };
    }
    x
}

static USED: AtomicU64 = AtomicU64::new(0);

/// Takes a result of work(), so that no compiler drops it.
pub fn use_up(x: u64) {
    USED.fetch_xor(x, Relaxed);
}
