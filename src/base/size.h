/* SPDX-License-Identifier: MIT */
/* Sizes that grow by lengths and counts of a caller. A sum or product beyond SIZE_MAX would wrap
 * round to a small size, and a block of that size would be written beyond its end. So the size of a
 * block comes from here if such a length is part of it and was not bounded before. */
#ifndef JZX_BASE_SIZE_H
#define JZX_BASE_SIZE_H

#include <stdbool.h>
#include <stddef.h>

/* *size grows by more. False, and *size stays, if the sum is no size. */
static inline bool jzx__size_add(size_t *size, size_t more) {
    size_t sum;
    if (__builtin_add_overflow(*size, more, &sum))
        return false;
    *size = sum;
    return true;
}

/* *size becomes that of count elements. False, and *size stays, if the product is no size. */
static inline bool jzx__size_array(size_t *size, size_t count, size_t element_size) {
    size_t product;
    if (__builtin_mul_overflow(count, element_size, &product))
        return false;
    *size = product;
    return true;
}

#endif
