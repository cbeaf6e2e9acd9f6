/* SPDX-License-Identifier: MIT */
/* jzx_bench [names] [options]: measures the rows that were named, or all of the table. A missed aim
 * is a line in the table and no failure; a wrong result is. With --profile our side of each row
 * runs once, in this process: for perf, valgrind and the sanitizers. Exit codes: 0, 1 if a run was
 * wrong, 2 for wrong use. */
#include "driver.h"

static void profile(const struct options *options) {
    for (const struct bench *const *bench = options->selected; *bench != NULL; bench++) {
        struct bench_run run = {0};
        struct setup setup = {.workers = options->workers,
                              .balance = options->balance,
                              .size = size_of(*bench, options),
                              .cpu = ANY_CPU,
                              .may_pin = true,
                              .dump = options->workers > 1};
        run_here(*bench, &setup, &run);
        printf("%s: %llu operations in %.3f s\n", (*bench)->name, (unsigned long long)run.ops,
               run.seconds);
        fflush(stdout);
    }
}

int main(int argc, char **argv) {
    (void)argc;
    const struct options *options = options_parse(argv + 1);
    bool failed = false;
    if (options->check || options->selected[0] == NULL)
        return 0;
    if (options->mode == MODE_PROFILE) {
        profile(options);
        return 0;
    }
    FILE *save = NULL;
    if (options->save != NULL && (save = fopen(options->save, "a")) == NULL) {
        perror(options->save);
        return 1;
    }
    if (!options->json)
        print_head(stdout, options);
    for (const struct bench *const *bench = options->selected; *bench != NULL; bench++) {
        struct measured measured;
        measure(*bench, options, &measured);
        failed |= measured.failed;
        if (save != NULL)
            print_json(save, &measured);
        if (options->json)
            print_json(stdout, &measured);
        else
            print_row(stdout, options, &measured);
    }
    if (save != NULL && fclose(save) != 0)
        failed = true;
    return failed ? 1 : 0;
}
