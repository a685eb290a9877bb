/* Options and figures of the traffic tools.
 *
 * Wrong options are told before anything is sent or listened for.  Devices are looked at once, at the start: they have
 * to be there and up, because a device that is down takes no packet and gives none, which would look like loss.
 *
 * Threads: the one there is. */
#include <config.h>

#include "utilities/flowopt.h"

#include <errno.h>
#include <linux/if_ether.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/base/util.h"
#include "utilities/flowprobe.h"

/* --- Numbers and addresses ---------------------------------------------------------------------------------------- */

uint64_t flowopt_number(const char *option, const char *value, uint64_t min, uint64_t max)
{
    long long n;

    if (!str_to_llong(value, (long long) min, (long long) max, &n)) {
        fatal(0, "--%s %s: must be a whole number from %llu to %llu", option, value, (unsigned long long) min,
              (unsigned long long) max);
    }
    return n;
}

/* Splits VALUE at its commas.  Returns the words, *N of them, in memory that is one block with their text. */
static char **split(const char *option, const char *value, size_t *n)
{
    size_t max = 1;

    for (const char *s = value; *s; s++) {
        max += *s == ',';
    }
    char **words = xmalloc(max * sizeof *words + strlen(value) + 1);
    char *next = strcpy((char *) (words + max), value);
    for (*n = 0; *n < max; ++*n) {
        words[*n] = strsep(&next, ",");
        if (!words[*n][0]) {
            fatal(0, "--%s \"%s\": must be a list separated by commas, without empty places", option, value);
        }
    }
    return words;
}

/* Returns the numbers in VALUE, *N of them, all different, to be freed. */
uint32_t *flowopt_numbers(const char *option, const char *value, uint32_t min, uint32_t max, size_t *n)
{
    char **words = split(option, value, n);
    uint32_t *numbers = xmalloc(*n * sizeof *numbers);

    for (size_t i = 0; i < *n; i++) {
        numbers[i] = flowopt_number(option, words[i], min, max);
        for (size_t j = 0; j < i; j++) {
            if (numbers[i] == numbers[j]) {
                fatal(0, "--%s %s: %s is there twice", option, value, words[i]);
            }
        }
    }
    free(words);
    return numbers;
}

uint16_t flowopt_ethertype(const char *option, const char *value)
{
    long long n;

    if (!strcmp(value, "arp")) {
        return FLOWPROBE_ETHERTYPE_ARP;
    }
    if (!str_to_llong(value, ETH_P_802_3_MIN, 0xffff, &n)) {
        fatal(0, "--%s %s: must be \"arp\" or a number from 0x600 to 0xffff", option, value);
    }
    if (n == ETH_P_8021Q || n == ETH_P_8021AD) {
        fatal(0, "--%s %s: a receiver would take the probe for a VLAN tag; use any other type", option, value);
    }
    return n;
}

/* Returns the Ethernet types in VALUE, *N of them, to be freed. */
uint16_t *flowopt_ethertypes(const char *option, const char *value, size_t *n)
{
    char **words = split(option, value, n);
    uint16_t *types = xmalloc(*n * sizeof *types);

    for (size_t i = 0; i < *n; i++) {
        types[i] = flowopt_ethertype(option, words[i]);
        for (size_t j = 0; j < i; j++) {
            if (types[i] == types[j]) {
                /* Two sockets would count each packet twice. */
                fatal(0, "--%s %s: %s is there twice", option, value, words[i]);
            }
        }
    }
    free(words);
    return types;
}

struct eth_addr flowopt_mac(const char *option, const char *value)
{
    struct eth_addr a;
    int end = -1;

    if (strspn(value, "0123456789abcdefABCDEF:") != strlen(value) ||
        sscanf(value, "%2hhx:%2hhx:%2hhx:%2hhx:%2hhx:%2hhx%n", &a.ea[0], &a.ea[1], &a.ea[2], &a.ea[3], &a.ea[4],
               &a.ea[5], &end) != 6 ||
        end != (int) strlen(value)) {
        fatal(0, "--%s %s: must be an Ethernet address such as 02:00:00:00:00:01", option, value);
    }
    return a;
}

/* --- Devices ------------------------------------------------------------------------------------------------------ */

static void look_at(int fd, const char *option, struct flow_device *d)
{
    struct ifreq r = { 0 };

    if (strlen(d->name) >= sizeof r.ifr_name) {
        fatal(0, "--%s %s: names of devices have at most %zu characters", option, d->name, sizeof r.ifr_name - 1);
    }
    strcpy(r.ifr_name, d->name);
    if (ioctl(fd, SIOCGIFINDEX, &r)) {
        fatal(errno, "--%s %s: must be a network device of this network namespace", option, d->name);
    }
    d->ifindex = r.ifr_ifindex;
    if (ioctl(fd, SIOCGIFFLAGS, &r)) {
        fatal(errno, "--%s %s: cannot read its flags", option, d->name);
    }
    if (!(r.ifr_flags & IFF_UP)) {
        fatal(0, "--%s %s: the device is down; set it up first (ip link set %s up)", option, d->name, d->name);
    }
    if (ioctl(fd, SIOCGIFMTU, &r)) {
        fatal(errno, "--%s %s: cannot read its MTU", option, d->name);
    }
    d->mtu = r.ifr_mtu;
}

/* Returns the devices that VALUE names, *N of them. */
struct flow_device *flowopt_devices(const char *option, const char *value, size_t *n)
{
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0); /* Any socket will do. */
    char **words = split(option, value, n);
    struct flow_device *devices = xcalloc(*n, sizeof *devices);

    if (fd < 0) {
        fatal(errno, "cannot create a socket");
    }
    for (size_t i = 0; i < *n; i++) {
        devices[i].name = xstrdup(words[i]);
        look_at(fd, option, &devices[i]);
        for (size_t j = 0; j < i; j++) {
            if (devices[i].ifindex == devices[j].ifindex) {
                fatal(0, "--%s %s: %s is there twice", option, value, words[i]);
            }
        }
    }
    free(words);
    close(fd);
    return devices;
}

void flowopt_devices_destroy(struct flow_device *devices, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        free(devices[i].name);
    }
    free(devices);
}

/* --- Signals ------------------------------------------------------------------------------------------------------ */

volatile sig_atomic_t flowopt_stop;

static void stop(int signal_number) { flowopt_stop = 1; }

void flowopt_catch_signals(sigset_t *mask)
{
    static const int signals[] = { SIGINT, SIGTERM, SIGHUP };
    struct sigaction action = { .sa_handler = stop }; /* No SA_RESTART: waits are to end. */
    sigset_t set;

    sigemptyset(&set);
    for (size_t i = 0; i < ARRAY_SIZE(signals); i++) {
        sigaction(signals[i], &action, NULL);
        sigaddset(&set, signals[i]);
    }
    if (mask) {
        sigprocmask(SIG_BLOCK, &set, mask);
    }
}

/* --- Figures ------------------------------------------------------------------------------------------------------ */

void flowreport_begin(struct flowreport *r, bool json)
{
    *r = (struct flowreport){ .json = json };
    if (json) {
        putchar('[');
    }
}

/* Begins an object. */
void flowreport_next(struct flowreport *r)
{
    if (r->json) {
        fputs(r->n_objects ? "},\n {" : "{", stdout);
    } else if (r->n_objects) {
        putchar('\n');
    }
    r->n_objects++;
    r->n_keys = 0;
}

static void key(struct flowreport *r, const char *name)
{
    printf(r->json ? "%s\"%s\":" : "%s%s=", !r->n_keys ? "" : r->json ? ", " : " ", name);
    r->n_keys++;
}

void flowreport_count(struct flowreport *r, const char *name, uint64_t value)
{
    key(r, name);
    printf("%llu", (unsigned long long) value);
}

void flowreport_real(struct flowreport *r, const char *name, double value, int digits)
{
    key(r, name);
    printf("%.*f", digits, value);
}

/* VALUE is of letters, digits and what needs no quoting between them. */
void flowreport_word(struct flowreport *r, const char *name, const char *value)
{
    key(r, name);
    printf(r->json ? "\"%s\"" : "%s", value);
}

/* Ends the report; a script that reads figures must not take half of them for all. */
void flowreport_end(struct flowreport *r)
{
    puts(!r->json ? "" : r->n_objects ? "}]" : "]");
    if (fflush(stdout)) {
        fatal(errno, "cannot write to standard output");
    }
}
