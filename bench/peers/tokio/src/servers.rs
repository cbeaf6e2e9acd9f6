// SPDX-License-Identifier: MIT
//! Rows with an actor that serves others.
use crate::common::*;
use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasherDefault, Hasher};
use std::time::Instant;

enum Manage {
    Item(u32, u64), // from which producer, and the item
    Ready(u32),
}

pub async fn buffer(size: u64) -> Outcome {
    const EACH: usize = 40; // producers, and consumers
    const ROOM: usize = 50;
    const WORK: u32 = 25;
    let (to_manager, mut manager_box) = mailbox::<Manage>();
    let (producers, producer_boxes) = mailboxes::<()>(EACH);
    let (consumers, consumer_boxes) = mailboxes::<u64>(EACH);
    for (me, mut rx) in producer_boxes.into_iter().enumerate() {
        let to_manager = to_manager.clone();
        spawn(async move {
            let (mut x, mut item) = (me as u64, 0);
            while rx.recv().await.is_some() {
                x = work(WORK, x);
                item += 1;
                send(&to_manager, Manage::Item(me as u32, item));
            }
            use_up(x);
        });
    }
    let mut handles = Vec::new();
    for (me, mut rx) in consumer_boxes.into_iter().enumerate() {
        let to_manager = to_manager.clone();
        handles.push(spawn(async move {
            let (mut x, mut items, mut sum) = (me as u64, 0, 0);
            send(&to_manager, Manage::Ready(me as u32));
            while let Some(item) = rx.recv().await {
                x = work(WORK, x ^ item);
                items += 1;
                sum += item;
                // The last ones find the manager gone.
                let _ = to_manager.send(Manage::Ready(me as u32));
            }
            use_up(x);
            (items, sum)
        }));
    }
    let start = Instant::now();
    spawn(async move {
        let mut items = VecDeque::with_capacity(ROOM);
        let mut ready = VecDeque::with_capacity(EACH);
        let mut idle: VecDeque<u32> = (0..EACH as u32).collect();
        let mut left = vec![size; EACH]; // items to ask for, of each producer
        let mut asked = 0;
        let mut missing = EACH as u64 * size; // items not yet given
        while missing > 0 {
            while items.len() + asked < ROOM && !idle.is_empty() {
                send(&producers[idle.pop_front().unwrap() as usize], ());
                asked += 1;
            }
            match manager_box.recv().await.unwrap() {
                Manage::Item(from, item) => {
                    asked -= 1;
                    left[from as usize] -= 1;
                    if left[from as usize] > 0 {
                        idle.push_back(from);
                    }
                    items.push_back(item);
                }
                Manage::Ready(from) => ready.push_back(from),
            }
            while !items.is_empty() && !ready.is_empty() {
                let consumer = ready.pop_front().unwrap() as usize;
                send(&consumers[consumer], items.pop_front().unwrap());
                missing -= 1;
            }
        }
    });
    let (mut items, mut sum) = (0, 0);
    for handle in handles {
        let one: (u64, u64) = handle.await.unwrap();
        items += one.0;
        sum += one.1;
    }
    let result = outcome(start, EACH as u64 * size);
    check("items", items, EACH as u64 * size);
    check("sum of the items", sum, EACH as u64 * (size * (size + 1) / 2));
    result
}

/// A hash as fast as the usual ones for numbers.
#[derive(Default)]
struct NumberHasher(u64);

impl Hasher for NumberHasher {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(*byte as u64);
        }
    }
    fn write_u64(&mut self, number: u64) {
        self.0 = (self.0.rotate_left(5) ^ number).wrapping_mul(0x517c_c1b7_2722_0a95);
    }
}

enum Request {
    Read(u32, u64),       // from whom, key
    Write(u32, u64, u64), // from whom, key, value
}

pub async fn dictionary(size: u64) -> Outcome {
    const KEYS: u64 = 65_536;
    const CLIENTS: usize = 20;
    let (to_server, mut server_box) = mailbox::<Request>();
    let (txs, rxs) = mailboxes::<u64>(CLIENTS);
    let mut map: HashMap<u64, u64, BuildHasherDefault<NumberHasher>> = HashMap::default();
    map.extend((0..KEYS).map(|key| (key, key)));
    let server_txs = txs.clone();
    let server = spawn(async move {
        let mut writes = 0;
        while let Some(request) = server_box.recv().await {
            let (from, value) = match request {
                Request::Read(from, key) => (from, map[&key]),
                Request::Write(from, key, value) => {
                    writes += 1;
                    map.insert(key, value);
                    (from, value)
                }
            };
            send(&server_txs[from as usize], value);
        }
        check("keys", map.len() as u64, KEYS);
        writes
    });
    let mut handles = Vec::new();
    for (me, mut rx) in rxs.into_iter().enumerate() {
        let to_server = to_server.clone();
        handles.push(spawn(async move {
            let mut random = Random::new(me as u64);
            let (mut right, mut writes) = (0, 0);
            rx.recv().await.unwrap(); // start
            for _ in 0..size {
                let key = random.next() >> 48;
                if random.below(10) == 0 {
                    writes += 1;
                    send(&to_server, Request::Write(me as u32, key, key));
                } else {
                    send(&to_server, Request::Read(me as u32, key));
                }
                right += (rx.recv().await.unwrap() == key) as u64;
            }
            (right, writes)
        }));
    }
    drop(to_server);
    let start = Instant::now();
    for tx in &txs {
        send(tx, 0);
    }
    let (mut right, mut writes) = (0, 0);
    for handle in handles {
        let one = handle.await.unwrap();
        right += one.0;
        writes += one.1;
    }
    let result = outcome(start, CLIENTS as u64 * size);
    check("right answers", right, CLIENTS as u64 * size);
    check("writes", server.await.unwrap(), writes);
    result
}

pub async fn chat(size: u64) -> Outcome {
    const CLIENTS: usize = 256;
    const MEMBERS: usize = 8; // of a room
    const WORK: u32 = 1000;
    const START: u64 = u64::MAX;
    let (clients, client_boxes) = mailboxes::<u64>(CLIENTS);
    let (rooms, room_boxes) = mailboxes::<u64>(CLIENTS / MEMBERS);
    for (room, mut rx) in room_boxes.into_iter().enumerate() {
        let members = clients[room * MEMBERS..(room + 1) * MEMBERS].to_vec();
        spawn(async move {
            while let Some(post) = rx.recv().await {
                for member in &members {
                    send(member, post);
                }
            }
        });
    }
    let mut handles = Vec::new();
    for (me, mut rx) in client_boxes.into_iter().enumerate() {
        let mut room = Some(rooms[me / MEMBERS].clone());
        let me = me as u64;
        handles.push(spawn(async move {
            let mut random = Random::new(me);
            let (mut x, mut turns, mut deliveries) = (me, 0, 0);
            // Ends after the room, which ends when its last member has had its turns.
            while let Some(post) = rx.recv().await {
                deliveries += (post != START) as u64;
                if post != me && post != START {
                    continue;
                }
                if turns == size {
                    room = None;
                    continue;
                }
                turns += 1;
                if random.below(10) == 0 {
                    x = work(WORK, x);
                }
                if let Some(room) = &room {
                    send(room, me);
                }
            }
            use_up(x);
            deliveries
        }));
    }
    drop(rooms);
    let start = Instant::now();
    for client in clients {
        send(&client, START);
    }
    let deliveries = join_sum(handles).await;
    let result = outcome(start, (CLIENTS * (MEMBERS + 1)) as u64 * size);
    check("deliveries", deliveries, (CLIENTS * MEMBERS) as u64 * size);
    result
}
