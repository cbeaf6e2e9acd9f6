/* SPDX-License-Identifier: MIT */
/* Writing recordings, reading them, and giving them to a processor. */
#include "command/recording.h"

#include "base/alloc.h"
#include "base/assert.h"
#include "command/processor.h"

#include <string.h>

#define HEAD_SIZE 8u
#define ENTRY_SIZE 24u  /* without its actions */
#define ACTION_SIZE 32u /* without its bytes */
#define END_SIZE (ENTRY_SIZE + ACTION_SIZE)
#define VERSION 2u
#define TAPE_FIRST 1024u

static const unsigned char head[HEAD_SIZE] = {'J', 'Z', 'X', 'R', VERSION, 0, 0, 0};

/* ---- writing ---- */

static bool has_room(struct jzx_processor *processor, size_t size) {
    struct jzx__tape *tape = &processor->recording;
    const size_t needed = tape->used + tape->reserved + size;
    if (needed <= tape->capacity)
        return true;
    size_t capacity = tape->capacity == 0 ? TAPE_FIRST : tape->capacity * 2;
    while (capacity < needed)
        capacity *= 2;
    unsigned char *data = jzx__alloc(&processor->allocator, capacity);
    if (data == NULL)
        return false;
    if (tape->used != 0)
        memcpy(data, tape->data, tape->used);
    if (tape->data != NULL)
        jzx__free(&processor->allocator, tape->data, tape->capacity);
    tape->data = data;
    tape->capacity = capacity;
    return true;
}

static void store(unsigned char *to, uint64_t value, unsigned bytes) {
    for (unsigned i = 0; i < bytes; i++)
        to[i] = (unsigned char)(value >> (8 * i));
}

/* There is room. */
static void put(struct jzx__tape *tape, uint64_t value, unsigned bytes) {
    store(tape->data + tape->used, value, bytes);
    tape->used += bytes;
}

static void put_action(struct jzx__tape *tape, const struct jzx__record *record) {
    const jzx_action *action = &record->action;
    put(tape, (uint64_t)action->kind, 1);
    put(tape, record->stage, 1);
    put(tape, record->is_internal, 1);
    put(tape, record->is_frozen, 1);
    put(tape, (uint32_t)action->error, 4);
    put(tape, action->source, 8);
    put(tape, action->target, 8);
    put(tape, action->tag, 4);
    put(tape, action->len, 4);
    if (action->len != 0)
        memcpy(tape->data + tape->used, action->data, action->len);
    tape->used += action->len;
}

bool jzx__recording_begin(struct jzx_processor *processor) {
    if (!processor->is_recorded)
        return true;
    if (!has_room(processor, HEAD_SIZE))
        return false;
    memcpy(processor->recording.data, head, HEAD_SIZE);
    processor->recording.used = HEAD_SIZE;
    return true;
}

bool jzx__recording_reserve(struct jzx_processor *processor) {
    if (!processor->is_recorded)
        return true;
    if (!has_room(processor, END_SIZE))
        return false;
    processor->recording.reserved += END_SIZE;
    return true;
}

void jzx__recording_unreserve(struct jzx_processor *processor) {
    if (processor->is_recorded)
        processor->recording.reserved -= END_SIZE;
}

bool jzx__recording_add(struct jzx_processor *processor, struct jzx__input *input) {
    struct jzx__tape *tape = &processor->recording;
    struct jzx__chunk *chunk;
    size_t size = ENTRY_SIZE;
    uint32_t count = 0;
    if (!processor->is_recorded)
        return true;
    for (struct jzx__record *record = jzx__roll_next(&input->roll, &chunk, NULL); record != NULL;
         record = jzx__roll_next(&input->roll, &chunk, record)) {
        size += ACTION_SIZE + record->action.len;
        count++;
    }
    if (size > UINT32_MAX)
        return false;
    if (input->is_embedded)
        jzx__recording_unreserve(processor);
    else if (!has_room(processor, size))
        return false;
    JZX_ASSERT(tape->used + tape->reserved + size <= tape->capacity); /* P7 */
    put(tape, size - 4, 4);
    put(tape, input->source, 8);
    input->taped_at = tape->used;
    put(tape, input->place, 8);
    put(tape, count, 4);
    for (struct jzx__record *record = jzx__roll_next(&input->roll, &chunk, NULL); record != NULL;
         record = jzx__roll_next(&input->roll, &chunk, record))
        put_action(tape, record);
    return true;
}

void jzx__recording_place(struct jzx_processor *processor, const struct jzx__input *input) {
    if (processor->is_recorded)
        store(processor->recording.data + input->taped_at, input->place, 8);
}

void jzx__recording_deinit(struct jzx_processor *processor) {
    struct jzx__tape *tape = &processor->recording;
    if (tape->data != NULL)
        jzx__free(&processor->allocator, tape->data, tape->capacity);
    *tape = (struct jzx__tape){.data = NULL};
}

jzx_err jzx_processor_recording(jzx_processor *processor, jzx_recording *recording) {
    struct jzx__visit visit;
    jzx_err err = JZX_OK;
    if (processor == NULL || recording == NULL)
        return JZX_ERR_INVALID_ARG;
    if (!processor->is_recorded)
        return JZX_ERR_INVALID_STATE;
    jzx__processor_lock(processor, &visit);
    if (processor->phase == JZX_PHASE_BUSY)
        err = JZX_ERR_BUSY;
    else
        *recording =
            (jzx_recording){.data = processor->recording.data, .len = processor->recording.used};
    jzx__processor_unlock(processor, &visit);
    return err;
}

/* ---- reading ---- */

static uint64_t get(struct jzx__reader *reader, unsigned bytes) {
    uint64_t value = 0;
    if (reader->left < bytes) {
        reader->is_wrong = true;
        reader->left = 0;
        return 0;
    }
    for (unsigned i = 0; i < bytes; i++)
        value |= (uint64_t)reader->at[i] << (8 * i);
    reader->at += bytes;
    reader->left -= bytes;
    return value;
}

/* The entries of a recording; false if it is none. */
static bool begin_reading(const jzx_recording *recording, struct jzx__reader *reader) {
    if (recording == NULL || recording->data == NULL || recording->len < HEAD_SIZE ||
        memcmp(recording->data, head, HEAD_SIZE) != 0)
        return false;
    *reader = (struct jzx__reader){.at = (const unsigned char *)recording->data + HEAD_SIZE,
                                   .left = recording->len - HEAD_SIZE};
    return true;
}

static bool get_action(struct jzx__reader *reader, struct jzx__record *record) {
    jzx_action *action = &record->action;
    action->kind = (jzx_action_kind)get(reader, 1);
    record->stage = (uint8_t)get(reader, 1);
    record->is_internal = get(reader, 1) != 0;
    record->is_frozen = get(reader, 1) != 0;
    action->error = (jzx_err)(int32_t)(uint32_t)get(reader, 4);
    action->source = get(reader, 8);
    action->target = get(reader, 8);
    action->tag = (uint32_t)get(reader, 4);
    action->len = (uint32_t)get(reader, 4);
    action->data = reader->at;
    action->factory = NULL;
    if (reader->is_wrong || reader->left < action->len || action->len > JZX_MSG_LEN_MAX ||
        action->kind < JZX_ACTION_SEND || action->kind > JZX_ACTION_TERMINATE ||
        (action->kind == JZX_ACTION_SEND && action->tag >= JZX_TAG_RESERVED))
        return false;
    reader->at += action->len;
    reader->left -= action->len;
    return true;
}

/* The next entry, as a reader of its own; false if it is not well-formed. There is one. */
static bool get_entry(struct jzx__reader *reader, struct jzx__reader *entry) {
    size_t size = (size_t)get(reader, 4);
    if (reader->is_wrong || size > reader->left)
        return false;
    *entry = (struct jzx__reader){.at = reader->at, .left = size};
    reader->at += size;
    reader->left -= size;
    return true;
}

static bool is_entry(struct jzx__reader entry) {
    struct jzx__record record = {.size = 0};
    (void)get(&entry, 8); /* the source */
    (void)get(&entry, 8); /* the place */
    uint64_t count = get(&entry, 4);
    for (uint64_t i = 0; i < count && !entry.is_wrong; i++) {
        if (!get_action(&entry, &record))
            return false;
    }
    return !entry.is_wrong && entry.left == 0;
}

/* At most `most` entries: how many, and in *len how long they are with the head. False if what was
 * read is not well-formed. */
static bool measure(const jzx_recording *recording, size_t most, size_t *count, size_t *len) {
    struct jzx__reader reader;
    struct jzx__reader entry;
    *count = 0;
    *len = 0;
    if (!begin_reading(recording, &reader))
        return false;
    for (; reader.left != 0 && *count < most; (*count)++) {
        if (!get_entry(&reader, &entry) || !is_entry(entry))
            return false;
    }
    *len = recording->len - reader.left;
    return true;
}

size_t jzx_recording_count(const jzx_recording *recording) {
    size_t count;
    size_t len;
    return measure(recording, SIZE_MAX, &count, &len) ? count : 0;
}

jzx_recording jzx_recording_cut(const jzx_recording *recording, size_t count) {
    size_t has;
    size_t len;
    if (!measure(recording, count, &has, &len))
        return (jzx_recording){.data = NULL};
    return (jzx_recording){.data = recording->data, .len = len};
}

/* ---- replay ---- */

bool jzx__recording_open(const jzx_recording *recording, struct jzx__reader *reader) {
    size_t count;
    size_t len;
    return measure(recording, SIZE_MAX, &count, &len) && begin_reading(recording, reader);
}

/* Adds the actions of an entry, which is well-formed; false without memory. */
static bool read_actions(struct jzx_processor *processor, struct jzx__reader entry,
                         struct jzx__input *input) {
    struct jzx__record read = {.size = 0};
    for (uint64_t left = get(&entry, 4); left != 0; left--) {
        (void)get_action(&entry, &read);
        struct jzx__record *record =
            jzx__roll_add(&input->roll, &processor->allocator, &read.action, JZX__CHUNK_EXACT);
        if (record == NULL)
            return false;
        record->stage = read.stage;
        record->is_internal = read.is_internal;
        record->is_frozen = read.is_frozen;
    }
    return true;
}

struct jzx__input *jzx__recording_next(struct jzx_processor *processor, bool begins) {
    struct jzx__reader rest = processor->replay;
    struct jzx__reader entry;
    if (rest.left == 0)
        return NULL;
    (void)get_entry(&rest, &entry);
    const uint64_t source = get(&entry, 8);
    const uint64_t place = get(&entry, 8);
    if (!begins && (place == JZX__PLACE_FIRST || place > processor->done))
        return NULL;
    struct jzx__input *input = jzx__alloc(&processor->allocator, sizeof *input);
    if (input != NULL) {
        *input = (struct jzx__input){.source = source,
                                     .place = begins ? JZX__PLACE_FIRST : processor->done};
        if (read_actions(processor, entry, input) && jzx__recording_add(processor, input)) {
            processor->replay = rest;
            return input;
        }
        jzx__input_free(processor, input);
    }
    processor->replay.left = 0; /* what follows would come without it */
    processor->err = JZX_ERR_NO_MEMORY;
    return NULL;
}
