/* SPDX-License-Identifier: MIT */
/* The recording: the inputs as bytes, little-endian.
 *
 *   file    "JZXR" u32 version, entries
 *   entry   u32 length of what follows, u64 source (the async actor, or NONE), u64 place (P3), u32
 *           count, actions
 *   action  u8 kind, u8 stage, u8 internal, u8 frozen, i32 error, u64 source, u64 target, u32 tag,
 *           u32 len, bytes
 *
 * Factories are not in it: async actors cannot name one, and a Spawn that goes through an async
 * stage has the one that was reserved. */
#ifndef JZX_COMMAND_RECORDING_H
#define JZX_COMMAND_RECORDING_H

#include "command/core.h"

/* Writes the head; true without opts.record, as all that follow. False without memory. */
bool jzx__recording_begin(struct jzx_processor *processor);

/* Room for the end of one more async actor (P7). Under the lock, as all that follow. */
bool jzx__recording_reserve(struct jzx_processor *processor);
void jzx__recording_unreserve(struct jzx_processor *processor);

/* An input, which has used its reservation if it is the end of an async actor. */
bool jzx__recording_add(struct jzx_processor *processor, struct jzx__input *input);

/* Its place, once it is known. */
void jzx__recording_place(struct jzx_processor *processor, const struct jzx__input *input);

/* The entries of a recording; false if it is not well-formed. */
bool jzx__recording_open(const jzx_recording *recording, struct jzx__reader *reader);

/* The next input of the replay, recorded again, if its place is reached, or if it begins a tick; or
 * NULL. A place that its tick never reached begins one. Without memory the replay is over, with
 * processor->err. */
struct jzx__input *jzx__recording_next(struct jzx_processor *processor, bool begins);

void jzx__recording_deinit(struct jzx_processor *processor);

#endif
