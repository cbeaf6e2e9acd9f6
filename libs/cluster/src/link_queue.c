/* SPDX-License-Identifier: MIT */
/* The queue is a list with three marks: the head is the oldest unit without an acknowledgement, the
 * cursor the next to send, the tail the newest. A resend moves the cursor back to the head. */
#include "link_queue.h"

#include "check.h"

#include <string.h>

#ifdef JZX__LINK_MUTANTS
int jzx__link_mutant;
#endif

static size_t unit_bytes(uint32_t size) {
    return sizeof(struct jzx__link_unit) + size;
}

static uint32_t unit_max(const struct jzx__link *link) {
    return link->config.frame_max - JZX__FRAME_HEADER - JZX__FRAME_UNIT_HEADER;
}

static void release_list(struct jzx__link *link, struct jzx__link_unit *unit) {
    while (unit != NULL) {
        struct jzx__link_unit *next = unit->next;
        link->hooks.release(link->hooks.context, unit, unit_bytes(unit->size));
        unit = next;
    }
}

/* A list of the units of a message, not yet in the queue. */
static struct jzx__link_unit *cut(struct jzx__link *link, const uint8_t *message, uint32_t size,
                                  struct jzx__link_unit **last) {
    struct jzx__link_unit *first = NULL, **end = &first;
    uint32_t done = 0;
    uint64_t seq = link->next_seq;
    do {
        const uint32_t piece = size - done < unit_max(link) ? size - done : unit_max(link);
        struct jzx__link_unit *unit = link->hooks.allocate(link->hooks.context, unit_bytes(piece));
        if (unit == NULL) {
            release_list(link, first);
            return NULL;
        }
        *unit = (struct jzx__link_unit){.seq = seq++, .size = piece, .total = size};
        if (piece > 0)
            memcpy(unit->bytes, message + done, piece);
        *end = *last = unit;
        end = &unit->next;
        done += piece;
    } while (done < size);
    return first;
}

jzx_err jzx__link_queue_push(struct jzx__link *link, const uint8_t *message, uint32_t size) {
    const uint32_t pieces = size == 0 ? 1 : (size - 1) / unit_max(link) + 1;
    const size_t bytes = pieces * sizeof(struct jzx__link_unit) + size;
    if (bytes > link->config.queue_bytes)
        return JZX_ERR_TOO_LONG;
    if (bytes > link->config.queue_bytes - link->queued_bytes && !JZX__LINK_MUTANT(8)) {
        link->was_full = true;
        return JZX_ERR_FULL;
    }
    struct jzx__link_unit *last = NULL;
    struct jzx__link_unit *first = cut(link, message, size, &last);
    if (first == NULL)
        return JZX_ERR_NO_MEMORY;
    if (link->tail != NULL)
        link->tail->next = first;
    else
        link->head = first;
    if (link->cursor == NULL)
        link->cursor = first;
    link->tail = last;
    link->next_seq += pieces;
    link->queued_bytes += bytes;
    return JZX_OK;
}

bool jzx__link_queue_ack(struct jzx__link *link, uint64_t ack) {
    JZX__CHECK(ack <= link->sent_end || JZX__LINK_MUTANT(4));
    const bool is_new = ack > link->acked;
    while (link->acked < ack && link->head != NULL) {
        struct jzx__link_unit *unit = link->head;
        link->head = unit->next;
        if (unit == link->cursor)
            link->cursor = unit->next; /* it was about to be sent again */
        else
            link->flight_bytes -= unit->size;
        if (unit == link->tail)
            link->tail = NULL;
        link->queued_bytes -= unit_bytes(unit->size);
        link->hooks.release(link->hooks.context, unit, unit_bytes(unit->size));
        link->acked++;
    }
    if (link->sent_end < link->acked) /* only a planted fault gets here */
        link->sent_end = link->acked;
    return is_new;
}

struct jzx__link_unit *jzx__link_queue_sendable(struct jzx__link *link) {
    struct jzx__link_unit *unit = link->cursor;
    if (unit == NULL || unit->seq - link->acked >= link->config.window_units)
        return NULL;
    const bool fits = link->flight_bytes + unit->size <= link->config.window_bytes;
    return fits ? unit : NULL;
}

void jzx__link_queue_sent(struct jzx__link *link) {
    struct jzx__link_unit *unit = link->cursor;
    link->flight_bytes += unit->size;
    if (unit->seq < link->sent_end)
        link->units_resent++;
    else
        link->sent_end = unit->seq + 1;
    link->cursor = unit->next;
}

void jzx__link_queue_rewind(struct jzx__link *link) {
    link->cursor = link->head;
    link->flight_bytes = 0;
    if (JZX__LINK_MUTANT(6) && link->head != NULL && link->head->next != NULL) {
        link->cursor = link->head->next;
        link->flight_bytes = link->head->size;
    }
}

void jzx__link_queue_clear(struct jzx__link *link) {
    release_list(link, link->head);
    link->head = link->cursor = link->tail = NULL;
    link->queued_bytes = link->flight_bytes = 0;
    link->acked = link->sent_end = link->next_seq = 1;
    link->was_full = false;
}
