/* The text of keys: names and layouts of fields, one table for printing and scanning.  Private to lib/odp. */
#ifndef ODP_FIELD_H
#define ODP_FIELD_H 1

#include <stdint.h>
#include <stdio.h>

#include "lib/odp/odp-attr.h"
#include "lib/odp/odp-key.h"

enum odp_field_kind {
    ODP_FIELD_DEC8,      /* 64 */
    ODP_FIELD_HEX8,      /* 0x3 */
    ODP_FIELD_DEC16,     /* 8080, network byte order */
    ODP_FIELD_HEX16,     /* 0x1f, host byte order */
    ODP_FIELD_HEX32,     /* 0x1f, host byte order */
    ODP_FIELD_BE32,      /* 0x1f, network byte order */
    ODP_FIELD_LABEL,     /* 0x1f, network byte order, 20 bits */
    ODP_FIELD_HEX64,     /* Network byte order. */
    ODP_FIELD_HEX128,    /* Host byte order. */
    ODP_FIELD_ETHERTYPE, /* 0x0800 */
    ODP_FIELD_IPV4,
    ODP_FIELD_IPV6,
    ODP_FIELD_MAC,
    ODP_FIELD_FRAG,      /* no, first, later */
    ODP_FIELD_PORT,      /* A datapath port by name or number. */
    ODP_FIELD_CT_STATE,  /* +new-est or hexadecimal. */
    ODP_FIELD_TCP_FLAGS, /* syn|ack, +syn-ack */
};

struct odp_field {
    const char *name; /* NULL: the attribute is this field. */
    enum odp_field_kind kind;
    uint8_t ofs;
};

/* An attribute whose data is a structure of fields, or one field. */
struct odp_group {
    const char *name;
    uint16_t type; /* OVS_KEY_ATTR_*. */
    uint8_t size;
    const struct odp_field *fields;
    uint8_t n_fields;
};

/* The table's entry for attribute TYPE, or for NAME (N characters); NULL if there is none. */
const struct odp_group *odp_group_by_type(uint16_t type);
const struct odp_group *odp_group_by_name(const char *name, size_t n);

/* The attributes of a tunnel's nest that are one field each; the field's offset is unused. */
struct odp_tunnel_field {
    struct odp_field field;
    uint16_t type; /* OVS_TUNNEL_KEY_ATTR_*. */
};
#define ODP_N_TUNNEL_FIELDS 9
extern const struct odp_tunnel_field odp_tunnel_fields[ODP_N_TUNNEL_FIELDS];
#define ODP_TUNNEL_FLAGS_ALL 0xf

size_t odp_field_size(enum odp_field_kind kind);
/* A field of up to 64 bits, as a number. */
uint64_t odp_field_get(enum odp_field_kind kind, const uint8_t *p);
void odp_field_set(enum odp_field_kind kind, uint64_t v, uint8_t *p);
/* All bits that a value of KIND can have. */
uint64_t odp_field_max(enum odp_field_kind kind);
bool odp_field_is_exact(enum odp_field_kind kind, const uint8_t *mask);

/* Names of the bits of a flags field, index is the bit number. */
extern const char *const odp_ct_state_names[8];
extern const char *const odp_tcp_flag_names[12];
extern const char *const odp_tunnel_flag_names[4];
enum { ODP_TUNNEL_OAM = 1, ODP_TUNNEL_DF = 2, ODP_TUNNEL_CSUM = 4, ODP_TUNNEL_KEY = 8 };

/* Prints VALUE, and "/MASK" if it is not exact.  MASK NULL: exact. */
void odp_field_print(FILE *out, enum odp_field_kind kind, const uint8_t *value, const uint8_t *mask,
                     const struct odp_names *names, bool verbose);
void odp_port_print(FILE *out, uint32_t port, const struct odp_names *names);
/* Prints FLAGS as a|b; under a MASK that is not EXACT as +a-b. */
void odp_flags_print(FILE *out, const char *const *names, int n, uint64_t flags, uint64_t mask, bool exact);
/* Prints the data of A, an attribute of a key, with its parentheses; MASK NULL: exact.  Also for set(). */
void odp_key_attr_print(FILE *out, const struct odp_attr *a, const struct odp_attr *mask,
                        const struct odp_names *names, bool verbose);
/* The inside of tunnel(). */
void odp_tunnel_print(FILE *out, const struct odp_attr *nest, const struct odp_attr *mask, bool verbose);
void odp_hex_print(FILE *out, const uint8_t *data, size_t n, const char *separator);

/* Reads all of TEXT, "VALUE" or "VALUE/MASK", into VALUE and MASK, bytes of the field's size.  Returns NULL, or the
 * words that say what would be right. */
const char *odp_field_scan(enum odp_field_kind kind, const char *text, uint8_t *value, uint8_t *mask);
/* The same for flags, "+a-b", "a|b" or a number with an optional mask; ALL is the mask that stands for exact. */
bool odp_flags_scan(const char *text, const char *const *names, int n, uint64_t all, uint64_t *flags,
                    uint64_t *mask);
/* A number of any base, all of TEXT, at most MAX. */
bool odp_number_scan(const char *text, uint64_t max, uint64_t *ret_value);
/* Reads all of TEXT, two digits a byte; returns how many bytes, or -1: it is something else, or more than SIZE. */
int odp_hex_scan(const char *text, uint8_t *bytes, size_t size);

#endif
