/* Attributes of gcc and clang under readable names, and clang's thread-safety annotations.
 *
 * GUARDED_BY and its kin cost nothing: they are checked by `clang -Wthread-safety` (see
 * build-aux/), and are empty elsewhere. */
#ifndef BASE_COMPILER_H
#define BASE_COMPILER_H 1

#include <stddef.h>

#define UNUSED __attribute__((unused))
#define PRINTF_FORMAT(FMT, ARG1) __attribute__((format(printf, FMT, ARG1)))
#define STRFTIME_FORMAT(FMT) __attribute__((format(strftime, FMT, 0)))
#define MALLOC_LIKE __attribute__((malloc))
#define WARN_UNUSED_RESULT __attribute__((warn_unused_result))
#define NO_RETURN __attribute__((noreturn))
#define CACHE_LINE 64
#define CACHE_ALIGNED __attribute__((aligned(CACHE_LINE)))
#define NOINLINE __attribute__((noinline))
#define likely(C) __builtin_expect(!!(C), 1)
#define unlikely(C) __builtin_expect(!!(C), 0)

#define ARRAY_SIZE(A) (sizeof(A) / sizeof((A)[0]))
#define MIN(A, B) ((A) < (B) ? (A) : (B))
#define MAX(A, B) ((A) > (B) ? (A) : (B))
#define ROUND_UP(X, Y) (((X) + (Y) - 1) / (Y) * (Y))
#define CONTAINER_OF(PTR, TYPE, MEMBER) ((TYPE *) ((char *) (PTR) - offsetof(TYPE, MEMBER)))

#ifdef __clang__
#define TS_ATTR(X) __attribute__((X))
#else
#define TS_ATTR(X)
#endif
#define CAPABILITY(NAME) TS_ATTR(capability(NAME))
#define GUARDED_BY(L) TS_ATTR(guarded_by(L)) /* Of a global. */
#define GUARDED(L)                           /* Of a member: in C, clang cannot name a sibling, so only a remark. */
#define PT_GUARDED_BY(L) TS_ATTR(pt_guarded_by(L))
#define REQUIRES(...) TS_ATTR(requires_capability(__VA_ARGS__))
#define EXCLUDES(...) TS_ATTR(locks_excluded(__VA_ARGS__))
#define ACQUIRES(...) TS_ATTR(acquire_capability(__VA_ARGS__))
#define TRY_ACQUIRES(...) TS_ATTR(try_acquire_capability(__VA_ARGS__))
#define RELEASES(...) TS_ATTR(release_capability(__VA_ARGS__))
#define NO_THREAD_SAFETY_ANALYSIS TS_ATTR(no_thread_safety_analysis)

#endif
