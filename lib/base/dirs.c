/* Directories of run-time files, looked up in the environment once each.
 *
 * Threads: any, after main has called each once or not: the first caller's getenv() result is published by a relaxed
 * store of a pointer into the environment, which nothing changes after start. */
#include <config.h>

#include "lib/base/dirs.h"

#include <stdlib.h>

#include "lib/base/util.h"

static const char *look_up(const char **cache, const char *variable, const char *standard)
{
    const char *dir = __atomic_load_n(cache, __ATOMIC_RELAXED);

    if (!dir) {
        dir = getenv(variable);
        if (!dir || !dir[0]) {
            dir = standard;
        }
        __atomic_store_n(cache, dir, __ATOMIC_RELAXED);
    }
    return dir;
}

/* Each returns a directory without trailing slash, unless the user gave one; never freed. */
const char *dir_run(void)
{
    static const char *dir;
    return look_up(&dir, "OVS_RUNDIR", "/var/run/openvswitch");
}

const char *dir_log(void)
{
    static const char *dir;
    return look_up(&dir, "OVS_LOGDIR", "/var/log/openvswitch");
}

const char *dir_db(void)
{
    static const char *dir;
    return look_up(&dir, "OVS_DBDIR", "/etc/openvswitch");
}

/* Returns NAME itself if it is absolute, else DIR/NAME; to be freed. */
char *dir_file(const char *dir, const char *name)
{
    return name[0] == '/' ? xstrdup(name) : xasprintf("%s/%s", dir, name);
}
