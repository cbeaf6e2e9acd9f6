/* SPDX-License-Identifier: MIT */
/* The life of a link: sessions, time, frames in and frames out. The queue is in link_queue.c, the
 * wire form in frame.c. */
#include "link.h"

#include "check.h"
#include "link_queue.h"

#include <string.h>

/* ---- Life ---- */

static void set_default(uint32_t *value, uint32_t fallback) {
    if (*value == 0)
        *value = fallback;
}

static bool config_resolve(struct jzx__link_config *c) {
    set_default(&c->epoch, 1);
    set_default(&c->peer_incarnation_min, 1);
    set_default(&c->version, JZX__LINK_VERSION);
    set_default(&c->frame_max, JZX__FRAME_MAX);
    set_default(&c->message_max, 1u << 20);
    set_default(&c->window_units, 4096);
    set_default(&c->window_bytes, 4u << 20);
    if (c->queue_bytes == 0)
        c->queue_bytes = 8u << 20;
    return c->incarnation != 0 && c->version <= UINT8_MAX && c->frame_max <= JZX__FRAME_MAX &&
           c->frame_max >= JZX__FRAME_MIN_MAX && c->window_bytes >= c->frame_max &&
           c->message_max <= UINT32_MAX / 2;
}

static uint64_t tag_of(uint32_t incarnation, uint32_t epoch) {
    return (uint64_t)incarnation << 32 | epoch;
}

static uint32_t incarnation_of(uint64_t tag) {
    return (uint32_t)(tag >> 32);
}

static void want_hello_now(struct jzx__link *link) {
    link->wants_hello = true;
    link->hello_count = 0;
    link->hello_at = link->now + 50 * JZX__LINK_MS;
}

jzx_err jzx__link_init(struct jzx__link *link, const struct jzx__link_config *config,
                       const struct jzx__link_hooks *hooks, uint64_t now) {
    struct jzx__link_config resolved = *config;
    if (!config_resolve(&resolved))
        return JZX_ERR_INVALID_ARG;
    memset(link, 0, sizeof *link);
    link->config = resolved;
    link->hooks = *hooks;
    link->state = JZX__LINK_CONNECTING;
    link->is_connected = true;
    link->now = link->wake_at = now;
    link->tag = tag_of(resolved.incarnation, resolved.epoch);
    link->peer_tag = tag_of(resolved.peer_incarnation_min, 0);
    link->acked = link->sent_end = link->next_seq = link->expected = 1;
    link->resend_at = link->ack_at = link->heartbeat_at = JZX__LINK_NEVER;
    link->suspect_at = JZX__LINK_NEVER;
    want_hello_now(link);
    return JZX_OK;
}

static void assembly_drop(struct jzx__link *link) {
    if (link->assembly != NULL)
        link->hooks.release(link->hooks.context, link->assembly, link->assembly_total);
    link->assembly = NULL;
    link->assembly_size = link->assembly_total = 0;
}

void jzx__link_deinit(struct jzx__link *link) {
    JZX__CHECK(!link->is_inside);
    jzx__link_queue_clear(link);
    assembly_drop(link);
    link->state = JZX__LINK_CLOSED;
}

static void emit(struct jzx__link *link, struct jzx__link_event event) {
    JZX__CHECK(!link->is_inside);
    link->is_inside = true;
    link->hooks.event(link->hooks.context, &event);
    link->is_inside = false;
}

static void session_begin(struct jzx__link *link) {
    JZX__CHECK(link->state == JZX__LINK_CONNECTING && link->is_peer_known); /* L4 */
    JZX__CHECK(link->head == NULL && link->assembly == NULL);               /* L2 */
    link->state = JZX__LINK_UP;
    link->expected = 1;
    link->unacked_units = 0;
    link->ack_at = link->resend_at = JZX__LINK_NEVER;
    link->resend_ns = JZX__LINK_RESEND_NS;
    link->nack_seq = link->nack_until = link->nack_sent_until = 0;
    link->heard_at = link->progress_at = link->patience;
    link->suspect_at = JZX__LINK_NEVER;
    link->heartbeat_at = link->now + JZX__LINK_HEARTBEAT_NS;
    link->wants_hello = link->wants_nack = false;
    link->wants_ack = true; /* the peer connects with it */
    emit(link, (struct jzx__link_event){.kind = JZX__LINK_EVENT_UP,
                                        .peer_incarnation = incarnation_of(link->peer_tag)});
}

/* Ends the session; the next one has another epoch. The peer's tag is still that of the session. */
static void session_end(struct jzx__link *link, enum jzx__link_reason reason) {
    JZX__CHECK(link->state == JZX__LINK_UP); /* L4 */
    const struct jzx__link_event event = {
        .kind = JZX__LINK_EVENT_DOWN,
        .peer_incarnation = incarnation_of(link->peer_tag),
        .reason = reason,
        .lost_units = link->next_seq - link->acked,
    };
    jzx__link_queue_clear(link);
    assembly_drop(link);
    link->wants_ack = link->wants_nack = link->progress_begins = false;
    link->ack_at = link->resend_at = link->heartbeat_at = JZX__LINK_NEVER;
    if ((uint32_t)link->tag == UINT32_MAX) { /* the next tag is that of another incarnation */
        link->state = JZX__LINK_CLOSED;
    } else {
        link->state = JZX__LINK_CONNECTING;
        link->tag++;
        want_hello_now(link);
    }
    if (!(JZX__LINK_MUTANT(5) && reason == JZX__LINK_RESET))
        emit(link, event);
}

void jzx__link_close(struct jzx__link *link, uint64_t now) {
    JZX__CHECK(!link->is_inside);
    link->now = now > link->now ? now : link->now;
    if (link->state == JZX__LINK_UP) {
        const uint64_t tag = link->tag;
        session_end(link, JZX__LINK_CLOSED_HERE);
        link->tag = tag; /* of the session that the goodbye ends */
        link->wants_goodbye = true;
    }
    link->wants_hello = false;
    link->state = JZX__LINK_CLOSED;
}

/* ---- Time ---- */

static uint64_t min_of(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

/* Whether something that send accepted waits for an acknowledgement. */
static bool awaits_ack(const struct jzx__link *link) {
    return link->head != NULL;
}

/* The time from which on the silence of the peer ends the session, on the patience clock. */
static uint64_t patience_end(const struct jzx__link *link) {
    uint64_t end = link->heard_at + JZX__LINK_DOWN_NS;
    if (awaits_ack(link) && !link->progress_begins)
        end = min_of(end, link->progress_at + JZX__LINK_DOWN_NS);
    return end;
}

uint64_t jzx__link_wake(const struct jzx__link *link) {
    if (link->state == JZX__LINK_CONNECTING)
        return link->hello_at;
    if (link->state == JZX__LINK_CLOSED)
        return JZX__LINK_NEVER;
    uint64_t at = min_of(link->heartbeat_at, min_of(link->ack_at, link->resend_at));
    const uint64_t end = patience_end(link);
    return min_of(at, link->now + (end > link->patience ? end - link->patience : 0));
}

/* Moves the clock. Time behind the promised wake-up is our own delay (L9). */
static void advance(struct jzx__link *link, uint64_t now) {
    JZX__CHECK(!link->is_inside);
    if (now > link->now) {
        const uint64_t until = min_of(now, link->wake_at);
        if (until > link->now)
            link->patience += until - link->now;
        link->now = now;
    }
    if (link->progress_begins)
        link->progress_at = link->patience;
    link->progress_begins = false;
}

static void poll_hello(struct jzx__link *link) {
    static const uint64_t pauses_ms[] = {50, 200, 1000};
    if (link->now < link->hello_at)
        return;
    link->wants_hello = true;
    link->hello_count += link->hello_count < 2;
    link->hello_at = link->now + pauses_ms[link->hello_count] * JZX__LINK_MS;
}

static void rewind_now(struct jzx__link *link) {
    jzx__link_queue_rewind(link);
    link->resend_at = JZX__LINK_NEVER; /* armed again by the next DATA */
}

static void poll_session(struct jzx__link *link) {
    if (JZX__LINK_MUTANT(7))
        link->heard_at = link->progress_at = link->patience;
    if (link->patience >= patience_end(link)) {
        const bool silent = link->patience >= link->heard_at + JZX__LINK_DOWN_NS;
        session_end(link, !silent              ? JZX__LINK_UNACKED
                          : link->is_connected ? JZX__LINK_SILENT
                                               : JZX__LINK_ISOLATED);
        return;
    }
    if (link->now >= link->heartbeat_at) {
        const bool is_suspect = link->suspect_at != JZX__LINK_NEVER;
        link->wants_ack = true;
        link->heartbeat_at = link->now + (is_suspect ? JZX__LINK_PROBE_NS : JZX__LINK_HEARTBEAT_NS);
    }
    if (link->now >= link->ack_at) {
        link->wants_ack = true;
        link->ack_at = JZX__LINK_NEVER;
    }
    if (link->now >= link->resend_at) {
        rewind_now(link);
        link->resend_ns = min_of(2 * link->resend_ns, JZX__LINK_RESEND_MAX_NS);
    }
}

/* The end of every call: does what is due, and promises the next wake-up. */
static void settle(struct jzx__link *link) {
    if (link->state == JZX__LINK_UP)
        poll_session(link);
    if (link->state == JZX__LINK_CONNECTING)
        poll_hello(link);
    link->wake_at = jzx__link_wake(link);
    JZX__CHECK(link->acked <= link->sent_end && link->sent_end <= link->next_seq);     /* L6 */
    JZX__CHECK(link->queued_bytes <= link->config.queue_bytes || JZX__LINK_MUTANT(8)); /* L5 */
}

void jzx__link_poll(struct jzx__link *link, uint64_t now) {
    advance(link, now);
    settle(link);
}

void jzx__link_transport(struct jzx__link *link, uint64_t now, bool is_connected) {
    advance(link, now);
    if (is_connected && !link->is_connected) {
        if (link->state == JZX__LINK_UP) {
            rewind_now(link);
            link->wants_ack = true;
        } else if (link->state == JZX__LINK_CONNECTING) {
            want_hello_now(link);
        }
    }
    link->is_connected = is_connected;
    settle(link);
}

void jzx__link_no_responders(struct jzx__link *link, uint64_t now) {
    advance(link, now);
    if (link->state == JZX__LINK_UP) {
        if (link->suspect_at == JZX__LINK_NEVER) {
            link->suspect_at = link->patience;
            link->heartbeat_at = link->now + JZX__LINK_PROBE_NS;
        } else if (link->patience - link->suspect_at >= JZX__LINK_GRACE_NS) {
            session_end(link, JZX__LINK_NO_RESPONDERS);
        }
    }
    settle(link);
}

/* ---- Sending ---- */

jzx_err jzx__link_send(struct jzx__link *link, const void *message, size_t size) {
    if (link->state != JZX__LINK_UP)
        return JZX_ERR_UNREACHABLE;
    if (size > link->config.message_max || size > link->peer_message_max)
        return JZX_ERR_TOO_LONG;
    const bool was_idle = !awaits_ack(link);
    const jzx_err err = jzx__link_queue_push(link, message, (uint32_t)size);
    if (err == JZX_OK && was_idle)
        link->progress_begins = true; /* the clock of the link may be behind */
    return err;
}

static size_t put_frame(struct jzx__link *link, uint8_t *out, enum jzx__frame_type type,
                        uint64_t destination, size_t body_size) {
    const bool is_of_session = type != JZX__FRAME_HELLO && type != JZX__FRAME_REFUSE;
    const struct jzx__frame frame = {
        .version = is_of_session ? link->version : (uint8_t)link->config.version,
        .type = (uint8_t)type,
        .flags = is_of_session && link->wants_nack ? JZX__FRAME_NACK : 0,
        .source = link->tag,
        .destination = destination,
        .ack = is_of_session ? link->expected : 0,
    };
    jzx__frame_put_header(out, &frame);
    if (is_of_session) { /* it told the peer what an ACK would */
        link->wants_ack = link->wants_nack = false;
        link->ack_at = JZX__LINK_NEVER;
        link->unacked_units = 0;
    }
    return JZX__FRAME_HEADER + body_size;
}

static size_t output_hello(struct jzx__link *link, uint8_t *out) {
    link->wants_hello = false;
    jzx__frame_put_u32(out + JZX__FRAME_HEADER, link->config.message_max);
    jzx__frame_put_u32(out + JZX__FRAME_HEADER + 4, link->config.features);
    return put_frame(link, out, JZX__FRAME_HELLO, link->is_peer_known ? link->peer_tag : 0,
                     JZX__FRAME_HELLO_BODY);
}

static size_t output_refuse(struct jzx__link *link, uint8_t *out) {
    const uint64_t to = link->refuse_tag;
    link->refuse_tag = 0;
    jzx__frame_put_u32(out + JZX__FRAME_HEADER, (uint32_t)link->refuse_reason);
    return put_frame(link, out, JZX__FRAME_REFUSE, to, JZX__FRAME_REFUSE_BODY);
}

/* Packs units until the frame or the window is full; 0 if none may be sent. */
static size_t output_data(struct jzx__link *link, uint8_t *out) {
    size_t size = JZX__FRAME_HEADER;
    uint16_t count = 0;
    uint64_t seq = 0;
    for (;;) {
        const struct jzx__link_unit *unit = jzx__link_queue_sendable(link);
        if (unit == NULL || count == UINT16_MAX ||
            unit->size + JZX__FRAME_UNIT_HEADER > link->config.frame_max - size)
            break;
        if (count++ == 0)
            seq = unit->seq;
        jzx__frame_put_u32(out + size, unit->size);
        jzx__frame_put_u32(out + size + 4, unit->total);
        if (unit->size > 0)
            memcpy(out + size + JZX__FRAME_UNIT_HEADER, unit->bytes, unit->size);
        size += JZX__FRAME_UNIT_HEADER + unit->size;
        jzx__link_queue_sent(link);
    }
    if (count == 0)
        return 0;
    const struct jzx__frame frame = {
        .version = link->version,
        .type = JZX__FRAME_DATA,
        .flags = link->wants_nack ? JZX__FRAME_NACK : 0,
        .count = count,
        .source = link->tag,
        .destination = link->peer_tag,
        .seq = seq,
        .ack = link->expected,
    };
    put_frame(link, out, JZX__FRAME_DATA, link->peer_tag, 0);
    jzx__frame_put_header(out, &frame);
    if (link->resend_at == JZX__LINK_NEVER)
        link->resend_at = link->now + link->resend_ns;
    return size;
}

static size_t output_next(struct jzx__link *link, uint8_t *out) {
    if (link->wants_goodbye) {
        link->wants_goodbye = false;
        return put_frame(link, out, JZX__FRAME_GOODBYE, link->peer_tag, 0);
    }
    if (link->refuse_tag != 0)
        return output_refuse(link, out);
    if (link->wants_hello)
        return output_hello(link, out);
    if (link->state != JZX__LINK_UP)
        return 0;
    const size_t size = output_data(link, out);
    if (size > 0 || !link->wants_ack)
        return size;
    return put_frame(link, out, JZX__FRAME_ACK, link->peer_tag, 0);
}

size_t jzx__link_output(struct jzx__link *link, uint64_t now, void *frame, size_t capacity) {
    JZX__CHECK(capacity >= link->config.frame_max);
    advance(link, now);
    settle(link);
    if (!link->is_connected)
        return 0;
    const size_t size = output_next(link, frame);
    JZX__CHECK(size <= link->config.frame_max); /* L10 */
    if (size > 0 && link->state == JZX__LINK_UP && link->suspect_at == JZX__LINK_NEVER)
        link->heartbeat_at = link->now + JZX__LINK_HEARTBEAT_NS; /* this frame was one */
    link->wake_at = jzx__link_wake(link);
    return size;
}

/* ---- Receiving ---- */

static void refuse(struct jzx__link *link, uint64_t tag, enum jzx__link_refusal reason) {
    link->refuse_tag = tag;
    link->refuse_reason = reason;
}

/* A tag that is newer than the one known ends the session with that one. */
static void learn_tag(struct jzx__link *link, const struct jzx__frame *frame) {
    const bool is_restart = incarnation_of(frame->source) != incarnation_of(link->peer_tag);
    if (link->state == JZX__LINK_UP)
        session_end(link, is_restart ? JZX__LINK_RESTARTED : JZX__LINK_RESET);
    link->peer_tag = frame->source;
    link->is_peer_known = true;
}

static void receive_hello(struct jzx__link *link, const struct jzx__frame *frame) {
    const uint32_t mine = link->config.version, theirs = frame->version;
    if (frame->source < link->peer_tag) {
        link->frames_stale++;
        if (incarnation_of(frame->source) < incarnation_of(link->peer_tag))
            refuse(link, frame->source, JZX__LINK_REFUSED_INCARNATION);
        return;
    }
    if (theirs + 1 < mine || mine + 1 < theirs) { /* L11 */
        refuse(link, frame->source, JZX__LINK_REFUSED_VERSION);
        return;
    }
    const bool is_addressed = frame->destination == link->tag;
    if (frame->source > link->peer_tag)
        learn_tag(link, frame);
    if (link->state == JZX__LINK_CLOSED)
        return;
    if (link->state == JZX__LINK_UP) {
        link->wants_ack |= is_addressed; /* the peer still waits for our proof */
        return;
    }
    link->version = (uint8_t)min_of(mine, theirs);
    link->peer_message_max = jzx__frame_u32(frame->body);
    link->peer_features = jzx__frame_u32(frame->body + 4);
    /* Learning the tag may have raised our own epoch: then the frame is not addressed to it. */
    if (is_addressed && frame->destination == link->tag)
        session_begin(link);
    else
        link->wants_hello = true;
}

static void receive_refuse(struct jzx__link *link, const struct jzx__frame *frame) {
    const uint32_t reason = jzx__frame_u32(frame->body);
    if (frame->destination != link->tag || link->state != JZX__LINK_CONNECTING ||
        (reason != JZX__LINK_REFUSED_VERSION && reason != JZX__LINK_REFUSED_INCARNATION))
        return;
    emit(link, (struct jzx__link_event){.kind = JZX__LINK_EVENT_REFUSED,
                                        .peer_incarnation = incarnation_of(frame->source),
                                        .refusal = (enum jzx__link_refusal)reason});
}

static void deliver(struct jzx__link *link, const uint8_t *bytes, size_t size) {
    JZX__CHECK(link->state == JZX__LINK_UP); /* L4 */
    emit(link, (struct jzx__link_event){.kind = JZX__LINK_EVENT_MESSAGE,
                                        .peer_incarnation = incarnation_of(link->peer_tag),
                                        .bytes = bytes,
                                        .size = size});
}

enum taken { TAKEN, NOT_NOW, NEVER_VALID };

/* A piece of a message. The buffer has the size that the first piece told, which is in bounds. */
static enum taken take_piece(struct jzx__link *link, const struct jzx__frame_unit *unit) {
    if (link->assembly == NULL) {
        JZX__CHECK(unit->total <= link->config.message_max); /* L5 */
        link->assembly = link->hooks.allocate(link->hooks.context, unit->total);
        if (link->assembly == NULL)
            return NOT_NOW; /* the peer sends it again */
        link->assembly_total = unit->total;
    }
    if (unit->total != link->assembly_total ||
        unit->size > link->assembly_total - link->assembly_size)
        return NEVER_VALID;
    memcpy(link->assembly + link->assembly_size, unit->bytes, unit->size);
    link->assembly_size += unit->size;
    return TAKEN;
}

static enum taken take_unit(struct jzx__link *link, const struct jzx__frame_unit *unit) {
    const bool is_whole = unit->size == unit->total;
    if (is_whole && link->assembly != NULL)
        return NEVER_VALID;
    const enum taken taken = is_whole ? TAKEN : take_piece(link, unit);
    if (taken != TAKEN)
        return taken;
    link->expected++;
    link->unacked_units++;
    if (is_whole) {
        deliver(link, unit->bytes, unit->size);
    } else if (link->assembly_size == link->assembly_total) {
        deliver(link, link->assembly, link->assembly_total);
        assembly_drop(link);
    }
    return TAKEN;
}

static void receive_gap(struct jzx__link *link) {
    if (link->now < link->nack_sent_until)
        return;
    link->wants_ack = link->wants_nack = true;
    link->nack_sent_until = link->now + JZX__LINK_NACK_NS;
}

/* Accepts exactly the next units (L1); those before them were delivered. */
static void receive_units(struct jzx__link *link, const struct jzx__frame *frame) {
    if (frame->seq > link->expected && !JZX__LINK_MUTANT(2)) {
        receive_gap(link);
        return;
    }
    const uint64_t before = link->expected;
    size_t at = 0;
    for (uint64_t i = 0; i < frame->count; i++) {
        const struct jzx__frame_unit unit = jzx__frame_unit_next(frame, &at);
        if (frame->seq + i < link->expected && !JZX__LINK_MUTANT(1))
            continue;
        const enum taken taken = take_unit(link, &unit);
        if (taken == NEVER_VALID) {
            session_end(link, JZX__LINK_PROTOCOL);
            return;
        }
        if (taken == NOT_NOW)
            break;
    }
    if (link->expected == before || link->unacked_units >= link->config.window_units / 8) {
        link->wants_ack = true; /* a duplicate: the peer has missed our ACK */
    } else if (link->ack_at == JZX__LINK_NEVER) {
        link->ack_at = link->now + JZX__LINK_ACK_NS;
    }
    if (link->expected != before)
        link->nack_sent_until = 0;
}

static void receive_ack(struct jzx__link *link, const struct jzx__frame *frame) {
    const uint64_t ack = frame->ack + (JZX__LINK_MUTANT(4) && frame->ack < link->next_seq);
    if (jzx__link_queue_ack(link, ack)) {
        link->progress_at = link->patience;
        link->resend_ns = JZX__LINK_RESEND_NS;
        link->resend_at = link->head != NULL && link->head != link->cursor
                              ? link->now + link->resend_ns
                              : JZX__LINK_NEVER;
    }
    const bool is_followed = link->nack_seq == link->acked && link->now < link->nack_until;
    if ((frame->flags & JZX__FRAME_NACK) != 0 && frame->ack == link->acked && !is_followed) {
        link->nack_seq = link->acked;
        link->nack_until = link->now + JZX__LINK_NACK_NS / 2;
        rewind_now(link);
    }
}

/* Whether the frame belongs to the session, which its proof may begin (L3). */
static bool belongs(struct jzx__link *link, const struct jzx__frame *frame) {
    const bool is_peer =
        frame->source == link->peer_tag ||
        (JZX__LINK_MUTANT(3) && (uint32_t)frame->source == (uint32_t)link->peer_tag);
    const bool is_mine =
        frame->destination == link->tag || JZX__LINK_MUTANT(9) ||
        (JZX__LINK_MUTANT(3) && (uint32_t)frame->destination == (uint32_t)link->tag);
    return link->is_peer_known && is_peer && is_mine && frame->version == link->version;
}

static bool is_valid(const struct jzx__link *link, const struct jzx__frame *frame) {
    if (frame->ack == 0 || (frame->ack > link->sent_end && !JZX__LINK_MUTANT(4)))
        return false; /* L6 */
    if (frame->type != JZX__FRAME_DATA)
        return true;
    return frame->seq > 0 && frame->seq < UINT64_MAX / 2 &&
           jzx__frame_units_are_valid(frame, link->config.message_max);
}

static void report_room(struct jzx__link *link) {
    if (link->state != JZX__LINK_UP || !link->was_full ||
        link->queued_bytes > link->config.queue_bytes / 2)
        return;
    link->was_full = false;
    emit(link, (struct jzx__link_event){.kind = JZX__LINK_EVENT_WRITABLE,
                                        .peer_incarnation = incarnation_of(link->peer_tag)});
}

static void receive_session(struct jzx__link *link, const struct jzx__frame *frame) {
    if (!belongs(link, frame)) {
        link->frames_stale++;
        return;
    }
    if (!is_valid(link, frame)) {
        link->frames_malformed++;
        return;
    }
    if (link->state == JZX__LINK_CONNECTING)
        session_begin(link);
    link->heard_at = link->patience;
    link->suspect_at = JZX__LINK_NEVER;
    if ((frame->type & JZX__FRAME_OPTIONAL) != 0)
        return;
    receive_ack(link, frame);
    if (frame->type == JZX__FRAME_GOODBYE)
        session_end(link, JZX__LINK_GOODBYE);
    else if (frame->type == JZX__FRAME_DATA)
        receive_units(link, frame);
    report_room(link);
}

void jzx__link_receive(struct jzx__link *link, uint64_t now, const void *bytes, size_t size) {
    struct jzx__frame frame;
    advance(link, now);
    if (link->state != JZX__LINK_CLOSED) {
        if (!jzx__frame_read(&frame, bytes, size))
            link->frames_malformed++;
        else if (frame.type == JZX__FRAME_HELLO)
            receive_hello(link, &frame);
        else if (frame.type == JZX__FRAME_REFUSE)
            receive_refuse(link, &frame);
        else
            receive_session(link, &frame);
    }
    settle(link);
}

/* ---- For tests and messages ---- */

const char *jzx__link_reason_text(enum jzx__link_reason reason) {
    static const char *const texts[] = {
        [JZX__LINK_SILENT] = "nothing was heard of the node for 4 seconds",
        [JZX__LINK_UNACKED] = "the node acknowledged nothing for 4 seconds",
        [JZX__LINK_ISOLATED] = "this node has no connection to a server",
        [JZX__LINK_RESTARTED] = "the node has restarted",
        [JZX__LINK_RESET] = "the node ended the session",
        [JZX__LINK_GOODBYE] = "the node stops",
        [JZX__LINK_NO_RESPONDERS] = "no server knows the node",
        [JZX__LINK_PROTOCOL] = "the node broke the protocol",
        [JZX__LINK_CLOSED_HERE] = "the link was closed here",
    };
    return (size_t)reason < sizeof texts / sizeof texts[0] ? texts[reason] : "unknown reason";
}

void jzx__link_verify(const struct jzx__link *link) {
    size_t queued = 0, flight = 0;
    uint64_t seq = link->acked;
    bool is_sent = true;
    const struct jzx__link_unit *last = NULL;
    for (const struct jzx__link_unit *unit = link->head; unit != NULL; unit = unit->next) {
        is_sent = is_sent && unit != link->cursor;
        JZX__CHECK(unit->seq == seq++);
        JZX__CHECK(!is_sent || unit->seq < link->sent_end); /* L6 */
        queued += sizeof *unit + unit->size;
        flight += is_sent ? unit->size : 0;
        last = unit;
    }
    JZX__CHECK(last == link->tail && seq == link->next_seq);
    JZX__CHECK(queued == link->queued_bytes && queued <= link->config.queue_bytes); /* L5 */
    JZX__CHECK(flight == link->flight_bytes);
    JZX__CHECK(link->state == JZX__LINK_UP || (link->head == NULL && link->assembly == NULL));
    /* L7: a unit in flight has its resend armed. */
    JZX__CHECK(link->head == link->cursor || link->resend_at != JZX__LINK_NEVER);
}
