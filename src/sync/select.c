/* SPDX-License-Identifier: MIT */
/* Select: one wait at several sources. What a case waits for is in one table. */
#include "base/alloc.h"
#include "future/future.h"
#include "sync/broadcast.h"
#include "sync/channel.h"
#include "sync/gate.h"
#include "sync/object.h"
#include "sync/to.h"

#include "jzx/heap.h"

#include <string.h>

/* What there is to know of a kind of case. */
struct kind {
    /* Sets the source and the slot of the link; the object, which a future has not. False: it is
     * none. */
    bool (*prepare)(const jzx_case *it, struct jzx__wait_link *link, struct jzx__object **object);
    /* The wait was won by this case: what it comes to. May be NULL, as the next. */
    jzx_err (*finish)(const jzx_case *it, struct jzx__worker *me);
    /* An operation will finish it later, so a future has to stay; or does not any more. */
    void (*keep)(const jzx_case *it, bool stays);
};

/* ---- the kinds ---- */

static bool prepare_receive(const jzx_case *it, struct jzx__wait_link *link,
                            struct jzx__object **object) {
    struct jzx__channel *channel = jzx__channel_of(it->object);
    if (channel == NULL || it->value == NULL)
        return false;
    link->source = &channel->receivers;
    *object = &channel->object;
    return true;
}

static jzx_err finish_receive(const jzx_case *it, struct jzx__worker *me) {
    jzx__channel_take_promised(jzx__channel_of(it->object), it->value, me);
    return JZX_OK;
}

/* One to an unbounded channel would not wait, and may need memory: it is refused. */
static bool prepare_send(const jzx_case *it, struct jzx__wait_link *link,
                         struct jzx__object **object) {
    struct jzx__channel *channel = jzx__channel_of(it->object);
    if (channel == NULL || it->value == NULL || channel->bound == JZX_UNBOUNDED)
        return false;
    link->source = &channel->senders;
    link->slot = it->value;
    *object = &channel->object;
    return true;
}

static bool prepare_gate(const jzx_case *it, struct jzx__wait_link *link,
                         struct jzx__object **object) {
    struct jzx__gate *gate = jzx__gate_of(it->object);
    if (gate == NULL)
        return false;
    link->source = &gate->signal.source;
    *object = &gate->signal.object;
    return true;
}

static struct jzx__broadcast *broadcast_of(const jzx_case *it) {
    const jzx_reader *reader = it->object;
    return reader == NULL ? NULL : jzx__broadcast_of(reader->from);
}

static bool prepare_read(const jzx_case *it, struct jzx__wait_link *link,
                         struct jzx__object **object) {
    jzx_reader *reader = it->object;
    struct jzx__broadcast *broadcast = broadcast_of(it);
    if (broadcast == NULL || it->value == NULL)
        return false;
    link->source = &broadcast->source;
    link->slot = &reader->next;
    *object = &broadcast->object;
    return true;
}

static jzx_err finish_read(const jzx_case *it, struct jzx__worker *me) {
    (void)me;
    return jzx__broadcast_read_now(broadcast_of(it), it->object, it->value);
}

/* One that nobody has started would never come. */
static bool prepare_future(const jzx_case *it, struct jzx__wait_link *link,
                           struct jzx__object **object) {
    struct jzx_future *future = it->object;
    if (future == NULL || jzx__future_state(future) == JZX_FUTURE_PENDING)
        return false;
    link->source = &future->source;
    *object = NULL;
    return true;
}

static jzx_err finish_future(const jzx_case *it, struct jzx__worker *me) {
    (void)me;
    return jzx__future_read(it->object, it->value);
}

static void keep_future(const jzx_case *it, bool stays) {
    if (stays)
        (void)jzx_future_ref(it->object);
    else
        jzx_future_release(it->object);
}

static const struct kind kinds[] = {
    [JZX_CASE_RECEIVE] = {prepare_receive, finish_receive, NULL},
    [JZX_CASE_SEND] = {prepare_send, NULL, NULL},
    [JZX_CASE_GATE] = {prepare_gate, NULL, NULL},
    [JZX_CASE_READ] = {prepare_read, finish_read, NULL},
    [JZX_CASE_FUTURE] = {prepare_future, finish_future, keep_future},
};

/* ---- the wait ---- */

/* Bytes for each case of a selection: copies of all cases, and their links behind them. */
#define EACH (sizeof(jzx_case) + sizeof(struct jzx__wait_link))
_Static_assert(sizeof(jzx_case) % _Alignof(struct jzx__wait_link) == 0, "links follow cases");

/* Up to this number the cases are on the stack of the call, or in the record of the operation. More
 * cases take a block: from the fiber's own heap, so that it goes with a fiber that is ended in
 * the wait, and else from the loop's allocator. */
#define SMALL 16u

struct small {
    _Alignas(jzx_case) unsigned char bytes[SMALL * EACH];
};

struct selection {
    jzx_case *cases; /* NULL: they were only looked at */
    struct jzx__wait_link *links;
    uint32_t count;
    uint32_t futures;           /* of the cases */
    struct jzx__object *object; /* of the first that has one: all are of one loop; or NULL */
};

static bool prepare_one(struct selection *selection, uint32_t index, const jzx_case *it,
                        struct jzx__wait_link *link) {
    struct jzx__object *object;
    unsigned kind = (unsigned)it->kind;
    if (kind >= sizeof kinds / sizeof kinds[0] || kinds[kind].prepare == NULL)
        return false;
    *link = (struct jzx__wait_link){.index = index};
    if (!kinds[kind].prepare(it, link, &object))
        return false;
    if (object == NULL)
        selection->futures++;
    else if (selection->object == NULL)
        selection->object = object;
    return object == NULL || object->loop == selection->object->loop;
}

/* Copies the cases, which are the caller's, if there is a place for them (else NULL). */
static bool prepare(struct selection *selection, void *place, const jzx_case *cases,
                    uint32_t count) {
    struct jzx__wait_link unused;
    selection->cases = place;
    selection->links = place == NULL ? NULL : (void *)&selection->cases[count];
    selection->count = count;
    selection->futures = 0;
    selection->object = NULL;
    for (uint32_t i = 0; i < count; i++) {
        const jzx_case *it = &cases[i];
        if (selection->cases != NULL)
            it = memcpy(&selection->cases[i], it, sizeof *it);
        if (!prepare_one(selection, i, it,
                         selection->links == NULL ? &unused : &selection->links[i]))
            return false;
    }
    return true;
}

/* Too many cases for *small (or any, if small is NULL) are only checked: they need a block. */
static bool begin(struct selection *selection, struct small *small, const jzx_case *cases,
                  size_t count, size_t case_size) {
    if (cases == NULL || count == 0 || count > JZX_SELECT_MAX || case_size != sizeof(jzx_case))
        return false;
    return prepare(selection, count <= SMALL ? small : NULL, cases, (uint32_t)count);
}

static jzx_err finish(const jzx_case *won, struct jzx__worker *me) {
    return kinds[won->kind].finish == NULL ? JZX_OK : kinds[won->kind].finish(won, me);
}

static jzx_err select_as(struct jzx__party *party, struct selection *selection,
                         uint64_t deadline_ns, size_t *index) {
    const struct jzx__event event = {.kind = JZX_WAIT_SELECT,
                                     .object = selection->count,
                                     .links = selection->links,
                                     .count = selection->count};
    jzx__sources_ref(selection->links, selection->count);
    uint32_t cause = jzx__party_await(party, &event, deadline_ns);
    jzx_err err = jzx__cause_err(cause);
    if (err == JZX_OK || err == JZX_ERR_CLOSED)
        *index = jzx__cause_index(cause);
    if (err == JZX_OK)
        err = finish(&selection->cases[*index], party->me);
    jzx__sources_release(selection->links, selection->count);
    return err;
}

static jzx_err select_in_fiber(jzx_context *ctx, struct selection *selection, uint64_t deadline_ns,
                               size_t *index) {
    struct jzx__party party;
    jzx_err err = jzx__party_begin_fiber(&party, selection->object, ctx, "jzx_select");
    if (err != JZX_OK)
        return err;
    err = select_as(&party, selection, deadline_ns, index);
    jzx__party_end(&party);
    return err;
}

/* Both look up the turn that this thread is in. */
static JZX_ACROSS_WAIT void *take_block(jzx_context *ctx, size_t count) {
    return jzx_alloc(ctx, count * EACH);
}

static JZX_ACROSS_WAIT void give_block(jzx_context *ctx, void *block) {
    jzx_free(ctx, block);
}

/* There is no block: the context is no fiber's, or there is no memory. */
static jzx_err refuse_block(jzx_context *ctx, const struct selection *selection) {
    struct jzx__party party;
    jzx_err err = jzx__party_begin_fiber(&party, selection->object, ctx, "jzx_select");
    if (err != JZX_OK)
        return err;
    jzx__party_end(&party);
    return JZX_ERR_NO_MEMORY;
}

jzx_err jzx_select(jzx_context *ctx, const jzx_case *cases, size_t count, size_t case_size,
                   uint64_t deadline_ns, size_t *index) {
    struct small small;
    struct selection selection;
    if (index == NULL || !begin(&selection, &small, cases, count, case_size))
        return JZX_ERR_INVALID_ARG;
    if (selection.cases != NULL)
        return select_in_fiber(ctx, &selection, deadline_ns, index);
    void *block = take_block(ctx, count);
    if (block == NULL)
        return refuse_block(ctx, &selection);
    jzx_err err = prepare(&selection, block, cases, (uint32_t)count)
                      ? select_in_fiber(ctx, &selection, deadline_ns, index)
                      : JZX_ERR_INVALID_ARG;
    give_block(ctx, block);
    return err;
}

/* On a thread, in a block of the loop's allocator. */
static jzx_err select_in_block(struct jzx__party *party, struct selection *selection,
                               const jzx_case *cases, uint64_t deadline_ns, size_t *index) {
    const jzx_allocator allocator = selection->object->loop->sched.allocator;
    const size_t size = selection->count * EACH;
    void *block = jzx__alloc(&allocator, size);
    if (block == NULL)
        return JZX_ERR_NO_MEMORY;
    jzx_err err = prepare(selection, block, cases, selection->count)
                      ? select_as(party, selection, deadline_ns, index)
                      : JZX_ERR_INVALID_ARG;
    jzx__free(&allocator, block, size);
    return err;
}

jzx_err jzx_select_wait(const jzx_case *cases, size_t count, size_t case_size, uint64_t deadline_ns,
                        size_t *index) {
    struct small small;
    struct selection selection;
    struct jzx__party party;
    if (index == NULL || !begin(&selection, &small, cases, count, case_size) ||
        selection.futures != 0)
        return JZX_ERR_INVALID_ARG;
    jzx_err err = jzx__party_begin_thread(&party, selection.object, "jzx_select_wait");
    if (err != JZX_OK)
        return err;
    err = selection.cases != NULL ? select_as(&party, &selection, deadline_ns, index)
                                  : select_in_block(&party, &selection, cases, deadline_ns, index);
    jzx__party_end(&party);
    return err;
}

/* ---- as an operation ---- */

struct select_to {
    struct jzx__to to; /* first */
    struct selection selection;
    bool is_kept;      /* what the cases need to stay for it was told so */
    void *block;       /* of those that are not small, which have a record without what follows; */
    size_t block_size; /* freed with it */
    struct small small;
};

/* The index is known, and the case is finished when the message is handled. */
static jzx_err settle(struct jzx__to *to, jzx_err err, struct jzx__worker *me, size_t *len) {
    size_t *index = jzx__to_data(to);
    (void)me;
    *index = jzx__cause_index(to->cause);
    *len = err == JZX_OK || err == JZX_ERR_CLOSED ? sizeof *index : 0;
    return err;
}

static bool handle(struct jzx__to *to, struct jzx__worker *me, struct jzx__actor *owner) {
    const struct select_to *it = (void *)to;
    (void)owner;
    jzx__to_result(to)->err =
        (int16_t)finish(&it->selection.cases[jzx__cause_index(to->cause)], me);
    return true;
}

static void keep_all(const struct selection *selection, bool stays) {
    for (uint32_t i = 0; i < selection->count; i++) {
        const jzx_case *it = &selection->cases[i];
        if (kinds[it->kind].keep != NULL)
            kinds[it->kind].keep(it, stays);
    }
}

static void release_record(struct jzx__to *to, struct jzx__worker *me) {
    struct select_to *it = (void *)to;
    (void)me;
    if (it->is_kept)
        keep_all(&it->selection, false);
    if (it->block != NULL)
        jzx__free(&to->op->loop->sched.allocator, it->block, it->block_size);
}

static void *take_record_block(struct select_to *it, size_t count) {
    it->block_size = count * EACH;
    it->block = jzx__alloc(&it->to.op->loop->sched.allocator, it->block_size);
    return it->block;
}

static const struct jzx__to_kind select_kind = {
    .settle = settle, .handle = handle, .release = release_record};

jzx_err jzx_select_to(jzx_context *ctx, const jzx_case *cases, size_t count, size_t case_size,
                      uint32_t tag, jzx_op *op) {
    struct selection selection;
    struct jzx__to_call call;
    if (!begin(&selection, NULL, cases, count, case_size))
        return JZX_ERR_INVALID_ARG;
    const bool is_small = count <= SMALL;
    const struct jzx__to_spec spec = {.object = selection.object,
                                      .kind = &select_kind,
                                      .record_size = is_small ? sizeof(struct select_to)
                                                              : offsetof(struct select_to, small),
                                      .capacity = sizeof(size_t),
                                      .tag = tag};
    jzx_err err = jzx__to_begin(&call, &spec, ctx);
    if (err != JZX_OK)
        return err;
    struct select_to *it = (void *)call.to;
    void *place = is_small ? &it->small : take_record_block(it, count);
    if (place == NULL)
        return jzx__to_refuse(&call, JZX_ERR_NO_MEMORY);
    if (!prepare(&it->selection, place, cases, (uint32_t)count)) /* somebody changed them */
        return jzx__to_refuse(&call, JZX_ERR_INVALID_ARG);
    keep_all(&it->selection, true);
    it->is_kept = true;
    jzx__to_start(&call, it->selection.links, it->selection.count, op);
    return JZX_OK;
}

/* For other languages: the inline functions of the header as symbols. */
extern inline jzx_case jzx_make_case(jzx_case_kind kind, void *object, void *value);
extern inline jzx_case jzx_gate_case(jzx_gate *gate);
extern inline jzx_case jzx_future_case(jzx_future *future, void *value);
