/* Streams over TLS, with certificates made here: whom we trust, who trusts us, exchange at run time, bootstrapping. */
#include <config.h>

#include <openssl/ssl.h>

#include "tests/unit/stream-kit.h"

static struct authority right, wrong;

/* A listener with the one configuration, a client with the other. */
struct fixture {
    struct tls *server_tls, *client_tls;
    struct stream_listener *l;
    char *target;
    struct end client, server;
};

static void open_fixture(struct fixture *f, struct tls *server, struct tls *client)
{
    *f = (struct fixture){ .server_tls = server, .client_tls = client };
    struct stream_options options = { .tls = server, .dscp = -1 };
    expect_no_error(stream_listener_open(loop_base(), "pssl:0:127.0.0.1", &options, kit_accepted, &f->server, &f->l));
    f->target = kit_target("ssl", "127.0.0.1", f->l);
}

static void close_ends(struct fixture *f)
{
    end_close(&f->client);
    end_close(&f->server);
    turn();
}

static void close_fixture(struct fixture *f)
{
    close_ends(f);
    stream_listener_destroy(f->l);
    tls_destroy(f->server_tls);
    tls_destroy(f->client_tls);
    free(f->target);
}

static void start(struct fixture *f)
{
    struct stream_options options = { .tls = f->client_tls, .dscp = -1 };
    expect_no_error(stream_open(loop_base(), f->target, &options, &end_ops, &f->client, &f->client.s));
}

static void expect_talk(struct fixture *f)
{
    start(f);
    UNTIL(f->client.connected && f->server.connected);
    talk(&f->client, &f->server, "hello");
    talk(&f->server, &f->client, "hello yourself");
    close_ends(f);
}

static void expect_end(struct end *e, int error, const char *why)
{
    assert_int_equal(e->closed, 1);
    assert_int_equal(e->error, error);
    if (!strstr(e->why, why)) {
        fail_msg("\"%s\" does not contain \"%s\"", e->why, why);
    }
}

static void test_peers_of_one_authority_talk(void **state)
{
    struct fixture f;
    open_fixture(&f, kit_tls("switch", "right"), kit_tls("controller", "right"));
    expect_talk(&f);
    expect_talk(&f);
    /* Much, in both directions, with a reader that stops now and then: nothing is forgotten within OpenSSL. */
    start(&f);
    UNTIL(f.client.connected && f.server.connected);
    size_t size = 5 * 1000 * 1000, got = 0;
    char *bytes = xzalloc(size);
    evbuffer_add(stream_output(f.client.s), bytes, size);
    evbuffer_add(stream_output(f.server.s), bytes, size);
    free(bytes);
    while (got < size) {
        stream_set_reading(f.server.s, true);
        UNTIL(in_length(&f.server));
        stream_set_reading(f.server.s, false);
        turn();
        got += in_length(&f.server);
        evbuffer_drain(stream_input(f.server.s), SIZE_MAX);
    }
    assert_int_equal(got, size);
    UNTIL(in_length(&f.client) == size);
    stream_set_reading(f.server.s, true);
    stream_shutdown_write(f.client.s);
    UNTIL(f.server.eofs);
    assert_int_equal(f.server.closed + f.client.closed, 0);
    close_fixture(&f);
}

static void test_a_client_refuses_a_server_of_another_authority(void **state)
{
    struct fixture f;
    open_fixture(&f, kit_tls("evil", "right"), kit_tls("controller", "right"));
    start(&f);
    UNTIL(f.client.closed && f.server.closed);
    assert_int_equal(f.client.connected + f.server.connected, 0);
    expect_end(&f.client, -EPROTO, "the peer's certificate is refused: unable to get local issuer certificate");
    expect_end(&f.server, -EPROTO, "TLS: ");
    close_fixture(&f);
}

static void test_a_server_refuses_a_client_of_another_authority(void **state)
{
    struct fixture f;
    open_fixture(&f, kit_tls("switch", "right"), kit_tls("evil", "right"));
    start(&f);
    /* In TLS 1.3 the client learns it only afterwards, from an alert. */
    UNTIL(f.client.closed && f.server.closed);
    assert_int_equal(f.server.connected, 0);
    expect_end(&f.server, -EPROTO, "the peer's certificate is refused: unable to get local issuer certificate");
    expect_end(&f.client, -EPROTO, "TLS: ");
    close_fixture(&f);
}

/* A client of OpenSSL's own, that shows nothing, in both versions of the protocol. */
static void check_no_certificate(int version)
{
    struct fixture f;
    open_fixture(&f, kit_tls("switch", "right"), NULL);
    struct stream_options options = { .dscp = -1 };
    struct end raw = { 0 };
    struct stream_listener *l = f.l;
    char *target = kit_target("tcp", "127.0.0.1", l);
    expect_no_error(stream_open(loop_base(), target, &options, &end_ops, &raw, &raw.s));
    UNTIL(raw.connected);
    SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());
    SSL_CTX_set_max_proto_version(ctx, version);
    SSL *ssl = SSL_new(ctx);
    BIO *in = BIO_new(BIO_s_mem()), *out = BIO_new(BIO_s_mem());
    SSL_set_bio(ssl, in, out);
    char buf[16384];
    uint64_t begin = clock_nsec();
    while (!f.server.closed) {
        assert_true(clock_nsec() - begin < UNTIL_NSEC);
        SSL_connect(ssl);
        int n = BIO_read(out, buf, sizeof buf);
        if (n > 0) {
            evbuffer_add(stream_output(raw.s), buf, n);
        }
        event_base_loop(loop_base(), EVLOOP_NONBLOCK);
        while ((n = evbuffer_remove(stream_input(raw.s), buf, sizeof buf)) > 0) {
            BIO_write(in, buf, n);
        }
    }
    assert_int_equal(f.server.connected, 0);
    expect_end(&f.server, -EPROTO, version < TLS1_2_VERSION ? "TLS: " : "TLS: peer did not return a certificate");
    SSL_free(ssl);
    SSL_CTX_free(ctx);
    end_close(&raw);
    free(target);
    close_fixture(&f);
}

static void test_a_client_without_a_certificate_is_refused(void **state)
{
    check_no_certificate(TLS1_3_VERSION);
    check_no_certificate(TLS1_2_VERSION);
    check_no_certificate(TLS1_1_VERSION); /* Too old at all. */
}

static void test_junk_and_silence_end_a_handshake(void **state)
{
    struct fixture f;
    struct end raw = { 0 };
    struct stream_options options = { .dscp = -1 };
    open_fixture(&f, kit_tls("switch", "right"), NULL);
    char *target = kit_target("tcp", "127.0.0.1", f.l);
    expect_no_error(stream_open(loop_base(), target, &options, &end_ops, &raw, &raw.s));
    UNTIL(raw.connected);
    evbuffer_add(stream_output(raw.s), "\1\0\0\10\0\0\0\1 and more", 17);
    UNTIL(f.server.closed);
    expect_end(&f.server, -EPROTO, "TLS: wrong version number");
    end_close(&raw);
    close_ends(&f);

    expect_no_error(stream_open(loop_base(), target, &options, &end_ops, &raw, &raw.s));
    UNTIL(raw.connected && f.server.s);
    end_close(&raw);
    UNTIL(f.server.closed);
    assert_int_equal(f.server.connected, 0);
    close_ends(&f);
    stream_listener_destroy(f.l);

    struct stream_options hasty = { .tls = f.server_tls, .dscp = -1, .connect_msec = 30 };
    free(target);
    expect_no_error(stream_listener_open(loop_base(), "pssl:0:127.0.0.1", &hasty, kit_accepted, &f.server, &f.l));
    target = kit_target("tcp", "127.0.0.1", f.l);
    expect_no_error(stream_open(loop_base(), target, &options, &end_ops, &raw, &raw.s));
    UNTIL(f.server.closed);
    expect_end(&f.server, -ETIMEDOUT, "the TLS handshake takes too long");
    end_close(&raw);
    free(target);
    close_fixture(&f);
}

static void test_new_connections_use_exchanged_files(void **state)
{
    struct fixture f;
    open_fixture(&f, kit_tls("switch", "right"), kit_tls("controller", "right"));
    start(&f);
    UNTIL(f.client.connected && f.server.connected);
    struct end old_client = f.client, old_server = f.server;
    stream_set_ops(old_client.s, &end_ops, &old_client);
    stream_set_ops(old_server.s, &end_ops, &old_server);
    f.client = f.server = (struct end){ 0 };

    /* Other names: the server belongs to the other authority now. */
    expect_no_error(kit_configure(f.server_tls, "evil", "wrong", false));
    start(&f);
    UNTIL(f.client.closed);
    expect_end(&f.client, -EPROTO, "the peer's certificate is refused");
    close_ends(&f);
    talk(&old_client, &old_server, "we were here before");
    end_close(&old_client);
    end_close(&old_server);
    expect_no_error(kit_configure(f.client_tls, "evil", "wrong", false));
    expect_talk(&f);

    /* The same names, other contents: nobody says so. */
    expect_no_error(kit_configure(f.client_tls, "turncoat", "turncoat", false));
    start(&f);
    UNTIL(f.client.closed);
    close_ends(&f);
    authority_sign(&wrong, "turncoat");
    kit_write_pem("turncoat.ca", wrong.cert, NULL);
    expect_talk(&f);
    close_fixture(&f);
}

static void test_bad_files_are_one_clear_error_and_the_old_ones_stay(void **state)
{
    struct fixture f;
    open_fixture(&f, kit_tls("switch", "right"), kit_tls("controller", "right"));
    expect_error(kit_configure(f.server_tls, "missing", "right", false), "cannot read the private key");
    expect_talk(&f);
    expect_error(kit_configure(f.server_tls, "switch", "missing", false), "cannot read the CA certificate");
    expect_error(kit_configure(f.server_tls, "switch", "missing", false), "No such file or directory");
    expect_talk(&f);
    expect_error(kit_configure(f.server_tls, "mixed", "right", false), "mixed.key does not belong to the certificate ");
    expect_talk(&f);
    expect_error(kit_configure(f.server_tls, "junk", "right", false), "the certificate ");
    expect_error(kit_configure(f.server_tls, "switch", "junk", false), "the CA certificate ");
    char *dir = xstrdup(kit_dir);
    struct tls_config config = { .private_key = dir, .certificate = dir, .ca_cert = dir };
    expect_error(tls_configure(f.server_tls, &config), "not a regular file");
    config.certificate = "";
    expect_error(tls_configure(f.server_tls, &config), "not a regular file");
    config.private_key = NULL;
    expect_error(tls_configure(f.server_tls, &config), "TLS needs a private key, none is configured");
    free(dir);
    expect_talk(&f);
    /* What was wrong becomes right: the next connection notices. */
    expect_error(kit_configure(f.server_tls, "late", "right", false), "cannot read the private key");
    authority_sign(&right, "late");
    expect_talk(&f);
    assert_null(kit_configure(f.server_tls, "late", "right", false));
    close_fixture(&f);
}

static void test_without_a_configuration_there_is_no_tls(void **state)
{
    struct fixture f;
    open_fixture(&f, tls_create(), tls_create());
    struct stream_options options = { .tls = f.client_tls, .dscp = -1 };
    struct stream *s;
    expect_error(stream_open(loop_base(), f.target, &options, &end_ops, NULL, &s), "none is configured");
    options.tls = NULL;
    expect_error(stream_open(loop_base(), f.target, &options, &end_ops, NULL, &s), "none is configured");
    expect_no_error(kit_configure(f.client_tls, "controller", "right", false));
    start(&f);
    UNTIL(f.client.closed || f.client.eofs); /* The listener has nothing to show. */
    assert_int_equal(f.client.connected, 0);
    close_ends(&f);
    expect_no_error(kit_configure(f.server_tls, "switch", "right", false));
    expect_talk(&f);
    /* And away again. */
    expect_no_error(tls_configure(f.server_tls, &(struct tls_config){ .private_key = "" }));
    start(&f);
    UNTIL(f.client.closed || f.client.eofs);
    close_fixture(&f);
}

/* FROM_CLIENT: the client bootstraps, else the server. */
static void check_bootstrap(bool from_client, const char *file)
{
    struct fixture f;
    open_fixture(&f, tls_create(), tls_create());
    char *path = xasprintf("%s/%s.ca", kit_dir, file);
    expect_no_error(kit_configure(f.server_tls, "switch", from_client ? "right" : file, !from_client));
    expect_no_error(kit_configure(f.client_tls, "controller", from_client ? file : "right", from_client));
    struct end *e = from_client ? &f.client : &f.server;
    start(&f);
    UNTIL(e->closed);
    expect_end(e, -EAGAIN, "the CA certificate was bootstrapped");
    assert_int_equal(e->connected, 0);
    close_ends(&f);
    FILE *in = fopen(path, "r");
    assert_non_null(in);
    X509 *got = PEM_read_X509(in, NULL, NULL, NULL);
    fclose(in);
    assert_int_equal(X509_cmp(got, right.cert), 0);
    X509_free(got);
    expect_talk(&f);
    /* From then on it is like any other CA. */
    expect_no_error(kit_configure(from_client ? f.server_tls : f.client_tls, "evil", "right", false));
    start(&f);
    UNTIL(e->closed);
    expect_end(e, -EPROTO, "unable to get local issuer certificate");
    close_fixture(&f);
    free(path);
}

static void test_a_ca_is_bootstrapped_from_the_first_peer(void **state)
{
    check_bootstrap(true, "from-server");
    check_bootstrap(false, "from-client");
}

static void test_a_ca_is_not_bootstrapped_from_a_peer_without_one(void **state)
{
    struct fixture f;
    /* A server that does not send its CA, for it does not have it: it trusts another. */
    open_fixture(&f, kit_tls("switch", "wrong"), tls_create());
    expect_no_error(kit_configure(f.client_tls, "evil", "never", true));
    start(&f);
    UNTIL(f.client.closed);
    expect_end(&f.client, -EPROTO,
               "cannot be bootstrapped: the last certificate that the peer sent is not a self-signed");
    char *path = kit_file("never.ca");
    assert_int_equal(access(path, F_OK), -1);
    free(path);
    close_fixture(&f);
}

static int setup(void **state)
{
    int r = kit_setup(state);
    right = authority_make("right");
    wrong = authority_make("wrong");
    kit_write_pem("turncoat.ca", right.cert, NULL);
    kit_write_pem("mixed.cert", right.cert, NULL);
    kit_write_pem("mixed.key", NULL, wrong.key);
    authority_sign(&right, "switch");
    authority_sign(&right, "controller");
    authority_sign(&right, "turncoat");
    authority_sign(&wrong, "evil");
    static const char *const junk[] = { "junk.key", "junk.cert", "junk.ca" };
    for (int i = 0; i < 3; i++) {
        char *path = kit_file(junk[i]);
        FILE *f = fopen(path, "w");
        fputs("-----BEGIN CERTIFICATE-----\njunk\n", f);
        fclose(f);
        free(path);
    }
    return r;
}

static int teardown(void **state)
{
    authority_free(&right);
    authority_free(&wrong);
    return kit_teardown(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_peers_of_one_authority_talk),
        cmocka_unit_test(test_a_client_refuses_a_server_of_another_authority),
        cmocka_unit_test(test_a_server_refuses_a_client_of_another_authority),
        cmocka_unit_test(test_a_client_without_a_certificate_is_refused),
        cmocka_unit_test(test_junk_and_silence_end_a_handshake),
        cmocka_unit_test(test_new_connections_use_exchanged_files),
        cmocka_unit_test(test_bad_files_are_one_clear_error_and_the_old_ones_stay),
        cmocka_unit_test(test_without_a_configuration_there_is_no_tls),
        cmocka_unit_test(test_a_ca_is_bootstrapped_from_the_first_peer),
        cmocka_unit_test(test_a_ca_is_not_bootstrapped_from_a_peer_without_one),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
