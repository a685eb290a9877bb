/* What tests of the simulation share: the seeds that they run, and descriptors. */
#ifndef SIM_KIT_H
#define SIM_KIT_H 1

#include <dirent.h>
#include <stdlib.h>

/* SLUICE_SEED (default 1): with which a test begins; SLUICE_SEEDS (default 10): how many it runs. */
static inline uint64_t first_seed(void)
{
    const char *s = getenv("SLUICE_SEED");
    return s ? strtoull(s, NULL, 0) : 1;
}

static inline unsigned int n_seeds(void)
{
    const char *s = getenv("SLUICE_SEEDS");
    return s ? atoi(s) : 10;
}

/* Descriptors that are open; always too many by the same number. */
static inline size_t count_fds(void)
{
    size_t n = 0;
    DIR *dir = opendir("/proc/self/fd");
    assert_non_null(dir);
    while (readdir(dir)) {
        n++;
    }
    closedir(dir);
    return n;
}

#endif
