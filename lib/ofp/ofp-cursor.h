/* Reading numbers off a message: a cursor that cannot be moved past its end.
 *
 * Numbers come in network order and are returned in host order.  A read of more than is left returns zeros and sets
 * 'bad'; the reader checks once, at the end, or before it believes a length.  Nothing is copied: what the cursor's
 * pointers refer to is the caller's. */
#ifndef OFP_CURSOR_H
#define OFP_CURSOR_H 1

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct ofp_cursor {
    const uint8_t *data;
    size_t len; /* Bytes left. */
    bool bad;   /* More was asked for than there was. */
};

static inline struct ofp_cursor ofp_cursor(const void *data, size_t len)
{
    return (struct ofp_cursor){ data, len, false };
}

/* Returns the next N bytes and steps over them, NULL when there are fewer. */
static inline const uint8_t *ofp_get_bytes(struct ofp_cursor *c, size_t n)
{
    if (c->len < n) {
        c->len = 0;
        c->bad = true;
        return NULL;
    }
    const uint8_t *p = c->data;
    if (n) { /* DATA may be NULL. */
        c->data += n;
    }
    c->len -= n;
    return p;
}

static inline void ofp_get_copy(struct ofp_cursor *c, void *to, size_t n)
{
    const uint8_t *p = ofp_get_bytes(c, n);

    if (p) {
        memcpy(to, p, n);
    } else {
        memset(to, 0, n);
    }
}

static inline void ofp_skip(struct ofp_cursor *c, size_t n) { ofp_get_bytes(c, n); }

static inline uint8_t ofp_get_u8(struct ofp_cursor *c)
{
    uint8_t v;

    ofp_get_copy(c, &v, sizeof v);
    return v;
}

static inline uint16_t ofp_get_u16(struct ofp_cursor *c)
{
    uint16_t v;

    ofp_get_copy(c, &v, sizeof v);
    return be16toh(v);
}

static inline uint32_t ofp_get_u32(struct ofp_cursor *c)
{
    uint32_t v;

    ofp_get_copy(c, &v, sizeof v);
    return be32toh(v);
}

static inline uint64_t ofp_get_u64(struct ofp_cursor *c)
{
    uint64_t v;

    ofp_get_copy(c, &v, sizeof v);
    return be64toh(v);
}

/* Steps over N bytes; were all of them there and zero? */
static inline bool ofp_get_zeros(struct ofp_cursor *c, size_t n)
{
    const uint8_t *p = ofp_get_bytes(c, n);
    uint8_t any = 0;

    for (size_t i = 0; p && i < n; i++) {
        any |= p[i];
    }
    return p && !any;
}

#endif
