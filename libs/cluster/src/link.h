/* SPDX-License-Identifier: MIT */
/* The acknowledged link between two nodes, over a transport that may lose, delay, reorder and
 * duplicate frames. It is a pure state machine: frames and the clock come in, frames and events go
 * out. It does no I/O, has no thread and reads no clock.
 *
 * A node is an incarnation, which a restart raises. Each session of a node has an epoch, which the
 * end of a session raises. The pair is the node's tag, and a frame has the tags of both sides. Two
 * nodes are connected when each has proof that the other knows its tag: HELLO tells a tag, and any
 * frame that is addressed to it is the proof. Nothing is sent as DATA before that, so both sides
 * begin a session with unit 1. A message is one unit, or several if it is longer than a frame.
 *
 * Rejected: acknowledging single units, as the transport loses whole stretches and not single
 * frames. Credits of the receiver, as it always reads: a full mailbox bounces above the link. A
 * resend timer from measured round trips, as the transport is TCP and only its failover loses.
 *
 * Invariants:
 *   link/L1   Within a session the receiver delivers the messages that the sender accepted, in
 *             their order, without a gap, each once.
 *   link/L2   A message that send accepted is acknowledged by the peer, or DOWN is reported on this
 *             side and counts its units as lost. The queue of one session never reaches the next.
 *   link/L3   Only frames with both current tags touch the session. The tag of the peer only grows:
 *             frames of an older incarnation or epoch have no effect.
 *   link/L4   UP and DOWN alternate, and a message is delivered only between them.
 *   link/L5   Memory is at most queue_bytes and message_max. No length of the peer leads to an
 *             allocation before it is compared with message_max.
 *   link/L6   acked <= cursor <= sent_end <= next_seq; an ack beyond sent_end is refused.
 *   link/L7   A unit that was sent and not acknowledged is sent again until DOWN.
 *   link/L8   A peer that is silent, or acknowledges nothing that waits, is DOWN 4 s later. Each
 *             side sends at least once a second.
 *   link/L9   Time counts against the peer only up to the wake-up that the caller was told: if the
 *             caller comes late, the delay is its own and no peer is DOWN for it.
 *   link/L10  A frame is at most frame_max bytes.
 *   link/L11  Nodes whose versions differ by at most one connect, with the lower one; others refuse
 *             each other in words.
 */
#ifndef JZX_CLUSTER_LINK_H
#define JZX_CLUSTER_LINK_H

#include "frame.h"

#include "jzx/error.h"

#define JZX__LINK_VERSION 1u
#define JZX__LINK_NEVER UINT64_MAX

#define JZX__LINK_MS UINT64_C(1000000)
#define JZX__LINK_DOWN_NS (4000 * JZX__LINK_MS)
#define JZX__LINK_HEARTBEAT_NS (1000 * JZX__LINK_MS)
#define JZX__LINK_PROBE_NS (250 * JZX__LINK_MS) /* heartbeats to a suspect */
#define JZX__LINK_GRACE_NS (1000 * JZX__LINK_MS)
#define JZX__LINK_ACK_NS (5 * JZX__LINK_MS)
#define JZX__LINK_NACK_NS (50 * JZX__LINK_MS)
#define JZX__LINK_RESEND_NS (100 * JZX__LINK_MS)
#define JZX__LINK_RESEND_MAX_NS (1600 * JZX__LINK_MS)

enum jzx__link_state {
    JZX__LINK_CONNECTING,
    JZX__LINK_UP,
    JZX__LINK_CLOSED,
};

enum jzx__link_reason {
    JZX__LINK_SILENT,        /* nothing heard for 4 s */
    JZX__LINK_UNACKED,       /* heard, but no acknowledgement for 4 s */
    JZX__LINK_ISOLATED,      /* nothing heard for 4 s, and our own transport is gone */
    JZX__LINK_RESTARTED,     /* the peer is another incarnation */
    JZX__LINK_RESET,         /* the peer ended the session */
    JZX__LINK_GOODBYE,       /* the peer stops */
    JZX__LINK_NO_RESPONDERS, /* the transport has had nobody to deliver to for the grace */
    JZX__LINK_PROTOCOL,      /* the peer sent units that cannot be */
    JZX__LINK_CLOSED_HERE,
};

enum jzx__link_refusal {
    JZX__LINK_REFUSED_VERSION = 1,
    JZX__LINK_REFUSED_INCARNATION = 2, /* the peer knows a later incarnation of this node */
};

enum jzx__link_event_kind {
    JZX__LINK_EVENT_UP,
    JZX__LINK_EVENT_DOWN,
    JZX__LINK_EVENT_MESSAGE,
    JZX__LINK_EVENT_WRITABLE, /* after FULL: half of the queue is free */
    JZX__LINK_EVENT_REFUSED,
};

struct jzx__link_event {
    enum jzx__link_event_kind kind;
    uint32_t peer_incarnation;
    enum jzx__link_reason reason;   /* of DOWN */
    enum jzx__link_refusal refusal; /* of REFUSED */
    uint64_t lost_units;            /* of DOWN: accepted and not acknowledged */
    const void *bytes;              /* of MESSAGE, until the call returns */
    size_t size;
};

/* Events come out of every call that takes the clock. A handler of events may call jzx__link_send
 * and read the link; nothing else of it. */
struct jzx__link_hooks {
    void *context;
    void *(*allocate)(void *context, size_t size); /* NULL: none left */
    void (*release)(void *context, void *memory, size_t size);
    void (*event)(void *context, const struct jzx__link_event *event);
};

/* 0 takes the default in parentheses. */
struct jzx__link_config {
    uint32_t incarnation; /* of this node, from 1 */
    uint32_t epoch;       /* (1); higher if this incarnation had a link to the peer before */
    uint32_t peer_incarnation_min; /* (1) */
    uint32_t version;              /* (JZX__LINK_VERSION) */
    uint32_t features;             /* told to the peer */
    uint32_t frame_max;            /* (16 KiB) */
    uint32_t message_max;          /* (1 MiB) longest message in both directions */
    uint32_t window_units;         /* (4096) sent and not acknowledged */
    uint32_t window_bytes;         /* (4 MiB) likewise */
    size_t queue_bytes;            /* (8 MiB) accepted and not acknowledged, with overhead */
};

struct jzx__link_unit;

struct jzx__link {
    struct jzx__link_config config;
    struct jzx__link_hooks hooks;
    enum jzx__link_state state;
    bool is_inside;    /* a handler of events runs */
    bool is_connected; /* the transport */
    uint64_t now;
    uint64_t wake_at;  /* as told to the caller */
    uint64_t patience; /* the time that counts against the peer (L9) */

    uint64_t tag; /* of this side */
    uint64_t peer_tag;
    uint32_t peer_message_max;
    uint32_t peer_features;
    uint8_t version;    /* agreed */
    bool is_peer_known; /* a HELLO of peer_tag was read */

    /* Sending: acked is the first unit without an acknowledgement, the head of the queue. */
    struct jzx__link_unit *head, *cursor, *tail;
    uint64_t acked;
    uint64_t sent_end; /* behind the last unit that was ever sent */
    uint64_t next_seq;
    size_t queued_bytes;
    size_t flight_bytes; /* of units before the cursor */
    bool was_full;
    uint64_t resend_at;
    uint64_t resend_ns;
    uint64_t nack_seq; /* of the peer's last NACK that was followed */
    uint64_t nack_until;

    /* Receiving. */
    uint64_t expected;
    uint64_t ack_at;
    uint32_t unacked_units;
    uint64_t nack_sent_until;
    uint8_t *assembly; /* a message of several units */
    uint32_t assembly_size;
    uint32_t assembly_total;

    /* The peer's signs of life, on the patience clock. */
    uint64_t heard_at;
    uint64_t progress_at;
    bool progress_begins; /* at the next clock that the caller tells */
    uint64_t suspect_at;

    /* Due for output. */
    uint64_t hello_at;
    uint64_t heartbeat_at;
    uint32_t hello_count;
    bool wants_hello;
    bool wants_ack;
    bool wants_nack;
    bool wants_goodbye;
    uint64_t refuse_tag; /* 0: none */
    enum jzx__link_refusal refuse_reason;

    /* Gauges. */
    uint64_t frames_malformed;
    uint64_t frames_stale;
    uint64_t units_resent;
};

/* INVALID_ARG: no incarnation, or a limit out of range. The link begins to connect. */
jzx_err jzx__link_init(struct jzx__link *link, const struct jzx__link_config *config,
                       const struct jzx__link_hooks *hooks, uint64_t now);

/* Frees everything without an event. */
void jzx__link_deinit(struct jzx__link *link);

/* Accepts a message: from then on L2 holds for it. Nothing is accepted with UNREACHABLE (not UP),
 * TOO_LONG (a limit of either side), FULL (WRITABLE follows) or NO_MEMORY. */
jzx_err jzx__link_send(struct jzx__link *link, const void *message, size_t size);

/* Takes a frame of the transport. Bytes that are no frame for this session are counted. */
void jzx__link_receive(struct jzx__link *link, uint64_t now, const void *bytes, size_t size);

/* Lets time pass. The caller comes again at the time that jzx__link_wake tells. */
void jzx__link_poll(struct jzx__link *link, uint64_t now);
uint64_t jzx__link_wake(const struct jzx__link *link);

/* Writes the next frame and returns its size; 0: none is due. `capacity` is at least frame_max.
 * The caller calls it until it returns 0, after each call of another function. */
size_t jzx__link_output(struct jzx__link *link, uint64_t now, void *frame, size_t capacity);

/* The transport was lost, or is there again: then everything unacknowledged is sent again. */
void jzx__link_transport(struct jzx__link *link, uint64_t now, bool is_connected);

/* The transport had nobody to deliver a frame to. */
void jzx__link_no_responders(struct jzx__link *link, uint64_t now);

/* Ends the link. An UP link reports DOWN with its lost units, and says goodbye in its output. A
 * later link of this incarnation to the same peer begins with a higher epoch. */
void jzx__link_close(struct jzx__link *link, uint64_t now);

const char *jzx__link_reason_text(enum jzx__link_reason reason);

/* Checks every invariant that one side alone can see; for tests, as it walks the queue. */
void jzx__link_verify(const struct jzx__link *link);

#ifdef JZX__LINK_MUTANTS
/* In builds for tests: the fault that is planted, 0 for none. */
extern int jzx__link_mutant;
#endif

#endif
