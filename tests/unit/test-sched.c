/* The scheduler: order within a flow, fairness between ports, who is dropped, and that its accounts are right after
 * every step.
 *
 * A failure in a random run prints its seed; the program takes one as its argument. */
#include <config.h>

#include <limits.h>
#include <stdio.h>

#include "tests/unit/sched-kit.h"

/* As sched.c has them. */
#define COST(LEN) (1000L + (LEN))
#define QUANTUM (8 * COST(256))
#define SMALL 200
#define FULL 1700 /* A full frame, with its key. */

#define N_SEEDS 60
#define N_STEPS 1500
static uint64_t only_seed;

static struct upcall ordinary(uint32_t port, uint32_t flow) { return (struct upcall) { port, flow, false, SMALL }; }
static struct upcall arp(uint32_t port) { return (struct upcall) { port, 0, true, SMALL }; }

/* ---- Random runs. ---- */

#define N_PORTS 6
#define N_FLOWS 20
#define MAX_OUT 4

struct run {
    struct random r;
    struct world *w;
    uint32_t last[N_PORTS][N_FLOWS][2]; /* Of each flow, the last taken, + 1. */
    struct cell *out[MAX_OUT][BATCH];   /* Batches that are being served. */
    unsigned int n_out[MAX_OUT];
    struct lane *guests[100]; /* Lent lanes. */
    unsigned int n_guests;
};

static void check_order(struct run *run, const struct cell *c)
{
    const struct sent *s = cell_sent(run->w, c);
    uint32_t *last = &run->last[s->port][s->flow][s->control];
    if (cell_id(c) < *last) {
        fail_msg("seed %llu: %u was served before %u", (unsigned long long) run->r.seed, *last - 1, cell_id(c));
    }
    *last = cell_id(c) + 1;
}

static void step_take(struct run *run)
{
    unsigned int slot = rnd(&run->r, MAX_OUT);
    if (run->n_out[slot]) {
        done_with(run->w, run->out[slot], run->n_out[slot]);
        run->n_out[slot] = 0;
    } else {
        run->n_out[slot] = take(run->w, run->out[slot], 1 + rnd(&run->r, BATCH));
        for (unsigned int i = 0; i < run->n_out[slot]; i++) {
            check_order(run, run->out[slot][i]);
        }
    }
}

static void step_lend(struct run *run)
{
    struct lane *l = sched_lend(&run->w->s, rnd(&run->r, 100), 1 + rnd(&run->r, 10)), *next;
    for (; l; l = next) {
        next = l->next;
        assert_true(run->n_guests < ARRAY_SIZE(run->guests));
        run->guests[run->n_guests++] = l;
    }
}

/* A colleague serves a part of a lane, and gives the lane back now and then. */
static void step_guest(struct run *run)
{
    struct cell *cells[BATCH];
    if (!run->n_guests) {
        return;
    }
    unsigned int i = rnd(&run->r, run->n_guests);
    unsigned int n = lane_take(run->guests[i], cells, 1 + rnd(&run->r, BATCH));
    for (unsigned int j = 0; j < n; j++) {
        note_taken(run->w, cells[j]);
        check_order(run, cells[j]);
        note_served(run->w, cells[j]);
        cell_give_back(cells[j]);
    }
    sched_collect(&run->w->s);
    if (rnd(&run->r, 2)) {
        sched_take_back(&run->w->s, run->guests[i]);
        run->guests[i] = run->guests[--run->n_guests];
    }
}

static void step_gone(struct run *run)
{
    uint32_t no = rnd(&run->r, N_PORTS);
    const struct port_queue *q = queue_of(run->w, no);
    if (!q || !q->lent) {
        port_gone(run->w, no);
    }
}

/* Whoever is dropped has, with it, more than eight times what is free; whoever is kept has not. */
static void step_send(struct run *run)
{
    static const uint32_t lens[] = { 0, SMALL, FULL, 9000, 60000 };
    struct world *w = run->w;
    struct upcall c = {
        .port = rnd(&run->r, N_PORTS),
        .flow = rnd(&run->r, N_FLOWS),
        .control = !rnd(&run->r, 5),
        .len = lens[rnd(&run->r, 50) ? rnd(&run->r, 3) : rnd(&run->r, ARRAY_SIZE(lens))],
    };
    const struct port_queue *q = queue_of(w, c.port);
    size_t room = 8 * (w->s.pool.size - w->used), had = w->ports[c.port].bytes;
    unsigned int n_control = q ? q->n_control : 0;
    enum sched_drop drop = send_upcall(w, c);

    assert_int_equal(drop == SCHED_DROP_control, c.control && n_control >= 64);
    if (drop == SCHED_KEPT && !c.control) {
        assert_true(had < w->ports[c.port].bytes && w->ports[c.port].bytes <= room);
    }
    assert_int_not_equal(drop, SCHED_DROP_port_gone);
}

static void random_run(uint64_t seed)
{
    struct run *run = xzalloc(sizeof *run);
    run->r.seed = seed;
    run->w = world_create_small((8 + rnd(&run->r, 40)) * 128 * 1024);
    uint32_t weight = 1 + rnd(&run->r, 30); /* From idle to flooded. */

    for (unsigned int i = 0; i < N_STEPS; i++) {
        for (uint32_t n = rnd(&run->r, 2 * weight); n; n--) {
            step_send(run);
        }
        switch (rnd(&run->r, 16)) {
        case 0:
            step_lend(run);
            break;
        case 1:
        case 2:
        case 3:
            step_guest(run);
            break;
        case 4:
            rnd(&run->r, 4) ? (void) 0 : step_gone(run);
            break;
        default:
            step_take(run);
        }
        check_world(run->w);
    }
    for (unsigned int i = 0; i < MAX_OUT; i++) {
        done_with(run->w, run->out[i], run->n_out[i]);
    }
    while (run->n_guests) {
        step_guest(run);
    }
    struct cell *cells[BATCH];
    unsigned int n;
    while ((n = take(run->w, cells, 1 + rnd(&run->r, BATCH))) != 0) {
        for (unsigned int i = 0; i < n; i++) {
            check_order(run, cells[i]);
        }
        done_with(run->w, cells, n);
    }
    check_world(run->w);
    assert_int_equal(run->w->used + run->w->waiting, 0);
    world_destroy(run->w);
    free(run);
}

static void order_and_accounts_hold_in_random_runs(void **state)
{
    if (only_seed) {
        random_run(only_seed);
        return;
    }
    for (uint64_t seed = 1; seed <= N_SEEDS; seed++) {
        random_run(seed);
    }
}

/* ---- Fairness. ---- */

static void check_fair(const long served[], uint32_t n, long largest)
{
    long least = LONG_MAX, most = 0;
    for (uint32_t i = 0; i < n; i++) {
        least = MIN(least, served[i]);
        most = MAX(most, served[i]);
    }
    if (most - least > QUANTUM + largest) {
        fail_msg("of %u ports that always wait, one was served %ld and another %ld", n, most, least);
    }
}

/* N_PORTS that always have DEPTH upcalls waiting, small at some and large at others, for ROUNDS rounds. */
static void fair_run(uint32_t n_ports, uint32_t depth, uint32_t n_lens, long rounds, uint64_t seed)
{
    static const uint32_t choice[] = { SMALL, 600, FULL, 9000, 60000 };
    struct random r = { .seed = seed };
    struct world *w = world_create();
    uint32_t *lens = xcalloc(n_ports, sizeof *lens);
    long *served = xcalloc(n_ports, sizeof *served), total = 0;
    struct cell *cells[BATCH];

    for (uint32_t i = 0; i < n_ports; i++) {
        lens[i] = choice[i ? rnd(&r, n_lens) : i % n_lens];
        for (uint32_t n = 0; n < depth; n++) {
            assert_int_equal(send_upcall(w, (struct upcall) { i, rnd(&r, 100), false, lens[i] }), SCHED_KEPT);
        }
    }
    while (total < rounds * n_ports * QUANTUM) {
        unsigned int n = take(w, cells, BATCH);
        assert_int_equal(n, BATCH);
        for (unsigned int i = 0; i < n; i++) {
            uint32_t port = cell_sent(w, cells[i])->port;
            served[port] += COST(cells[i]->len);
            total += COST(cells[i]->len);
            assert_int_equal(send_upcall(w, (struct upcall) { port, rnd(&r, 100), false, lens[port] }), SCHED_KEPT);
        }
        done_with(w, cells, n);
        check_fair(served, n_ports, COST(choice[n_lens - 1]));
    }
    check_world(w);
    free(lens);
    free(served);
    world_destroy(w);
}

static void ports_that_wait_are_served_the_same_within_a_quantum(void **state)
{
    for (uint64_t seed = 0; seed < 5; seed++) {
        fair_run(1, 80, 3, 50, seed);
        fair_run(2, 80, 5, 50, seed);
        fair_run(3, 60, 3, 50, seed);
        fair_run(10, 24, 5, 50, seed);
        fair_run(100, 16, 3, 20, seed);
    }
    fair_run(1000, 16, 3, 8, 1);
}

/* Upcalls taken until the first of PORT is among them. */
static unsigned int turns_until(struct world *w, uint32_t port)
{
    struct cell *cells[BATCH];
    unsigned int n, before = 0;
    bool found = false;

    while (!found && (n = take(w, cells, BATCH)) != 0) {
        for (unsigned int i = 0; i < n && !found; i++) {
            found = cell_sent(w, cells[i])->port == port;
            before += !found;
        }
        done_with(w, cells, n);
    }
    assert_true(found);
    return before;
}

/* A flood of N_PORTS, of LEN, goes on and on; what a port that sends now and then sends, of SPARSE_LEN, is kept, and
 * served within a round. */
static void late_comer_run(uint32_t n_ports, uint32_t len, uint32_t sparse_len)
{
    struct world *w = world_create();
    uint32_t late = n_ports + 1;
    long turn = QUANTUM / COST(MAX(len, 100)) + 1; /* The most upcalls of one port's turn. */

    for (int round = 0; round < 4; round++) {
        flood(w, 0, n_ports, len);
        for (uint32_t flow = 0; flow < 2; flow++) {
            enum sched_drop drop = send_upcall(w, (struct upcall) { late, flow, false, sparse_len });
            if (drop) {
                fail_msg("%u bytes of a late-comer among %u ports that flood %u bytes: %s", sparse_len, n_ports, len,
                         sched_drop_name(drop));
            }
        }
        assert_in_range(turns_until(w, late), 0, turn * n_ports);
        port_gone(w, late); /* The next is as late. */
        check_world(w);
    }
    world_destroy(w);
}

static void a_late_comer_finds_room_and_is_served_within_a_round(void **state)
{
    static const uint32_t n_ports[] = { 1, 2, 10, 100, 1000 };
    for (size_t i = 0; i < ARRAY_SIZE(n_ports); i++) {
        late_comer_run(n_ports[i], SMALL, SMALL);
        late_comer_run(n_ports[i], FULL, FULL);
    }
}

/* Memory that is cut into cells of one size is none for another. */
static void a_late_comer_finds_room_whatever_size_the_others_flood(void **state)
{
    static const uint32_t lens[] = { SMALL, FULL, 9000 };
    for (size_t i = 0; i < ARRAY_SIZE(lens); i++) {
        for (size_t j = 0; j < ARRAY_SIZE(lens); j++) {
            late_comer_run(1, lens[i], lens[j]);
            late_comer_run(100, lens[i], lens[j]);
        }
    }
}

/* ---- Who is dropped. ---- */

static void a_lone_port_fills_eight_ninths_and_loses_its_own_newest(void **state)
{
    struct world *w = world_create();
    const struct port_queue *q;
    uint32_t kept = 0;

    while (send_upcall(w, ordinary(1, 5)) == SCHED_KEPT) {
        kept++;
    }
    size_t size = w->s.pool.size;
    assert_in_range(w->used, size * 2 / 3, size * 8 / 9 + 512);
    for (uint32_t i = 0; i < 500; i++) {
        assert_int_equal(send_upcall(w, ordinary(1, 5)), SCHED_DROP_share);
        assert_int_equal(send_upcall(w, ordinary(2, i)), SCHED_KEPT);
    }
    q = queue_of(w, 1);
    assert_int_equal(q->stats.received, kept + 501);
    assert_int_equal(q->stats.drops[SCHED_DROP_share], 501);
    assert_int_equal(q->stats.most_waiting, kept);
    assert_int_equal(queue_of(w, 2)->stats.drops[SCHED_DROP_share], 0);
    assert_int_equal(w->s.drops[SCHED_DROP_share], 501);
    serve_all(w);
    for (uint32_t id = 0; id < w->n_sent; id++) { /* The newest of port 1, and nothing else. */
        assert_int_equal(w->sent[id].fate, w->sent[id].port == 1 && id >= kept ? DROPPED : SERVED);
    }
    assert_int_equal(w->used, 0);
    world_destroy(w);
}

static void the_port_beyond_its_share_is_the_one_that_is_dropped(void **state)
{
    struct world *w = world_create_small(6 * 1024 * 1024);
    flood(w, 1, 1, SMALL);
    size_t alone = w->ports[1].bytes;
    flood(w, 2, 7, SMALL); /* Each gets eight times what is free then. */
    for (uint32_t i = 0; i < 100; i++) {
        assert_int_equal(send_upcall(w, ordinary(1, i)), SCHED_DROP_share);
    }
    /* Port 1 is served what others lack: they all come to the same. */
    struct cell *cells[BATCH];
    for (int i = 0; i < 2500; i++) {
        done_with(w, cells, take(w, cells, BATCH));
        for (uint32_t n = 0; n < 2 * BATCH; n++) {
            send_upcall(w, ordinary(1 + n % 8, n));
        }
    }
    for (uint32_t port = 1; port <= 8; port++) {
        assert_in_range(w->ports[port].bytes, alone / 10, alone / 6);
    }
    check_world(w);
    world_destroy(w);
}

static void a_message_longer_than_any_upcall_is_dropped(void **state)
{
    struct world *w = world_create();
    for (int i = 0; i < 3; i++) { /* Also when something waits already. */
        struct upcall big = ordinary(1, 1);
        big.len = 150 * 1024;
        static uint32_t mem[200 * 1024 / 4];
        struct dpif_upcall u;
        size_t len = message_build(&big, mem, &u);
        assert_int_not_equal(sched_add(&w->s, &u, mem, len, 0), SCHED_KEPT);
        w->ports[1].received++;
        assert_int_equal(w->s.pool.used, w->used);
        memcpy(w->ports[1].drops, queue_of(w, 1)->stats.drops, sizeof w->ports[1].drops);
        assert_int_equal(send_upcall(w, ordinary(1, 1)), SCHED_KEPT);
    }
    serve_all(w);
    world_destroy(w);
}

static void reasons_have_names_and_words(void **state)
{
    for (enum sched_drop i = SCHED_KEPT; i < SCHED_N_DROPS; i++) {
        assert_true(strlen(sched_drop_name(i)) && strlen(sched_drop_text(i)));
    }
    assert_string_equal(sched_drop_name(SCHED_DROP_share), "share");
    assert_string_equal(sched_drop_name(SCHED_DROP_port_gone), "port_gone");
    assert_string_equal(sched_drop_text(SCHED_DROP_control), "its port had too many control packets waiting");
}

/* ---- Control. ---- */

static void control_goes_first_and_is_half_of_a_batch_at_most(void **state)
{
    struct world *w = world_create();
    struct cell *cells[BATCH];

    for (uint32_t i = 0; i < 300; i++) {
        send_upcall(w, ordinary(1, i));
    }
    for (uint32_t port = 1; port <= 4; port++) {
        for (int i = 0; i < 40; i++) {
            assert_int_equal(send_upcall(w, arp(port)), SCHED_KEPT);
        }
    }
    for (int batch = 0; batch < 5; batch++) { /* 160 of control in halves, while others wait. */
        assert_int_equal(take(w, cells, BATCH), BATCH);
        for (unsigned int i = 0; i < BATCH; i++) {
            assert_int_equal(cell_sent(w, cells[i])->control, i < BATCH / 2);
        }
        done_with(w, cells, BATCH);
    }
    serve_all(w);

    for (int i = 0; i < 64; i++) { /* Alone: a whole batch. */
        send_upcall(w, arp(1));
    }
    assert_int_equal(take(w, cells, BATCH), BATCH);
    done_with(w, cells, BATCH);
    check_world(w);
    world_destroy(w);
}

static void sixty_four_control_upcalls_of_a_port_wait_and_no_more(void **state)
{
    struct world *w = world_create();
    struct cell *cells[BATCH];

    for (int i = 0; i < 1000; i++) {
        assert_int_equal(send_upcall(w, arp(1)), i < 64 ? SCHED_KEPT : SCHED_DROP_control);
        /* Nobody else is kept out, nor are ordinary upcalls of the same port. */
        assert_int_equal(send_upcall(w, ordinary(1, i)), SCHED_KEPT);
        assert_int_equal(send_upcall(w, ordinary(2, i)), SCHED_KEPT);
        if (i < 64) {
            assert_int_equal(send_upcall(w, arp(3)), SCHED_KEPT);
        }
    }
    assert_int_equal(queue_of(w, 1)->stats.drops[SCHED_DROP_control], 1000 - 64);
    assert_int_equal(queue_of(w, 1)->stats.control, 64);
    assert_int_equal(w->s.drops[SCHED_DROP_control], 1000 - 64);
    /* When some have been taken, others may come. */
    done_with(w, cells, take(w, cells, BATCH));
    assert_int_equal(send_upcall(w, arp(1)), SCHED_KEPT);
    serve_all(w);
    world_destroy(w);
}

static void a_flood_of_arp_delays_nobody(void **state)
{
    struct world *w = world_create();
    struct cell *cells[BATCH];

    for (int round = 0; round < 500; round++) {
        for (int i = 0; i < 100; i++) {
            send_upcall(w, arp(1));
        }
        assert_int_equal(send_upcall(w, ordinary(2, round)), SCHED_KEPT);
        assert_int_equal(send_upcall(w, arp(3)), SCHED_KEPT);
        assert_int_equal(send_upcall(w, ordinary(1, round)), SCHED_KEPT);
        done_with(w, cells, take(w, cells, BATCH));
        for (uint32_t id = 0; id < w->n_sent; id++) { /* In the very next batch. */
            bool is_flood = w->sent[id].port == 1 && w->sent[id].control;
            assert_true(is_flood || w->sent[id].fate == SERVED);
        }
    }
    world_destroy(w);
}

static void control_of_a_flooding_port_still_gets_in(void **state)
{
    struct world *w = world_create();
    flood(w, 1, 1, SMALL);
    assert_int_equal(send_upcall(w, ordinary(1, 1)), SCHED_DROP_share);
    for (int i = 0; i < 64; i++) { /* Else its LACP or BFD would be dropped, and the link with it. */
        assert_int_equal(send_upcall(w, arp(1)), SCHED_KEPT);
    }
    assert_int_equal(send_upcall(w, arp(1)), SCHED_DROP_control);
    check_world(w);
    world_destroy(w);
}

/* ---- Ports that go. ---- */

/* When the daemon exits and time is over: counted a port and as a whole, whichever lane it was in. */
static void an_exit_drops_all_that_waits_and_counts_it(void **state)
{
    struct world *w = world_create();

    for (uint32_t i = 0; i < 150; i++) {
        send_upcall(w, ordinary(i % 3, i));
        send_upcall(w, arp(i % 3));
    }
    sched_drop_all(&w->s);
    assert_true(sched_is_empty(&w->s));
    assert_int_equal(w->s.drops[SCHED_DROP_exit], 300);
    assert_int_equal(w->s.pool.used, 0);
    for (uint32_t no = 0; no < 3; no++) {
        assert_int_equal(queue_of(w, no)->stats.drops[SCHED_DROP_exit], 100);
    }
    sched_drop_all(&w->s); /* Of nothing. */
    assert_int_equal(w->s.drops[SCHED_DROP_exit], 300);
    for (uint32_t no = 0; no < 3; no++) {
        sched_port_gone(&w->s, (odp_port_t) { no });
        assert_false(sched_has_port(&w->s, (odp_port_t) { no }));
    }
    world_destroy(w);
}

static void a_port_that_goes_takes_all_that_waits_with_it(void **state)
{
    struct world *w = world_create();
    struct cell *cells[BATCH];

    for (uint32_t i = 0; i < 200; i++) { /* First, middle and last in the ring and in the list of control. */
        send_upcall(w, ordinary(i % 5, i));
        send_upcall(w, arp(i % 5));
    }
    port_gone(w, 2);
    port_gone(w, 0);
    port_gone(w, 4);
    assert_int_equal(w->s.drops[SCHED_DROP_port_gone], 240);
    assert_false(sched_has_port(&w->s, (odp_port_t) { 2 }));
    assert_true(sched_has_port(&w->s, (odp_port_t) { 3 }));
    check_world(w);
    /* The others go on, and come in behind. */
    assert_int_equal(send_upcall(w, arp(3)), SCHED_KEPT);
    assert_int_equal(send_upcall(w, arp(2)), SCHED_KEPT);
    done_with(w, cells, take(w, cells, BATCH));
    port_gone(w, 1);
    port_gone(w, 3);
    port_gone(w, 2);
    port_gone(w, 2);    /* Again, */
    port_gone(w, 1000); /* and one that never was. */
    assert_int_equal(w->used + w->s.n, 0);
    assert_int_equal(take(w, cells, BATCH), 0);
    for (uint32_t no = 0; no < 5; no++) {
        assert_false(sched_has_port(&w->s, (odp_port_t) { no }));
    }
    world_destroy(w);
}

static void a_port_may_go_while_its_upcalls_are_served(void **state)
{
    struct world *w = world_create();
    struct cell *cells[BATCH], *more[BATCH];

    for (uint32_t i = 0; i < 100; i++) {
        send_upcall(w, ordinary(1, i));
        send_upcall(w, arp(1));
    }
    unsigned int n = take(w, cells, BATCH);
    port_gone(w, 1);
    assert_int_equal(w->s.n, 0);
    assert_true(sched_has_port(&w->s, (odp_port_t) { 1 })); /* The cells point to it. */
    for (unsigned int i = 0; i < n; i++) {
        assert_int_equal(cells[i]->queue->port.n, 1);
    }
    done_with(w, cells, n);
    assert_false(sched_has_port(&w->s, (odp_port_t) { 1 }));
    check_world(w);

    /* The number is used again, while the last of the old one are still served. */
    send_upcall(w, ordinary(1, 1));
    n = take(w, cells, BATCH);
    port_gone(w, 1);
    send_upcall(w, ordinary(1, 2));
    done_with(w, cells, n);
    assert_true(sched_has_port(&w->s, (odp_port_t) { 1 }));
    assert_int_equal(take(w, more, BATCH), 1);
    done_with(w, more, 1);
    check_world(w);
    world_destroy(w);
}

static void a_number_used_again_starts_from_nothing(void **state)
{
    struct world *w = world_create();
    for (int round = 0; round < 50; round++) {
        for (int i = 0; i < 100; i++) {
            send_upcall(w, arp(7));
            send_upcall(w, ordinary(7, i));
        }
        assert_int_equal(queue_of(w, 7)->stats.received, 200);
        assert_int_equal(queue_of(w, 7)->stats.drops[SCHED_DROP_control], 36);
        port_gone(w, 7);
        assert_null(queue_of(w, 7));
    }
    world_destroy(w);
}

static void numbers_beyond_a_datapaths_share_one_place(void **state)
{
    static const uint32_t numbers[] = { 65535, 65536, 1000000000, UINT32_MAX };
    struct world *w = world_create();
    struct cell *cells[BATCH];

    for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
        uint32_t mem[256];
        struct dpif_upcall u;
        struct upcall c = ordinary(numbers[i], i);
        size_t len = message_build(&c, mem, &u);
        assert_int_equal(sched_add(&w->s, &u, mem, len, 0), SCHED_KEPT);
        assert_int_equal(w->s.queues->by_port[65535]->n, i + 1);
    }
    assert_int_equal(sched_take(&w->s, cells, BATCH), ARRAY_SIZE(numbers));
    sched_done(&w->s, cells, ARRAY_SIZE(numbers));
    assert_int_equal(w->s.pool.used, 0);
    world_destroy(w);
}

/* ---- The rest. ---- */

static void a_cell_has_all_that_the_upcall_had(void **state)
{
    struct world *w = world_create();
    uint32_t mem[512];
    struct dpif_upcall u;
    struct upcall c = ordinary(3, 9);
    struct cell *cell;

    for (size_t i = 0; i < ARRAY_SIZE(mem); i++) {
        mem[i] = hash_u64(i, 0);
    }
    c.len = 1500;
    size_t len = message_build(&c, mem, &u);
    u.packet_len = 700;
    u.userdata = (const struct nlattr *) &mem[300];
    u.type = DPIF_UC_ACTION;
    u.hash = 77;
    u.mru = 1400;
    assert_int_equal(sched_add(&w->s, &u, mem, len, 12345), SCHED_KEPT);
    uint8_t *copy = xmemdup(mem, len);
    memset(mem, 0, sizeof mem); /* The receive buffer is used again. */
    assert_int_equal(sched_take(&w->s, &cell, 1), 1);
    assert_int_equal(cell->len, len);
    assert_int_equal(cell->arrived, 12345);
    assert_memory_equal(cell->msg, copy, len);
    assert_ptr_equal(cell->dp.key, (const char *) cell->msg + ((const char *) u.key - (const char *) mem));
    assert_ptr_equal(cell->dp.packet, (const char *) cell->msg + ((const char *) u.packet - (const char *) mem));
    assert_ptr_equal(cell->dp.userdata, (const char *) cell->msg + 1200);
    assert_null(cell->dp.egress_tun_key);
    assert_int_equal(cell->dp.key_len, u.key_len);
    assert_int_equal(cell->dp.packet_len, 700);
    assert_int_equal(cell->dp.type, DPIF_UC_ACTION);
    assert_int_equal(cell->dp.hash, 77);
    assert_int_equal(cell->dp.mru, 1400);
    sched_done(&w->s, &cell, 1);
    free(copy);
    world_destroy(w);
}

static void note_port(odp_port_t port, const struct port_stats *stats, void *aux)
{
    uint64_t *seen = aux;
    assert_true(port.n < 64);
    assert_int_equal(stats->received, port.n + 1);
    *seen |= UINT64_C(1) << port.n;
}

static void all_ports_are_shown_and_no_other(void **state)
{
    struct world *w = world_create();
    uint64_t seen = 0;

    for (uint32_t no = 0; no < 64; no += 9) {
        for (uint32_t i = 0; i <= no; i++) {
            send_upcall(w, ordinary(no, i));
        }
    }
    port_gone(w, 18);
    rcu_read_lock();
    sched_show_ports(&w->s, note_port, &seen);
    rcu_read_unlock();
    for (uint32_t no = 0; no < 64; no++) {
        bool expected = no % 9 == 0 && no != 18;
        assert_int_equal(seen >> no & 1, expected);
        assert_int_equal(sched_has_port(&w->s, (odp_port_t) { no }), expected);
    }
    world_destroy(w);
}

static void it_ends_with_much_waiting_and_leaks_nothing(void **state)
{
    struct world *w = world_create();
    struct cell *cells[BATCH];
    for (uint32_t no = 0; no < 1000; no++) {
        send_upcall(w, ordinary(no, 1));
        send_upcall(w, arp(no));
    }
    take(w, cells, BATCH);
    port_gone(w, cell_sent(w, cells[0])->port);
    world_destroy(w);
    rcu_barrier();
}

static void an_idle_scheduler_goes_on(void **state)
{
    struct world *w = world_create();
    for (int i = 0; i < 3; i++) {
        flood(w, 1, 2, FULL);
        serve_all(w);
        sched_idle(&w->s);
    }
    assert_int_equal(w->used, 0);
    world_destroy(w);
}

int main(int argc, char *argv[])
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(order_and_accounts_hold_in_random_runs),
        cmocka_unit_test(ports_that_wait_are_served_the_same_within_a_quantum),
        cmocka_unit_test(a_late_comer_finds_room_and_is_served_within_a_round),
        cmocka_unit_test(a_late_comer_finds_room_whatever_size_the_others_flood),
        cmocka_unit_test(a_lone_port_fills_eight_ninths_and_loses_its_own_newest),
        cmocka_unit_test(the_port_beyond_its_share_is_the_one_that_is_dropped),
        cmocka_unit_test(a_message_longer_than_any_upcall_is_dropped),
        cmocka_unit_test(reasons_have_names_and_words),
        cmocka_unit_test(control_goes_first_and_is_half_of_a_batch_at_most),
        cmocka_unit_test(sixty_four_control_upcalls_of_a_port_wait_and_no_more),
        cmocka_unit_test(a_flood_of_arp_delays_nobody),
        cmocka_unit_test(control_of_a_flooding_port_still_gets_in),
        cmocka_unit_test(an_exit_drops_all_that_waits_and_counts_it),
        cmocka_unit_test(a_port_that_goes_takes_all_that_waits_with_it),
        cmocka_unit_test(a_port_may_go_while_its_upcalls_are_served),
        cmocka_unit_test(a_number_used_again_starts_from_nothing),
        cmocka_unit_test(numbers_beyond_a_datapaths_share_one_place),
        cmocka_unit_test(a_cell_has_all_that_the_upcall_had),
        cmocka_unit_test(all_ports_are_shown_and_no_other),
        cmocka_unit_test(it_ends_with_much_waiting_and_leaks_nothing),
        cmocka_unit_test(an_idle_scheduler_goes_on),
    };
    only_seed = argc > 1 ? strtoull(argv[1], NULL, 0) : 0;
    thread_main_init();
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    rcu_barrier();
    thread_main_uninit();
    return failed;
}
