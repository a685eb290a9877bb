/* Hash functions: thin names over xxHash (XXH3), which is faster and better mixed than what we would write. */
#ifndef BASE_HASH_H
#define BASE_HASH_H 1

#include <stddef.h>
#include <stdint.h>

#include "lib/base/types.h"

uint64_t hash_bytes(const void *p, size_t n, uint64_t seed);
struct ufid hash_bytes_128(const void *p, size_t n, uint64_t seed);
static inline uint64_t hash_u64(uint64_t v, uint64_t seed)
{
    /* The finaliser of splitmix64: a bijection in which every input bit reaches every output bit. */
    v += seed + UINT64_C(0x9e3779b97f4a7c15);
    v = (v ^ (v >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    v = (v ^ (v >> 27)) * UINT64_C(0x94d049bb133111eb);
    return v ^ (v >> 31);
}

#endif
