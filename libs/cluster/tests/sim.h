/* SPDX-License-Identifier: MIT */
/* Two links over a simulated network, by seed. A schedule loses, delays, reorders and duplicates
 * frames, cuts either direction, crashes, restarts, freezes and closes either node, fails
 * allocations, and replays old frames. Then it heals the network and judges what happened.
 *
 * Static functions in a header: each test program that includes it has them for its own build of
 * the link. */
#ifndef JZX_CLUSTER_SIM_H
#define JZX_CLUSTER_SIM_H

#include "link.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define SIM_FRAME_MAX 512u
#define SIM_MESSAGE_MAX 2000u
#define SIM_QUEUE_BYTES 12000u
#define SIM_PACKETS 256
#define SIM_SESSIONS 256
#define SIM_ACTIONS 120
#define SIM_MS JZX__LINK_MS

/* The messages that one side accepted in one session, and that the other side delivered. */
struct sim_session {
    uint64_t sender_tag;
    uint64_t receiver_tag;
    uint64_t accepted;
    uint64_t delivered;
    bool is_down; /* reported on the sender's side, or the sender crashed */
};

struct sim_node {
    struct sim *sim;
    struct jzx__link link;
    bool is_alive;
    bool is_up;
    int session; /* while up */
    uint32_t incarnation;
    uint32_t epoch;
    uint64_t frozen_until;
    uint64_t mute_since;      /* the peer cannot send to this node; NEVER: it can */
    uint64_t unplugged_since; /* NEVER: it is not */
    uint64_t revive_at;       /* while dead */
    size_t memory;
    bool is_cut; /* frames to this node are lost */
    bool is_unplugged;
    bool has_503;
};

struct sim_packet {
    uint64_t at;
    uint32_t size;
    uint8_t to;
    bool is_replay;
    uint8_t bytes[SIM_FRAME_MAX];
};

struct sim {
    uint64_t random;
    uint64_t now;
    struct sim_node nodes[2];
    struct sim_packet packets[SIM_PACKETS];
    int packet_count;
    struct sim_session sessions[SIM_SESSIONS];
    int session_count;
    uint32_t loss_percent, duplicate_percent, replay_percent, alloc_fail_percent;
    uint64_t delay_min, delay_max;
    bool is_clean;  /* no faults: nobody may be DOWN */
    bool is_exact;  /* no replays: DOWN within 5 s */
    bool is_healed; /* the end of the schedule */
    bool verifies;
    uint64_t delivered, downs, resent, stale;
    const char *failure;
};

struct sim_result {
    const char *failure; /* NULL: all properties held */
    uint64_t delivered, downs, resent, stale;
};

static inline uint64_t sim_random(struct sim *sim) {
    uint64_t z = (sim->random += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

static inline uint64_t sim_below(struct sim *sim, uint64_t bound) {
    return sim_random(sim) % bound;
}

static inline bool sim_chance(struct sim *sim, uint32_t percent) {
    return sim_below(sim, 100) < percent;
}

static void sim_expect(struct sim *sim, bool held, const char *text) {
    if (!held && sim->failure == NULL)
        sim->failure = text;
}

/* ---- The hooks of a node ---- */

static void *sim_allocate(void *context, size_t size) {
    struct sim_node *node = context;
    if (sim_chance(node->sim, node->sim->alloc_fail_percent))
        return NULL;
    node->memory += size;
    sim_expect(node->sim, node->memory <= SIM_QUEUE_BYTES + SIM_MESSAGE_MAX,
               "memory exceeds the configuration");
    return malloc(size > 0 ? size : 1);
}

static void sim_release(void *context, void *memory, size_t size) {
    struct sim_node *node = context;
    node->memory -= size;
    free(memory);
}

static uint8_t sim_byte(uint64_t tag, uint64_t index, size_t at) {
    return (uint8_t)(tag + tag / 4294967296u * 31 + index * 7 + at);
}

/* A message: the tag of its sender, its index from 1, and bytes that both determine. */
static bool sim_send_one(struct sim *sim, struct sim_node *node) {
    uint8_t bytes[SIM_MESSAGE_MAX];
    const size_t size =
        16 + (sim_chance(sim, 15) ? sim_below(sim, SIM_MESSAGE_MAX - 15) : sim_below(sim, 100));
    struct sim_session *session = &sim->sessions[node->session];
    const uint64_t tag = node->link.tag, index = session->accepted + 1;
    memcpy(bytes, &tag, 8);
    memcpy(bytes + 8, &index, 8);
    for (size_t at = 16; at < size; at++)
        bytes[at] = sim_byte(tag, index, at);
    const jzx_err err = jzx__link_send(&node->link, bytes, size);
    sim_expect(sim, (err == JZX_ERR_UNREACHABLE) == !node->is_up,
               "send disagrees with UP and DOWN");
    if (err == JZX_OK)
        session->accepted = index;
    return err == JZX_OK;
}

/* Checks a message that was delivered; some are answered by the handler itself. */
static void sim_take(struct sim *sim, struct sim_node *node, const struct jzx__link_event *event) {
    const uint8_t *bytes = event->bytes;
    uint64_t tag, index;
    sim_expect(sim, node->is_up, "a message came while the link was not up");
    if (event->size < 16) {
        sim_expect(sim, false, "a message has lost its contents");
        return;
    }
    memcpy(&tag, bytes, 8);
    memcpy(&index, bytes + 8, 8);
    int i = sim->session_count - 1;
    while (i >= 0 && sim->sessions[i].sender_tag != tag)
        i--;
    sim_expect(sim, i >= 0, "a message came of a session that never was");
    if (i < 0)
        return;
    struct sim_session *session = &sim->sessions[i];
    sim_expect(sim, session->receiver_tag == node->link.tag && tag == node->link.peer_tag,
               "a message came of an old incarnation or session");
    sim_expect(sim, index > session->delivered, "a message came twice");
    sim_expect(sim, index <= session->delivered + 1, "a message is missing in the order");
    for (size_t at = 16; at < event->size; at++)
        sim_expect(sim, bytes[at] == sim_byte(tag, index, at), "a message has other bytes");
    session->delivered = index;
    sim->delivered++;
    if (sim_chance(sim, 10))
        sim_send_one(sim, node);
}

static void sim_event(void *context, const struct jzx__link_event *event) {
    struct sim_node *node = context;
    struct sim *sim = node->sim;
    switch (event->kind) {
    case JZX__LINK_EVENT_MESSAGE: sim_take(sim, node, event); return;
    case JZX__LINK_EVENT_UP:
        sim_expect(sim, !node->is_up, "UP came twice");
        sim_expect(sim, sim->session_count < SIM_SESSIONS, "sessions without end");
        node->is_up = true;
        node->session = sim->session_count < SIM_SESSIONS ? sim->session_count++ : 0;
        sim->sessions[node->session] =
            (struct sim_session){.sender_tag = node->link.tag, .receiver_tag = node->link.peer_tag};
        return;
    case JZX__LINK_EVENT_DOWN: {
        struct sim_session *session = &sim->sessions[node->session];
        sim_expect(sim, node->is_up, "DOWN came without UP");
        sim_expect(sim, session->delivered == session->accepted || event->lost_units > 0,
                   "DOWN does not tell that messages were lost");
        sim_expect(sim, !sim->is_clean, "DOWN came though nothing failed");
        node->is_up = false;
        session->is_down = true;
        sim->downs++;
        return;
    }
    default: return;
    }
}

/* ---- Nodes and network ---- */

static void sim_start(struct sim *sim, int i) {
    struct sim_node *node = &sim->nodes[i];
    const struct jzx__link_config config = {
        .incarnation = node->incarnation,
        .epoch = node->epoch,
        .frame_max = SIM_FRAME_MAX,
        .message_max = SIM_MESSAGE_MAX,
        .window_units = 16,
        .window_bytes = 3000,
        .queue_bytes = SIM_QUEUE_BYTES,
    };
    const struct jzx__link_hooks hooks = {node, sim_allocate, sim_release, sim_event};
    const jzx_err err = jzx__link_init(&node->link, &config, &hooks, sim->now);
    sim_expect(sim, err == JZX_OK, "a link does not start");
    node->is_alive = true;
    node->is_up = node->has_503 = false;
}

static void sim_stop(struct sim *sim, int i) {
    struct sim_node *node = &sim->nodes[i];
    sim->resent += node->link.units_resent;
    sim->stale += node->link.frames_stale;
    jzx__link_deinit(&node->link);
    sim_expect(sim, node->memory == 0, "a link leaks memory");
    if (node->is_up)
        sim->sessions[node->session].is_down = true;
    node->is_alive = node->is_up = false;
    node->frozen_until = 0;
    node->revive_at = sim->now + sim_below(sim, sim_chance(sim, 50) ? 8000 : 200) * SIM_MS;
}

static void sim_revive(struct sim *sim, int i) {
    struct sim_node *node = &sim->nodes[i];
    const bool same_incarnation = sim_chance(sim, 20);
    node->epoch = same_incarnation ? (uint32_t)node->link.tag + 1 : 1;
    node->incarnation += same_incarnation ? 0 : 1;
    sim_start(sim, i);
}

static void sim_post(struct sim *sim, const uint8_t *bytes, size_t size, int to, uint64_t delay) {
    if (sim->packet_count == SIM_PACKETS)
        return; /* lost */
    struct sim_packet *packet = &sim->packets[sim->packet_count++];
    packet->at = sim->now + delay;
    packet->size = (uint32_t)size;
    packet->to = (uint8_t)to;
    memcpy(packet->bytes, bytes, size);
}

static uint64_t sim_delay(struct sim *sim) {
    return sim->delay_min + sim_below(sim, sim->delay_max - sim->delay_min + 1);
}

static void sim_transmit(struct sim *sim, int from, const uint8_t *bytes, size_t size) {
    struct sim_node *peer = &sim->nodes[1 - from];
    if (!peer->is_alive && sim_chance(sim, 50))
        sim->nodes[from].has_503 = true;
    if (peer->is_cut || sim_chance(sim, sim->loss_percent))
        return;
    sim_post(sim, bytes, size, 1 - from, sim_delay(sim));
    if (sim_chance(sim, sim->duplicate_percent))
        sim_post(sim, bytes, size, 1 - from, sim_delay(sim));
    if (!sim->is_healed && sim_chance(sim, sim->replay_percent))
        sim_post(sim, bytes, size, 1 - from, sim_below(sim, 12000) * SIM_MS);
}

static bool sim_runs(const struct sim *sim, int i) {
    return sim->nodes[i].is_alive && sim->nodes[i].frozen_until <= sim->now;
}

static void sim_pump(struct sim *sim, int i) {
    struct sim_node *node = &sim->nodes[i];
    uint8_t frame[SIM_FRAME_MAX];
    size_t size;
    int rounds = 0;
    if (!sim_runs(sim, i))
        return;
    while ((size = jzx__link_output(&node->link, sim->now, frame, sizeof frame)) > 0) {
        sim_transmit(sim, i, frame, size);
        if (++rounds > 1000) {
            sim_expect(sim, false, "output without end");
            return;
        }
    }
    if (node->has_503) {
        node->has_503 = false;
        jzx__link_no_responders(&node->link, sim->now);
    }
    if (sim->verifies)
        jzx__link_verify(&node->link);
}

/* ---- Actions ---- */

static void sim_send(struct sim *sim, int i) {
    uint64_t count = sim_chance(sim, 10) ? 60 : 1 + sim_below(sim, 6);
    while (count > 0 && sim_send_one(sim, &sim->nodes[i]))
        count--;
}

static void sim_unplug(struct sim *sim, int i) {
    struct sim_node *node = &sim->nodes[i];
    node->is_unplugged = !node->is_unplugged;
    jzx__link_transport(&node->link, sim->now, !node->is_unplugged);
}

static void sim_act(struct sim *sim) {
    const int i = (int)sim_below(sim, 2);
    struct sim_node *node = &sim->nodes[i];
    const uint64_t what = sim_below(sim, 100);
    if (what < 66 || sim->is_clean) {
        if (sim_runs(sim, i))
            sim_send(sim, i);
    } else if (what < 70) {
        for (int n = 0; n < 2; n++) /* the power fails */
            if (sim->nodes[n].is_alive)
                sim_stop(sim, n);
    } else if (what < 76) {
        node->is_cut = true;
    } else if (what < 80) {
        sim->nodes[0].is_cut = sim->nodes[1].is_cut = true;
    } else if (what < 88) {
        sim->nodes[0].is_cut = sim->nodes[1].is_cut = false;
    } else if (what < 91 && node->is_alive) {
        sim_stop(sim, i);
    } else if (what < 93 && sim_runs(sim, i)) {
        jzx__link_close(&node->link, sim->now);
        sim_pump(sim, i);
        sim_stop(sim, i);
    } else if (what < 95 && node->is_alive) {
        node->frozen_until = sim->now + sim_below(sim, 7000) * SIM_MS;
    } else if (what < 98 && sim_runs(sim, i)) {
        sim_unplug(sim, i);
    } else {
        sim->loss_percent = (uint32_t)sim_below(sim, 60);
    }
}

/* ---- Time ---- */

/* When the node has something to do by itself. */
static uint64_t sim_node_at(const struct sim *sim, int i) {
    const struct sim_node *node = &sim->nodes[i];
    if (!node->is_alive)
        return node->revive_at;
    const uint64_t wake = jzx__link_wake(&node->link);
    return wake > node->frozen_until ? wake : node->frozen_until;
}

/* A frame for a frozen node waits in its socket. */
static uint64_t sim_packet_at(const struct sim *sim, const struct sim_packet *packet) {
    const uint64_t frozen = sim->nodes[packet->to].frozen_until;
    return packet->at > frozen ? packet->at : frozen;
}

static int sim_next_packet(const struct sim *sim) {
    int next = -1;
    for (int i = 0; i < sim->packet_count; i++)
        if (next < 0 ||
            sim_packet_at(sim, &sim->packets[i]) < sim_packet_at(sim, &sim->packets[next]))
            next = i;
    return next;
}

static void sim_arrive(struct sim *sim, int at) {
    const struct sim_packet packet = sim->packets[at];
    sim->packets[at] = sim->packets[--sim->packet_count];
    struct sim_node *node = &sim->nodes[packet.to];
    if (node->is_alive && !node->is_unplugged)
        jzx__link_receive(&node->link, sim->now, packet.bytes, packet.size);
    sim_pump(sim, packet.to);
}

/* A node that cannot hear its peer for one cause reports DOWN within 5 s of its own running time.
 * The causes count apart: frames that were under way arrive when a node is plugged in again. */
static void sim_check_cause(struct sim *sim, const struct sim_node *node, uint64_t *since,
                            bool is_deaf) {
    if (!is_deaf || !node->is_alive || node->frozen_until > sim->now || !node->is_up)
        *since = JZX__LINK_NEVER;
    else if (*since == JZX__LINK_NEVER)
        *since = sim->now;
    else if (*since < node->frozen_until) /* it was frozen between two steps */
        *since = node->frozen_until;
    else if (sim->is_exact)
        sim_expect(sim, sim->now - *since <= 5000 * SIM_MS, "a dead peer was not DOWN within 5 s");
}

static void sim_check_detection(struct sim *sim, int i) {
    struct sim_node *node = &sim->nodes[i];
    const struct sim_node *peer = &sim->nodes[1 - i];
    const bool is_mute = !sim_runs(sim, 1 - i) || node->is_cut || peer->is_unplugged;
    sim_check_cause(sim, node, &node->mute_since, is_mute);
    sim_check_cause(sim, node, &node->unplugged_since, node->is_unplugged);
}

static uint64_t sim_min(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

/* Goes to the next thing before `until`; returns false if there is none. */
static bool sim_step(struct sim *sim, uint64_t until) {
    const int packet = sim_next_packet(sim);
    const uint64_t packet_at =
        packet < 0 ? JZX__LINK_NEVER : sim_packet_at(sim, &sim->packets[packet]);
    const uint64_t at[2] = {sim_node_at(sim, 0), sim_node_at(sim, 1)};
    const uint64_t next = sim_min(packet_at, sim_min(at[0], at[1]));
    if (next > until) {
        sim->now = until;
        return false;
    }
    sim->now = next > sim->now ? next : sim->now;
    if (packet_at == next) {
        sim_arrive(sim, packet);
        return true;
    }
    const int i = at[0] == next ? 0 : 1;
    if (!sim->nodes[i].is_alive) {
        sim_revive(sim, i);
    } else {
        jzx__link_poll(&sim->nodes[i].link, sim->now);
        sim_expect(sim, jzx__link_wake(&sim->nodes[i].link) > sim->now,
                   "a wake-up is due again at once");
    }
    sim_pump(sim, i);
    return true;
}

static void sim_advance(struct sim *sim, uint64_t until) {
    for (uint32_t steps = 0; sim->failure == NULL && sim_step(sim, until); steps++) {
        sim_expect(sim, steps < 100000, "steps without end");
        sim_check_detection(sim, 0);
        sim_check_detection(sim, 1);
    }
}

/* ---- The schedule ---- */

static void sim_open(struct sim *sim, uint64_t seed, bool verify) {
    static const uint64_t delays_ms[] = {1, 20, 100, 800};
    memset(sim, 0, sizeof *sim);
    sim->random = seed * 0x2545F4914F6CDD1Du;
    sim->now = 1000 * SIM_MS;
    sim->verifies = verify;
    sim->is_clean = sim_chance(sim, 10);
    sim->delay_max = delays_ms[sim_below(sim, sim->is_clean ? 3 : 4)] * SIM_MS;
    sim->delay_min = sim_below(sim, sim->delay_max);
    if (!sim->is_clean) {
        sim->loss_percent = (uint32_t)sim_below(sim, 40);
        sim->duplicate_percent = (uint32_t)sim_below(sim, 30);
        sim->replay_percent = sim_chance(sim, 40) ? 20 : 0;
        sim->alloc_fail_percent = sim_chance(sim, 15) ? 5 : 0;
    }
    sim->is_exact = sim->replay_percent == 0;
    for (int i = 0; i < 2; i++) {
        sim->nodes[i].sim = sim;
        sim->nodes[i].incarnation = (uint32_t)(i * 1000 + 1);
        sim->nodes[i].epoch = 1;
        sim->nodes[i].mute_since = sim->nodes[i].unplugged_since = JZX__LINK_NEVER;
        sim_start(sim, i);
    }
}

static void sim_heal(struct sim *sim) {
    sim->is_healed = true;
    sim->loss_percent = sim->duplicate_percent = sim->alloc_fail_percent = 0;
    sim->delay_min = sim->delay_max = 5 * SIM_MS;
    for (int i = 0; i < 2; i++) {
        sim->nodes[i].is_cut = false;
        sim->nodes[i].frozen_until = 0;
        if (!sim->nodes[i].is_alive)
            sim_revive(sim, i);
        if (sim->nodes[i].is_unplugged)
            sim_unplug(sim, i);
    }
    sim_advance(sim, sim->now + 20000 * SIM_MS);
}

/* Everything accepted was delivered, or its sender knows. */
static void sim_judge(struct sim *sim) {
    for (int i = 0; i < 2; i++)
        sim_expect(sim, sim->nodes[i].is_up, "the nodes do not connect again");
    for (int i = 0; i < sim->session_count; i++)
        sim_expect(sim,
                   sim->sessions[i].is_down ||
                       sim->sessions[i].delivered == sim->sessions[i].accepted,
                   "messages were lost without a DOWN");
}

static struct sim_result sim_run(uint64_t seed, bool verify) {
    struct sim *sim = malloc(sizeof *sim);
    if (sim == NULL)
        abort();
    sim_open(sim, seed, verify);
    sim_advance(sim, sim->now + sim_below(sim, 1500) * SIM_MS);
    for (int n = 0; n < SIM_ACTIONS && sim->failure == NULL; n++) {
        static const uint64_t pauses_ms[] = {5, 300, 300, 6000};
        sim_act(sim);
        for (int i = 0; i < 2; i++) {
            sim_check_detection(sim, i);
            sim_pump(sim, i);
        }
        const uint64_t pause = pauses_ms[sim_below(sim, 4) & sim_below(sim, 4)];
        sim_advance(sim, sim->now + sim_below(sim, pause) * SIM_MS);
    }
    if (sim->failure == NULL)
        sim_heal(sim);
    if (sim->failure == NULL)
        sim_judge(sim);
    for (int i = 0; i < 2; i++)
        if (sim->nodes[i].is_alive)
            sim_stop(sim, i);
    const struct sim_result result = {sim->failure, sim->delivered, sim->downs, sim->resent,
                                      sim->stale};
    free(sim);
    return result;
}

#endif
