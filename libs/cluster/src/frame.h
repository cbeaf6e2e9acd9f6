/* SPDX-License-Identifier: MIT */
/* The wire form of the link: a header of 40 bytes, little-endian, and a body.
 *
 *   0 magic u16 | 2 version u8 | 3 type u8 | 4 flags u16 | 6 count u16
 *   8 source tag u64 | 16 destination tag u64 | 24 seq u64 | 32 ack u64
 *
 * A tag is an incarnation (upper half) and an epoch. The body of DATA is `count` units: the size of
 * the unit u32, the size of its message u32, and the bytes. The body of HELLO is the longest
 * message of its node u32 and its features u32. A later version may append to it. The layout of
 * the header and of HELLO never changes, so that nodes of any two versions can refuse each other
 * in words. */
#ifndef JZX_CLUSTER_FRAME_H
#define JZX_CLUSTER_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JZX__FRAME_MAX 16384u
#define JZX__FRAME_MIN_MAX 256u /* the smallest that a configuration may ask for */
#define JZX__FRAME_HEADER 40u
#define JZX__FRAME_UNIT_HEADER 8u
#define JZX__FRAME_HELLO_BODY 8u
#define JZX__FRAME_REFUSE_BODY 4u

enum jzx__frame_type {
    JZX__FRAME_HELLO = 1,
    JZX__FRAME_DATA = 2,
    JZX__FRAME_ACK = 3, /* also the heartbeat */
    JZX__FRAME_GOODBYE = 4,
    JZX__FRAME_REFUSE = 5,
    JZX__FRAME_OPTIONAL = 0x80, /* a type with this bit may be skipped if it is unknown */
};

enum { JZX__FRAME_NACK = 1 }; /* flag: units from `ack` on are missing */

struct jzx__frame {
    uint8_t version;
    uint8_t type;
    uint16_t flags;
    uint16_t count;
    uint64_t source;
    uint64_t destination;
    uint64_t seq; /* of the first unit */
    uint64_t ack; /* the next unit that the sender of this frame expects */
    const uint8_t *body;
    size_t body_size;
};

struct jzx__frame_unit {
    const uint8_t *bytes;
    uint32_t size;
    uint32_t total; /* of the message; larger than size: this is a piece of it */
};

/* False: not a frame of ours, or its size and contents disagree. Pointers are into `bytes`. */
bool jzx__frame_read(struct jzx__frame *frame, const void *bytes, size_t size);

/* Whether the body of a DATA frame is exactly `count` units whose messages are within a limit. */
bool jzx__frame_units_are_valid(const struct jzx__frame *frame, uint32_t message_max);

/* The unit at *at of a valid body; moves *at behind it. */
struct jzx__frame_unit jzx__frame_unit_next(const struct jzx__frame *frame, size_t *at);

uint32_t jzx__frame_u32(const uint8_t *bytes);

/* Writers of fixed parts; the caller has checked the room. */
void jzx__frame_put_header(uint8_t *out, const struct jzx__frame *frame);
void jzx__frame_put_u32(uint8_t *out, uint32_t value);

#endif
