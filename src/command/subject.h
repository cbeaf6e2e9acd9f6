/* SPDX-License-Identifier: MIT */
/* A subject: an actor of a processor, from the reservation of its handle to its end. */
#ifndef JZX_COMMAND_SUBJECT_H
#define JZX_COMMAND_SUBJECT_H

#include "command/core.h"

/* A message in the inbox of an async actor. */
struct jzx__parcel {
    size_t size;
    jzx_action action;
    _Alignas(16) unsigned char data[];
};

/* What an async actor has. Only its fiber touches the list and the message. */
struct jzx_inbox {
    struct jzx_processor *processor;
    struct jzx__subject *subject;
    jzx_channel messages; /* of struct jzx__parcel * */
    struct jzx_actions out;
    struct jzx__roll roll;
    struct jzx__parcel *current;
    struct jzx__input end; /* P7 */
    bool is_open;          /* under the processor's lock, as what follows: P6 */
    bool has_ended;        /* its end is an input */
    bool fiber_ended;
    bool has_brought_end; /* the fiber's own */
    jzx_actor_id fiber;   /* JZX_NOBODY: none, or it has ended */
    uint64_t generation;  /* of the iteration that may still be heard */
    uint64_t told_in;     /* the last tick that has spawned it or sent to it: P9; the runner's */
};

struct jzx__subject {
    jzx_processor_handle handle;
    jzx_processor_handle parent; /* that has reserved it */
    jzx_registered kind;
    bool is_internal;
    bool is_made;        /* create has succeeded */
    uint8_t stage;       /* of the middleware, from 1; 0: none */
    uint32_t references; /* P8; under the processor's lock */
    const jzx_actor_factory *factory;
    jzx_actor_factory made_of; /* a copy, of this library's size */
    void *state;
    struct jzx_inbox *inbox; /* of an async actor */
    size_t config_len;
    _Alignas(16) unsigned char config[];
};

/* What its functions are called with. */
static inline void *jzx__subject_state(const struct jzx__subject *subject) {
    return subject->made_of.state_size == 0 ? NULL : subject->state;
}

/* ---- the registry; the runner's ---- */

/* NULL if there is none. */
struct jzx__subject *jzx__roster_find(const struct jzx__roster *registry,
                                      jzx_processor_handle handle);

/* Makes room for one more; false without memory. */
bool jzx__roster_reserve(struct jzx__roster *registry, const jzx_allocator *allocator);

/* There is room. */
void jzx__roster_add(struct jzx__roster *registry, struct jzx__subject *subject);
void jzx__roster_remove(struct jzx__roster *registry, jzx_processor_handle handle);
void jzx__roster_deinit(struct jzx__roster *registry, const jzx_allocator *allocator);

/* ---- subjects ---- */

/* What one is reserved with. */
struct jzx__subject_spec {
    const jzx_actor_factory *factory;
    const void *config;
    size_t config_len;
    jzx_processor_handle parent;
    bool is_internal;
};

/* A copy of this library's size; false if it is no factory. */
bool jzx__factory_read(const jzx_actor_factory *factory, jzx_actor_factory *full);

/* A reservation, in the registry, with all the memory that its spawn needs. JZX_ERR_INVALID_ARG,
 * JZX_ERR_NO_MEMORY. */
jzx_err jzx__subject_reserve(struct jzx_processor *processor, const struct jzx__subject_spec *spec,
                             jzx_processor_handle handle, struct jzx__subject **subject);

/* Has it made by another factory instead. Errors as above: then nothing has changed. */
jzx_err jzx__subject_replace(struct jzx_processor *processor, struct jzx__subject *subject,
                             const jzx_actor_factory *factory);

/* Gives up a reference (P8). Not under the lock. */
void jzx__subject_release(struct jzx_processor *processor, struct jzx__subject *subject);

#endif
