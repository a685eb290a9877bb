/* Walking netlink attributes that nobody has checked yet.  Private to lib/odp.
 *
 * The bytes may come from the kernel, from a test or from a fuzzer: every length is checked before it is believed,
 * and values are read with memcpy, since the kernel aligns attributes to 4 bytes only. */
#ifndef ODP_ATTR_H
#define ODP_ATTR_H 1

#include <linux/netlink.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct odp_attr {
    uint16_t type;
    uint16_t len; /* Of the data. */
    const uint8_t *data;
};

struct odp_attr_iter {
    const uint8_t *pos, *end;
    bool malformed; /* Set at the end of the walk when the rest was not an attribute. */
};

static inline struct odp_attr_iter odp_attr_begin(const void *attrs, size_t len)
{
    return (struct odp_attr_iter) { .pos = attrs, .end = len ? (const uint8_t *) attrs + len : attrs };
}

/* Takes the next attribute.  Returns false at the end, with 'malformed' set if the stream did not end cleanly. */
static inline bool odp_attr_next(struct odp_attr_iter *it, struct odp_attr *ret_attr)
{
    size_t left = it->end - it->pos;
    struct nlattr nla;

    if (left < NLA_HDRLEN) {
        it->malformed = left != 0;
        return false;
    }
    memcpy(&nla, it->pos, sizeof nla);
    if (nla.nla_len < NLA_HDRLEN || nla.nla_len > left) {
        it->malformed = true;
        return false;
    }
    ret_attr->type = nla.nla_type & NLA_TYPE_MASK;
    ret_attr->len = nla.nla_len - NLA_HDRLEN;
    ret_attr->data = it->pos + NLA_HDRLEN;

    /* The last attribute may lack its padding. */
    size_t step = NLA_ALIGN(nla.nla_len);
    it->pos += step < left ? step : left;
    return true;
}

static inline uint16_t odp_attr_u16(const struct odp_attr *a)
{
    uint16_t v;
    memcpy(&v, a->data, sizeof v);
    return v;
}

static inline uint32_t odp_attr_u32(const struct odp_attr *a)
{
    uint32_t v;
    memcpy(&v, a->data, sizeof v);
    return v;
}

static inline bool odp_all_zero(const void *p, size_t n)
{
    const uint8_t *b = p;
    uint64_t any = 0, word;

    for (; n >= sizeof word; n -= sizeof word, b += sizeof word) {
        memcpy(&word, b, sizeof word);
        any |= word;
    }
    while (n) {
        any |= b[--n];
    }
    return !any;
}

static inline bool odp_all_ones(const void *p, size_t n)
{
    const uint8_t *b = p;
    uint8_t all = 0xff;

    for (size_t i = 0; i < n; i++) {
        all &= b[i];
    }
    return all == 0xff;
}

#endif
