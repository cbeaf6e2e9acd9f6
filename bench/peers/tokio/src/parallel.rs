// SPDX-License-Identifier: MIT
//! Rows whose actors compute.
use crate::common::*;
use std::time::Instant;

/// Moves the numbers of a kind to the front and keeps the order among them. Returns how many they
/// are. Has no branch that depends on the numbers.
fn partition(part: &mut [u64], mut to_front: impl FnMut(u64) -> bool) -> usize {
    let mut end = 0;
    for i in 0..part.len() {
        // end <= i: both are inside.
        unsafe {
            let number = *part.get_unchecked(i);
            *part.get_unchecked_mut(i) = *part.get_unchecked(end);
            *part.get_unchecked_mut(end) = number;
            end += to_front(number) as usize;
        }
    }
    end
}

/// Splits into numbers less than, equal to and more than the middle one. Returns the ends of the
/// first two.
fn split(part: &mut [u64]) -> (usize, usize) {
    let (middle, last) = (part.len() / 2, part.len() - 1);
    part.swap(middle, last);
    let pivot = part[last];
    let mut equal = 0;
    let less = partition(part, |number| {
        equal += (number == pivot) as usize;
        number < pivot
    });
    // The last one, the pivot, comes to lie right behind those that are less.
    if equal > 1 {
        partition(&mut part[less..], |number| number == pivot);
    }
    (less, less + equal)
}

fn spawn_sort(part: &'static mut [u64]) -> JoinHandle<()> {
    const AT_ONCE: usize = 2048;
    spawn(async move {
        if part.len() <= AT_ONCE {
            return part.sort_unstable();
        }
        let (less, equal) = split(part);
        let (front, more) = part.split_at_mut(equal);
        let (first, second) = (spawn_sort(&mut front[..less]), spawn_sort(more));
        first.await.unwrap();
        second.await.unwrap();
    })
}

pub async fn quicksort(size: usize) -> Outcome {
    let mut random = Random::new(1);
    let numbers: Vec<u64> = (0..size).map(|_| random.next()).collect();
    let sum = numbers.iter().fold(0u64, |sum, number| sum.wrapping_add(*number));
    // Leaked, so that safe references to parts of it can go from actor to actor.
    let all = Vec::leak(numbers);
    let (address, length) = (all.as_ptr() as usize, all.len());
    let start = Instant::now();
    spawn_sort(all).await.unwrap();
    let result = outcome(start, size as u64);
    // All actors have ended: nobody else has a part of it.
    let all = unsafe { std::slice::from_raw_parts(address as *const u64, length) };
    let ordered = all.windows(2).filter(|pair| pair[0] <= pair[1]).count();
    check("pairs in order", ordered as u64, size as u64 - 1);
    check("sum", all.iter().fold(0u64, |sum, number| sum.wrapping_add(*number)), sum);
    result
}

/// Bits for the columns and diagonals that are taken in the next row.
#[derive(Clone, Copy)]
struct Board {
    columns: u16,
    left: u16,
    right: u16,
    queens: u16,
}

impl Board {
    fn free(self, all: u16) -> u16 {
        all & !(self.columns | self.left | self.right)
    }

    fn with_queen(self, bit: u16) -> Board {
        Board {
            columns: self.columns | bit,
            left: (self.left | bit) << 1,
            right: (self.right | bit) >> 1,
            queens: self.queens + 1,
        }
    }
}

/// Solutions of a board whose next row has these free fields. The arguments are as wide as what a
/// CPU likes best. Looks ahead, so that a row without a free field costs no call.
fn solutions(columns: u32, left: u32, right: u32, all: u32, mut free: u32) -> u64 {
    let mut sum = 0;
    while free != 0 {
        let bit = free & free.wrapping_neg();
        free ^= bit;
        let (columns, left, right) = (columns | bit, (left | bit) << 1, (right | bit) >> 1);
        let next = all & !(columns | left | right);
        if next != 0 {
            sum += solutions(columns, left, right, all, next);
        } else {
            sum += (columns == all) as u64;
        }
    }
    sum
}

fn count(board: Board, all: u16) -> u64 {
    if board.columns == all {
        return 1;
    }
    let (columns, left, right) = (board.columns as u32, board.left as u32, board.right as u32);
    solutions(columns, left, right, all as u32, board.free(all) as u32)
}

enum Reply {
    Board(Board),
    Done(u64), // a board is dealt with: its solutions
}

pub async fn nqueens(size: u32) -> Outcome {
    const WORKERS: usize = 20;
    const THRESHOLD: u16 = 4; // queens
    const SOLUTIONS: [u64; 16] =
        [1, 1, 0, 0, 2, 10, 4, 40, 92, 352, 724, 2680, 14200, 73712, 365596, 2279184];
    assert!(size < 16, "a board that is too large");
    let all = ((1u32 << size) - 1) as u16;
    let (to_master, mut master_box) = mailbox::<Reply>();
    let (workers, rxs) = mailboxes::<Board>(WORKERS);
    for mut rx in rxs {
        let to_master = to_master.clone();
        spawn(async move {
            while let Some(board) = rx.recv().await {
                let mut sum = 0;
                if board.queens >= THRESHOLD || board.columns == all {
                    sum = count(board, all);
                } else {
                    let mut free = board.free(all);
                    while free != 0 {
                        let bit = free & free.wrapping_neg();
                        free ^= bit;
                        send(&to_master, Reply::Board(board.with_queen(bit)));
                    }
                }
                send(&to_master, Reply::Done(sum));
            }
        });
    }
    let start = Instant::now();
    let master = spawn(async move {
        let mut next = (0..WORKERS).cycle();
        let mut give = |board| send(&workers[next.next().unwrap()], board);
        let (mut boards, mut sum) = (1, 0);
        give(Board { columns: 0, left: 0, right: 0, queens: 0 });
        while boards > 0 {
            match master_box.recv().await.unwrap() {
                Reply::Board(board) => {
                    boards += 1;
                    give(board);
                }
                Reply::Done(found) => {
                    boards -= 1;
                    sum += found;
                }
            }
        }
        sum
    });
    let sum = master.await.unwrap();
    let result = outcome(start, sum);
    check("solutions", sum, SOLUTIONS[size as usize]);
    result
}

/// Returns how many primes this actor and those after it have kept.
fn spawn_sieve(mut rx: Rx<u64>) -> JoinHandle<u64> {
    const ROOM: usize = 1000;
    spawn(async move {
        let mut primes: Vec<u32> = Vec::with_capacity(ROOM);
        let mut next: Option<(Tx<u64>, JoinHandle<u64>)> = None;
        while let Some(number) = rx.recv().await {
            if primes.iter().any(|prime| number as u32 % prime == 0) {
                continue;
            }
            if primes.len() < ROOM {
                primes.push(number as u32);
                continue;
            }
            let (tx, _) = next.get_or_insert_with(|| {
                let (tx, rx) = mailbox();
                (tx, spawn_sieve(rx))
            });
            send(tx, number);
        }
        match next {
            None => primes.len() as u64,
            Some((tx, rest)) => {
                drop(tx);
                primes.len() as u64 + rest.await.unwrap()
            }
        }
    })
}

/// Primes up to the limit, found in another way.
fn primes_up_to(limit: u64) -> u64 {
    let limit = limit as usize;
    let mut composite = vec![false; limit + 1];
    let mut count = 0;
    for number in 2..=limit {
        if !composite[number] {
            count += 1;
            (number * number..=limit).step_by(number).for_each(|i| composite[i] = true);
        }
    }
    count
}

pub async fn sieve(size: u64) -> Outcome {
    const BATCH: u64 = 256;
    assert!(size >= 2 && size < u32::MAX as u64, "a limit that is too small or too large");
    let (tx, rx) = mailbox::<u64>();
    let first = spawn_sieve(rx);
    let start = Instant::now();
    spawn(async move {
        for number in (3..=size).step_by(2) {
            send(&tx, number);
            if number / 2 % BATCH == 0 {
                step_aside().await;
            }
        }
    });
    let primes = 1 + first.await.unwrap(); // and 2
    let result = outcome(start, size / 2);
    check("primes", primes, primes_up_to(size));
    result
}
