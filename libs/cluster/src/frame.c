/* SPDX-License-Identifier: MIT */
/* Frames of the link to bytes and back. Every length is compared with the bytes that came before
 * it is used. */
#include "frame.h"

#define MAGIC 0x4C4Au /* "JL" */

static void put_u16(uint8_t *out, uint32_t value) {
    out[0] = (uint8_t)value;
    out[1] = (uint8_t)(value >> 8);
}

void jzx__frame_put_u32(uint8_t *out, uint32_t value) {
    put_u16(out, value & 0xFFFF);
    put_u16(out + 2, value >> 16);
}

static void put_u64(uint8_t *out, uint64_t value) {
    jzx__frame_put_u32(out, (uint32_t)value);
    jzx__frame_put_u32(out + 4, (uint32_t)(value >> 32));
}

static uint16_t get_u16(const uint8_t *bytes) {
    return (uint16_t)(bytes[0] | (unsigned)bytes[1] << 8);
}

uint32_t jzx__frame_u32(const uint8_t *bytes) {
    return get_u16(bytes) | (uint32_t)get_u16(bytes + 2) << 16;
}

static uint64_t get_u64(const uint8_t *bytes) {
    return jzx__frame_u32(bytes) | (uint64_t)jzx__frame_u32(bytes + 4) << 32;
}

bool jzx__frame_read(struct jzx__frame *frame, const void *bytes, size_t size) {
    const uint8_t *at = bytes;
    if (size < JZX__FRAME_HEADER || size > JZX__FRAME_MAX || get_u16(at) != MAGIC)
        return false;
    *frame = (struct jzx__frame){
        .version = at[2],
        .type = at[3],
        .flags = get_u16(at + 4),
        .count = get_u16(at + 6),
        .source = get_u64(at + 8),
        .destination = get_u64(at + 16),
        .seq = get_u64(at + 24),
        .ack = get_u64(at + 32),
        .body = at + JZX__FRAME_HEADER,
        .body_size = size - JZX__FRAME_HEADER,
    };
    if (frame->source >> 32 == 0 || (uint32_t)frame->source == 0)
        return false;
    switch (frame->type) {
    case JZX__FRAME_HELLO: return frame->body_size >= JZX__FRAME_HELLO_BODY;
    case JZX__FRAME_DATA: return frame->count > 0;
    case JZX__FRAME_ACK:
    case JZX__FRAME_GOODBYE: return frame->body_size == 0 && frame->count == 0;
    case JZX__FRAME_REFUSE: return frame->body_size == JZX__FRAME_REFUSE_BODY;
    default: return (frame->type & JZX__FRAME_OPTIONAL) != 0;
    }
}

bool jzx__frame_units_are_valid(const struct jzx__frame *frame, uint32_t message_max) {
    size_t at = 0;
    for (unsigned i = 0; i < frame->count; i++) {
        if (frame->body_size - at < JZX__FRAME_UNIT_HEADER)
            return false;
        const uint32_t size = jzx__frame_u32(frame->body + at);
        const uint32_t total = jzx__frame_u32(frame->body + at + 4);
        at += JZX__FRAME_UNIT_HEADER;
        if (size > frame->body_size - at || size > total || total > message_max)
            return false;
        if (size == 0 && total > 0)
            return false;
        at += size;
    }
    return at == frame->body_size;
}

struct jzx__frame_unit jzx__frame_unit_next(const struct jzx__frame *frame, size_t *at) {
    const uint8_t *head = frame->body + *at;
    const struct jzx__frame_unit unit = {
        .bytes = head + JZX__FRAME_UNIT_HEADER,
        .size = jzx__frame_u32(head),
        .total = jzx__frame_u32(head + 4),
    };
    *at += JZX__FRAME_UNIT_HEADER + unit.size;
    return unit;
}

void jzx__frame_put_header(uint8_t *out, const struct jzx__frame *frame) {
    put_u16(out, MAGIC);
    out[2] = frame->version;
    out[3] = frame->type;
    put_u16(out + 4, frame->flags);
    put_u16(out + 6, frame->count);
    put_u64(out + 8, frame->source);
    put_u64(out + 16, frame->destination);
    put_u64(out + 24, frame->seq);
    put_u64(out + 32, frame->ack);
}
