/* A buffer that netlink attributes are written to: a key, a mask, a list of actions.
 *
 * libmnl writes attributes only behind a message header, so an attrbuf holds one of its own, and the attributes
 * follow it.  Writing past the end sets 'overflow' and changes nothing; the writer checks once, at the end. */
#ifndef NL_ATTRBUF_H
#define NL_ATTRBUF_H 1

#include <libmnl/libmnl.h>
#include <linux/netlink.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct attrbuf {
    struct nlmsghdr *nlh; /* Start of the memory; attributes behind it. */
    size_t size;          /* Of the memory. */
    bool overflow;
};

/* Uses the SIZE bytes at MEM, 4-byte aligned, at least NLMSG_HDRLEN. */
void attrbuf_init(struct attrbuf *b, void *mem, size_t size);
void attrbuf_clear(struct attrbuf *b);

/* What has been written: attributes, 4-byte aligned; valid until the next change. */
static inline const void *attrbuf_data(const struct attrbuf *b) { return mnl_nlmsg_get_payload(b->nlh); }
static inline size_t attrbuf_len(const struct attrbuf *b) { return mnl_nlmsg_get_payload_len(b->nlh); }

void attrbuf_put(struct attrbuf *b, uint16_t type, const void *data, size_t len);
void attrbuf_put_flag(struct attrbuf *b, uint16_t type);
void attrbuf_put_u8(struct attrbuf *b, uint16_t type, uint8_t v);
void attrbuf_put_u16(struct attrbuf *b, uint16_t type, uint16_t v); /* Also for be16: bytes as they are. */
void attrbuf_put_u32(struct attrbuf *b, uint16_t type, uint32_t v);
void attrbuf_put_u64(struct attrbuf *b, uint16_t type, uint64_t v);
/* Opens a nested attribute; returns NULL on overflow.  The end takes what begin returned. */
struct nlattr *attrbuf_nest_begin(struct attrbuf *b, uint16_t type);
void attrbuf_nest_end(struct attrbuf *b, struct nlattr *nest);
/* Puts what has been written since START, a length of then, into a nested attribute of TYPE; and takes the last, which lies at START, apart
 * into what is in it. */
void attrbuf_wrap(struct attrbuf *b, size_t start, uint16_t type);
void attrbuf_unwrap(struct attrbuf *b, size_t start);
/* Appends LEN bytes of attributes made elsewhere. */
void attrbuf_append(struct attrbuf *b, const void *attrs, size_t len);

#endif
