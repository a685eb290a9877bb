/* What lies beneath a network device, by ethtool's ioctl: driver, speed, LRO.
 *
 * The ioctl serves all kernels that we run on, and needs no family resolved, which ethtool's netlink does.  It goes
 * through any socket: one is opened for each call, since these are rare (a device appears, its carrier changes) and so
 * nothing is kept.
 *
 * Threads: any, no state. */
#include <config.h>

#include <errno.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/nl/link.h"

/* Runs the command at CMD, one of ethtool's structures, on device NAME.  -ENODEV: no such device; -EOPNOTSUPP: it does
 * not know the command. */
static int ethtool(const char *name, void *cmd)
{
    struct ifreq ifr = { .ifr_data = cmd };
    int error = 0;

    if (!name[0] || strnlen(name, IFNAMSIZ) == IFNAMSIZ) {
        return -ENODEV;
    }
    strncpy(ifr.ifr_name, name, IFNAMSIZ - 1);
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return -errno;
    }
    if (ioctl(fd, SIOCETHTOOL, &ifr)) {
        error = -errno;
    }
    close(fd);
    return error;
}

/* Copies the SRC_SIZE bytes at SRC, a string if it is shorter. */
static void copy_string(char *dst, size_t dst_size, const char *src, size_t src_size)
{
    size_t len = strnlen(src, src_size);

    if (len >= dst_size) {
        len = dst_size - 1;
    }
    memcpy(dst, src, len);
    dst[len] = '\0';
}

/* Asks for NAME's driver.  -ENODEV, -EOPNOTSUPP. */
int link_get_driver(const char *name, struct link_driver *ret_driver)
{
    struct ethtool_drvinfo info = { .cmd = ETHTOOL_GDRVINFO };
    int error = ethtool(name, &info);

    if (!error) {
        copy_string(ret_driver->name, sizeof ret_driver->name, info.driver, sizeof info.driver);
        copy_string(ret_driver->version, sizeof ret_driver->version, info.version, sizeof info.version);
        copy_string(ret_driver->firmware, sizeof ret_driver->firmware, info.fw_version, sizeof info.fw_version);
    }
    return error;
}

/* Asks for NAME's speed in bit/s, and whether it is full duplex.  -ENODEV; -EOPNOTSUPP: it has none, or none now. */
int link_get_speed(const char *name, uint64_t *ret_bps, bool *ret_full_duplex)
{
    union {
        struct ethtool_link_settings s;
        uint32_t room[sizeof(struct ethtool_link_settings) / 4 + 3 * 127]; /* Three masks, of at most 127 words. */
    } u = { .s = { .cmd = ETHTOOL_GLINKSETTINGS } };

    /* The first call only tells how long the kernel's masks are, as a negative number. */
    int error = ethtool(name, &u);
    if (error) {
        return error;
    }
    if (u.s.link_mode_masks_nwords >= 0 || u.s.cmd != ETHTOOL_GLINKSETTINGS) {
        return -EOPNOTSUPP;
    }
    int8_t n_words = u.s.link_mode_masks_nwords > -128 ? -u.s.link_mode_masks_nwords : 127;
    memset(&u, 0, sizeof u);
    u.s.cmd = ETHTOOL_GLINKSETTINGS;
    u.s.link_mode_masks_nwords = n_words;
    error = ethtool(name, &u);
    if (error) {
        return error;
    }
    if (!u.s.speed || u.s.speed == (uint32_t) SPEED_UNKNOWN) {
        return -EOPNOTSUPP;
    }
    *ret_bps = UINT64_C(1000000) * u.s.speed;
    *ret_full_duplex = u.s.duplex == DUPLEX_FULL;
    return 0;
}

/* Turns large receive offload of NAME off: what it merges cannot be forwarded.  0 also if the device has no such thing.
 * -ENODEV, -EPERM; -EOPNOTSUPP: it stays on. */
int link_disable_lro(const char *name)
{
    struct ethtool_value flags = { .cmd = ETHTOOL_GFLAGS };
    int error = ethtool(name, &flags);

    if (error == -EOPNOTSUPP || (!error && !(flags.data & ETH_FLAG_LRO))) {
        return 0;
    }
    if (error) {
        return error;
    }
    flags.cmd = ETHTOOL_SFLAGS;
    flags.data &= ~(uint32_t) ETH_FLAG_LRO;
    error = ethtool(name, &flags);
    if (error) {
        return error == -EINVAL ? -EOPNOTSUPP : error;
    }
    flags = (struct ethtool_value){ .cmd = ETHTOOL_GFLAGS };
    error = ethtool(name, &flags);
    return error ? error : flags.data & ETH_FLAG_LRO ? -EOPNOTSUPP : 0;
}
