/* SPDX-License-Identifier: MIT */
/* Actors that most programs need, the sync ones: they hold a copy of their config, and a scan its
 * total. */
#include "jzx/processor.h"

#include <string.h>

static jzx_message message_of(const jzx_action *msg) {
    return (jzx_message){.data = (void *)(uintptr_t)msg->data, .len = msg->len, .tag = msg->tag};
}

static void send(jzx_actions *out, jzx_processor_handle to, const jzx_message *msg) {
    (void)jzx_actions_send(out, to, msg->tag, msg->data, msg->len);
}

/* ---- map ---- */

static jzx_err create_map(void *state, jzx_processor_handle self, const void *config, size_t len) {
    jzx_map_config *map = state;
    (void)self;
    if (len != sizeof *map)
        return JZX_ERR_INVALID_ARG;
    memcpy(map, config, sizeof *map);
    return map->fn == NULL ? JZX_ERR_INVALID_ARG : JZX_OK;
}

static void handle_map(void *state, const jzx_action *msg, jzx_actions *out) {
    const jzx_map_config *map = state;
    const jzx_message in = message_of(msg);
    const jzx_message made = map->fn(map->arg, &in);
    send(out, map->to, &made);
}

const jzx_actor_factory jzx_map_actor =
    JZX_ACTOR_FACTORY(.type = "map", .state_size = sizeof(jzx_map_config), .create = create_map,
                      .handle = handle_map);

/* ---- filter ---- */

static jzx_err create_filter(void *state, jzx_processor_handle self, const void *config,
                             size_t len) {
    jzx_filter_config *filter = state;
    (void)self;
    if (len != sizeof *filter)
        return JZX_ERR_INVALID_ARG;
    memcpy(filter, config, sizeof *filter);
    return filter->fn == NULL ? JZX_ERR_INVALID_ARG : JZX_OK;
}

static void handle_filter(void *state, const jzx_action *msg, jzx_actions *out) {
    const jzx_filter_config *filter = state;
    const jzx_message in = message_of(msg);
    if (filter->fn(filter->arg, &in))
        send(out, filter->to, &in);
}

const jzx_actor_factory jzx_filter_actor =
    JZX_ACTOR_FACTORY(.type = "filter", .state_size = sizeof(jzx_filter_config),
                      .create = create_filter, .handle = handle_filter);

/* ---- flat map ---- */

static jzx_err create_flat_map(void *state, jzx_processor_handle self, const void *config,
                               size_t len) {
    jzx_flat_map_config *flat_map = state;
    (void)self;
    if (len != sizeof *flat_map)
        return JZX_ERR_INVALID_ARG;
    memcpy(flat_map, config, sizeof *flat_map);
    return flat_map->fn == NULL ? JZX_ERR_INVALID_ARG : JZX_OK;
}

static void handle_flat_map(void *state, const jzx_action *msg, jzx_actions *out) {
    const jzx_flat_map_config *flat_map = state;
    const jzx_message in = message_of(msg);
    flat_map->fn(flat_map->arg, &in, flat_map->to, out);
}

const jzx_actor_factory jzx_flat_map_actor =
    JZX_ACTOR_FACTORY(.type = "flat_map", .state_size = sizeof(jzx_flat_map_config),
                      .create = create_flat_map, .handle = handle_flat_map);

/* ---- scan ---- */

struct scan {
    _Alignas(16) unsigned char total[JZX_SCAN_SIZE];
    jzx_scan_config config;
};

static jzx_err create_scan(void *state, jzx_processor_handle self, const void *config, size_t len) {
    struct scan *scan = state;
    (void)self;
    if (len != sizeof scan->config)
        return JZX_ERR_INVALID_ARG;
    memcpy(&scan->config, config, sizeof scan->config);
    return scan->config.fn == NULL ? JZX_ERR_INVALID_ARG : JZX_OK;
}

static void handle_scan(void *state, const jzx_action *msg, jzx_actions *out) {
    struct scan *scan = state;
    const jzx_message in = message_of(msg);
    const jzx_message made = scan->config.fn(scan->config.arg, scan->total, &in);
    send(out, scan->config.to, &made);
}

const jzx_actor_factory jzx_scan_actor =
    JZX_ACTOR_FACTORY(.type = "scan", .state_size = sizeof(struct scan), .create = create_scan,
                      .handle = handle_scan);

/* ---- broadcast ---- */

struct broadcast {
    size_t count;
    jzx_processor_handle targets[JZX_BROADCAST_TARGETS_MAX];
};

static jzx_err create_broadcast(void *state, jzx_processor_handle self, const void *config,
                                size_t len) {
    struct broadcast *broadcast = state;
    (void)self;
    if (len % sizeof(jzx_processor_handle) != 0 || len > sizeof broadcast->targets)
        return JZX_ERR_INVALID_ARG;
    broadcast->count = len / sizeof(jzx_processor_handle);
    memcpy(broadcast->targets, config, len);
    return JZX_OK;
}

static void handle_broadcast(void *state, const jzx_action *msg, jzx_actions *out) {
    const struct broadcast *broadcast = state;
    const jzx_message in = message_of(msg);
    for (size_t i = 0; i < broadcast->count; i++)
        send(out, broadcast->targets[i], &in);
}

const jzx_actor_factory jzx_broadcast_actor =
    JZX_ACTOR_FACTORY(.type = "broadcast", .state_size = sizeof(struct broadcast),
                      .create = create_broadcast, .handle = handle_broadcast);
