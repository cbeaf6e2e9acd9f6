/* SPDX-License-Identifier: MIT */
/* The harness for tests in C++. CMocka's assert_* leave by a long jump: only JZX_EXPECT is used. */
#ifndef JZX_CPP_TEST_HPP
#define JZX_CPP_TEST_HPP

#include <jzx/jzx.hpp>

extern "C" {
#include "fixture.h"
}

#include <cstring>

/* The same in the words of C++17, which has no designated initializers. */
#undef JZX_TEST_WITH_IDS
#define JZX_TEST_WITH_IDS(test_name, ...)                                                          \
    static void jzx_test_body_##test_name(void);                                                   \
    __attribute__((constructor)) static void jzx_test_register_##test_name(void) {                 \
        static const char *const ids[] = {__VA_ARGS__};                                            \
        static struct jzx_test test = {                                                            \
            #test_name, jzx_test_body_##test_name, ids, JZX_TEST_SUITE, __FILE__, __LINE__,        \
            nullptr};                                                                              \
        jzx_test_register(&test);                                                                  \
    }                                                                                              \
    static void jzx_test_body_##test_name(void)

/* A configuration with the counting allocator, one worker and no log. */
inline jzx_config quiet(std::uint32_t workers = 1) {
    jzx_config config = jzx::config();
    config.allocator = fixture_allocator();
    config.log.level = JZX_LOG_OFF;
    config.workers = workers;
    return config;
}

/* Says that an object was destroyed that was not moved from. */
class witness {
  public:
    explicit witness(int *count) : count_(count) {}
    witness(witness &&other) noexcept : count_(std::exchange(other.count_, nullptr)) {}
    witness(const witness &) = delete;
    ~witness() {
        if (count_ != nullptr)
            ++*count_;
    }

  private:
    int *count_;
};

/* Has a fiber join the actor; how is filled when that has ended. */
inline void watch_end(jzx::loop &loop, jzx::actor_id id, jzx_exit_notice *how) {
    loop.spawn([=](jzx::fiber &ctx) { *how = ctx.join(id); });
    loop.step();
}

#endif
