/* xxHash's XXH3, compiled in: the header-only form lets the compiler inline the short-input paths.
 *
 * Threads: any; no state. */
#include <config.h>

#include "lib/base/hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

/* Returns a 64-bit hash of the N bytes at P.  Not stable over architectures or versions: never stored or sent. */
uint64_t hash_bytes(const void *p, size_t n, uint64_t seed) { return XXH3_64bits_withSeed(p, n, seed); }

/* Returns a 128-bit hash of the N bytes at P, wide enough to name a flow by it. */
struct ufid hash_bytes_128(const void *p, size_t n, uint64_t seed)
{
    XXH128_hash_t h = XXH3_128bits_withSeed(p, n, seed);

    return (struct ufid){ .hi = h.high64, .lo = h.low64 };
}
