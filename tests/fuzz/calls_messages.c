/* SPDX-License-Identifier: MIT */
/* Sending, buffers, questions and answers, and the heap of an actor. */
#include "fuzz.h"

CALL(jzx_send, LOOP, ID, ID, DATA, LEN, TAG);
CALL(jzx_send_urgent, LOOP, ID, ID, DATA, LEN, TAG);
CALL(jzx_send_async, LOOP, ID, DATA, LEN, TAG);
CALL(jzx_send_wait, LOOP, ID, DATA, LEN, TAG, WHEN);
CALL(jzx_send_when_room, LOOP, ID, ID);
/* A completion that is stashed is handled again. */
static void do_jzx_stash(struct fuzz *f) {
    bool is_op = f->msg != NULL && f->me != NULL && f->msg->tag == FUZZ_TAG_OP;
    jzx_op op = is_op ? ((const jzx_result *)f->msg->data)->op : JZX_NO_OP;
    jzx_err err = jzx_stash(CTX, f->msg);
    fuzz_begun(f, err, &op);
}
USE(jzx_unstash, CTX);
USE(jzx_msg_sent_ns, CTX, f->msg);

/* ---- buffers ---- */

static void do_jzx_msg_alloc(struct fuzz *f) {
    size_t len = fuzz_length(f);
    bool counts = YES_OR_NO;
    unsigned char *data = jzx_msg_alloc(LOOP, len, counts ? fuzz_message_gone : NULL);
    if (data == NULL)
        return;
    if (counts)
        atomic_fetch_add(&f->round->buffers_made, 1);
    if (jzx_msg_len(data) != len)
        fuzz_fail("a buffer of %zu bytes has %zu", len, jzx_msg_len(data));
    if (len > 0)
        data[0] = data[len - 1] = 1;
    fuzz_put(f, OF_BUFFER, data);
}

static void do_jzx_send_msg(struct fuzz *f) {
    void *data = fuzz_take(f, OF_BUFFER);
    if (fuzz_status(f, jzx_send_msg(LOOP, ID, ID, data, TAG)) != JZX_OK)
        fuzz_put(f, OF_BUFFER, data);
}

static void do_jzx_msg_free(struct fuzz *f) {
    bool is_shared = YES_OR_NO;
    jzx_msg_free(THE_LOOP, fuzz_take(f, is_shared ? OF_SHARED : OF_BUFFER));
}

static void do_jzx_msg_take(struct fuzz *f) {
    void *data = jzx_msg_take(CTX, f->msg);
    if (data == NULL)
        return;
    size_t len = jzx_msg_len(data);
    if (len > JZX_MSG_LEN_MAX)
        fuzz_fail("a message that was taken has %zu bytes", len);
    fuzz_put(f, OF_SHARED, data); /* it may be a reference to a shared buffer: not written to */
}

static void do_jzx_msg_share(struct fuzz *f) {
    void *data = fuzz_take(f, OF_BUFFER);
    void *shared = jzx_msg_share(LOOP, data);
    if (shared == NULL)
        fuzz_put(f, OF_BUFFER, data);
    else
        fuzz_put(f, OF_SHARED, shared);
}

static void do_jzx_send_shared(struct fuzz *f) {
    int ticket;
    void *data = fuzz_borrow(f, OF_SHARED, &ticket);
    fuzz_status(f, jzx_send_shared(LOOP, ID, ID, data, TAG));
    fuzz_give_back(f, OF_SHARED, ticket);
}

/* Memory that is no buffer, or not the caller's: refused. */
static void do_wrong_buffer(struct fuzz *f) {
    static _Alignas(max_align_t) unsigned char memory[256];
    void *data = memory + 128;
    if (jzx_send_msg(THE_LOOP, ID, JZX_NOBODY, data, 1) == JZX_OK)
        fuzz_fail("a buffer that is not the caller's was sent");
    if (jzx_msg_share(THE_LOOP, data) != NULL)
        fuzz_fail("a buffer that is not the caller's was shared");
    if (YES_OR_NO)
        jzx_msg_free(THE_LOOP, data);
}

/* ---- questions ---- */

static void do_jzx_ask(struct fuzz *f) {
    uint64_t ref = 0;
    if (fuzz_status(f, jzx_ask(CTX, ID, DATA, LEN, TAG, SPAN, OR_NULL(&ref))) == JZX_OK)
        fuzz_note(f, AN_ASK, ref);
}

CALL(jzx_ask_cancel, CTX, fuzz_handle(f, AN_ASK));
USE(jzx_ask_ref, CTX);
CALL(jzx_reply, CTX, f->msg, DATA, LEN, TAG);

static _Atomic uint64_t kept_asker, kept_ref; /* of the last question that was kept */

static void do_jzx_ask_from(struct fuzz *f) {
    jzx_ask_handle handle = jzx_ask_from(CTX, f->msg);
    if (handle.asker == JZX_NOBODY)
        return;
    atomic_store(&kept_asker, handle.asker);
    atomic_store(&kept_ref, handle.ref);
}

static void do_jzx_reply_to(struct fuzz *f) {
    jzx_ask_handle handle = {atomic_load(&kept_asker), atomic_load(&kept_ref)};
    if (fuzz_chance(f, 16))
        handle.ref = WORD;
    fuzz_status(f, jzx_reply_to(LOOP, handle, ID, DATA, LEN, TAG));
}

static void do_jzx_call_wait(struct fuzz *f) {
    jzx_message answer = {0};
    bool wants = YES_OR_NO;
    if (fuzz_status(f, jzx_call_wait(LOOP, ID, DATA, LEN, TAG, WHEN, wants ? &answer : NULL)) ==
            JZX_OK &&
        wants)
        jzx_msg_free(THE_LOOP, answer.data);
}

/* ---- the heap of the actor: blocks live for the length of the operation, or to its end ---- */

static void do_jzx_alloc(struct fuzz *f) {
    size_t size = fuzz_length(f);
    unsigned char *block = jzx_alloc(CTX, size);
    if (block != NULL)
        block[0] = block[size - 1] = 1;
    if (YES_OR_NO)
        jzx_free(f->ctx, block);
}

static void do_jzx_alloc_zeroed(struct fuzz *f) {
    size_t count = fuzz_length(f);
    size_t size = fuzz_chance(f, 8) ? SIZE_MAX / 2 + 1 : 8;
    unsigned char *block = jzx_alloc_zeroed(CTX, count, size);
    if (block != NULL && (block[0] | block[count * size - 1]) != 0)
        fuzz_fail("jzx_alloc_zeroed gives memory that is not zero");
    jzx_free(f->ctx, block);
}

static void do_jzx_realloc(struct fuzz *f) {
    size_t size = 2 + fuzz_below(f, 3000);
    unsigned char *block = jzx_alloc(f->ctx, size);
    if (block == NULL)
        return;
    block[0] = 77;
    block[size - 1] = 78;
    size_t larger = fuzz_length(f);
    unsigned char *moved = jzx_realloc(f->ctx, block, larger);
    if (moved != NULL && (moved[0] != 77 || (larger >= size && size > 1 && moved[size - 1] != 78)))
        fuzz_fail("jzx_realloc lost what was in a block of %zu bytes", size);
    jzx_free(f->ctx, moved != NULL ? moved : block);
}

static void do_jzx_free(struct fuzz *f) {
    static _Alignas(max_align_t) unsigned char memory[256];
    jzx_free(CTX, fuzz_chance(f, 2) ? NULL : memory + 64);
}

CALL(jzx_heap_set_quota, CTX, fuzz_chance(f, 2) ? 0 : fuzz_below(f, 100000));

static void do_jzx_heap_info_get(struct fuzz *f) {
    jzx_heap_info info = {.size = fuzz_options_size(f, sizeof info)};
    fuzz_status(f, jzx_heap_info_get(CTX, OR_NULL(&info)));
}

static const struct fuzz_operation operations[] = {
    ROW(jzx_send, 30, ANYWHERE),
    ROW(jzx_send_urgent, 6, ANYWHERE),
    ROW(jzx_send_async, 6, ANYWHERE),
    ROW(jzx_send_wait, 3, ANYWHERE),
    ROW(jzx_send_when_room, 4, ANYWHERE),
    ROW(jzx_stash, 5, ANYWHERE),
    ROW(jzx_unstash, 4, ANYWHERE),
    ROW(jzx_msg_sent_ns, 1, ANYWHERE),
    ROW(jzx_msg_alloc, 8, ANYWHERE),
    ROW(jzx_send_msg, 8, ANYWHERE),
    ROW(jzx_msg_free, 3, ANYWHERE),
    ROW(jzx_msg_take, 6, OWN_TURNS),
    ROW(jzx_msg_share, 3, ANYWHERE),
    ROW(jzx_send_shared, 6, ANYWHERE),
    {"wrong_buffer", 1, ANYWHERE, do_wrong_buffer},
    ROW(jzx_ask, 8, ANYWHERE),
    ROW(jzx_ask_cancel, 2, ANYWHERE),
    ROW(jzx_ask_ref, 2, ANYWHERE),
    ROW(jzx_reply, 8, OWN_CODE),
    ROW(jzx_ask_from, 5, OWN_CODE),
    ROW(jzx_reply_to, 5, ANYWHERE),
    ROW(jzx_call_wait, 2, ANYWHERE),
    ROW(jzx_alloc, 4, ANYWHERE),
    ROW(jzx_alloc_zeroed, 2, ANYWHERE),
    ROW(jzx_realloc, 3, OWN_CODE),
    ROW(jzx_free, 1, ANYWHERE),
    ROW(jzx_heap_set_quota, 1, OWN_CODE),
    ROW(jzx_heap_info_get, 1, ANYWHERE),
};
FUZZ_FAMILY(messages, operations);
