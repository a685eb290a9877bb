/* Sessions that several share: lib/dpif/session-pool.h.
 *
 * The requests of a session are played here (the linker's --wrap), as the kernel provider makes them: what was sent is noted in
 * the session, some time passes, and then the answers are given to what is noted there.  So if two threads were in one session, answers
 * would go to the wrong one. */
#include <config.h>

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>
#include <cmocka.h>

#include "lib/base/clock.h"
#include "lib/base/counter.h"
#include "lib/base/util.h"
#include "lib/dpif/session-pool.h"
#include "tests/unit/dpif-sim-kit.h"

#define PATIENCE_MS 20000
#define MAX_SESSIONS 64

/* ---- Sessions. ---- */

struct fake {
    struct dpif_session *session;
    struct dpif_op **ops; /* Not atomic: whoever has the session has it alone. */
    size_t n_ops;
    bool in_use; /* Atomic. */
};
static struct fake fakes[MAX_SESSIONS];
static unsigned int n_fakes;                      /* The test's thread alone opens. */
static unsigned int n_closed, n_clashes;          /* Atomic. */
static bool no_more;                              /* Opening fails. */

int __real_dpif_session_open(struct dpif *d, struct dpif_session **ret_session);
int __wrap_dpif_session_open(struct dpif *d, struct dpif_session **ret_session);
int __wrap_dpif_session_open(struct dpif *d, struct dpif_session **ret_session)
{
    int error = no_more ? -EMFILE : __real_dpif_session_open(d, ret_session);
    if (!error && n_fakes < MAX_SESSIONS) {
        __atomic_store_n(&fakes[n_fakes].session, *ret_session, __ATOMIC_RELEASE);
        __atomic_store_n(&n_fakes, n_fakes + 1, __ATOMIC_RELEASE);
    }
    return error;
}

/* The last that is at this address. */
static struct fake *fake_of(const struct dpif_session *s)
{
    for (unsigned int i = __atomic_load_n(&n_fakes, __ATOMIC_ACQUIRE); i-- > 0;) {
        if (__atomic_load_n(&fakes[i].session, __ATOMIC_ACQUIRE) == s) {
            return &fakes[i];
        }
    }
    abort();
}

void __real_dpif_session_close(struct dpif_session *s);
void __wrap_dpif_session_close(struct dpif_session *s);
void __wrap_dpif_session_close(struct dpif_session *s)
{
    if (__atomic_load_n(&fake_of(s)->in_use, __ATOMIC_ACQUIRE)) {
        __atomic_add_fetch(&n_clashes, 1, __ATOMIC_RELAXED);
    }
    __atomic_add_fetch(&n_closed, 1, __ATOMIC_RELAXED);
    __real_dpif_session_close(s);
}

/* What the answer to a request is follows from its flow. */
static int answer_to(const struct dpif_op *op) { return -(int) (op->flow.ufid.lo % 3 ? op->flow.ufid.lo % 100 : 0); }

void __wrap_dpif_operate(struct dpif_session *s, struct dpif_op *ops[], size_t n_ops);
void __wrap_dpif_operate(struct dpif_session *s, struct dpif_op *ops[], size_t n_ops)
{
    struct fake *f = fake_of(s);

    if (__atomic_exchange_n(&f->in_use, true, __ATOMIC_RELAXED)) {
        __atomic_add_fetch(&n_clashes, 1, __ATOMIC_RELAXED);
    }
    f->ops = ops;
    f->n_ops = n_ops;
    sched_yield();
    for (size_t i = 0; i < f->n_ops; i++) {
        f->ops[i]->error = answer_to(f->ops[i]);
    }
    __atomic_store_n(&f->in_use, false, __ATOMIC_RELAXED);
}

/* ---- What tests are made of. ---- */

static struct session_pool *pool;

static int begin(void **state)
{
    setup(state); /* Has a session of its own. */
    memset(fakes, 0, sizeof fakes);
    n_fakes = 1;
    fakes[0].session = session;
    n_closed = n_clashes = 0;
    no_more = false;
    return 0;
}

static unsigned int n_closed_now(void) { return __atomic_load_n(&n_closed, __ATOMIC_ACQUIRE); }
static unsigned int n_open_now(void) { return n_fakes - 1 - n_closed_now(); }

static void join(unsigned int n)
{
    for (unsigned int i = 0; i < n; i++) {
        assert_int_equal(session_pool_join(pool), 0);
    }
}

static void leave(unsigned int n)
{
    for (unsigned int i = 0; i < n; i++) {
        session_pool_leave(pool);
    }
}

/* ---- How many there are. ---- */

static void there_are_as_many_as_users_up_to_the_limit(void **state)
{
    pool = session_pool_create(dpif, 4);
    assert_int_equal(n_open_now(), 0);
    for (unsigned int n = 1; n <= 6; n++) {
        join(1);
        assert_int_equal(session_pool_n_open(pool), MIN(n, 4));
        assert_int_equal(n_open_now(), MIN(n, 4));
    }
    for (unsigned int n = 6; n-- > 0;) {
        leave(1);
        assert_int_equal(session_pool_n_open(pool), MIN(n, 4));
        assert_int_equal(n_open_now(), MIN(n, 4));
    }
    session_pool_destroy(pool);
}

static void who_cannot_join_has_not(void **state)
{
    pool = session_pool_create(dpif, 4);
    join(2);
    no_more = true;
    assert_int_equal(session_pool_join(pool), -EMFILE);
    no_more = false;
    assert_int_equal(session_pool_n_open(pool), 2);
    leave(1);
    assert_int_equal(n_open_now(), 1);
    leave(1);
    assert_int_equal(n_open_now(), 0);
    session_pool_destroy(pool);
}

static void each_has_its_own_while_there_are_enough(void **state)
{
    struct pooled_session *own[SESSION_POOL_MAX], *now[SESSION_POOL_MAX];

    pool = session_pool_create(dpif, SESSION_POOL_MAX);
    join(SESSION_POOL_MAX);
    for (unsigned int round = 0; round < 20; round++) {
        for (unsigned int i = 0; i < SESSION_POOL_MAX; i++) {
            unsigned int user = (i * 7 + round) % SESSION_POOL_MAX; /* In another order each time, all at once. */
            now[user] = session_pool_take(pool, user);
        }
        for (unsigned int user = 0; user < SESSION_POOL_MAX; user++) {
            own[user] = round ? own[user] : now[user];
            assert_ptr_equal(now[user], own[user]);
            session_pool_give(pool, now[user]);
        }
    }
    leave(SESSION_POOL_MAX);
    session_pool_destroy(pool);
}

/* Main does not wait for it. */
static void one_that_is_out_when_it_is_to_go_is_closed_by_who_has_it(void **state)
{
    pool = session_pool_create(dpif, 2);
    join(2);
    struct pooled_session *ps = session_pool_take(pool, 1);
    leave(1);
    assert_int_equal(n_closed_now(), 0);
    session_pool_give(pool, ps);
    assert_int_equal(n_closed_now(), 1);

    /* Or it is kept, if one more user comes first. */
    join(1);
    ps = session_pool_take(pool, 1);
    leave(1);
    join(1);
    session_pool_give(pool, ps);
    assert_int_equal(n_open_now(), 2);
    assert_ptr_equal(session_pool_take(pool, 1), ps);
    session_pool_give(pool, ps);
    leave(2);
    assert_int_equal(n_open_now(), 0);
    session_pool_destroy(pool);
}

/* ---- More users than sessions. ---- */

#define BATCH 8

struct user {
    pthread_t thread;
    unsigned int id, n_rounds;
    unsigned int n_wrong;
    bool *stop; /* Atomic; NULL: after N_ROUNDS. */
};

static uint64_t n_waits(void)
{
    uint64_t n = 0;
    assert_true(counter_read("session_pool_wait", &n));
    return n;
}

static void *user_main(void *u_)
{
    struct user *u = u_;
    struct dpif_op memory[BATCH], *ops[BATCH];

    for (unsigned int round = 0; u->stop ? !__atomic_load_n(u->stop, __ATOMIC_ACQUIRE) : round < u->n_rounds; round++) {
        unsigned int n = 1 + round % BATCH;
        for (unsigned int i = 0; i < n; i++) {
            memory[i] = (struct dpif_op) { .type = DPIF_OP_FLOW_DEL, .error = 1, .flow = { .has_ufid = true } };
            memory[i].flow.ufid.lo = (u->id * 1000003ull + round) * 17 + i * 7;
            ops[i] = &memory[i];
        }
        session_pool_operate(pool, u->id, ops, n);
        for (unsigned int i = 0; i < n; i++) {
            u->n_wrong += ops[i] != &memory[i] || memory[i].error != answer_to(&memory[i]);
        }
    }
    counter_thread_end();
    return NULL;
}

static void users_start(struct user users[], unsigned int n, unsigned int n_rounds, bool *stop)
{
    for (unsigned int i = 0; i < n; i++) {
        users[i] = (struct user) { .id = users[i].id, .n_rounds = n_rounds, .stop = stop };
        assert_int_equal(pthread_create(&users[i].thread, NULL, user_main, &users[i]), 0);
    }
}

static void users_end(struct user users[], unsigned int n)
{
    for (unsigned int i = 0; i < n; i++) {
        pthread_join(users[i].thread, NULL);
        assert_int_equal(users[i].n_wrong, 0);
    }
    assert_int_equal(n_clashes, 0);
}

static void answers_go_to_who_asked_though_there_are_fewer_sessions(void **state)
{
    struct user users[12];

    pool = session_pool_create(dpif, 3);
    join(ARRAY_SIZE(users));
    for (unsigned int i = 0; i < ARRAY_SIZE(users); i++) {
        users[i].id = i;
    }
    uint64_t before = n_waits();
    users_start(users, ARRAY_SIZE(users), 3000, NULL);
    users_end(users, ARRAY_SIZE(users));
    assert_true(n_waits() > before);
    assert_int_equal(n_open_now(), 3);
    leave(ARRAY_SIZE(users));
    session_pool_destroy(pool);
}

/* It has lost its CPU in the middle of a request, say. */
static void one_that_does_not_come_back_keeps_nobody(void **state)
{
    struct user users[3];

    pool = session_pool_create(dpif, 2);
    join(4);
    struct pooled_session *kept = session_pool_take(pool, 0);
    for (unsigned int i = 0; i < ARRAY_SIZE(users); i++) {
        users[i].id = 1 + i;
    }
    uint64_t start = clock_msec();
    users_start(users, ARRAY_SIZE(users), 1000, NULL);
    users_end(users, ARRAY_SIZE(users));
    assert_true(clock_msec() - start < PATIENCE_MS);
    session_pool_give(pool, kept);
    leave(4);
    session_pool_destroy(pool);
}

/* They have joined for good, and others come and go. */
static void users_come_and_go_while_others_work(void **state)
{
    struct user users[4];
    bool stop = false;

    pool = session_pool_create(dpif, 6);
    join(ARRAY_SIZE(users));
    for (unsigned int i = 0; i < ARRAY_SIZE(users); i++) {
        users[i].id = 5 - i; /* So that their own come and go, too. */
    }
    users_start(users, ARRAY_SIZE(users), 0, &stop);
    for (unsigned int round = 0; n_fakes < MAX_SESSIONS - 8 && round < 100000; round++) {
        unsigned int n = 1 + round % 5;
        join(n);
        sched_yield();
        leave(n);
    }
    __atomic_store_n(&stop, true, __ATOMIC_RELEASE);
    users_end(users, ARRAY_SIZE(users));
    assert_int_equal(n_open_now(), ARRAY_SIZE(users));
    leave(ARRAY_SIZE(users));
    assert_int_equal(n_open_now(), 0);
    session_pool_destroy(pool);
}

int main(void)
{
#define T(NAME) cmocka_unit_test_setup_teardown(NAME, begin, teardown)
    static const struct CMUnitTest tests[] = {
        T(there_are_as_many_as_users_up_to_the_limit),
        T(who_cannot_join_has_not),
        T(each_has_its_own_while_there_are_enough),
        T(one_that_is_out_when_it_is_to_go_is_closed_by_who_has_it),
        T(answers_go_to_who_asked_though_there_are_fewer_sessions),
        T(one_that_does_not_come_back_keeps_nobody),
        T(users_come_and_go_while_others_work),
    };
    alarm(120); /* Who is kept waiting waits for ever. */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
