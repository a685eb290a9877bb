/* What flowgen and flowsink have in common at both ends: reading their options, and printing their figures. */
#ifndef FLOWOPT_H
#define FLOWOPT_H 1

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/types.h"

/* All of these end the program, with a message that names OPTION and VALUE and says what would be right, if VALUE is
 * not. */
uint64_t flowopt_number(const char *option, const char *value, uint64_t min, uint64_t max);
uint32_t *flowopt_numbers(const char *option, const char *value, uint32_t min, uint32_t max, size_t *n);
uint16_t flowopt_ethertype(const char *option, const char *value);
uint16_t *flowopt_ethertypes(const char *option, const char *value, size_t *n);
struct eth_addr flowopt_mac(const char *option, const char *value);

struct flow_device {
    char *name;
    int ifindex;
    unsigned mtu;
};

struct flow_device *flowopt_devices(const char *option, const char *value, size_t *n);
void flowopt_devices_destroy(struct flow_device *devices, size_t n);

/* Set when SIGINT, SIGTERM or SIGHUP came, once flowopt_catch_signals() was called; MASK, unless NULL, is then what to
 * wait with, and outside of such a wait they are held back. */
extern volatile sig_atomic_t flowopt_stop;
void flowopt_catch_signals(sigset_t *mask);

/* One line of key=value pairs an object; or, as JSON, an array of objects, one a line.  To standard output. */
struct flowreport {
    bool json;
    unsigned n_objects, n_keys;
};

void flowreport_begin(struct flowreport *r, bool json);
void flowreport_next(struct flowreport *r);
void flowreport_count(struct flowreport *r, const char *key, uint64_t value);
void flowreport_real(struct flowreport *r, const char *key, double value, int digits);
void flowreport_word(struct flowreport *r, const char *key, const char *value);
void flowreport_end(struct flowreport *r);

#endif
