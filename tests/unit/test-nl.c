/* lib/nl/nl.c and nl-genl.c, against the running kernel's generic netlink controller and its list of links: no
 * privileges are needed. */
#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/rtnetlink.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/base/compiler.h"
#include "lib/nl/attrbuf.h"
#include "lib/nl/nl.h"

#define DUMP_BUF (64 * 1024)

static struct nl_sock *open_sock(int protocol)
{
    struct nl_sock *sock = NULL;
    assert_int_equal(nl_sock_open(protocol, 0, &sock), 0);
    return sock;
}

static void test_sockets_have_their_own_port_id_and_do_not_block(void **state)
{
    struct nl_sock *a = open_sock(NETLINK_GENERIC), *b = open_sock(NETLINK_GENERIC), *c = NULL;
    uint32_t buf[16];
    assert_int_not_equal(nl_sock_pid(a), 0);
    assert_int_not_equal(nl_sock_pid(a), nl_sock_pid(b));
    assert_int_equal(nl_recv(a, buf, sizeof buf), -EAGAIN);
    assert_true(fcntl(nl_sock_fd(a), F_GETFL) & O_NONBLOCK);
    assert_true(fcntl(nl_sock_fd(a), F_GETFD) & FD_CLOEXEC);
    assert_int_equal(nl_sock_no_enobufs(a), 0);
    assert_int_equal(nl_sock_drops(a), 0);
    int fd = nl_sock_detach(a);
    assert_true(fcntl(fd, F_GETFL) & O_NONBLOCK);
    close(fd);
    nl_sock_close(b);
    assert_int_equal(nl_sock_open(MAX_LINKS, 0, &c), -EPROTONOSUPPORT);
    assert_null(c);
    nl_sock_close(NULL);
}

static void test_sequence_numbers_are_never_zero_and_do_not_wrap_within(void **state)
{
    struct nl_sock *sock = open_sock(NETLINK_GENERIC);
    uint32_t a = nl_sock_next_seq(sock, 10);
    assert_int_equal(nl_sock_next_seq(sock, 1), a + 10);
    nl_sock_next_seq(sock, UINT32_MAX - a - 20);
    uint32_t b = nl_sock_next_seq(sock, 100);
    assert_true(b > 0 && b <= UINT32_MAX - 99);
    nl_sock_close(sock);
}

static void test_families_are_resolved(void **state)
{
    struct nl_sock *sock = open_sock(NETLINK_GENERIC);
    uint16_t family = 0;
    uint32_t group = 0;
    assert_int_equal(nl_genl_resolve(sock, "nlctrl", "notify", &family, &group), 0);
    assert_int_equal(family, GENL_ID_CTRL);
    assert_int_not_equal(group, 0);
    assert_int_equal(nl_sock_join(sock, group), 0);
    family = 1;
    assert_int_equal(nl_genl_resolve(sock, "nlctrl", "nosuch", &family, &group), -ENOENT);
    assert_int_equal(nl_genl_resolve(sock, "no_such_family", NULL, &family, NULL), -ENOENT);
    assert_int_equal(nl_genl_resolve(sock, "a_name_that_is_far_too_long", NULL, &family, NULL), -ENAMETOOLONG);
    assert_int_equal(family, 1);
    nl_sock_close(sock);
}

/* Starts a request about links in BUF. */
static struct nlmsghdr *link_request(void *buf, uint16_t type, const char *name)
{
    struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
    nlh->nlmsg_type = type;
    struct ifinfomsg *ifi = mnl_nlmsg_put_extra_header(nlh, sizeof *ifi);
    ifi->ifi_family = AF_UNSPEC;
    if (name) {
        mnl_attr_put_strz(nlh, IFLA_IFNAME, name);
    }
    return nlh;
}

static int count_links(const struct nlmsghdr *nlh, void *aux)
{
    int *n = aux;
    assert_int_equal(nlh->nlmsg_type, RTM_NEWLINK);
    ++*n;
    return 0;
}

static int fail_at_once(const struct nlmsghdr *nlh, void *aux)
{
    ++*(int *) aux;
    return -EXDEV;
}

static void test_a_request_gets_its_answer_and_its_error(void **state)
{
    struct nl_sock *sock = open_sock(NETLINK_ROUTE);
    uint32_t buf[64];
    int n = 0;
    assert_int_equal(nl_transact(sock, link_request(buf, RTM_GETLINK, "lo"), count_links, &n), 0);
    assert_int_equal(n, 1);
    assert_int_equal(nl_transact(sock, link_request(buf, RTM_GETLINK, "nosuch0"), count_links, &n), -ENODEV);
    assert_int_equal(n, 1);
    /* Neither an index nor a name: the kernel has words for it. */
    int error = nl_transact(sock, link_request(buf, RTM_GETLINK, NULL), count_links, &n);
    assert_int_equal(error, -EINVAL);
    assert_int_equal(nl_transact(sock, link_request(buf, RTM_GETLINK, "lo"), NULL, NULL), 0);
    assert_null(nl_sock_extack(sock));
    assert_int_equal(nl_transact(sock, link_request(buf, RTM_GETLINK, "lo"), fail_at_once, &n), -EXDEV);
    assert_int_equal(nl_recv(sock, buf, sizeof buf), -EAGAIN); /* Nothing was left behind. */
    nl_sock_close(sock);
}

static void test_a_stale_answer_is_not_taken_for_another(void **state)
{
    struct nl_sock *sock = open_sock(NETLINK_ROUTE);
    struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };
    uint32_t buf[64];
    int n = 0;
    struct nlmsghdr *stale = link_request(buf, RTM_GETLINK, "nosuch0");
    stale->nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
    stale->nlmsg_seq = 4000000000U;
    assert_true(sendto(nl_sock_fd(sock), stale, stale->nlmsg_len, 0, (void *) &kernel, sizeof kernel) > 0);
    assert_int_equal(nl_transact(sock, link_request(buf, RTM_GETLINK, "lo"), count_links, &n), 0);
    assert_int_equal(n, 1);
    nl_sock_close(sock);
}

static void test_a_dump_comes_to_its_end_also_when_the_reader_fails(void **state)
{
    struct nl_sock *sock = open_sock(NETLINK_ROUTE);
    void *buf = malloc(DUMP_BUF);
    uint32_t req[64];
    int n = 0, calls = 0, rc;
    assert_int_equal(nl_dump_begin(sock, link_request(req, RTM_GETLINK, NULL)), 0);
    assert_int_equal(nl_dump_next(sock, buf, DUMP_BUF, fail_at_once, &calls), -EXDEV);
    assert_int_equal(calls, 1);
    assert_int_equal(nl_dump_begin(sock, link_request(req, RTM_GETLINK, NULL)), 0);
    while ((rc = nl_dump_next(sock, buf, DUMP_BUF, count_links, &n)) > 0) {
        continue;
    }
    assert_int_equal(rc, 0);
    assert_true(n >= 1);
    assert_int_equal(nl_dump_next(sock, buf, DUMP_BUF, count_links, &n), 0); /* Still at its end. */
    free(buf);
    nl_sock_close(sock);
}

static void test_a_dump_that_the_kernel_refuses_reports_it(void **state)
{
    struct nl_sock *sock = open_sock(NETLINK_GENERIC);
    void *buf = malloc(DUMP_BUF);
    uint32_t req[64];
    struct nlmsghdr *nlh = nl_genl_begin(req, GENL_ID_CTRL, 0, CTRL_CMD_DELFAMILY, 1); /* No such dump. */
    assert_int_equal(nl_dump_begin(sock, nlh), 0);
    assert_int_equal(nl_dump_next(sock, buf, DUMP_BUF, fail_at_once, NULL), -EOPNOTSUPP);
    free(buf);
    nl_sock_close(sock);
}

static void test_a_datagram_that_does_not_fit_is_an_error(void **state)
{
    struct nl_sock *sock = open_sock(NETLINK_ROUTE);
    struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };
    uint32_t buf[64];
    struct nlmsghdr *nlh = link_request(buf, RTM_GETLINK, "lo");
    nlh->nlmsg_flags = NLM_F_REQUEST;
    assert_true(sendto(nl_sock_fd(sock), nlh, nlh->nlmsg_len, 0, (void *) &kernel, sizeof kernel) > 0);
    assert_int_equal(nl_recv(sock, buf, 20), -EMSGSIZE);
    assert_int_equal(nl_recv(sock, buf, sizeof buf), -EAGAIN);
    nl_sock_close(sock);
}

/* ---- Reading, from memory. ---- */

/* Writes an error message into MEM, with text if TEXT. */
static struct nlmsghdr *error_message(void *mem, int error, bool capped, const char *text)
{
    struct nlmsghdr *nlh = mnl_nlmsg_put_header(mem);
    nlh->nlmsg_type = NLMSG_ERROR;
    nlh->nlmsg_flags = (capped ? NLM_F_CAPPED : 0) | (text ? NLM_F_ACK_TLVS : 0);
    struct nlmsgerr *err = mnl_nlmsg_put_extra_header(nlh, sizeof *err);
    err->error = error;
    err->msg.nlmsg_len = NLMSG_HDRLEN + 8;
    if (!capped) {
        mnl_nlmsg_put_extra_header(nlh, 8); /* The request's payload. */
    }
    if (text) {
        mnl_attr_put_strz(nlh, NLMSGERR_ATTR_MSG, text);
    }
    return nlh;
}

static void test_errors_are_read_with_and_without_the_request(void **state)
{
    uint32_t mem[64];
    const char *text;
    int error;
    for (int capped = 0; capped < 2; capped++) {
        assert_true(nl_msg_error(error_message(mem, -EBUSY, capped, "in words"), &error, &text));
        assert_int_equal(error, -EBUSY);
        assert_string_equal(text, "in words");
    }
    assert_true(nl_msg_error(error_message(mem, 0, true, NULL), &error, &text));
    assert_int_equal(error, 0);
    assert_null(text);
    /* Nonsense from below is an error, not a crash. */
    struct nlmsghdr *nlh = error_message(mem, -EBUSY, false, "in words");
    ((struct nlmsgerr *) mnl_nlmsg_get_payload(nlh))->msg.nlmsg_len = 100000;
    assert_true(nl_msg_error(nlh, &error, &text));
    assert_null(text);
    nlh = error_message(mem, 5, true, NULL);
    assert_true(nl_msg_error(nlh, &error, NULL));
    assert_int_equal(error, -EBADMSG);
    nlh->nlmsg_len = NLMSG_HDRLEN + 2;
    assert_true(nl_msg_error(nlh, &error, &text));
    assert_int_equal(error, -EBADMSG);
    nlh->nlmsg_type = NLMSG_DONE;
    assert_false(nl_msg_error(nlh, &error, &text));
}

static void test_messages_are_walked_to_the_end_and_no_further(void **state)
{
    uint32_t mem[64] = { 0 };
    size_t pos = 0;
    struct nlmsghdr *a = mnl_nlmsg_put_header(mem);
    a->nlmsg_len = NLMSG_HDRLEN + 3;
    struct nlmsghdr *b = mnl_nlmsg_put_header((char *) mem + NLMSG_HDRLEN + 4);
    size_t len = 2 * NLMSG_HDRLEN + 4;
    assert_ptr_equal(nl_msg_next(mem, len, &pos), a);
    assert_ptr_equal(nl_msg_next(mem, len, &pos), b);
    assert_null(nl_msg_next(mem, len, &pos));
    pos = 0;
    a->nlmsg_len = 8; /* Shorter than a header. */
    assert_null(nl_msg_next(mem, len, &pos));
    a->nlmsg_len = len + 1;
    assert_null(nl_msg_next(mem, len, &pos));
}

static void test_policy_is_enforced(void **state)
{
    static const struct nl_policy policy[] = {
        [1] = { .min = 4, .max = 4, .required = true },
        [2] = { .min = 2 },
        [3] = { 0 },
    };
    const struct nlattr *tb[ARRAY_SIZE(policy)];
    uint32_t mem[64];
    struct attrbuf b;
    attrbuf_init(&b, mem, sizeof mem);
    attrbuf_put_u32(&b, 1, 10);
    attrbuf_put_u32(&b, 1 | NLA_F_NESTED, 11); /* The last wins; flags are no part of the type. */
    attrbuf_put(&b, 2, "four", 4);
    attrbuf_put_flag(&b, 40); /* Unknown. */
    assert_int_equal(nl_attrs_parse(attrbuf_data(&b), attrbuf_len(&b), policy, ARRAY_SIZE(policy), tb), 0);
    assert_int_equal(mnl_attr_get_u32(tb[1]), 11);
    assert_int_equal(mnl_attr_get_payload_len(tb[2]), 4);
    assert_null(tb[3]);
    assert_null(tb[0]);

    attrbuf_put_u8(&b, 2, 1); /* Too short. */
    assert_int_equal(nl_attrs_parse(attrbuf_data(&b), attrbuf_len(&b), policy, ARRAY_SIZE(policy), tb), -EINVAL);
    attrbuf_clear(&b);
    attrbuf_put_u64(&b, 1, 1); /* Too long. */
    assert_int_equal(nl_attrs_parse(attrbuf_data(&b), attrbuf_len(&b), policy, ARRAY_SIZE(policy), tb), -EINVAL);
    assert_int_equal(nl_attrs_parse(NULL, 0, policy, ARRAY_SIZE(policy), tb), -EINVAL); /* Required, and not there. */
    assert_int_equal(nl_attrs_parse(NULL, 0, policy + 2, 2, tb), 0);
}

static void test_malformed_streams_are_refused(void **state)
{
    static const struct nl_policy policy[4] = { { 0 } };
    const struct nlattr *tb[ARRAY_SIZE(policy)];
    uint32_t mem[64];
    struct attrbuf b;
    attrbuf_init(&b, mem, sizeof mem);
    attrbuf_put_u16(&b, 1, 1);
    attrbuf_put_u16(&b, 2, 2);
    for (size_t len = 1; len < attrbuf_len(&b); len++) {
        void *copy = malloc(len);
        memcpy(copy, attrbuf_data(&b), len);
        /* Whole attributes, the last of which may lack its padding, are right; all else is not. */
        bool whole = len == 6 || len == 7 || len == 8 || len == 14 || len == 15;
        assert_int_equal(nl_attrs_parse(copy, len, policy, ARRAY_SIZE(policy), tb), whole ? 0 : -EINVAL);
        free(copy);
    }
    struct nlattr *a = (struct nlattr *) attrbuf_data(&b);
    a->nla_len = 3;
    assert_int_equal(nl_attrs_parse(a, attrbuf_len(&b), policy, ARRAY_SIZE(policy), tb), -EINVAL);
    a->nla_len = UINT16_MAX;
    assert_int_equal(nl_attrs_parse(a, attrbuf_len(&b), policy, ARRAY_SIZE(policy), tb), -EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sockets_have_their_own_port_id_and_do_not_block),
        cmocka_unit_test(test_sequence_numbers_are_never_zero_and_do_not_wrap_within),
        cmocka_unit_test(test_families_are_resolved),
        cmocka_unit_test(test_a_request_gets_its_answer_and_its_error),
        cmocka_unit_test(test_a_stale_answer_is_not_taken_for_another),
        cmocka_unit_test(test_a_dump_comes_to_its_end_also_when_the_reader_fails),
        cmocka_unit_test(test_a_dump_that_the_kernel_refuses_reports_it),
        cmocka_unit_test(test_a_datagram_that_does_not_fit_is_an_error),
        cmocka_unit_test(test_errors_are_read_with_and_without_the_request),
        cmocka_unit_test(test_messages_are_walked_to_the_end_and_no_further),
        cmocka_unit_test(test_policy_is_enforced),
        cmocka_unit_test(test_malformed_streams_are_refused),
    };
    return cmocka_run_group_tests_name("nl", tests, NULL, NULL);
}
