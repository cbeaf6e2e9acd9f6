/* SPDX-License-Identifier: MIT */
/* An actor and its wait in words. */
#include "loop/wait_text.h"

#include "actor/info.h"

#include <stdio.h>
#include <string.h>

typedef unsigned long long ull; /* what printf takes on every system */

const char *jzx__loop_label(const struct jzx_loop *loop, jzx_actor_id id, char *text, size_t size) {
    struct jzx__actor *actor = jzx__table_lookup(&loop->table, id);
    jzx_actor_info info;
    if (actor == NULL || !jzx__actor_glance(actor, &info) || info.id != id)
        info.name[0] = '\0';
    snprintf(text, size, "%u.%u%s%s", jzx_id_index(id), jzx_id_generation(id),
             info.name[0] == '\0' ? "" : " ", info.name);
    return text;
}

/* "tag 7", "the end of 3.1", "a message", "a mutex of 3.1 alice". */
static void describe_what(const struct jzx_loop *loop, const jzx_actor_info *info, char *text,
                          size_t size) {
    const char *name = jzx_wait_name(info->wait);
    char who[JZX__LABEL_SIZE];
    switch (info->wait) {
    case JZX_WAIT_TAG: snprintf(text, size, "%s %llu", name, (ull)info->wait_object); break;
    case JZX_WAIT_SENDER:
    case JZX_WAIT_ANSWER:
    case JZX_WAIT_EXIT:
    case JZX_WAIT_ROOM:
        snprintf(text, size, "%s %s", name,
                 jzx__loop_label(loop, info->wait_object, who, sizeof who));
        break;
    case JZX_WAIT_MUTEX:
    case JZX_WAIT_RWLOCK:
        snprintf(text, size, "%s%s%s", name, info->wait_holder == JZX_NOBODY ? "" : " of ",
                 info->wait_holder == JZX_NOBODY
                     ? ""
                     : jzx__loop_label(loop, info->wait_holder, who, sizeof who));
        break;
    default: snprintf(text, size, "%s", name); break;
    }
}

const char *jzx__loop_wait_text(const struct jzx_loop *loop, const jzx_actor_info *info, char *text,
                                size_t size) {
    uint64_t now = jzx_loop_now(loop);
    uint64_t ns = now > info->wait_since_ns ? now - info->wait_since_ns : 0;
    describe_what(loop, info, text, size);
    size_t length = strlen(text);
    snprintf(text + length, size - length, " since %llu.%llu s", (ull)(ns / JZX_SECOND(1)),
             (ull)(ns % JZX_SECOND(1) / JZX_MS(100)));
    return text;
}
