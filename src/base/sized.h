/* SPDX-License-Identifier: MIT */
/* Public structs of programs that were compiled with an older header: their size says how much of a
 * struct they know. What they do not know is 0 when it is read, and not written. A size of which
 * not even the first field is there, or beyond this library's, is refused: see jzx/api.h. */
#ifndef JZX_BASE_SIZED_H
#define JZX_BASE_SIZED_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* Reads one of size bytes into one of full bytes. All public structs begin with a word. */
static inline bool jzx__read_part(void *to, size_t full, const void *from, size_t size) {
    if (from == NULL || size < sizeof(size_t) || size > full)
        return false;
    memcpy(to, from, size);
    memset((char *)to + size, 0, full - size);
    return true;
}

/* The size that a struct begins with. */
static inline size_t jzx__size_of(const void *sized) {
    size_t size;
    memcpy(&size, sized, sizeof size);
    return size;
}

/* The same for a struct that begins with its size, which is full in the copy. */
static inline bool jzx__read_sized(void *to, size_t full, const void *from) {
    if (from == NULL || !jzx__read_part(to, full, from, jzx__size_of(from)))
        return false;
    memcpy(to, &full, sizeof full);
    return true;
}

/* True if to is a struct that jzx__write_sized can fill. */
static inline bool jzx__is_sized(const void *to, size_t full) {
    return to != NULL && jzx__size_of(to) >= sizeof(size_t) && jzx__size_of(to) <= full;
}

/* Fills as much as the caller knows, and leaves its size as it is. */
static inline void jzx__write_sized(void *to, const void *from) {
    const size_t head = sizeof(size_t);
    memcpy((char *)to + head, (const char *)from + head, jzx__size_of(to) - head);
}

/* For the init functions: the same into memory that says nothing yet. False if size is wrong. */
static inline bool jzx__init_sized(void *to, size_t size, const void *from, size_t full) {
    if (to == NULL || size < sizeof size || size > full)
        return false;
    memcpy(to, &size, sizeof size);
    jzx__write_sized(to, from);
    return true;
}

#endif
