/* Bytes: a buffer that grows while a message is written, and a reader that never leaves what it was given.
 *
 * Both are plain values of whoever uses them; no locks.  Numbers are put and got in network byte order. */
#ifndef BASE_BUF_H
#define BASE_BUF_H 1

#include "lib/base/types.h"

/* ---- Writing.  Memory comes from xmalloc and so cannot fail to be had. ---- */

struct buf {
    uint8_t *data; /* NULL while nothing was put. */
    size_t len;    /* Bytes put. */
    size_t size;   /* Bytes allocated. */
};

#define BUF_INITIALIZER                                                                                                \
    {                                                                                                                  \
        NULL, 0, 0                                                                                                     \
    }

void buf_uninit(struct buf *b);
/* Forgets the bytes, keeps the memory. */
void buf_clear(struct buf *b);
/* Appends N bytes and returns them, not set, valid until the next put. */
void *buf_put_uninit(struct buf *b, size_t n);
void buf_put(struct buf *b, const void *data, size_t n);
void buf_put_zeros(struct buf *b, size_t n);
void buf_put_u8(struct buf *b, uint8_t v);
void buf_put_u16(struct buf *b, uint16_t v);
void buf_put_u32(struct buf *b, uint32_t v);
void buf_put_u64(struct buf *b, uint64_t v);
/* Writes V over the two bytes at OFS, which have been put: a length known only at the end. */
void buf_patch_u16(struct buf *b, size_t ofs, uint16_t v);
/* Puts the text S, cut to SIZE - 1 characters, and zeros, SIZE bytes in all. */
void buf_put_text(struct buf *b, const char *s, size_t size);
/* Inserts N bytes, not set, at OFS. */
void buf_insert(struct buf *b, size_t ofs, size_t n);
/* Removes the first N bytes. */
void buf_pull(struct buf *b, size_t n);
/* Forgets the bytes from LEN on. */
static inline void buf_truncate(struct buf *b, size_t len) { b->len = len; }
/* Puts zeros until the bytes from START on are a multiple of 8. */
void buf_pad8(struct buf *b, size_t start);

/* ---- Reading. ---- */

struct bytes {
    const uint8_t *p;
    size_t n;
};

/* Takes N bytes off the front and returns them, or returns NULL and takes none if there are fewer. */
static inline const uint8_t *bytes_pull(struct bytes *b, size_t n)
{
    if (b->n < n) {
        return NULL;
    }
    const uint8_t *p = b->p;
    b->p += n;
    b->n -= n;
    return p;
}

static inline uint16_t get_u16(const uint8_t *p) { return (uint16_t) (p[0] << 8 | p[1]); }
static inline uint32_t get_u32(const uint8_t *p) { return (uint32_t) get_u16(p) << 16 | get_u16(p + 2); }
static inline uint64_t get_u64(const uint8_t *p) { return (uint64_t) get_u32(p) << 32 | get_u32(p + 4); }

#endif
