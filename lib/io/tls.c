/* TLS: the files, the context that is made of them, and bootstrapping.
 *
 * OpenSSL's SSL_CTX is what connections share.  A change makes a new one, whole or not at all; connections that
 * exist hold a reference to the one that they began with.  Three cheap stat() calls at the beginning of each connection
 * tell whether a file has changed, so nobody has to announce that a certificate was renewed.  While files are being
 * replaced one by one they may not fit together; then the old context serves on, and the next connection looks again
 * if, and only if, something has changed since.
 *
 * While a CA is to be bootstrapped the context has a verify callback that takes everything; that callback is also the
 * mark by which tls_check_peer() knows such a connection.  It never carries a byte of the protocol. */
#include <config.h>

#include "lib/io/tls.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/log.h"
#include "lib/base/util.h"

LOG_MODULE(tls);

enum tls_file { TLS_KEY, TLS_CERT, TLS_CA, N_TLS_FILES };
static const char *const file_names[N_TLS_FILES] = { "private key", "certificate", "CA certificate" };

/* What a file looked like; all zero if it was not there. */
struct stamp {
    dev_t dev;
    ino_t ino;
    off_t size;
    struct timespec mtime, ctime;
};

struct tls {
    char *files[N_TLS_FILES]; /* "": not given. */
    bool bootstrap;
    struct stamp stamps[N_TLS_FILES]; /* When they were last looked at. */
    SSL_CTX *ctx;                     /* NULL: no TLS (yet). */
    char *error;                      /* Why the files as in 'stamps' are not those of 'ctx'; or NULL. */
};

static struct stamp stamp_of(const char *file)
{
    struct stat st;
    struct stamp s;
    memset(&s, 0, sizeof s); /* Padding too: stamps are compared by memcmp(). */
    if (file[0] && !stat(file, &st)) {
        s.dev = st.st_dev;
        s.ino = st.st_ino;
        s.size = st.st_size;
        s.mtime = st.st_mtim;
        s.ctime = st.st_ctim;
    }
    return s;
}

/* Looks at the files.  Returns whether any has changed since the last time. */
static bool take_stamps(struct tls *tls)
{
    bool changed = false;
    for (int i = 0; i < N_TLS_FILES; i++) {
        struct stamp s = stamp_of(tls->files[i]);
        changed |= memcmp(&s, &tls->stamps[i], sizeof s) != 0;
        tls->stamps[i] = s;
    }
    return changed;
}

/* The last reason in OpenSSL's queue, which is emptied. */
static const char *take_reason(void)
{
    unsigned long code = ERR_peek_last_error();
    const char *reason = ERR_reason_error_string(code);
    ERR_clear_error();
    return ERR_SYSTEM_ERROR(code) ? strerror(ERR_GET_REASON(code)) : reason ? reason : "unknown error";
}

/* Never asks at a terminal. */
static int no_passphrase(char *buf UNUSED, int size UNUSED, int rwflag UNUSED, void *aux UNUSED) { return -1; }

/* Whether FILE can be read, without waiting as on a pipe.  Returns NULL or an error in words. */
static char *check_file(enum tls_file which, const char *file)
{
    struct stat st;
    if (!file[0]) {
        return xasprintf("TLS needs a %s, none is configured", file_names[which]);
    }
    if (stat(file, &st) || access(file, R_OK)) {
        return xasprintf("cannot read the %s %s: %s", file_names[which], file, strerror(errno));
    }
    return S_ISREG(st.st_mode) ? NULL : xasprintf("cannot read the %s %s: not a regular file", file_names[which], file);
}

static char *bad_file(enum tls_file which, const char *file)
{
    return xasprintf("the %s %s is not usable: %s", file_names[which], file, take_reason());
}

static char *load_identity(const struct tls *tls, SSL_CTX *ctx)
{
    const char *key = tls->files[TLS_KEY], *cert = tls->files[TLS_CERT];
    if (SSL_CTX_use_certificate_chain_file(ctx, cert) != 1) {
        return bad_file(TLS_CERT, cert);
    }
    if (SSL_CTX_use_PrivateKey_file(ctx, key, SSL_FILETYPE_PEM) != 1) {
        unsigned long code = ERR_peek_last_error();
        int reason = ERR_GET_REASON(code);
        if (ERR_GET_LIB(code) == ERR_LIB_X509 &&
            (reason == X509_R_KEY_VALUES_MISMATCH || reason == X509_R_KEY_TYPE_MISMATCH)) {
            ERR_clear_error();
            return xasprintf("the private key %s does not belong to the certificate %s", key, cert);
        }
        return bad_file(TLS_KEY, key);
    }
    return SSL_CTX_check_private_key(ctx) == 1 ? NULL : bad_file(TLS_KEY, key);
}

static int accept_any(int ok UNUSED, X509_STORE_CTX *store UNUSED) { return 1; }

static char *load_trust(const struct tls *tls, SSL_CTX *ctx, bool bootstrapping)
{
    int mode = SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT;
    const char *ca = tls->files[TLS_CA];
    if (bootstrapping) {
        SSL_CTX_set_verify(ctx, mode, accept_any);
        return NULL;
    }
    SSL_CTX_set_verify(ctx, mode, NULL);
    STACK_OF(X509_NAME) *names = SSL_load_client_CA_file(ca);
    if (!names || SSL_CTX_load_verify_file(ctx, ca) != 1) {
        sk_X509_NAME_pop_free(names, X509_NAME_free);
        return bad_file(TLS_CA, ca);
    }
    SSL_CTX_set_client_CA_list(ctx, names);
    return NULL;
}

/* Makes a context of the files.  Returns NULL and *RET_CTX, or an error in words. */
static char *load(const struct tls *tls, SSL_CTX **ret_ctx)
{
    bool bootstrapping = tls->bootstrap && tls->files[TLS_CA][0] && access(tls->files[TLS_CA], F_OK) && errno == ENOENT;
    for (int i = 0; i < N_TLS_FILES; i++) {
        char *error = bootstrapping && i == TLS_CA ? NULL : check_file(i, tls->files[i]);
        if (error) {
            return error;
        }
    }
    ERR_clear_error();
    SSL_CTX *ctx = SSL_CTX_new(TLS_method());
    if (!ctx || SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION) != 1) {
        SSL_CTX_free(ctx);
        return xasprintf("cannot set up TLS: %s", take_reason());
    }
    SSL_CTX_set_default_passwd_cb(ctx, no_passphrase);
    /* A peer that ends the connection without TLS's own farewell has ended it all the same: messages have lengths. */
    SSL_CTX_set_options(ctx, SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION | SSL_OP_IGNORE_UNEXPECTED_EOF);
    SSL_CTX_set_num_tickets(ctx, 0);
    SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_mode(ctx,
                     SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS);
    char *error = load_identity(tls, ctx);
    if (!error) {
        error = load_trust(tls, ctx, bootstrapping);
    }
    if (error) {
        SSL_CTX_free(ctx);
        return error;
    }
    *ret_ctx = ctx;
    return NULL;
}

/* Loads the files as they are now, if they differ from those looked at last, or if FORCE.  Returns whether it looked.
 */
static bool refresh(struct tls *tls, bool force)
{
    if (!take_stamps(tls) && !force) {
        return false;
    }
    free(tls->error);
    SSL_CTX *ctx = NULL;
    tls->error = load(tls, &ctx);
    if (!tls->error) {
        SSL_CTX_free(tls->ctx);
        tls->ctx = ctx;
    }
    return true;
}

struct tls *tls_create(void)
{
    struct tls *tls = xzalloc(sizeof *tls);
    for (int i = 0; i < N_TLS_FILES; i++) {
        tls->files[i] = xstrdup("");
    }
    return tls;
}

void tls_destroy(struct tls *tls)
{
    if (tls) {
        for (int i = 0; i < N_TLS_FILES; i++) {
            free(tls->files[i]);
        }
        SSL_CTX_free(tls->ctx);
        free(tls->error);
        free(tls);
    }
}

char *tls_configure(struct tls *tls, const struct tls_config *config)
{
    const char *const names[N_TLS_FILES] = { config->private_key, config->certificate, config->ca_cert };
    bool changed = tls->bootstrap != config->bootstrap_ca_cert, any = false;
    tls->bootstrap = config->bootstrap_ca_cert;
    for (int i = 0; i < N_TLS_FILES; i++) {
        const char *name = names[i] ? names[i] : "";
        any |= name[0] != '\0';
        if (strcmp(name, tls->files[i])) {
            free(tls->files[i]);
            tls->files[i] = xstrdup(name);
            changed = true;
        }
    }
    if (!any) {
        take_stamps(tls);
        SSL_CTX_free(tls->ctx);
        tls->ctx = NULL;
        free(tls->error);
        tls->error = NULL;
        return NULL;
    }
    refresh(tls, changed);
    return tls->error ? xstrdup(tls->error) : NULL;
}

char *tls_new_session(struct tls *tls, bool server, struct ssl_st **ret_ssl)
{
    if (tls && refresh(tls, false)) {
        if (!tls->error) {
            log_info("the TLS files have changed, new connections use them");
        } else if (tls->ctx) {
            log_warn("the TLS files have changed and are not used: %s", tls->error);
        }
    }
    if (!tls || !tls->ctx) {
        return tls && tls->error
                   ? xstrdup(tls->error)
                   : xstrdup("TLS needs a private key, a certificate and a CA certificate, none is configured");
    }
    ERR_clear_error();
    SSL *ssl = SSL_new(tls->ctx);
    if (!ssl) {
        return xasprintf("cannot set up TLS: %s", take_reason());
    }
    if (server) {
        SSL_set_accept_state(ssl);
    } else {
        SSL_set_connect_state(ssl);
    }
    *ret_ssl = ssl;
    return NULL;
}

/* The peer's own CA: the last certificate that it sent, if that one has signed itself.  Borrowed from SSL; or NULL. */
static X509 *peer_ca(SSL *ssl)
{
    STACK_OF(X509) *chain = SSL_get_peer_cert_chain(ssl);
    int n = chain ? sk_X509_num(chain) : 0;
    X509 *last = n ? sk_X509_value(chain, n - 1) : SSL_get0_peer_certificate(ssl);
    bool self_signed =
        last && X509_check_issued(last, last) == X509_V_OK && X509_verify(last, X509_get0_pubkey(last)) == 1;
    ERR_clear_error();
    return self_signed ? last : NULL;
}

/* Writes CA to FILE, which does not exist: whole, or not at all.  Returns 0 or -errno; -EEXIST if somebody was first.
 */
static int save_ca(const char *file, X509 *ca)
{
    char *tmp = xasprintf("%s.XXXXXX", file);
    int error = 0, fd = mkstemp(tmp);
    FILE *f = fd < 0 ? NULL : fdopen(fd, "w");
    if (!f) {
        error = -errno;
        if (fd >= 0) {
            close(fd);
        }
    } else {
        bool ok = PEM_write_X509(f, ca) == 1 && !fflush(f) && !fchmod(fd, 0644) && !fsync(fd);
        error = ok ? 0 : errno ? -errno : -EIO;
        if (fclose(f) && !error) {
            error = -errno;
        }
        /* Not rename(): a CA that was put there meanwhile is not to be replaced by one that is merely believed. */
        if (!error && link(tmp, file)) {
            error = -errno;
        }
    }
    if (fd >= 0) {
        unlink(tmp);
    }
    free(tmp);
    return error;
}

static char *bootstrap(struct tls *tls, SSL *ssl, bool *ret_again)
{
    const char *file = tls->files[TLS_CA];
    X509 *ca = peer_ca(ssl);
    if (!ca) {
        return xstrdup("the CA certificate cannot be bootstrapped: the last certificate that the peer sent is not a "
                       "self-signed one");
    }
    int error = save_ca(file, ca);
    if (error && error != -EEXIST) {
        return xasprintf("cannot save the bootstrapped CA certificate as %s: %s", file, strerror(-error));
    }
    if (!error) {
        char *subject = X509_NAME_oneline(X509_get_subject_name(ca), NULL, 0);
        log_info("%s: the CA certificate was obtained from the peer: %s", file, subject ? subject : "?");
        OPENSSL_free(subject);
    }
    *ret_again = true;
    return xstrdup("the CA certificate was bootstrapped, connecting again");
}

char *tls_check_peer(struct tls *tls, struct ssl_st *ssl, bool *ret_again)
{
    *ret_again = false;
    if (SSL_get_verify_callback(ssl) == accept_any) {
        return bootstrap(tls, ssl, ret_again);
    }
    long result = SSL_get_verify_result(ssl);
    if (!SSL_get0_peer_certificate(ssl)) {
        return xstrdup("the peer has no certificate");
    }
    return result == X509_V_OK
               ? NULL
               : xasprintf("the peer's certificate is refused: %s", X509_verify_cert_error_string(result));
}

char *tls_error_text(struct ssl_st *ssl, unsigned long code)
{
    long result = SSL_get_verify_result(ssl);
    if (code && ERR_GET_REASON(code) == SSL_R_CERTIFICATE_VERIFY_FAILED && result != X509_V_OK) {
        return xasprintf("the peer's certificate is refused: %s", X509_verify_cert_error_string(result));
    }
    const char *reason = code ? ERR_reason_error_string(code) : NULL;
    if (reason && ERR_GET_REASON(code) >= SSL_AD_REASON_OFFSET) {
        return xasprintf("TLS: the peer refuses the connection: %s", reason); /* An alert that it sent. */
    }
    return reason ? xasprintf("TLS: %s", reason) : xstrdup("TLS: the connection was lost");
}
