/* upcall/show, upcall/show-handlers and upcall/show-ports, of an engine with its real threads on the simulated
 * datapath.
 *
 *         ┌──────── engine ────────┐
 *         │ handler0   handler1    │ ◄── commands, run in the test's thread; what they answer is caught (--wrap)
 *         └──────▲─────────────────┘
 *            ┌───┴── sim datapath ──┐
 *           p0   p1   p2   p3        one bridge, all trunks; and a patch port
 *
 * What must hold: each answer is JSON if that was asked for; and what handlers show, what ports show and what was
 * sent are the same sums, whatever changes. */
#include <config.h>

#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/base/clock.h"
#include "lib/base/compiler.h"
#include "lib/base/rcu.h"
#include "lib/base/util.h"
#include "lib/dpif/dpif-sim.h"
#include "lib/io/thread.h"
#include "lib/pkt/packet-build.h"
#include "lib/rpc/unixctl-private.h"
#include "lib/rpc/unixctl.h"
#include "ofproto/engine-show.h"
#include "ofproto/engine.h"
#include "ofproto/mac.h"
#include "ofproto/xlate-config.h"

#define ETH_TYPE_TEST 0x88b5 /* IEEE: local experiments. */
#define N_PORTS 4
/* Long enough for a loaded machine; only a failure takes it. */
#define PATIENCE_MS 10000

/* ---- Commands. ---- */

static char *answer; /* Of the last command. */
static bool failed;

static void take_answer(char *text, bool error)
{
    assert_null(answer); /* Exactly one. */
    answer = text;
    failed = error;
}

void __wrap_unixctl_reply_take(struct unixctl_conn *conn, char *text);
void __wrap_unixctl_reply_take(struct unixctl_conn *conn, char *text) { take_answer(text, false); }

void __wrap_unixctl_error(struct unixctl_conn *conn, const char *format, ...) PRINTF_FORMAT(2, 3);
void __wrap_unixctl_error(struct unixctl_conn *conn, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    take_answer(xvasprintf(format, args), true);
    va_end(args);
}

/* Returns what the command answers, valid until the next one. */
static const char *run(const char *command, const char *arg1, const char *arg2, const char *arg3)
{
    json_t *params = json_array();
    const char *args[] = { arg1, arg2, arg3 };

    for (unsigned int i = 0; i < ARRAY_SIZE(args) && args[i]; i++) {
        json_array_append_new(params, json_string(args[i]));
    }
    free(answer);
    answer = NULL;
    unixctl_command_run(NULL, command, params);
    json_decref(params);
    assert_non_null(answer);
    return answer;
}

/* The answer, which must be one JSON object; to be unreferenced. */
static json_t *run_json(const char *command, const char *arg)
{
    json_error_t error;
    json_t *object = json_loads(run(command, "--json", arg, NULL), JSON_REJECT_DUPLICATES, &error);
    if (failed || !json_is_object(object)) {
        fail_msg("%s: %s: %s", command, error.text, answer);
    }
    return object;
}

static void check_error(const char *command, const char *arg1, const char *arg2, const char *text)
{
    run(command, arg1, arg2, NULL);
    assert_true(failed);
    assert_string_equal(answer, text);
}

/* ---- Reading answers. ---- */

/* The number at PATH ("drops.kernel") of OBJECT, which must be there. */
static uint64_t number(json_t *object, const char *path)
{
    char *words = xstrdup(path), *save = NULL;
    for (char *word = strtok_r(words, ".", &save); word; word = strtok_r(NULL, ".", &save)) {
        object = json_object_get(object, word);
    }
    if (!json_is_integer(object)) {
        fail_msg("no number %s", path);
    }
    free(words);
    return json_integer_value(object);
}

/* The sum of the numbers at PATH of the elements of ARRAY. */
static uint64_t sum(json_t *array, const char *path)
{
    uint64_t total = 0;
    size_t i;
    json_t *element;

    assert_true(json_is_array(array));
    json_array_foreach(array, i, element) {
        total += number(element, path);
    }
    return total;
}

/* Of all handlers, those that have ended too. */
static uint64_t of_handlers(json_t *object, const char *path)
{
    return sum(json_object_get(object, "handlers"), path) + number(json_object_get(object, "ended"), path);
}

/* All drops of ELEMENT, a handler or a port, but those by the kernel. */
static uint64_t drops(json_t *element)
{
    uint64_t total = 0;
    const char *name;
    json_t *n;

    json_object_foreach(json_object_get(element, "drops"), name, n) {
        total += strcmp(name, "kernel") ? json_integer_value(n) : 0;
    }
    return total;
}

static uint64_t all_drops(json_t *array)
{
    uint64_t total = 0;
    size_t i;
    json_t *element;

    json_array_foreach(array, i, element) {
        total += drops(element);
    }
    return total;
}

/* ---- The network. ---- */

struct net {
    struct engine *e;
    struct engine_settings settings;
    struct mac_table *macs;
    odp_port_t odp[N_PORTS];
    unsigned int n_hosts; /* Source addresses used so far. */
};

static const enum dispatch_wish modes[] = { DISPATCH_PER_CPU, DISPATCH_PER_PORT };

static void add_port(struct xbridge *br, unsigned int i, const char *name, odp_port_t no)
{
    struct xbundle *b = xbridge_add_bundle(br, name, i + 1);
    b->vlan_mode = VLAN_TRUNK;
    b->trunks.any = true;
    b->floodable = true;
    struct xport *port = xbundle_add_port(b, name, (ofp_port_t) { i + 1 }, no);
    port->is_patch = !strcmp(name, "patch");
}

static void net_init(struct net *net, enum dispatch_wish dispatch)
{
    char *why = NULL;

    sim_reset(); /* A test that failed leaves its datapath behind. */
    *net = (struct net) { .settings = ENGINE_SETTINGS_DEFAULT, .macs = mac_table_create() };
    net->settings.dispatch = dispatch;
    net->settings.n_handlers = 2;
    net->settings.n_revalidators = 1;
    assert_int_equal(engine_create("sim", "show", &net->settings, &net->e, &why), 0);
    for (unsigned int i = 0; i < N_PORTS; i++) {
        char name[16];
        snprintf(name, sizeof name, "p%u", i);
        assert_int_equal(engine_port_add(net->e, name, DPIF_PORT_NETDEV, ODPP_NONE, &net->odp[i]), 0);
    }
}

/* The engine's threads begin here. */
static void net_start(struct net *net)
{
    struct xconfig *c = xconfig_create();
    struct xbridge *br = xconfig_add_bridge(c, "br0", net->macs);

    br->normal = true;
    for (unsigned int i = 0; i < N_PORTS; i++) {
        char name[16];
        snprintf(name, sizeof name, "p%u", i);
        add_port(br, i, name, net->odp[i]);
    }
    add_port(br, N_PORTS, "patch", ODPP_NONE);
    add_port(br, N_PORTS + 1, "failed", ODPP_NONE);
    xconfig_seal(c);
    engine_set_config(net->e, c);
}

static void net_uninit(struct net *net)
{
    if (net->e) {
        engine_destroy(net->e, true);
    }
    mac_table_unref(net->macs);
    rcu_barrier();
    sim_reset();
}

static void set_handlers(struct net *net, unsigned int n)
{
    net->settings.n_handlers = n;
    assert_int_equal(engine_apply_settings(net->e, &net->settings), 0);
}

/* A host that was never heard of speaks at PORT. */
static void speak(struct net *net, unsigned int port, unsigned int cpu, bool arp)
{
    static const struct eth_addr broadcast = { { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff } };
    unsigned int host = net->n_hosts++;
    struct eth_addr src = { { 2, 0, host >> 24, host >> 16, host >> 8, host } };
    struct packet_build p;

    if (arp) {
        packet_build_arp(&p, src, broadcast, 1, 0x0a000000 + host, 0x0a0000ff);
    } else {
        packet_build_eth(&p, src, broadcast, ETH_TYPE_TEST);
        packet_build_bytes(&p, NULL, 60 - p.len);
    }
    sim_inject(engine_dpif(net->e), net->odp[port], cpu, p.data, p.len);
}

/* From port I, I + 1 of N. */
static void send_from_all(struct net *net, unsigned int n)
{
    for (unsigned int i = 0; i < N_PORTS; i++) {
        for (unsigned int j = 0; j < (i + 1) * n; j++) {
            speak(net, i, (i + j) % 2, false);
        }
    }
}

/* Waits until N upcalls have been received, and all of them served or dropped.  Returns the answer of show-handlers. */
static json_t *await_served(uint64_t n)
{
    uint64_t end = clock_msec() + PATIENCE_MS;
    for (;;) {
        json_t *h = run_json("upcall/show-handlers", NULL);
        json_t *handlers = json_object_get(h, "handlers"), *ended = json_object_get(h, "ended");
        if (of_handlers(h, "received") == n
            && of_handlers(h, "served") + all_drops(handlers) + drops(ended) == n
            /* What is shown last of a batch. */
            && of_handlers(h, "outcomes.executed") + all_drops(handlers) + drops(ended) == n) {
            return h;
        }
        if (clock_msec() > end) {
            fail_msg("not %llu upcalls: %s", (unsigned long long) n, answer);
        }
        json_decref(h);
        poll(NULL, 0, 1);
    }
}

/* ---- Tests. ---- */

static void without_an_engine_there_is_nothing_to_show(void **state)
{
    static const char *const commands[] = { "upcall/show", "upcall/show-handlers", "upcall/show-ports" };
    for (unsigned int i = 0; i < ARRAY_SIZE(commands); i++) {
        json_t *object = run_json(commands[i], NULL);
        assert_true(json_is_null(json_object_get(object, "datapath")));
        json_decref(object);
        assert_string_equal(run(commands[i], NULL, NULL, NULL), "");
        assert_false(failed);
    }
    check_error("upcall/show-ports", "p0", NULL,
                "no port \"p0\": it must be an interface's name, or a port's number in the datapath");
}

static void what_handlers_and_ports_show_is_what_was_sent(void **state)
{
    for (int m = 0; m < 2; m++) {
        struct net net;
        net_init(&net, modes[m]);
        net_start(&net);
        send_from_all(&net, 5);
        json_t *h = await_served(50), *p = run_json("upcall/show-ports", NULL), *s = run_json("upcall/show", NULL);
        json_t *ports = json_object_get(p, "ports"), *handlers = json_object_get(h, "handlers");

        assert_string_equal(json_string_value(json_object_get(h, "datapath")), "sim@show");
        assert_int_equal(json_array_size(handlers), 2);
        assert_int_equal(of_handlers(h, "wait.n"), 50);
        assert_int_equal(of_handlers(h, "outcomes.translated") + of_handlers(h, "outcomes.grouped"), 50);
        assert_true(of_handlers(h, "wakeups") > 0 && of_handlers(h, "batches") > 0 && of_handlers(h, "receives") > 0);
        assert_int_not_equal(number(json_array_get(handlers, 0), "thread_id"),
                             number(json_array_get(handlers, 1), "thread_id"));
        assert_int_equal(json_array_size(ports), N_PORTS);
        for (unsigned int i = 0; i < N_PORTS; i++) {
            json_t *port = json_array_get(ports, i), *shares = json_object_get(port, "by_handler");
            char name[16];
            snprintf(name, sizeof name, "p%u", i);
            assert_int_equal(number(port, "number"), net.odp[i].n);
            assert_string_equal(json_string_value(json_object_get(port, "name")), name);
            assert_int_equal(number(port, "received"), 5 * (i + 1));
            assert_int_equal(number(port, "control"), 0);
            assert_int_equal(sum(shares, "received"), 5 * (i + 1));
            assert_int_equal(json_array_size(shares), modes[m] == DISPATCH_PER_PORT ? 1 : 2);
            assert_int_equal(number(port, "served"), 5 * (i + 1));
            assert_int_equal(number(port, "wait.n"), 5 * (i + 1));
        }
        assert_int_equal(sum(json_object_get(s, "handlers"), "received"), 50);
        assert_int_equal(number(s, "wait.n"), 50);
        assert_int_equal(number(s, "translate.n"), of_handlers(h, "translate.n"));
        assert_int_equal(number(s, "flows.limit"), 200000);
        assert_int_equal(json_array_size(json_object_get(s, "revalidators")), 1);
        json_decref(h);
        json_decref(p);
        json_decref(s);
        net_uninit(&net);
    }
}

static void what_handlers_counted_is_shown_after_they_have_ended(void **state)
{
    for (int m = 0; m < 2; m++) {
        struct net net;
        net_init(&net, modes[m]);
        net_start(&net);
        send_from_all(&net, 5);
        json_decref(await_served(50));
        assert_null(strstr(run("upcall/show-handlers", NULL, NULL, NULL), "ended"));
        set_handlers(&net, 1);
        json_t *h = await_served(50);
        assert_int_equal(json_array_size(json_object_get(h, "handlers")), 1);
        assert_true(number(h, "ended.received") > 0);
        json_decref(h);
        assert_non_null(strstr(run("upcall/show-handlers", NULL, NULL, NULL), "\n  handlers that have ended:\n"));
        send_from_all(&net, 5);
        json_decref(await_served(100));
        json_t *s = run_json("upcall/show", NULL);
        assert_int_equal(number(s, "wait.n"), 100);
        json_decref(s);
        net_uninit(&net);
    }
}

/* Nobody reads before net_start(): then so many ARP packets are there at once that not all may wait. */
static void drops_are_shown_by_reason_port_and_handler(void **state)
{
    for (int m = 0; m < 2; m++) {
        struct net net;
        net_init(&net, modes[m]);
        for (unsigned int i = 0; i < 300; i++) {
            speak(&net, 1, 0, true);
        }
        speak(&net, 2, 0, true);
        net_start(&net);
        json_t *h = await_served(301), *p = run_json("upcall/show-ports", NULL), *s = run_json("upcall/show", NULL);
        json_t *ports = json_object_get(p, "ports"), *port = json_array_get(ports, 0);
        uint64_t n = number(port, "drops.control");

        assert_true(n > 0 && n < 300);
        assert_int_equal(json_array_size(ports), 2);
        assert_string_equal(json_string_value(json_object_get(port, "name")), "p1");
        assert_int_equal(number(port, "received"), 300);
        assert_int_equal(number(port, "control"), 300 - n); /* That waited. */
        assert_int_equal(sum(json_object_get(port, "by_handler"), "drops.control"), n);
        assert_int_equal(drops(json_array_get(ports, 1)), 0);
        assert_int_equal(of_handlers(h, "drops.control"), n);
        assert_int_equal(of_handlers(h, "outcomes.overload"), n);
        assert_int_equal(number(s, "drops.control"), n);
        assert_null(json_object_get(json_object_get(s, "drops"), "kernel"));
        assert_string_equal(json_string_value(json_object_get(json_object_get(p, "drop_reasons"), "control")),
                            sched_drop_text(SCHED_DROP_control));

        char *line = xasprintf("dropped   : %llu %s (control)\n", (unsigned long long) n,
                               sched_drop_text(SCHED_DROP_control));
        assert_non_null(strstr(run("upcall/show", NULL, NULL, NULL), line));
        assert_non_null(strstr(run("upcall/show-ports", NULL, NULL, NULL), line));
        assert_non_null(strstr(run("upcall/show-handlers", NULL, NULL, NULL), line));
        assert_null(strstr(run("upcall/show-ports", "p2", NULL, NULL), "dropped"));
        free(line);
        json_decref(h);
        json_decref(p);
        json_decref(s);
        net_uninit(&net);
    }
}

static void check_losses(const char *when, uint64_t total, uint64_t of_ports, uint64_t of_running)
{
    json_t *h = run_json("upcall/show-handlers", NULL), *p = run_json("upcall/show-ports", NULL);
    json_t *ports = json_object_get(p, "ports");

    if (of_handlers(h, "drops.kernel") != total || sum(json_object_get(h, "handlers"), "drops.kernel") != of_running
        || sum(ports, "drops.kernel") != of_ports || number(p, "ports_not_known.drops.kernel") != total - of_ports) {
        fail_msg("%s: not %llu losses, %llu of ports: %s", when, (unsigned long long) total,
                 (unsigned long long) of_ports, answer);
    }
    json_decref(h);
    json_decref(p);
}

static void losses_in_the_kernel_are_shown_and_none_vanishes(void **state)
{
    for (int m = 0; m < 2; m++) {
        bool per_port = modes[m] == DISPATCH_PER_PORT;
        struct net net;
        net_init(&net, modes[m]);
        net_start(&net);
        sim_set_fault(engine_dpif(net.e), SIM_FAULT_CHANNEL_FULL, 10);
        send_from_all(&net, 1); /* One of p0, two of p1, three of p2, four of p3. */
        check_losses("at first", 10, per_port ? 10 : 0, 10);

        json_t *p = run_json("upcall/show-ports", "p3");
        json_t *port = json_array_get(json_object_get(p, "ports"), 0);
        assert_int_equal(json_array_size(json_object_get(p, "ports")), 1);
        assert_null(json_object_get(p, "ports_not_known"));
        assert_int_equal(number(port, "drops.kernel"), per_port ? 4 : 0);
        assert_int_equal(sum(json_object_get(port, "by_handler"), "drops.kernel"), per_port ? 4 : 0);
        json_decref(p);
        assert_non_null(strstr(run("upcall/show-ports", NULL, NULL, NULL),
                               per_port ? "dropped   : 4 the kernel's queue was full (kernel)\n"
                                        : "  of ports not known:\n"
                                          "    dropped   : 10 the kernel's queue was full (kernel)\n"));

        /* What was lost by a channel that goes is not forgotten. */
        assert_int_equal(engine_port_del(net.e, net.odp[3]), 0);
        check_losses("after a port was deleted", 10, per_port ? 6 : 0, per_port ? 6 : 10);
        net_uninit(&net);
    }
}

static void a_port_is_found_by_name_and_by_number(void **state)
{
    struct net net;
    char no[16];

    net_init(&net, DISPATCH_PER_CPU);
    net_start(&net);
    send_from_all(&net, 1);
    json_decref(await_served(10));
    snprintf(no, sizeof no, "%u", net.odp[2].n);
    for (int i = 0; i < 2; i++) {
        json_t *p = run_json("upcall/show-ports", i ? no : "p2"), *ports = json_object_get(p, "ports");
        assert_int_equal(json_array_size(ports), 1);
        assert_int_equal(number(json_array_get(ports, 0), "number"), net.odp[2].n);
        assert_int_equal(number(json_array_get(ports, 0), "received"), 3);
        json_decref(p);
        run("upcall/show-ports", i ? no : "p2", "-j", NULL);
        assert_int_equal(answer[0], '{');
        run("upcall/show-ports", i ? no : "p2", NULL, NULL);
        assert_non_null(strstr(answer, " (p2):\n    upcalls   : (received 3) (control 0) (served 3) "));
        assert_null(strstr(answer, "(p1)"));
    }
    net_uninit(&net);
}

/* All ports: those that had upcalls.  One: it, whatever it had. */
static void a_port_without_upcalls_is_shown_to_who_asks_for_it(void **state)
{
    struct net net;

    net_init(&net, DISPATCH_PER_PORT);
    net_start(&net);
    json_t *p = run_json("upcall/show-ports", NULL);
    assert_int_equal(json_array_size(json_object_get(p, "ports")), 0);
    json_decref(p);
    p = run_json("upcall/show-ports", "p1");
    assert_int_equal(sum(json_object_get(p, "ports"), "received"), 0);
    assert_int_equal(json_array_size(json_object_get(p, "ports")), 1);
    json_decref(p);
    net_uninit(&net);
}

static void wrong_arguments_are_answered(void **state)
{
    struct net net;

    net_init(&net, DISPATCH_PER_CPU);
    net_start(&net);
    for (int i = 0; i < 2; i++) {
        check_error("upcall/show-ports", i ? "65535" : "nosuch", NULL,
                    i ? "no port \"65535\": it must be an interface's name, or a port's number in the datapath"
                      : "no port \"nosuch\": it must be an interface's name, or a port's number in the datapath");
    }
    check_error("upcall/show-ports", "", NULL,
                "no port \"\": it must be an interface's name, or a port's number in the datapath");
    check_error("upcall/show-ports", "4000", "--json",
                "no port \"4000\": it must be an interface's name, or a port's number in the datapath");
    check_error("upcall/show-ports", "patch", NULL,
                "port \"patch\" is a patch port: upcalls come from ports of the datapath only");
    check_error("upcall/show-ports", "failed", NULL,
                "port \"failed\" is not in the datapath: its error in the database may say why");
    check_error("upcall/show-ports", "p0", "p1",
                "\"p1\" is one port too many: upcall/show-ports takes one, or none for all");
    check_error("upcall/show-ports", "p0", "--jsn",
                "unknown option \"--jsn\": upcall/show-ports takes --json (-j) and a port");
    check_error("upcall/show-handlers", "p0", NULL,
                "unknown argument \"p0\": upcall/show-handlers takes nothing but --json (-j)");
    check_error("upcall/show", "-m", NULL, "unknown argument \"-m\": upcall/show takes nothing but --json (-j)");
    check_error("upcall/show", "-j", "-j", "\"upcall/show\" command takes at most 1 arguments");
    net_uninit(&net);
}

/* Up to the second empty line, the text of upcall/show is what scripts parse. */
static void what_scripts_parse_comes_first(void **state)
{
    unsigned int current, avg, max, limit, ms, tid, keys;
    struct net net;
    int n = 0;

    net_init(&net, DISPATCH_PER_CPU);
    net_start(&net);
    run("upcall/show", NULL, NULL, NULL);
    assert_int_equal(sscanf(answer,
                            "sim@show:\n  flows         : (current %u) (avg %u) (max %u) (limit %u)\n"
                            "  dump duration : %ums\n  ufid enabled : true\n\n  %u: (keys %u)\n\n"
                            "  per-cpu dispatch mode (requested%n",
                            &current, &avg, &max, &limit, &ms, &tid, &keys, &n),
                     7);
    assert_true(n > 0);
    assert_non_null(strstr(answer, "\n  handler1: (upcalls 0) (wakeups "));
    net_uninit(&net);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_an_engine_there_is_nothing_to_show),
        cmocka_unit_test(what_handlers_and_ports_show_is_what_was_sent),
        cmocka_unit_test(what_handlers_counted_is_shown_after_they_have_ended),
        cmocka_unit_test(drops_are_shown_by_reason_port_and_handler),
        cmocka_unit_test(losses_in_the_kernel_are_shown_and_none_vanishes),
        cmocka_unit_test(a_port_is_found_by_name_and_by_number),
        cmocka_unit_test(a_port_without_upcalls_is_shown_to_who_asks_for_it),
        cmocka_unit_test(wrong_arguments_are_answered),
        cmocka_unit_test(what_scripts_parse_comes_first),
    };
    thread_main_init();
    engine_show_init();
    int n_failed = cmocka_run_group_tests(tests, NULL, NULL);
    free(answer);
    rcu_barrier();
    thread_main_uninit();
    return n_failed;
}
