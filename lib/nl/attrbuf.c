/* A buffer that netlink attributes are written to.
 *
 * Purpose: keys, masks and actions are made long before the message that carries them, so they are written into a
 * caller's memory under a header of their own, and copied (or pointed to) later.
 *
 * Threads and owners: none of its own; an attrbuf belongs to whoever made it, and so does its memory.
 *
 * Overflow is sticky: after the first attribute that did not fit every later write is refused too, so what the
 * buffer holds stays a prefix of what was meant, with no smaller attribute in the gap and none of an inner list in
 * the outer one.  The writer asks once, at the end. */
#include <config.h>

#include "lib/nl/attrbuf.h"

#include <string.h>

/* The length field of an attribute has 16 bits and counts the header. */
#define ATTR_LEN_MAX UINT16_MAX

/* Prepares B to write into the SIZE bytes at MEM. */
void attrbuf_init(struct attrbuf *b, void *mem, size_t size)
{
    b->nlh = mnl_nlmsg_put_header(mem);
    b->size = size;
    b->overflow = false;
}

/* Forgets what has been written, and an overflow. */
void attrbuf_clear(struct attrbuf *b)
{
    b->nlh->nlmsg_len = NLMSG_HDRLEN;
    b->overflow = false;
}

/* Takes LEN more bytes, rounded up, off the free room; NULL, with 'overflow' set, if there are not as many. */
static void *attrbuf_reserve(struct attrbuf *b, size_t len)
{
    size_t room = b->size - b->nlh->nlmsg_len;
    if (b->overflow || len > room || MNL_ALIGN(len) > room) {
        b->overflow = true;
        return NULL;
    }
    void *p = mnl_nlmsg_get_payload_tail(b->nlh);
    b->nlh->nlmsg_len += MNL_ALIGN(len);
    return p;
}

/* Appends an attribute of TYPE with the LEN bytes at DATA. */
void attrbuf_put(struct attrbuf *b, uint16_t type, const void *data, size_t len)
{
    size_t attr_len = MNL_ATTR_HDRLEN + len;
    if (len > ATTR_LEN_MAX - MNL_ATTR_HDRLEN) {
        b->overflow = true;
        return;
    }
    struct nlattr *a = attrbuf_reserve(b, attr_len);
    if (a) {
        a->nla_len = attr_len;
        a->nla_type = type;
        if (len) {
            memcpy(mnl_attr_get_payload(a), data, len);
        }
        /* The kernel does not read the padding, but a hash or memcmp of the whole does. */
        memset((char *) a + attr_len, 0, MNL_ALIGN(attr_len) - attr_len);
    }
}

/* Appends an attribute that is true by being there. */
void attrbuf_put_flag(struct attrbuf *b, uint16_t type) { attrbuf_put(b, type, NULL, 0); }

/* Appends an attribute of one byte. */
void attrbuf_put_u8(struct attrbuf *b, uint16_t type, uint8_t v) { attrbuf_put(b, type, &v, sizeof v); }

/* Appends an attribute of two bytes, as they lie in V. */
void attrbuf_put_u16(struct attrbuf *b, uint16_t type, uint16_t v) { attrbuf_put(b, type, &v, sizeof v); }

/* Appends an attribute of four bytes, as they lie in V. */
void attrbuf_put_u32(struct attrbuf *b, uint16_t type, uint32_t v) { attrbuf_put(b, type, &v, sizeof v); }

/* Appends an attribute of eight bytes, as they lie in V; it is aligned to four only, as all are. */
void attrbuf_put_u64(struct attrbuf *b, uint16_t type, uint64_t v) { attrbuf_put(b, type, &v, sizeof v); }

/* Opens a nested attribute of TYPE: what is written until attrbuf_nest_end() lies inside.  NULL on overflow.
 *
 * NLA_F_NESTED is left out: the openvswitch module does not ask for it and does not set it in what it reports, so
 * actions that we wrote and actions that the kernel reports compare equal byte by byte.  For the few attributes whose
 * reader insists on it (psample), the caller adds it to TYPE. */
struct nlattr *attrbuf_nest_begin(struct attrbuf *b, uint16_t type)
{
    struct nlattr *nest = attrbuf_reserve(b, MNL_ATTR_HDRLEN);
    if (nest) {
        nest->nla_type = type;
        nest->nla_len = MNL_ATTR_HDRLEN;
    }
    return nest;
}

/* Closes NEST, as attrbuf_nest_begin() returned it (NULL is accepted).  If a write inside overflowed, or the whole
 * is longer than an attribute can be, NEST goes away again. */
void attrbuf_nest_end(struct attrbuf *b, struct nlattr *nest)
{
    if (!nest) {
        return;
    }
    size_t len = (char *) mnl_nlmsg_get_payload_tail(b->nlh) - (char *) nest;
    if (b->overflow || len > ATTR_LEN_MAX) {
        b->overflow = true;
        b->nlh->nlmsg_len = (char *) nest - (char *) b->nlh;
        return;
    }
    nest->nla_len = len;
}

/* Puts what has been written since the buffer had START bytes into a nested attribute of TYPE. */
void attrbuf_wrap(struct attrbuf *b, size_t start, uint16_t type)
{
    size_t len = attrbuf_len(b) - start;
    struct nlattr *nest = (struct nlattr *) ((char *) mnl_nlmsg_get_payload(b->nlh) + start);

    if (len + MNL_ATTR_HDRLEN > ATTR_LEN_MAX) {
        b->overflow = true;
    } else if (attrbuf_reserve(b, MNL_ATTR_HDRLEN)) {
        memmove((char *) nest + MNL_ATTR_HDRLEN, nest, len);
        nest->nla_type = type;
        nest->nla_len = len + MNL_ATTR_HDRLEN;
    }
}

/* Takes the attribute at START, which is the last, apart: what was nested in it stands in its place. */
void attrbuf_unwrap(struct attrbuf *b, size_t start)
{
    char *nest = (char *) mnl_nlmsg_get_payload(b->nlh) + start;

    memmove(nest, nest + MNL_ATTR_HDRLEN, attrbuf_len(b) - start - MNL_ATTR_HDRLEN);
    b->nlh->nlmsg_len -= MNL_ATTR_HDRLEN;
}

/* Appends the LEN bytes of attributes at ATTRS. */
void attrbuf_append(struct attrbuf *b, const void *attrs, size_t len)
{
    void *p = attrbuf_reserve(b, len);
    if (p && len) {
        memcpy(p, attrs, len);
        memset((char *) p + len, 0, MNL_ALIGN(len) - len);
    }
}
