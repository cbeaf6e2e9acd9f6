/* SPDX-License-Identifier: MIT */
#include "net/place.h"

#include "base/alloc.h"
#include "sched/place.h"

#include <string.h>

bool jzx__net_open_loads(struct jzx_loop *loop, struct jzx__net *net) {
    size_t size = loop->sched.worker_count * sizeof *net->loads;
    net->loads = jzx__alloc(&loop->sched.allocator, size);
    if (net->loads == NULL)
        return false;
    memset(net->loads, 0, size);
    return true;
}

void jzx__net_close_loads(struct jzx_loop *loop, struct jzx__net *net) {
    for (uint32_t i = 0; i < loop->sched.worker_count; i++) {
        /* relaxed: nobody else is left */
        JZX_ASSERT(jzx__atomic_load_relaxed(&net->loads[i].count) == 0);
    }
    jzx__free(&loop->sched.allocator, net->loads, loop->sched.worker_count * sizeof *net->loads);
}

/* ---- counts ---- */

void jzx__socket_uncount(struct jzx__socket *socket) {
    struct jzx__net *net = jzx__net_of(socket->loop);
    if (socket->counted == 0)
        return;
    /* relaxed: a hint for emptiest */
    jzx__atomic_add_relaxed(&net->loads[socket->counted - 1].count, UINT32_MAX);
    socket->counted = 0;
}

void jzx__socket_count(struct jzx__socket *socket, const struct jzx__worker *worker) {
    struct jzx__net *net = jzx__net_of(socket->loop);
    if (socket->counted == worker->index + 1 || socket->loop->sched.worker_count == 1)
        return;
    jzx__socket_uncount(socket);
    /* relaxed: as above */
    jzx__atomic_add_relaxed(&net->loads[worker->index].count, 1u);
    socket->counted = (uint16_t)(worker->index + 1);
}

/* The worker with the fewest sockets. A tie goes to the others: this worker also accepts. */
static struct jzx__worker *emptiest(const struct jzx_loop *loop, struct jzx__worker *me) {
    const struct jzx__net *net = jzx__net_of(loop);
    uint32_t count = loop->sched.worker_count;
    uint32_t fewest = UINT32_MAX;
    uint32_t best = me->index;
    for (uint32_t i = 1; i <= count; i++) {
        uint32_t index = (me->index + i) % count;
        /* relaxed: one more or less does no harm */
        uint32_t sockets = jzx__atomic_load_relaxed(&net->loads[index].count);
        if (sockets < fewest) {
            fewest = sockets;
            best = index;
        }
    }
    return loop->sched.workers[best];
}

/* ---- connections ---- */

/* A program may want its actors to stay (JZX_BALANCE_NONE). */
static bool may_spread(const struct jzx_loop *loop, const struct jzx__worker *me) {
    return me != NULL && loop->sched.worker_count > 1 && loop->sched.balance != JZX_BALANCE_NONE;
}

void jzx__socket_note_place(struct jzx__socket *socket, struct jzx__worker *me,
                            jzx_accept_mode mode) {
    if (mode != JZX_ACCEPT_SPREAD)
        socket->flags |= JZX__SOCKET_STAYS;
    if (mode != JZX_ACCEPT_SPREAD || !may_spread(socket->loop, me))
        return;
    if (jzx__place_accept(me)) {
        jzx__socket_uncount(socket);
        const struct jzx__worker *to = emptiest(socket->loop, me);
        socket->noted = (uint16_t)(to->index + 1);
        jzx__socket_count(socket, to); /* the next one sees it there */
    }
}

void jzx__socket_place_owner(struct jzx__socket *socket, struct jzx__worker *me,
                             struct jzx__actor *actor) {
    uint32_t noted = socket->noted;
    if (socket->flags & JZX__SOCKET_STAYS)
        jzx__place_begin_here(me, &actor->task);
    socket->noted = 0;
    if (noted == 0 || noted == me->index + 1)
        return;
    struct jzx__worker *to = me->sched->workers[noted - 1];
    if (jzx__place_begin_at(me, &actor->task, to))
        jzx__socket_count(socket, to);
}
