/* For tests of streams and what is built on them: running the loop until a condition holds, a temporary directory, and
 * a certificate authority. */
#ifndef IO_KIT_H
#define IO_KIT_H 1

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka needs the four above. */
#include <cmocka.h>

#include <event2/event.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/util.h"
#include "lib/io/loop.h"
#include "lib/io/tls.h"

#define UNTIL_NSEC 30000000000ull /* How long a condition is awaited: only a failing test waits so long. */

static char kit_dir[] = "/tmp/sluice-io-XXXXXX";

static UNUSED void kit_nothing(evutil_socket_t fd UNUSED, short what UNUSED, void *arg UNUSED) {}

/* Runs the loop until COND holds. */
#define UNTIL(COND)                                                                                                    \
    do {                                                                                                               \
        struct timeval tick_ = { .tv_usec = 2000 };                                                                    \
        struct event *ev_ = event_new(loop_base(), -1, EV_PERSIST, kit_nothing, NULL);                                 \
        uint64_t begin_ = clock_nsec();                                                                                \
        event_add(ev_, &tick_);                                                                                        \
        while (!(COND)) {                                                                                              \
            if (clock_nsec() - begin_ > UNTIL_NSEC) {                                                                  \
                fail_msg("in vain: %s", #COND);                                                                        \
            }                                                                                                          \
            event_base_loop(loop_base(), EVLOOP_ONCE);                                                                 \
        }                                                                                                              \
        event_free(ev_);                                                                                               \
    } while (0)

/* Runs the loop for what is ready now. */
static UNUSED void turn(void)
{
    for (int i = 0; i < 10; i++) {
        event_base_loop(loop_base(), EVLOOP_NONBLOCK);
    }
}

static UNUSED int kit_setup(void **state UNUSED)
{
    loop_init();
    return mkdtemp(kit_dir) ? 0 : -1;
}

static UNUSED int kit_teardown(void **state UNUSED)
{
    char *command = xasprintf("rm -rf %s", kit_dir);
    int r = system(command);
    free(command);
    turn();
    loop_uninit();
    return r;
}

/* The file NAME in the temporary directory; to be freed. */
static UNUSED char *kit_file(const char *name) { return xasprintf("%s/%s", kit_dir, name); }

/* Has ERROR, which it frees, contain TEXT? */
static UNUSED void expect_error(char *error, const char *text)
{
    assert_non_null(error);
    if (!strstr(error, text)) {
        fail_msg("\"%s\" does not contain \"%s\"", error, text);
    }
    free(error);
}

static UNUSED void expect_no_error(char *error)
{
    if (error) {
        fail_msg("unexpected: %s", error);
    }
}

/* Certificates. */

struct authority {
    EVP_PKEY *key;
    X509 *cert;
};

static UNUSED X509 *kit_certify(const char *subject, EVP_PKEY *key, const struct authority *ca)
{
    static long serial = 1;
    X509 *cert = X509_new();
    X509_NAME *name = X509_get_subject_name(cert);
    assert_true(X509_set_version(cert, 2) && ASN1_INTEGER_set(X509_get_serialNumber(cert), serial++) &&
                X509_gmtime_adj(X509_getm_notBefore(cert), -3600) && X509_gmtime_adj(X509_getm_notAfter(cert), 3600) &&
                X509_set_pubkey(cert, key) &&
                X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, (const uint8_t *) subject, -1, -1, 0));
    assert_true(X509_set_issuer_name(cert, ca ? X509_get_subject_name(ca->cert) : name));
    X509_EXTENSION *ext = X509V3_EXT_conf_nid(NULL, NULL, NID_basic_constraints, ca ? "CA:FALSE" : "critical,CA:TRUE");
    assert_true(ext && X509_add_ext(cert, ext, -1));
    X509_EXTENSION_free(ext);
    assert_true(X509_sign(cert, ca ? ca->key : key, EVP_sha256()) > 0);
    return cert;
}

static UNUSED void kit_write_pem(const char *file, X509 *cert, EVP_PKEY *key)
{
    char *path = kit_file(file);
    char *tmp = xasprintf("%s.new", path);
    FILE *f = fopen(tmp, "w");
    assert_non_null(f);
    assert_true(cert ? PEM_write_X509(f, cert) : PEM_write_PrivateKey(f, key, NULL, NULL, 0, NULL, NULL));
    assert_int_equal(fclose(f), 0);
    assert_int_equal(rename(tmp, path), 0);
    free(tmp);
    free(path);
}

/* Makes an authority, its certificate in NAME.ca. */
static UNUSED struct authority authority_make(const char *name)
{
    struct authority ca = { .key = EVP_EC_gen("P-256") };
    char *file = xasprintf("%s.ca", name);
    assert_non_null(ca.key);
    ca.cert = kit_certify(name, ca.key, NULL);
    kit_write_pem(file, ca.cert, NULL);
    free(file);
    return ca;
}

static UNUSED void authority_free(struct authority *ca)
{
    EVP_PKEY_free(ca->key);
    X509_free(ca->cert);
}

/* Has CA sign a certificate: NAME.key and NAME.cert. */
static UNUSED void authority_sign(const struct authority *ca, const char *name)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *cert = kit_certify(name, key, ca);
    char *file = xasprintf("%s.key", name);
    kit_write_pem(file, NULL, key);
    free(file);
    file = xasprintf("%s.cert", name);
    kit_write_pem(file, cert, NULL);
    free(file);
    X509_free(cert);
    EVP_PKEY_free(key);
}

/* tls_configure() with NAME.key, NAME.cert and CA.ca of the temporary directory. */
static UNUSED char *kit_configure(struct tls *tls, const char *name, const char *ca, bool bootstrap)
{
    char *files[] = { xasprintf("%s/%s.key", kit_dir, name), xasprintf("%s/%s.cert", kit_dir, name),
                      xasprintf("%s/%s.ca", kit_dir, ca) };
    struct tls_config config = {
        .private_key = files[0], .certificate = files[1], .ca_cert = files[2], .bootstrap_ca_cert = bootstrap
    };
    char *error = tls_configure(tls, &config);
    free(files[0]);
    free(files[1]);
    free(files[2]);
    return error;
}

static UNUSED struct tls *kit_tls(const char *name, const char *ca)
{
    struct tls *tls = tls_create();
    expect_no_error(kit_configure(tls, name, ca, false));
    return tls;
}

#endif
