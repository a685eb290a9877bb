/* Parts of the scanner that keys and set actions share.  Private to lib/odp. */
#ifndef ODP_KEY_SCAN_H
#define ODP_KEY_SCAN_H 1

#include <linux/openvswitch.h>

#include "lib/nl/attrbuf.h"
#include "lib/odp/odp-field.h"

/* Where what is read goes; 'mask' may be NULL. */
struct odp_scan {
    struct attrbuf *key, *mask;
};

/* An NSH header without variable length metadata. */
struct odp_nsh {
    struct ovs_nsh_key_base base;
    struct ovs_nsh_key_md1 md1;
};

/* All return NULL or an error in words, to be freed. */

/* Reads attribute NAME(BODY); BODY is written to. */
char *odp_scan_attr(const struct odp_scan *s, const char *name, char *body);
/* Reads what is inside tunnel(). */
char *odp_tunnel_scan(const struct odp_scan *s, char *body);
/* Reads "a=1,b=2/3" into VALUE and MASK by the offsets of the N FIELDS. */
char *odp_scan_fields(const char *group, const struct odp_field *fields, size_t n, char *body, uint8_t *value,
                      uint8_t *mask);
char *odp_scan_field(const char *group, const struct odp_field *f, const char *text, uint8_t *value, uint8_t *mask);
char *odp_scan_nsh(char *body, struct odp_nsh *ret_value, struct odp_nsh *ret_mask);

void odp_scan_put(const struct odp_scan *s, uint16_t type, const void *value, const void *mask, size_t len);
/* Appends NSH as a nest of TYPE. */
void odp_nsh_put(struct attrbuf *b, uint16_t type, const struct odp_nsh *nsh, bool md1);

#endif
