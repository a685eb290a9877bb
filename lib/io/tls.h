/* TLS: who we are, and whom we trust, from files.
 *
 * One struct tls serves all connections.  It holds the private key, the certificate and the CA's certificate; a
 * connection takes them as they are when it begins, and keeps them.  Files that change under their names are noticed
 * when the next connection begins.  Files that cannot be read or do not fit together are one error, and the old ones
 * stay.
 *
 * Peers must show a certificate that the CA signed, on both sides, whoever connected.  As OpenFlow has it, the name in
 * it is not looked at.  Nothing is resumed from an earlier session, so an exchanged CA holds for the next connection.
 *
 * With 'bootstrap_ca_cert', while the CA's file does not exist, the first peer's own CA is believed and saved in it,
 * and that connection ends.
 *
 * Belongs to one thread (main). */
#ifndef IO_TLS_H
#define IO_TLS_H 1

#include <stdbool.h>

#include "lib/base/compiler.h"

struct ssl_st;
struct tls;

struct tls_config {
    const char *private_key, *certificate, *ca_cert; /* PEM files; NULL or "": not given. */
    bool bootstrap_ca_cert;
};

struct tls *tls_create(void);
/* Connections that exist keep what they need.  Accepts NULL. */
void tls_destroy(struct tls *tls);

/* Takes what CONFIG names.  Returns NULL; or an error in words, to be freed, after which everything stays as it was
 * except that the new files are tried again when they change.  All three files missing in CONFIG: no more TLS. */
char *tls_configure(struct tls *tls, const struct tls_config *config) WARN_UNUSED_RESULT;

/* A TLS connection's end, to be freed by SSL_free(): of a client, or of a server if SERVER.  TLS may be NULL.  Returns
 * NULL and *RET_SSL; or an error in words, to be freed: there is no (whole) configuration. */
char *tls_new_session(struct tls *tls, bool server, struct ssl_st **ret_ssl) WARN_UNUSED_RESULT;

/* After the handshake of SSL: whether it may go on.  Returns NULL; or, to be freed, why not: the peer is not to be
 * trusted, or the connection was used to obtain the CA (then *RET_AGAIN is true: the next one is as it should be). */
char *tls_check_peer(struct tls *tls, struct ssl_st *ssl, bool *ret_again) WARN_UNUSED_RESULT;

/* Why SSL failed, in words, to be freed: CODE is OpenSSL's, 0 for none. */
char *tls_error_text(struct ssl_st *ssl, unsigned long code);

#endif
