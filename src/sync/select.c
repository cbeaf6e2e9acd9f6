/* SPDX-License-Identifier: MIT */
/* Select: one wait at several sources. What a case waits for is in one table. */
#include "sync/broadcast.h"
#include "sync/channel.h"
#include "sync/gate.h"
#include "sync/object.h"

#include <string.h>

/* What there is to know of a kind of case. */
struct kind {
    /* The object, or NULL: it is none. Sets the source and the slot of the link. */
    struct jzx__object *(*prepare)(const jzx_case *it, struct jzx__wait_link *link);
    /* The wait was won by this case: what it comes to. May be NULL. */
    jzx_err (*finish)(const jzx_case *it, struct jzx__worker *me);
};

/* ---- the kinds ---- */

static struct jzx__object *prepare_receive(const jzx_case *it, struct jzx__wait_link *link) {
    struct jzx__channel *channel = jzx__channel_of(it->object);
    if (channel == NULL || it->value == NULL)
        return NULL;
    link->source = &channel->receivers;
    return &channel->object;
}

static jzx_err finish_receive(const jzx_case *it, struct jzx__worker *me) {
    jzx__channel_take_promised(jzx__channel_of(it->object), it->value, me);
    return JZX_OK;
}

/* One to an unbounded channel would not wait, and may need memory: it is refused. */
static struct jzx__object *prepare_send(const jzx_case *it, struct jzx__wait_link *link) {
    struct jzx__channel *channel = jzx__channel_of(it->object);
    if (channel == NULL || it->value == NULL || channel->bound == JZX_UNBOUNDED)
        return NULL;
    link->source = &channel->senders;
    link->slot = it->value;
    return &channel->object;
}

static struct jzx__object *prepare_gate(const jzx_case *it, struct jzx__wait_link *link) {
    struct jzx__gate *gate = jzx__gate_of(it->object);
    if (gate == NULL)
        return NULL;
    link->source = &gate->signal.source;
    return &gate->signal.object;
}

static struct jzx__object *prepare_read(const jzx_case *it, struct jzx__wait_link *link) {
    jzx_reader *reader = it->object;
    struct jzx__broadcast *broadcast = reader == NULL ? NULL : jzx__broadcast_of(reader->from);
    if (broadcast == NULL || it->value == NULL)
        return NULL;
    link->source = &broadcast->source;
    link->slot = &reader->next;
    return &broadcast->object;
}

static jzx_err finish_read(const jzx_case *it, struct jzx__worker *me) {
    jzx_reader *reader = it->object;
    (void)me;
    return jzx__broadcast_read_now(jzx__broadcast_of(reader->from), reader, it->value);
}

static const struct kind kinds[] = {
    [JZX_CASE_RECEIVE] = {prepare_receive, finish_receive},
    [JZX_CASE_SEND] = {prepare_send, NULL},
    [JZX_CASE_GATE] = {prepare_gate, NULL},
    [JZX_CASE_READ] = {prepare_read, finish_read},
};

/* ---- the wait ---- */

struct selection {
    jzx_case cases[JZX_SELECT_MAX];
    struct jzx__wait_link links[JZX_SELECT_MAX];
    uint32_t count;
    struct jzx__object *object; /* of the first: all are of one loop */
};

static bool prepare_one(struct selection *selection, const jzx_case *it) {
    uint32_t index = selection->count++;
    struct jzx__wait_link *link = &selection->links[index];
    unsigned kind = (unsigned)it->kind;
    if (kind >= sizeof kinds / sizeof kinds[0] || kinds[kind].prepare == NULL)
        return false;
    *link = (struct jzx__wait_link){.index = index};
    struct jzx__object *object = kinds[kind].prepare(it, link);
    if (object == NULL || (index != 0 && object->loop != selection->object->loop))
        return false;
    if (index == 0)
        selection->object = object;
    return true;
}

/* Copies the cases, which are the caller's. */
static bool prepare(struct selection *selection, const jzx_case *cases, size_t count,
                    size_t case_size) {
    selection->count = 0;
    if (cases == NULL || count == 0 || count > JZX_SELECT_MAX || case_size != sizeof(jzx_case))
        return false;
    for (size_t i = 0; i < count; i++) {
        memcpy(&selection->cases[i], &cases[i], sizeof(jzx_case));
        if (!prepare_one(selection, &selection->cases[i]))
            return false;
    }
    return true;
}

static jzx_err select_as(struct jzx__party *party, struct selection *selection,
                         uint64_t deadline_ns, size_t *index) {
    const struct jzx__event event = {.kind = JZX_WAIT_SELECT,
                                     .object = selection->count,
                                     .links = selection->links,
                                     .count = selection->count};
    uint32_t cause = jzx__party_await(party, &event, deadline_ns);
    jzx_err err = jzx__cause_err(cause);
    if (err != JZX_OK && err != JZX_ERR_CLOSED)
        return err;
    *index = jzx__cause_index(cause);
    const jzx_case *won = &selection->cases[*index];
    if (err == JZX_OK && kinds[won->kind].finish != NULL)
        err = kinds[won->kind].finish(won, party->me);
    return err;
}

jzx_err jzx_select(jzx_context *ctx, const jzx_case *cases, size_t count, size_t case_size,
                   uint64_t deadline_ns, size_t *index) {
    struct selection selection;
    struct jzx__party party;
    if (index == NULL || !prepare(&selection, cases, count, case_size))
        return JZX_ERR_INVALID_ARG;
    jzx_err err = jzx__party_begin_fiber(&party, selection.object, ctx, "jzx_select");
    if (err != JZX_OK)
        return err;
    err = select_as(&party, &selection, deadline_ns, index);
    jzx__party_end(&party);
    return err;
}

jzx_err jzx_select_wait(const jzx_case *cases, size_t count, size_t case_size, uint64_t deadline_ns,
                        size_t *index) {
    struct selection selection;
    struct jzx__party party;
    if (index == NULL || !prepare(&selection, cases, count, case_size))
        return JZX_ERR_INVALID_ARG;
    jzx_err err = jzx__party_begin_thread(&party, selection.object, "jzx_select_wait");
    if (err != JZX_OK)
        return err;
    err = select_as(&party, &selection, deadline_ns, index);
    jzx__party_end(&party);
    return err;
}

/* For other languages: the inline functions of the header as symbols. */
extern inline jzx_case jzx_make_case(jzx_case_kind kind, void *object, void *value);
extern inline jzx_case jzx_gate_case(jzx_gate *gate);
