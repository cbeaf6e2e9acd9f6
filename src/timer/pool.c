/* SPDX-License-Identifier: MIT */
#include "timer/pool.h"

#include "base/alloc.h"
#include "base/leak.h"
#include "timer/timer.h"

static size_t chunk_size_bytes(unsigned chunk) {
    return ((size_t)1 << chunk) * sizeof(struct jzx__timer);
}

void jzx__timer_pool_init(struct jzx__timer_pool *pool, const jzx_allocator *allocator) {
    jzx__lock_init(&pool->lock);
    pool->allocator = allocator;
}

/* Records that have used their last generation. */
static uint32_t count_retired(const struct jzx__timer_pool *pool) {
    /* relaxed: nobody else is left */
    uint32_t minted = jzx__atomic_load_relaxed(&pool->minted);
    uint32_t retired = 0;
    for (uint32_t i = 0; i < minted; i++) /* relaxed: as above */
        retired += jzx__atomic_load_relaxed(&jzx__timer_record(pool, i)->state) == 0;
    return retired;
}

static void check_leaks(const struct jzx__timer_pool *pool) {
    /* relaxed: as above */
    uint32_t in_use = jzx__atomic_load_relaxed(&pool->minted) - pool->free_count;
    if (in_use != 0)
        in_use -= count_retired(pool);
    jzx__leak_check("the records of timers", sizeof(struct jzx__timer), in_use);
}

void jzx__timer_cache_deinit(struct jzx__timer_pool *pool, const struct jzx__timer_cache *cache) {
    pool->free_count += cache->count + (cache->reserve != NULL ? JZX__TIMER_BATCH : 0);
}

void jzx__timer_pool_deinit(struct jzx__timer_pool *pool) {
    check_leaks(pool);
    for (unsigned i = 0; i < JZX__TIMER_CHUNK_COUNT; i++) {
        /* relaxed: nobody else is left */
        uintptr_t origin = jzx__atomic_load_relaxed(&pool->origins[i]);
        if (origin != 0)
            jzx__free_aligned(pool->allocator, (void *)(origin + chunk_size_bytes(i)),
                              chunk_size_bytes(i), JZX_CACHE_LINE);
    }
    jzx__lock_deinit(&pool->lock);
}

static bool ensure_chunk(struct jzx__timer_pool *pool, uint32_t index) {
    unsigned chunk = jzx__timer_chunk(index);
    /* relaxed: written under the lock that we hold */
    if (jzx__atomic_load_relaxed(&pool->origins[chunk]) != 0)
        return true;
    char *records = jzx__alloc_aligned(pool->allocator, chunk_size_bytes(chunk), JZX_CACHE_LINE);
    if (records == NULL)
        return false;
    jzx__advise_large_pages(records, chunk_size_bytes(chunk));
    /* relaxed: published by the release of minted. The difference may wrap: it is no pointer */
    jzx__atomic_store_relaxed(&pool->origins[chunk], (uintptr_t)records - chunk_size_bytes(chunk));
    return true;
}

/* A record that never was. Under the lock. */
static struct jzx__timer_free *mint(struct jzx__timer_pool *pool) {
    /* relaxed: written under the lock that we hold */
    uint32_t index = jzx__atomic_load_relaxed(&pool->minted);
    if (index == UINT32_MAX - JZX__TIMER_FIRST || !ensure_chunk(pool, index))
        return NULL;
    struct jzx__timer *timer = jzx__timer_record(pool, index);
    timer->number = index;
    /* relaxed: published by the release of minted (Y1) */
    jzx__atomic_store_relaxed(&timer->state, JZX__TIMER_GENERATION_ONE);
    /* release: pairs with the acquire in jzx__timer_exists; publishes the chunk and the state */
    jzx__atomic_store_release(&pool->minted, index + 1);
    return (void *)timer;
}

/* Up to count new records. Under the lock. */
static struct jzx__timer_free *mint_some(struct jzx__timer_pool *pool, uint32_t *count) {
    struct jzx__timer_free *first = NULL;
    struct jzx__timer_free **tail = &first;
    uint32_t made = 0;
    while (made < *count && (*tail = mint(pool)) != NULL) {
        tail = &(*tail)->next;
        made++;
    }
    *tail = NULL;
    *count = made;
    return first;
}

static struct jzx__timer_free *take_loose(struct jzx__timer_pool *pool) {
    if (pool->loose == NULL && pool->batches != NULL) {
        pool->loose = pool->batches;
        pool->batches = pool->loose->next_batch;
    }
    if (pool->loose == NULL)
        return mint(pool);
    struct jzx__timer_free *record = pool->loose;
    pool->loose = record->next;
    pool->free_count--;
    return record;
}

static JZX_COLD void refill(struct jzx__timer_pool *pool, struct jzx__timer_cache *cache) {
    cache->count = JZX__TIMER_BATCH;
    cache->first = cache->reserve;
    cache->reserve = NULL;
    if (cache->first != NULL)
        return;
    jzx__lock_acquire(&pool->lock);
    if (pool->batches != NULL) {
        cache->first = pool->batches;
        pool->batches = cache->first->next_batch;
        pool->free_count -= JZX__TIMER_BATCH;
    } else if (pool->loose != NULL) {
        cache->first = take_loose(pool);
        cache->first->next = NULL;
        cache->count = 1;
    } else {
        cache->first = mint_some(pool, &cache->count);
    }
    jzx__lock_release(&pool->lock);
}

struct jzx__timer *jzx__timer_alloc(struct jzx__timer_pool *pool, struct jzx__timer_cache *cache) {
    struct jzx__timer_free *record;
    if (JZX_UNLIKELY(cache == NULL)) {
        jzx__lock_acquire(&pool->lock);
        record = take_loose(pool);
        jzx__lock_release(&pool->lock);
        return (void *)record;
    }
    if (JZX_UNLIKELY(cache->first == NULL))
        refill(pool, cache);
    record = cache->first;
    if (record != NULL) {
        cache->first = record->next;
        cache->count--;
    }
    return (void *)record;
}

static JZX_COLD void spill(struct jzx__timer_pool *pool, struct jzx__timer_cache *cache) {
    if (cache->reserve != NULL) {
        jzx__lock_acquire(&pool->lock);
        cache->reserve->next_batch = pool->batches;
        pool->batches = cache->reserve;
        pool->free_count += JZX__TIMER_BATCH;
        jzx__lock_release(&pool->lock);
    }
    cache->reserve = cache->first;
    cache->first = NULL;
    cache->count = 0;
}

void jzx__timer_free(struct jzx__timer_pool *pool, struct jzx__timer_cache *cache,
                     struct jzx__timer *timer) {
    struct jzx__timer_free *record = (void *)timer;
    if (JZX_UNLIKELY(cache == NULL)) {
        jzx__lock_acquire(&pool->lock);
        record->next = pool->loose;
        pool->loose = record;
        pool->free_count++;
        jzx__lock_release(&pool->lock);
        return;
    }
    if (JZX_UNLIKELY(!jzx__timer_cache_has_room(cache)))
        spill(pool, cache);
    jzx__timer_free_easy(cache, timer);
}
