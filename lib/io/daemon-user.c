/* --user: works as another user, with no more of root's power than a datapath needs.
 *
 * Threads: main only, before others exist: the kernel keeps user ids and capabilities a thread.
 *
 * The capabilities that are kept are those that ovs-vswitchd(8) names, as far as the process has them.  They stay even
 * if the user is root, and the others go. */
#include <config.h>

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <pwd.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/base/util.h"
#include "lib/io/daemon-private.h"
#include "lib/io/daemon.h"

static bool wanted;
static char *user_name; /* NULL: the current user. */
static uid_t uid;
static gid_t gid;

/* See daemon.h. */
void daemon_set_user(const char *spec)
{
    const char *colon = strchr(spec, ':');
    size_t n = colon ? (size_t) (colon - spec) : strlen(spec);

    if (!n && (!colon || !colon[1])) {
        fatal(0, "--user: \"%s\" names neither user nor group; use USER, USER:GROUP or :GROUP", spec);
    }
    free(user_name);
    user_name = NULL;
    uid = getuid();
    gid = getgid();
    if (n) {
        user_name = xasprintf("%.*s", (int) n, spec);
        const struct passwd *pw = getpwnam(user_name);
        if (!pw) {
            fatal(0, "--user: there is no user \"%s\"", user_name);
        }
        uid = pw->pw_uid;
        gid = pw->pw_gid;
    }
    if (colon && colon[1]) {
        const struct group *gr = getgrnam(colon + 1);
        if (!gr) {
            fatal(0, "--user: there is no group \"%s\"", colon + 1);
        }
        gid = gr->gr_gid;
    }
    wanted = true;
}

/* Leaves the process those capabilities only. */
static void keep_capabilities(void)
{
    static const int kept[] = { CAP_NET_BIND_SERVICE, CAP_NET_BROADCAST, CAP_NET_ADMIN, CAP_NET_RAW, CAP_IPC_LOCK };
    struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
    struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];
    uint32_t mask[_LINUX_CAPABILITY_U32S_3] = { 0 };

    for (size_t i = 0; i < ARRAY_SIZE(kept); i++) {
        mask[CAP_TO_INDEX(kept[i])] |= CAP_TO_MASK(kept[i]);
    }
    if (syscall(SYS_capget, &header, data)) {
        fatal(errno, "--user: cannot read capabilities");
    }
    for (size_t i = 0; i < ARRAY_SIZE(mask); i++) {
        data[i].permitted &= mask[i];
        data[i].effective = data[i].permitted;
        data[i].inheritable = 0;
    }
    if (syscall(SYS_capset, &header, data)) {
        fatal(errno, "--user: cannot set capabilities");
    }
}

/* See daemon-private.h.  Exits if it is not allowed. */
void daemon_become_user(void)
{
    if (!wanted) {
        return;
    }
    if (geteuid()) {
        fatal(0, "--user: only root may become another user");
    }
    if (prctl(PR_SET_KEEPCAPS, 1)) {
        fatal(errno, "--user: cannot keep capabilities");
    }
    if (user_name ? initgroups(user_name, gid) : setgroups(1, &gid)) {
        fatal(errno, "--user: cannot set supplementary groups");
    }
    if (setresgid(gid, gid, gid)) {
        fatal(errno, "--user: cannot become group %ld", (long) gid);
    }
    if (setresuid(uid, uid, uid)) {
        fatal(errno, "--user: cannot become user %s", user_name ? user_name : "root");
    }
    keep_capabilities();
    prctl(PR_SET_KEEPCAPS, 0);
    prctl(PR_SET_DUMPABLE, 1); /* A change of user forbids core files; a crash should leave one. */
}
