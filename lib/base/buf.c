/* See buf.h. */
#include <config.h>

#include "lib/base/buf.h"

#include <stdlib.h>

#include "lib/base/util.h"

enum { BUF_MIN_SIZE = 256 };

void buf_uninit(struct buf *b)
{
    free(b->data);
    *b = (struct buf) BUF_INITIALIZER;
}

void buf_clear(struct buf *b) { b->len = 0; }

void *buf_put_uninit(struct buf *b, size_t n)
{
    if (b->size - b->len < n) {
        size_t size = b->size * 2 > b->len + n ? b->size * 2 : b->len + n;
        b->size = size > BUF_MIN_SIZE ? size : BUF_MIN_SIZE;
        b->data = xrealloc(b->data, b->size);
    }
    void *p = b->data + b->len;
    b->len += n;
    return p;
}

void buf_put(struct buf *b, const void *data, size_t n)
{
    if (n) {
        memcpy(buf_put_uninit(b, n), data, n);
    }
}

void buf_put_zeros(struct buf *b, size_t n)
{
    if (n) {
        memset(buf_put_uninit(b, n), 0, n);
    }
}

void buf_put_u8(struct buf *b, uint8_t v) { buf_put(b, &v, 1); }

void buf_put_u16(struct buf *b, uint16_t v)
{
    buf_put_zeros(b, 2);
    buf_patch_u16(b, b->len - 2, v);
}

void buf_put_u32(struct buf *b, uint32_t v)
{
    buf_put_u16(b, v >> 16);
    buf_put_u16(b, v & 0xffff);
}

void buf_put_u64(struct buf *b, uint64_t v)
{
    buf_put_u32(b, v >> 32);
    buf_put_u32(b, v & 0xffffffff);
}

void buf_patch_u16(struct buf *b, size_t ofs, uint16_t v)
{
    b->data[ofs] = v >> 8;
    b->data[ofs + 1] = v & 0xff;
}

void buf_pad8(struct buf *b, size_t start) { buf_put_zeros(b, (8 - (b->len - start) % 8) % 8); }

void buf_put_text(struct buf *b, const char *s, size_t size)
{
    size_t n = strnlen(s, size - 1);

    buf_put(b, s, n);
    buf_put_zeros(b, size - n);
}

void buf_insert(struct buf *b, size_t ofs, size_t n)
{
    buf_put_uninit(b, n);
    memmove(b->data + ofs + n, b->data + ofs, b->len - n - ofs);
}

void buf_pull(struct buf *b, size_t n)
{
    b->len -= n;
    if (b->len) {
        memmove(b->data, b->data + n, b->len);
    }
}
