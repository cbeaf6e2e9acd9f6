// SPDX-License-Identifier: MIT
//! Rows with one actor that many others want at once.
use crate::common::*;
use std::sync::Arc;
use std::time::Instant;

enum Creature {
    Start,
    Meet(u8, u32), // colour and number of the other
    Change(u8),
    Exit,
}

enum Mall {
    Meet(u8, u32),
    Meetings(u64),
}

fn complement(mine: u8, other: u8) -> u8 {
    if mine == other {
        mine
    } else {
        3 - mine - other
    }
}

pub async fn chameneos(size: u64) -> Outcome {
    const CREATURES: usize = 100;
    let (to_mall, mut mall_box) = mailbox::<Mall>();
    let (txs, rxs) = mailboxes::<Creature>(CREATURES);
    let txs = Arc::new(txs);
    for (me, mut rx) in rxs.into_iter().enumerate() {
        let (txs, to_mall) = (txs.clone(), to_mall.clone());
        let me = me as u32;
        spawn(async move {
            let mut colour = (me % 3) as u8;
            let mut meetings = 0;
            loop {
                match rx.recv().await.unwrap() {
                    Creature::Start => (),
                    Creature::Meet(other, from) => {
                        colour = complement(colour, other);
                        meetings += 1;
                        send(&txs[from as usize], Creature::Change(colour));
                    }
                    Creature::Change(new) => {
                        colour = new;
                        meetings += 1;
                    }
                    Creature::Exit => return send(&to_mall, Mall::Meetings(meetings)),
                }
                send(&to_mall, Mall::Meet(colour, me));
            }
        });
    }
    let mall_txs = txs.clone();
    let mall = spawn(async move {
        let (mut left, mut creatures, mut sum) = (size, CREATURES, 0);
        let mut waiting = None;
        while creatures > 0 {
            match mall_box.recv().await.unwrap() {
                Mall::Meetings(meetings) => {
                    sum += meetings;
                    creatures -= 1;
                }
                Mall::Meet(_, from) if left == 0 => {
                    send(&mall_txs[from as usize], Creature::Exit);
                }
                Mall::Meet(colour, from) => match waiting.take() {
                    None => waiting = Some(from),
                    Some(first) => {
                        left -= 1;
                        send(&mall_txs[first as usize], Creature::Meet(colour, from));
                    }
                },
            }
        }
        sum
    });
    let start = Instant::now();
    for tx in txs.iter() {
        send(tx, Creature::Start);
    }
    let sum = mall.await.unwrap();
    let result = outcome(start, size);
    check("meetings of the creatures", sum, 2 * size);
    result
}

enum Ask {
    Forks(u32),
    Back(u32),
    Full(u64), // meals that it had
}

enum Answer {
    Start,
    Granted,
    Refused,
}

pub async fn philosophers(size: u64) -> Outcome {
    const SEATS: usize = 20;
    let (to_arbiter, mut arbiter_box) = mailbox::<Ask>();
    let (txs, rxs) = mailboxes::<Answer>(SEATS);
    for (me, mut rx) in rxs.into_iter().enumerate() {
        let to_arbiter = to_arbiter.clone();
        let me = me as u32;
        spawn(async move {
            let mut meals = 0;
            while meals < size {
                if let Answer::Granted = rx.recv().await.unwrap() {
                    meals += 1;
                    send(&to_arbiter, Ask::Back(me));
                    if meals == size {
                        break;
                    }
                }
                send(&to_arbiter, Ask::Forks(me));
            }
            send(&to_arbiter, Ask::Full(meals));
        });
    }
    let arbiter_txs = txs.clone();
    let arbiter = spawn(async move {
        let mut users: [Option<u32>; SEATS] = [None; SEATS]; // of each fork
        let (mut seated, mut granted, mut meals) = (SEATS, 0, 0);
        while seated > 0 {
            match arbiter_box.recv().await.unwrap() {
                Ask::Forks(from) => {
                    let (left, right) = (from as usize, (from as usize + 1) % SEATS);
                    let answer = if users[left].is_none() && users[right].is_none() {
                        users[left] = Some(from);
                        users[right] = Some(from);
                        granted += 1;
                        Answer::Granted
                    } else {
                        Answer::Refused
                    };
                    send(&arbiter_txs[left], answer);
                }
                Ask::Back(from) => {
                    for fork in [from as usize, (from as usize + 1) % SEATS] {
                        if users[fork].take() != Some(from) {
                            panic!("a fork that was used twice");
                        }
                    }
                }
                Ask::Full(had) => {
                    meals += had;
                    seated -= 1;
                }
            }
        }
        (granted, meals)
    });
    let start = Instant::now();
    for tx in &txs {
        send(tx, Answer::Start);
    }
    let (granted, meals) = arbiter.await.unwrap();
    let result = outcome(start, SEATS as u64 * size);
    check("meals granted", granted, SEATS as u64 * size);
    check("meals had", meals, SEATS as u64 * size);
    result
}
