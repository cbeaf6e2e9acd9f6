/* SPDX-License-Identifier: MIT */
/* Counting CPUs: quotas in trees of files made for each test, and this machine's affinity masks. */
#include "base/cpus.h"

#include "base/alloc.h"

#include "jzx_test.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- a tree of files in place of the machine's ---- */

enum { PATH_SIZE = 16384 };

static char tree[32];

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *place) {
    (void)status;
    (void)type;
    (void)place;
    return remove(path);
}

static void remove_tree(void) {
    JZX_EXPECT_EQ(nftw(tree, remove_one, 16, FTW_DEPTH | FTW_PHYS), 0);
}

static void make_tree(void) {
    strcpy(tree, "/tmp/jzx-cpus-XXXXXX");
    assert_non_null(mkdtemp(tree));
    jzx_test_at_end(remove_tree);
}

static void put(const char *name, const char *text) {
    char path[PATH_SIZE];
    assert_true(snprintf(path, sizeof path, "%s%s", tree, name) < (int)sizeof path);
    for (char *slash = strchr(path + strlen(tree) + 1, '/'); slash;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        assert_true(mkdir(path, 0700) == 0 || errno == EEXIST);
        *slash = '/';
    }
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    size_t size = strlen(text);
    assert_int_equal(write(fd, text, size), size);
    close(fd);
}

static uint32_t quota(void) {
    return jzx__cpus_quota(tree, &jzx__allocator_default);
}

/* Version 2 alone, as most systems have it today, with this process in a group. */
static void make_v2(const char *group) {
    char line[PATH_SIZE];
    make_tree();
    assert_true(snprintf(line, sizeof line, "0::%s\n", group) < (int)sizeof line);
    put("/proc/self/cgroup", line);
    put("/proc/self/mountinfo",
        "22 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw\n"
        "29 22 0:26 / /sys/fs/cgroup rw,nosuid,nodev shared:9 - cgroup2 cgroup2 rw,nsdelegate\n");
}

/* Version 1, the CPU controller mounted together with another. */
static void make_v1(const char *group) {
    char text[PATH_SIZE];
    make_tree();
    assert_true(snprintf(text, sizeof text,
                         "5:memory:/elsewhere\n4:cpuset:/other\n3:cpu,cpuacct:%s\n"
                         "1:name=systemd:/init.scope\n",
                         group) < (int)sizeof text);
    put("/proc/self/cgroup", text);
    put("/proc/self/mountinfo",
        "31 23 0:28 / /sys/fs/cgroup ro - tmpfs tmpfs ro,mode=755\n"
        "33 31 0:31 / /sys/fs/cgroup/cpuset rw shared:10 - cgroup cgroup rw,cpuset\n"
        "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw shared:11 master:3 - cgroup cgroup "
        "rw,cpu,cpuacct\n"
        "34 31 0:30 / /sys/fs/cgroup/memory rw shared:12 - cgroup cgroup rw,memory\n");
}

/* ---- version 2 ---- */

JZX_TEST(a_v2_quota_is_rounded_up_to_whole_cpus, "D5") {
    static const struct {
        const char *text;
        uint32_t cpus;
    } values[] = {
        {"200000 100000\n", 2},
        {"150000 100000\n", 2},
        {"100001 100000\n", 2},
        {"100000 100000\n", 1},
        {"1000 100000\n", 1},
        {"1 1000000\n", 1},
        {"6400000 50000\n", 128},
        {"300000 100000", 3},
        {"max 100000\n", JZX__CPUS_NO_QUOTA},
        {"18446744073709551000 1\n", JZX__CPUS_NO_QUOTA},
    };
    make_v2("/app");
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        put("/sys/fs/cgroup/app/cpu.max", values[i].text);
        if (!JZX_EXPECT_EQ(quota(), values[i].cpus))
            print_message("cpu.max was %s\n", values[i].text);
    }
}

JZX_TEST(the_tightest_of_all_parents_counts, "D5") {
    make_v2("/a/b/c");
    put("/sys/fs/cgroup/a/b/c/cpu.max", "800000 100000\n");
    put("/sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
    put("/sys/fs/cgroup/a/cpu.max", "300000 100000\n");
    JZX_EXPECT_EQ(quota(), 3);
    put("/sys/fs/cgroup/a/b/cpu.max", "250000 100000\n");
    put("/sys/fs/cgroup/a/cpu.max", "400000 100000\n");
    JZX_EXPECT_EQ(quota(), 3);
    put("/sys/fs/cgroup/a/b/c/cpu.max", "100000 100000\n");
    JZX_EXPECT_EQ(quota(), 1);
    put("/sys/fs/cgroup/cpu.max", "50000 100000\n"); /* a container sees its own group as the top */
    put("/sys/fs/cgroup/a/b/c/cpu.max", "max 100000\n");
    JZX_EXPECT_EQ(quota(), 1);
}

JZX_TEST(a_parent_counts_where_the_group_itself_has_no_file) {
    make_v2("/a/b/c (deleted)");
    put("/sys/fs/cgroup/a/cpu.max", "500000 100000\n");
    JZX_EXPECT_EQ(quota(), 5);
}

JZX_TEST(nothing_above_the_mount_point_counts) {
    make_v2("/a");
    put("/sys/fs/cpu.max", "100000 100000\n");
    put("/sys/fs/cgroup/b/cpu.max", "100000 100000\n");
    put("/sys/fs/cgroup/a/cpu.max", "400000 100000\n");
    JZX_EXPECT_EQ(quota(), 4);
}

JZX_TEST(the_top_group_of_a_container_counts, "D5") {
    make_v2("/");
    JZX_EXPECT_EQ(quota(), JZX__CPUS_NO_QUOTA);
    put("/sys/fs/cgroup/cpu.max", "700000 100000\n");
    JZX_EXPECT_EQ(quota(), 7);
}

/* ---- version 1 ---- */

JZX_TEST(a_v1_quota_and_those_of_its_parents_count, "D5") {
    make_v1("/docker/abc");
    JZX_EXPECT_EQ(quota(), JZX__CPUS_NO_QUOTA);
    put("/sys/fs/cgroup/cpu,cpuacct/docker/abc/cpu.cfs_quota_us", "450000\n");
    JZX_EXPECT_EQ(quota(), JZX__CPUS_NO_QUOTA); /* no period, no quota */
    put("/sys/fs/cgroup/cpu,cpuacct/docker/abc/cpu.cfs_period_us", "100000\n");
    JZX_EXPECT_EQ(quota(), 5);
    put("/sys/fs/cgroup/cpu,cpuacct/docker/cpu.cfs_quota_us", "100000\n");
    put("/sys/fs/cgroup/cpu,cpuacct/docker/cpu.cfs_period_us", "50000\n");
    JZX_EXPECT_EQ(quota(), 2);
    put("/sys/fs/cgroup/cpu,cpuacct/docker/cpu.cfs_quota_us", "-1\n");
    JZX_EXPECT_EQ(quota(), 5);
    put("/sys/fs/cgroup/cpu,cpuacct/docker/abc/cpu.cfs_quota_us", "-1\n");
    JZX_EXPECT_EQ(quota(), JZX__CPUS_NO_QUOTA);
}

JZX_TEST(only_the_mount_of_the_cpu_controller_counts) {
    make_v1("/g");
    put("/sys/fs/cgroup/cpuset/g/cpu.cfs_quota_us", "100000\n");
    put("/sys/fs/cgroup/cpuset/g/cpu.cfs_period_us", "100000\n");
    put("/sys/fs/cgroup/cpu,cpuacct/elsewhere/cpu.cfs_quota_us", "100000\n");
    put("/sys/fs/cgroup/cpu,cpuacct/elsewhere/cpu.cfs_period_us", "100000\n");
    JZX_EXPECT_EQ(quota(), JZX__CPUS_NO_QUOTA);
}

/* ---- both, and mounts of a part ---- */

static void make_hybrid(void) {
    make_tree();
    put("/proc/self/cgroup", "2:cpuacct,cpu:/x\n1:name=systemd:/x\n0::/x\n");
    put("/proc/self/mountinfo",
        "40 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
        "32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpuacct,cpu\n");
}

JZX_TEST(a_hybrid_system_has_its_quota_in_either_version, "D5") {
    make_hybrid();
    put("/sys/fs/cgroup/cpu/x/cpu.cfs_quota_us", "600000\n");
    put("/sys/fs/cgroup/cpu/x/cpu.cfs_period_us", "100000\n");
    JZX_EXPECT_EQ(quota(), 6);
    put("/sys/fs/cgroup/unified/x/cpu.max", "400000 100000\n");
    JZX_EXPECT_EQ(quota(), 4);
    put("/sys/fs/cgroup/cpu/x/cpu.cfs_quota_us", "200000\n");
    JZX_EXPECT_EQ(quota(), 2);
}

JZX_TEST(a_mount_of_a_part_shows_the_groups_below_that_part, "D5") {
    make_v2("/docker/abc/app");
    put("/proc/self/mountinfo", "29 22 0:26 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup2 rw\n");
    put("/sys/fs/cgroup/app/cpu.max", "500000 100000\n");
    JZX_EXPECT_EQ(quota(), 5);
    put("/sys/fs/cgroup/cpu.max", "200000 100000\n"); /* of /docker/abc */
    JZX_EXPECT_EQ(quota(), 2);
    put("/proc/self/cgroup", "0::/docker/abc\n");
    JZX_EXPECT_EQ(quota(), 2);
}

JZX_TEST(a_mount_of_another_part_does_not_count) {
    make_v2("/docker/abcd/app");
    put("/proc/self/mountinfo", "29 22 0:26 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup2 rw\n");
    put("/sys/fs/cgroup/cpu.max", "100000 100000\n");
    put("/sys/fs/cgroup/app/cpu.max", "100000 100000\n");
    JZX_EXPECT_EQ(quota(), JZX__CPUS_NO_QUOTA);
}

JZX_TEST(a_group_outside_of_the_namespace_has_no_quota_that_we_could_see) {
    make_v2("/../other");
    put("/sys/fs/other/cpu.max", "100000 100000\n");
    put("/sys/fs/cgroup/other/cpu.max", "100000 100000\n");
    JZX_EXPECT_EQ(quota(), JZX__CPUS_NO_QUOTA);
}

JZX_TEST(of_two_mounts_the_tighter_view_counts) {
    make_v2("/a/b");
    put("/proc/self/mountinfo", "29 22 0:26 /a /mnt/part rw - cgroup2 cgroup2 rw\n"
                                "30 22 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
    put("/mnt/part/b/cpu.max", "800000 100000\n");
    put("/sys/fs/cgroup/a/cpu.max", "300000 100000\n");
    JZX_EXPECT_EQ(quota(), 3);
}

JZX_TEST(blanks_in_the_names_of_folders_are_understood) {
    make_v2("/my group");
    put("/proc/self/mountinfo", "29 22 0:26 / /mnt/c\\040groups\\134two rw - cgroup2 cgroup2 rw\n");
    put("/mnt/c groups\\two/my group/cpu.max", "200000 100000\n");
    JZX_EXPECT_EQ(quota(), 2);
    put("/proc/self/mountinfo", "29 22 0:26 /my\\040group /mnt/part rw - cgroup2  rw\n");
    put("/mnt/part/cpu.max", "300000 100000\n");
    JZX_EXPECT_EQ(quota(), 3);
}

/* ---- what makes no sense ---- */

JZX_TEST(missing_files_mean_no_quota) {
    make_tree();
    JZX_EXPECT_EQ(quota(), JZX__CPUS_NO_QUOTA);
    put("/proc/self/cgroup", "0::/app\n");
    JZX_EXPECT_EQ(quota(), JZX__CPUS_NO_QUOTA);
    put("/proc/self/mountinfo", "");
    JZX_EXPECT_EQ(quota(), JZX__CPUS_NO_QUOTA);
    JZX_EXPECT_EQ(jzx__cpus_quota("/nowhere/at/all", &jzx__allocator_default), JZX__CPUS_NO_QUOTA);
}

JZX_TEST(garbage_in_a_quota_means_no_quota) {
    static const char *const values[] = {
        "",
        "\n",
        "garbage\n",
        "200000\n",
        "200000 \n",
        "200000  100000\n",
        " 200000 100000\n",
        "200000 100000 1\n",
        "200000 100000x\n",
        "200000 0\n",
        "0 100000\n",
        "-200000 100000\n",
        "0x10 100000\n",
        "99999999999999999999999 100000\n",
        "200000 99999999999999999999999\n",
    };
    make_v2("/app");
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        put("/sys/fs/cgroup/app/cpu.max", values[i]);
        if (!JZX_EXPECT_EQ(quota(), JZX__CPUS_NO_QUOTA))
            print_message("cpu.max was %s\n", values[i]);
    }
}

JZX_TEST(a_quota_of_endless_digits_means_no_quota) {
    char digits[5000];
    memset(digits, '1', sizeof digits - 1);
    digits[sizeof digits - 1] = '\0';
    make_v2("/app");
    put("/sys/fs/cgroup/app/cpu.max", digits);
    JZX_EXPECT_EQ(quota(), JZX__CPUS_NO_QUOTA);
}

JZX_TEST(garbage_in_the_list_of_groups_or_mounts_means_no_quota) {
    static const char *const groups[] = {
        "",        "\n\n",     ":",        "::\n",
        "0::\n",   "0::app\n", "0:/app\n", "0::/app" /* no end of line */,
        "\\::::\n"};
    static const char *const mounts[] = {
        "",
        "\n",
        "- cgroup2 cgroup2 rw\n",
        "29 22 0:26 / /sys/fs/cgroup rw cgroup2 cgroup2 rw\n",
        "29 22 0:26 / /sys/fs/cgroup rw -\n",
        "29 22 0:26 / /sys/fs/cgroup rw - \n",
        "29 22 0:26 / /sys/fs/cgroup rw - cgroup2\n",
        "29 22 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2\n",
        "29 22 0:26\n",
        "29 22 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw" /* no end of line */,
    };
    make_v2("/app");
    put("/sys/fs/cgroup/app/cpu.max", "200000 100000\n");
    JZX_EXPECT_EQ(quota(), 2);
    for (size_t i = 0; i < sizeof groups / sizeof groups[0]; i++) {
        put("/proc/self/cgroup", groups[i]);
        if (!JZX_EXPECT_EQ(quota(), JZX__CPUS_NO_QUOTA))
            print_message("the groups were %s\n", groups[i]);
    }
    put("/proc/self/cgroup", "0::/app\n");
    JZX_EXPECT_EQ(quota(), 2);
    for (size_t i = 0; i < sizeof mounts / sizeof mounts[0]; i++) {
        put("/proc/self/mountinfo", mounts[i]);
        if (!JZX_EXPECT_EQ(quota(), JZX__CPUS_NO_QUOTA))
            print_message("the mounts were %s\n", mounts[i]);
    }
}

/* A line of `length` bytes, its end included, in front of `rest`. */
static const char *after_a_line_of(size_t length, const char *rest) {
    static char text[65536];
    memset(text, 'x', length);
    text[length - 1] = '\n';
    assert_true(length + strlen(rest) < sizeof text);
    memcpy(text + length, rest, strlen(rest) + 1);
    return text;
}

JZX_TEST(long_lines_are_passed_over_and_the_next_is_found) {
    make_v2("/app");
    put("/sys/fs/cgroup/app/cpu.max", "200000 100000\n");
    for (size_t length = 1; length < 20000; length += length < 4080 || length > 4110 ? 97 : 1) {
        put("/proc/self/cgroup", after_a_line_of(length, "0::/app\n"));
        put("/proc/self/mountinfo",
            after_a_line_of(length, "29 22 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"));
        if (!JZX_EXPECT_EQ(quota(), 2))
            print_message("the lines before had %zu bytes\n", length);
    }
}

JZX_TEST(the_end_of_a_long_line_is_not_taken_for_a_line) {
    make_v2("/app");
    put("/sys/fs/cgroup/app/cpu.max", "200000 100000\n");
    put("/sys/fs/cgroup/trap/cpu.max", "100000 100000\n");
    for (size_t length = 4090; length < 4110; length++) {
        char text[8192];
        memset(text, 'x', length);
        strcpy(text + length, "0::/trap\n0::/app\n");
        put("/proc/self/cgroup", text);
        JZX_EXPECT_EQ(quota(), 2);
    }
}

JZX_TEST(a_path_that_is_too_long_means_no_quota) {
    static const size_t lengths[] = {3000, 4080, 4094, 4095, 4096, 10000};
    char group[10001];
    make_v2("/app");
    put("/sys/fs/cgroup/cpu.max", "200000 100000\n");
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        memset(group, 'g', lengths[i]);
        group[0] = '/';
        group[lengths[i]] = '\0';
        char line[sizeof group + 8];
        snprintf(line, sizeof line, "0::%s\n", group);
        put("/proc/self/cgroup", line);
        /* one that fits leads to a folder that is not there, and on to its parent */
        JZX_EXPECT_EQ(quota(), lengths[i] <= 3000 ? 2 : JZX__CPUS_NO_QUOTA);
    }
    put("/proc/self/cgroup", "0::/app\n");
    JZX_EXPECT_EQ(quota(), 2);
}

/* ---- affinity ---- */

/* A list of the CPUs that this thread may use. */
static uint32_t list_cpus(int cpus[CPU_SETSIZE]) {
    cpu_set_t set;
    uint32_t count = 0;
    if (sched_getaffinity(0, sizeof set, &set) != 0)
        skip(); /* more CPUs than this test can list */
    for (size_t i = 0; i < CPU_SETSIZE; i++) {
        if (CPU_ISSET(i, &set))
            cpus[count++] = (int)i;
    }
    return count;
}

static void allow(const int *cpus, uint32_t count) {
    cpu_set_t set;
    CPU_ZERO(&set);
    for (uint32_t i = 0; i < count; i++)
        CPU_SET((size_t)cpus[i], &set);
    assert_int_equal(sched_setaffinity(0, sizeof set, &set), 0);
}

JZX_TEST(the_cpus_available_are_those_of_the_mask_within_the_quota, "D5") {
    int cpus[CPU_SETSIZE];
    uint32_t count = list_cpus(cpus);
    uint32_t limit = jzx__cpus_quota("", &jzx__allocator_default);
    JZX_EXPECT(limit >= 1);
    JZX_EXPECT_EQ(jzx__cpus_available(&jzx__allocator_default), limit < count ? limit : count);
}

JZX_TEST(a_narrower_mask_means_fewer_cpus, "D5") {
    int cpus[CPU_SETSIZE];
    uint32_t count = list_cpus(cpus);
    for (uint32_t i = 0; i < count; i++) {
        int cpu = -1;
        allow(&cpus[i], 1);
        JZX_EXPECT_EQ(jzx__cpus_available(&jzx__allocator_default), 1);
        JZX_EXPECT(jzx__cpus_nth(i + 5, &cpu));
        JZX_EXPECT_EQ(cpu, cpus[i]);
    }
    allow(cpus, count);
}

JZX_TEST(the_nth_cpu_goes_round_the_mask_in_order) {
    int cpus[CPU_SETSIZE];
    uint32_t count = list_cpus(cpus);
    for (uint32_t k = 0; k < 3 * count; k++) {
        int cpu = -1;
        JZX_EXPECT(jzx__cpus_nth(k, &cpu));
        JZX_EXPECT_EQ(cpu, cpus[k % count]);
    }
    int cpu = -1;
    JZX_EXPECT(jzx__cpus_nth(UINT32_MAX, &cpu));
    JZX_EXPECT_EQ(cpu, cpus[UINT32_MAX % count]);
}
