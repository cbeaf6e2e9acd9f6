/* SPDX-License-Identifier: MIT */
/* How a loop is set up. A zero field always means the default. */
#ifndef JZX_CONFIG_H
#define JZX_CONFIG_H

#include "jzx/api.h"
#include "jzx/error.h"

#include <stddef.h>
#include <stdint.h>

/* Named values where 0 means the default. */
#define JZX_UNLIMITED UINT32_MAX
#define JZX_NONE (UINT32_MAX - 1u)

/* The defaults that jzx_config_init writes. */
#define JZX_DEFAULT_MAX_ACTORS 16777216u
#define JZX_DEFAULT_MAILBOX_CAP 1024u
#define JZX_DEFAULT_MSGS_PER_ACTOR 128u
#define JZX_DEFAULT_ACTORS_PER_TICK 1024u
#define JZX_DEFAULT_ASYNC_DRAIN 256u

/* The largest mailbox_cap: no mailbox grows without end. */
#define JZX_MAILBOX_CAP_MAX 524287u

/* The largest max_actors; JZX_UNLIMITED means this. */
#define JZX_ACTORS_MAX 4294967040u

/* Where all memory of a loop comes from. Both functions or none (malloc and free) must be set.
 * They are called from every thread that uses the loop, at times from several at once, and must not
 * call into the library. */
typedef struct jzx_allocator {
    /* Returns size bytes, aligned for any type, or NULL. size is never 0. */
    void *(*alloc)(void *ctx, size_t size);
    /* Takes back what alloc returned, with the size that was asked for. ptr is never NULL. */
    void (*free)(void *ctx, void *ptr, size_t size);
    void *ctx;
} jzx_allocator;

typedef enum jzx_log_level {
    JZX_LOG_DEFAULT = 0, /* JZX_LOG_WARN */
    JZX_LOG_OFF = 1,
    JZX_LOG_ERROR = 2,
    JZX_LOG_WARN = 3,
    JZX_LOG_INFO = 4,
    JZX_LOG_DEBUG = 5
} jzx_log_level;

/* Where the runtime writes what an operator should know: one line of text a call, without '\n'. */
typedef struct jzx_log_sink {
    /* NULL: standard error. Called on the thread where it happens; text is valid for the call. */
    void (*write)(void *ctx, jzx_log_level level, const char *text);
    void *ctx;
    jzx_log_level level; /* lines above this level are not written */
} jzx_log_sink;

typedef struct jzx_config {
    size_t size;                  /* sizeof(jzx_config): set by jzx_config_init or JZX_CONFIG */
    jzx_allocator allocator;      /* copied; default malloc and free */
    jzx_log_sink log;             /* copied; default warnings to standard error */
    uint32_t max_actors;          /* alive at once; memory grows with use, not with this bound */
    uint32_t default_mailbox_cap; /* user messages that may wait, 1 .. JZX_MAILBOX_CAP_MAX */
    uint32_t max_msgs_per_actor;  /* messages that an actor handles in one turn at most */
    uint32_t max_actors_per_tick; /* turns between two looks at what came from other threads */
    uint32_t max_async_drain;     /* actors woken by other threads that one look takes in */
} jzx_config;

/* A configuration in place, in C: jzx_loop_create(&JZX_CONFIG(.max_actors = 1000)). In C++ use
 * jzx_config_init. */
#define JZX_CONFIG(...) ((jzx_config){.size = sizeof(jzx_config), __VA_ARGS__})

JZX_BEGIN_C

/* Fills config with the size and the defaults. Any thread. */
JZX_API void jzx_config_init(jzx_config *config);

/* JZX_OK, or JZX_ERR_INVALID_ARG and the name of the first wrong field in *field (a static
 * string; field may be NULL; untouched on success). NULL is a valid configuration: the defaults. */
JZX_API jzx_err jzx_config_check(const jzx_config *config, const char **field);

JZX_END_C

#endif
