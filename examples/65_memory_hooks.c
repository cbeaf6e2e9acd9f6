/* SPDX-License-Identifier: MIT */
/* A loop on one thread, whose memory comes from the program: hooks for blocks, and hooks for the
 * pages of stacks. Both count, and in the end both have all of it back. The first job asks for a
 * gentle stop; the jobs behind it are done all the same.
 *
 * It prints:
 *     job 1: please stop
 *     job 2
 *     job 3
 *     the worker ends: JZX_EXIT_NORMAL
 *     the fiber had a stack of the mapper: yes
 *     blocks in use: 0, bytes in use: 0
 *     mappings in use: 0, bytes in use: 0
 */
#include <jzx/jzx.h>

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

/* Plain counters: nobody but the loop's thread calls the hooks here. With several workers they
 * would have to be atomic. */
struct account {
    long long in_use;
    long long bytes;
    long long taken; /* in all */
};

static void book(struct account *account, int count, size_t size) {
    account->in_use += count;
    account->bytes += count * (long long)size;
    account->taken += count > 0;
}

/* ---- blocks ---- */

static void *take_block(void *ctx, size_t size) {
    void *block = malloc(size);
    if (block != NULL)
        book(ctx, 1, size);
    return block;
}

static void give_block(void *ctx, void *block, size_t size) {
    book(ctx, -1, size);
    free(block);
}

/* ---- pages: address space, which becomes memory where a stack is used ---- */

static void *map_pages(void *ctx, size_t size) {
    void *pages = mmap(NULL, size, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (pages == MAP_FAILED)
        return NULL;
    book(ctx, 1, size);
    return pages;
}

static void unmap_pages(void *ctx, void *pages, size_t size) {
    book(ctx, -1, size);
    munmap(pages, size);
}

/* ---- the actors ---- */

static jzx_behavior_result work(jzx_context *ctx, const jzx_message *msg) {
    printf("job %u%s\n", msg->tag, msg->tag == 1 ? ": please stop" : "");
    if (msg->tag == 1) /* 0: the deadline is JZX_DEFAULT_LOOP_STOP from now */
        (void)jzx_loop_stop(ctx->loop, 0);
    return JZX_BEHAVIOR_OK;
}

static void end_work(jzx_context *ctx, jzx_exit_reason reason) {
    (void)ctx;
    printf("the worker ends: %s\n", jzx_exit_name(reason));
}

static void send_jobs(jzx_context *ctx) {
    jzx_actor_id worker = *(jzx_actor_id *)ctx->state;
    for (uint32_t job = 1; job <= 3; job++)
        if (jzx_send(ctx->loop, worker, ctx->self, NULL, 0, job) != JZX_OK)
            printf("job %u was refused\n", job);
}

static jzx_err run(jzx_loop *loop) {
    jzx_actor_id worker;
    jzx_err err = jzx_spawn(loop, &JZX_SPAWN_OPTS(.behavior = work, .cleanup = end_work), &worker);
    if (err == JZX_OK)
        err = jzx_spawn(loop, &JZX_SPAWN_OPTS(.fiber = send_jobs, .state = &worker), NULL);
    return err == JZX_OK ? jzx_loop_run(loop) : err;
}

int main(void) {
    struct account blocks = {0};
    struct account pages = {0};
    jzx_loop *loop = jzx_loop_create(&JZX_CONFIG_ONE_THREAD(
            .allocator = {.alloc = take_block, .free = give_block, .ctx = &blocks},
            .mapper = {.map = map_pages, .unmap = unmap_pages, .ctx = &pages}));
    if (loop == NULL)
        return 1;
    jzx_err err = run(loop);
    jzx_loop_destroy(loop);
    printf("the fiber had a stack of the mapper: %s\n", pages.taken > 0 ? "yes" : "no");
    printf("blocks in use: %lld, bytes in use: %lld\n", blocks.in_use, blocks.bytes);
    printf("mappings in use: %lld, bytes in use: %lld\n", pages.in_use, pages.bytes);
    return err != JZX_OK;
}
