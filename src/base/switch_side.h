/* SPDX-License-Identifier: MIT */
/* What the sanitizers have to know about stacks and switches. In a plain build a side has no bytes
 * and its functions are empty.
 *
 * A **side** is one end of a switch: a fiber, or the thread that resumes fibers. The party that
 * switches calls jzx__switch_before last, jzx__switch, and jzx__switch_after first of all when it
 * is back; the entry of a new stack calls jzx__switch_after first of all, too:
 *
 *     jzx__switch_before(&mine, &theirs);               void entry(void *arg) {
 *     jzx__switch(&my_point, their_point, arg);             jzx__switch_after(&theirs, &mine);
 *     jzx__switch_after(&mine, &theirs);                    ...
 *
 * A stack that is left for ever calls jzx__switch_before_last in place of jzx__switch_before. After
 * that, or to drop a suspended stack that shall not be resumed, the thread calls
 * jzx__switch_side_deinit.
 *
 * Address sanitizer: knows the bounds of each stack, and keeps a "fake stack" of frames per side,
 * which goes with the stack. The bounds of a thread's stack are learned at the first switch from
 * it. Thread sanitizer: a fiber is a thread of its own to it; a switch orders what came before it
 * with what comes after it (flag 0). */
#ifndef JZX_BASE_SWITCH_SIDE_H
#define JZX_BASE_SWITCH_SIDE_H

#include "base/compiler.h"

#include <stdbool.h>
#include <stddef.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define JZX__SWITCH_ASAN 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define JZX__SWITCH_ASAN 1
#endif

#if defined(JZX__SWITCH_ASAN)
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(JZX__HAS_TSAN)
#include <sanitizer/tsan_interface.h>
#endif

/* No bytes in a plain build, which C calls an extension. */
__extension__ struct jzx__switch_side {
#if defined(JZX__SWITCH_ASAN)
    const void *base; /* of its stack */
    size_t size;
    void *fake_stack; /* while it is suspended */
#endif
#if defined(JZX__HAS_TSAN)
    void *fiber;
    bool is_made; /* by us; else it is the thread's own */
#endif
};

/* The side of the thread that resumes fibers. Valid for any thread that uses it from now on, one
 * after the other. */
static inline void jzx__switch_side_init_thread(struct jzx__switch_side *side) {
    (void)side;
#if defined(JZX__SWITCH_ASAN)
    side->base = NULL;
    side->size = 0;
    side->fake_stack = NULL;
#endif
#if defined(JZX__HAS_TSAN)
    side->fiber = NULL;
    side->is_made = false;
#endif
}

/* The side of a new stack, with the bounds that jzx__switch_prepare gets. */
static inline void jzx__switch_side_init(struct jzx__switch_side *side, const void *base,
                                         size_t size) {
    (void)base;
    (void)size;
    jzx__switch_side_init_thread(side);
#if defined(JZX__SWITCH_ASAN)
    side->base = base;
    side->size = size;
#endif
#if defined(JZX__HAS_TSAN)
    side->fiber = __tsan_create_fiber(0);
    side->is_made = true;
#endif
}

static inline void jzx__switch_before(struct jzx__switch_side *from, struct jzx__switch_side *to) {
    (void)from;
    (void)to;
#if defined(JZX__SWITCH_ASAN)
    __sanitizer_start_switch_fiber(&from->fake_stack, to->base, to->size);
#endif
#if defined(JZX__HAS_TSAN)
    if (!from->is_made)
        from->fiber = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(to->fiber, 0);
#endif
}

/* The same for a stack that is not resumed again: its fake stack ends here. */
static inline void jzx__switch_before_last(struct jzx__switch_side *from,
                                           struct jzx__switch_side *to) {
    (void)from;
    (void)to;
#if defined(JZX__SWITCH_ASAN)
    from->fake_stack = NULL;
    __sanitizer_start_switch_fiber(NULL, to->base, to->size);
#endif
#if defined(JZX__HAS_TSAN)
    __tsan_switch_to_fiber(to->fiber, 0);
#endif
}

/* `from` is the side that switched to this one. */
static inline void jzx__switch_after(struct jzx__switch_side *here, struct jzx__switch_side *from) {
    (void)here;
    (void)from;
#if defined(JZX__SWITCH_ASAN)
    __sanitizer_finish_switch_fiber(here->fake_stack, &from->base, &from->size);
    here->fake_stack = NULL;
#endif
}

#if defined(JZX__SWITCH_ASAN)
/* Only a side that leaves for ever frees its fake stack: pretends to be on it and to leave. No
 * frame of this function may lie on a fake stack. */
static __attribute__((noinline, unused, no_sanitize_address)) void
jzx__switch_free_fake_stack(struct jzx__switch_side *side) {
    void *mine = NULL;
    const void *base = NULL;
    size_t size = 0;
    __sanitizer_start_switch_fiber(&mine, side->base, side->size);
    __sanitizer_finish_switch_fiber(side->fake_stack, &base, &size);
    __sanitizer_start_switch_fiber(NULL, base, size);
    __sanitizer_finish_switch_fiber(mine, NULL, NULL);
    side->fake_stack = NULL;
}
#endif

/* Ends the side of a stack that has left for ever, or that is suspended and is dropped. Not on that
 * stack itself. */
static inline void jzx__switch_side_deinit(struct jzx__switch_side *side) {
    (void)side;
#if defined(JZX__SWITCH_ASAN)
    if (side->fake_stack != NULL)
        jzx__switch_free_fake_stack(side);
#endif
#if defined(JZX__HAS_TSAN)
    if (side->is_made)
        __tsan_destroy_fiber(side->fiber);
    side->fiber = NULL;
#endif
}

#endif
