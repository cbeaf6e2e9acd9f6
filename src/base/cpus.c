/* SPDX-License-Identifier: MIT */
/* Affinity masks and cgroup quotas. /proc/self/cgroup names the process's group in each hierarchy,
 * /proc/self/mountinfo tells where a hierarchy, or a part of it, is mounted. The quota of each
 * folder from the group up to the mount point counts. Version 1 and version 2 of cgroups may be
 * there side by side; a CPU controller is in one of them. */
#include "base/cpus.h"

#include "base/alloc.h"

#include <fcntl.h>
#include <sched.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

/* ---- affinity ---- */

enum { CPU_COUNT_MAX = 8192, CPU_SETS = CPU_COUNT_MAX / CPU_SETSIZE };

struct mask {
    cpu_set_t sets[CPU_SETS]; /* one long set: the kernel refuses less than it has CPUs */
};

static uint32_t load_mask(struct mask *mask) {
    if (sched_getaffinity(0, sizeof mask->sets, mask->sets) != 0)
        return 0;
    return (uint32_t)CPU_COUNT_S(sizeof mask->sets, mask->sets);
}

static uint32_t allowed_count(void) {
    struct mask mask;
    uint32_t count = load_mask(&mask);
    if (count == 0) {
        long online = sysconf(_SC_NPROCESSORS_ONLN);
        count = online > 0 ? (uint32_t)online : 1;
    }
    return count;
}

uint32_t jzx__cpus_available(const jzx_allocator *hooks) {
    uint32_t allowed = allowed_count();
    uint32_t quota = jzx__cpus_quota("", hooks);
    return allowed < quota ? allowed : quota;
}

bool jzx__cpus_nth(uint32_t k, int *cpu) {
    struct mask mask;
    uint32_t count = load_mask(&mask);
    if (count == 0)
        return false;
    uint32_t left = k % count;
    for (size_t i = 0; i < CPU_COUNT_MAX; i++) {
        if (CPU_ISSET_S(i, sizeof mask.sets, mask.sets) && left-- == 0) {
            *cpu = (int)i;
            return true;
        }
    }
    return false;
}

/* ---- files, line by line ---- */

enum { PATH_SIZE = 4096, LINE_SIZE = 4096, VALUE_SIZE = 128 };

static bool append(char *path, size_t *length, const char *text) {
    size_t more = strlen(text);
    if (*length + more >= PATH_SIZE)
        return false;
    memcpy(path + *length, text, more + 1);
    *length += more;
    return true;
}

static int open_below(const char *folder, const char *name) {
    char path[PATH_SIZE];
    size_t length = 0;
    if (!append(path, &length, folder) || !append(path, &length, name))
        return -1;
    return open(path, O_RDONLY | O_CLOEXEC);
}

struct lines {
    int fd;
    size_t begin; /* text[begin .. end - 1] was read and not handed out */
    size_t end;
    char text[LINE_SIZE];
};

/* The memory of a look, in a mapping of its own: a stack may be as small as 16 KiB. */
struct scratch {
    struct lines lines;
    char group[PATH_SIZE];
    char folder[PATH_SIZE];
};

static struct lines *open_lines(struct scratch *scratch, const char *root, const char *name) {
    scratch->lines.fd = open_below(root, name);
    scratch->lines.begin = scratch->lines.end = 0;
    return scratch->lines.fd < 0 ? NULL : &scratch->lines;
}

static bool read_more(struct lines *lines) {
    ssize_t got = read(lines->fd, lines->text + lines->end, LINE_SIZE - 1 - lines->end);
    if (got <= 0)
        return false;
    lines->end += (size_t)got;
    return true;
}

/* The next line without its end, or NULL. Lines that do not fit are left out: none that we look for
 * is so long. */
static char *next_line(struct lines *lines) {
    bool fits = true;
    for (;;) {
        char *start = lines->text + lines->begin;
        char *newline = memchr(start, '\n', lines->end - lines->begin);
        if (newline != NULL) {
            *newline = '\0';
            lines->begin = (size_t)(newline + 1 - lines->text);
            if (fits)
                return start;
            fits = true;
            continue;
        }
        memmove(lines->text, start, lines->end - lines->begin);
        lines->end -= lines->begin;
        lines->begin = 0;
        if (lines->end == LINE_SIZE - 1) {
            fits = false;
            lines->end = 0;
        }
        if (!read_more(lines))
            return NULL; /* the kernel ends every line */
    }
}

static bool has_word(const char *list, const char *word) {
    size_t length = strlen(word);
    for (; list != NULL; list = strchr(list, ',')) {
        list += *list == ',';
        if (strncmp(list, word, length) == 0 && (list[length] == ',' || list[length] == '\0'))
            return true;
    }
    return false;
}

/* ---- one limit ---- */

/* A decimal number at *text, and *text behind it. */
static bool parse_number(const char **text, uint64_t *number) {
    uint64_t value = 0;
    const char *at = *text;
    for (; *at >= '0' && *at <= '9'; at++) {
        if (value > (UINT64_MAX - 9) / 10)
            return false;
        value = value * 10 + (uint64_t)(*at - '0');
    }
    if (at == *text)
        return false;
    *text = at;
    *number = value;
    return true;
}

static bool read_value(const char *folder, const char *name, char value[VALUE_SIZE]) {
    int fd = open_below(folder, name);
    if (fd < 0)
        return false;
    ssize_t got = read(fd, value, VALUE_SIZE - 1);
    close(fd);
    if (got <= 0)
        return false;
    value[got] = '\0';
    return true;
}

static bool is_end(const char *text) {
    return *text == '\0' || *text == '\n';
}

static uint32_t cpus_of(uint64_t quota, uint64_t period) {
    if (quota == 0 || period == 0)
        return JZX__CPUS_NO_QUOTA;
    uint64_t cpus = quota / period + (quota % period != 0);
    return cpus < JZX__CPUS_NO_QUOTA ? (uint32_t)cpus : JZX__CPUS_NO_QUOTA;
}

/* "150000 100000", quota and period; "max 100000" is no quota. */
static uint32_t read_v2(const char *folder) {
    char value[VALUE_SIZE];
    uint64_t quota, period;
    const char *at = value;
    if (!read_value(folder, "/cpu.max", value) || !parse_number(&at, &quota) || *at++ != ' ' ||
        !parse_number(&at, &period) || !is_end(at))
        return JZX__CPUS_NO_QUOTA;
    return cpus_of(quota, period);
}

static bool read_number(const char *folder, const char *name, uint64_t *number) {
    char value[VALUE_SIZE];
    const char *at = value;
    return read_value(folder, name, value) && parse_number(&at, number) && is_end(at);
}

/* A quota of -1 is none. */
static uint32_t read_v1(const char *folder) {
    uint64_t quota, period;
    if (!read_number(folder, "/cpu.cfs_quota_us", &quota) ||
        !read_number(folder, "/cpu.cfs_period_us", &period))
        return JZX__CPUS_NO_QUOTA;
    return cpus_of(quota, period);
}

/* ---- a hierarchy ---- */

struct hierarchy {
    const char *filesystem; /* its type in mountinfo */
    const char *controller; /* "" if the group's line and the mount name none */
    uint32_t (*read_quota)(const char *folder);
};

static const struct hierarchy hierarchies[] = {
    {"cgroup2", "", read_v2},
    {"cgroup", "cpu", read_v1},
};

/* The path of the process's group, from a line "id:controllers:path". */
static bool find_group(const char *root, const struct hierarchy *kind, struct scratch *scratch) {
    struct lines *lines = open_lines(scratch, root, "/proc/self/cgroup");
    if (lines == NULL)
        return false;
    bool found = false;
    for (char *line; !found && (line = next_line(lines)) != NULL;) {
        strsep(&line, ":");
        const char *controllers = strsep(&line, ":");
        size_t length = 0;
        found = line != NULL && *line == '/' && has_word(controllers, kind->controller) &&
                append(scratch->group, &length, line);
    }
    close(lines->fd);
    return found;
}

/* Undoes the \ooo that mountinfo writes for blanks and backslashes. */
static void unescape(char *text) {
    char *to = text;
    while (*text != '\0') {
        bool escaped = text[0] == '\\' && text[1] >= '0' && text[1] <= '3' && text[2] >= '0' &&
                       text[2] <= '7' && text[3] >= '0' && text[3] <= '7';
        if (escaped) {
            *to++ = (char)((text[1] - '0') * 64 + (text[2] - '0') * 8 + (text[3] - '0'));
            text += 4;
        } else {
            *to++ = *text++;
        }
    }
    *to = '\0';
}

struct mount {
    char *root;   /* which part of its filesystem is there */
    char *folder; /* where */
};

/* "id parent device root folder options [tags] - type source options"; false if it is not of the
 * hierarchy. */
static bool parse_mount(char *line, const struct hierarchy *kind, struct mount *mount) {
    const char *field = "";
    for (int i = 0; i < 3; i++)
        strsep(&line, " ");
    mount->root = strsep(&line, " ");
    mount->folder = strsep(&line, " ");
    while (field != NULL && strcmp(field, "-") != 0)
        field = strsep(&line, " ");
    const char *filesystem = strsep(&line, " ");
    strsep(&line, " ");
    if (line == NULL || strcmp(filesystem, kind->filesystem) != 0)
        return false;
    if (*kind->controller != '\0' && !has_word(line, kind->controller))
        return false;
    unescape(mount->root);
    unescape(mount->folder);
    return true;
}

/* What of the group's path is below the mounted part, or NULL if it is not in it. */
static const char *path_below(const char *group, const char *mount_root) {
    size_t length = strcmp(mount_root, "/") == 0 ? 0 : strlen(mount_root);
    if (strncmp(group, mount_root, length) != 0)
        return NULL;
    const char *rest = group + length;
    if (*rest != '/' && *rest != '\0')
        return NULL;
    /* A group outside of our cgroup namespace; it cannot be reached through the mount. */
    if (strncmp(rest, "/..", 3) == 0 && (rest[3] == '/' || rest[3] == '\0'))
        return NULL;
    return strcmp(rest, "/") == 0 ? "" : rest;
}

/* The tightest quota of the group and its parents, as far up as this mount shows them. */
static uint32_t quota_in_mount(const char *root, const struct hierarchy *kind,
                               struct scratch *scratch, const struct mount *mount) {
    char *folder = scratch->folder;
    size_t length = 0;
    const char *below = path_below(scratch->group, mount->root);
    if (below == NULL || !append(folder, &length, root) || !append(folder, &length, mount->folder))
        return JZX__CPUS_NO_QUOTA;
    size_t top = length;
    if (!append(folder, &length, below))
        return JZX__CPUS_NO_QUOTA;
    uint32_t tightest = kind->read_quota(folder);
    while (length > top) {
        do
            length--;
        while (length > top && folder[length] != '/');
        folder[length] = '\0';
        uint32_t quota = kind->read_quota(folder);
        tightest = quota < tightest ? quota : tightest;
    }
    return tightest;
}

static uint32_t quota_in(const char *root, const struct hierarchy *kind, struct scratch *scratch) {
    if (!find_group(root, kind, scratch))
        return JZX__CPUS_NO_QUOTA;
    struct lines *lines = open_lines(scratch, root, "/proc/self/mountinfo");
    if (lines == NULL)
        return JZX__CPUS_NO_QUOTA;
    uint32_t tightest = JZX__CPUS_NO_QUOTA;
    struct mount mount;
    for (char *line; (line = next_line(lines)) != NULL;) {
        if (!parse_mount(line, kind, &mount))
            continue;
        uint32_t quota = quota_in_mount(root, kind, scratch, &mount);
        tightest = quota < tightest ? quota : tightest;
    }
    close(lines->fd);
    return tightest;
}

uint32_t jzx__cpus_quota(const char *root, const jzx_allocator *hooks) {
    struct scratch *scratch = jzx__alloc(hooks, sizeof *scratch);
    if (scratch == NULL)
        return JZX__CPUS_NO_QUOTA;
    memset(scratch, 0, sizeof *scratch);
    uint32_t v2 = quota_in(root, &hierarchies[0], scratch);
    uint32_t v1 = quota_in(root, &hierarchies[1], scratch);
    jzx__free(hooks, scratch, sizeof *scratch);
    return v1 < v2 ? v1 : v2;
}
