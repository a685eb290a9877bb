/* Numbers and words from other_config maps, checked; what is wrong is said once and replaced by its default. */
#ifndef VSWITCHD_SETTINGS_H
#define VSWITCHD_SETTINGS_H 1

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/compiler.h"
#include "lib/base/types.h"
#include "ofproto/engine.h"
#include "ofproto/port-limit.h"

/* Value of KEY, or NULL. */
typedef const char *settings_get(const void *aux, const char *key);

/* OWNER is named in warnings: "Open_vSwitch", "bridge br0". */
long long settings_number(settings_get *get, const void *aux, const char *owner, const char *key, long long min,
                          long long max, long long def);
bool settings_bool(settings_get *get, const void *aux, const char *owner, const char *key, bool def);
/* Of the Open_vSwitch row: thread counts, flow limits, dispatch. */
void settings_read_engine(settings_get *get, const void *aux, struct engine_settings *ret);

/* Of an Interface row: how many upcalls it may cause.  Returns NULL, or what is wrong and what is done instead, to be freed. */
char *settings_read_upcall_limit(settings_get *get, const void *aux, struct port_limit *ret);

/* Logs a warning, unless the same text has been logged before. */
void warn_once(const char *format, ...) PRINTF_FORMAT(1, 2);
/* Forgets what has been said. */
void warn_once_uninit(void);

/* "xx:xx:xx:xx:xx:xx", nothing before or after.  Returns false, leaving *RET alone, if S (may be NULL) is not that. */
bool eth_addr_read(const char *s, struct eth_addr *ret);
/* A datapath id: 16 hex digits, or 0x and at most 16; not zero. */
bool datapath_id_read(const char *s, uint64_t *ret);

#endif
