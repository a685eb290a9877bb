/* OpenFlow messages: what one is, its headers, and replies in many parts.
 *
 * A message is recognized by one function for all versions, from the table in ofp-msg-list.h; the decoders of bodies
 * are in ofp-msg-*.h, one function a message, which looks at the version and the form by itself:
 *
 *     struct ofp_msg msg;
 *     enum ofp_error error = ofp_msg_recognize(data, len, &msg);
 *     if (!error) {
 *         switch (msg.id) {
 *         case OFPMSG_FLOW_MOD: error = ofp_decode_flow_mod(&msg, ...);
 *
 * Decoded structures do not depend on the version; they point into the message's bytes, which must outlive them.  A
 * decoder returns 0 or the error to be sent back, never reads past the message, and leaves its result undefined on
 * error.  Encoders append whole messages to a buf; several may be in one buf, back to back.
 *
 * Matches, actions and instructions are carried as the bytes they are on the wire: struct ofp_match_ref and
 * struct bytes.  Pure functions; any thread. */
#ifndef OFP_MSG_H
#define OFP_MSG_H 1

#include "lib/base/buf.h"
#include "lib/base/types.h"
#include "lib/ofp/ofp-cursor.h"
#include "lib/ofp/ofp-error.h"
#include "lib/ofp/ofp-msg-list.h"

#define OFP_HEADER_LEN  8
#define OFP_MSG_MAX_LEN 65535 /* What 16 bits of length can say. */
#define OFP_NO_BUFFER   UINT32_MAX

enum ofp_msg_id {
#define OFP_MSG_ID(NAME, DIRECTION, FORMS) OFPMSG_##NAME,
#define OFP_NO_FORM(...)
    OFP_MSGS(OFP_MSG_ID, OFP_NO_FORM) OFPMSG_N
#undef OFP_MSG_ID
#undef OFP_NO_FORM
};

/* How a message says what it is.  See ofp-msg-list.h. */
enum ofp_msg_class {
    OFP_MSGCLASS_OFPT,
    OFP_MSGCLASS_STREQ,
    OFP_MSGCLASS_STREP,
    OFP_MSGCLASS_NXT,
    OFP_MSGCLASS_ONFT,
    OFP_MSGCLASS_NXSTREQ,
    OFP_MSGCLASS_NXSTREP,
    OFP_MSGCLASS_ONFSTREQ,
    OFP_MSGCLASS_ONFSTREP,
};

enum ofp_direction { OFP_FROM_C = 1, OFP_FROM_S = 2, OFP_FROM_B = 3 };

struct ofp_msg_form {
    uint8_t first, last; /* Versions, as in the header.  0: no form. */
    uint8_t class;       /* enum ofp_msg_class. */
    uint16_t type;
    uint16_t min, unit;
};

struct ofp_msg {
    enum ofp_msg_id id;
    const struct ofp_msg_form *form;
    enum ofp_version version;
    be32 xid;
    bool more;           /* Of a multipart message: another part follows. */
    const uint8_t *data; /* All of it. */
    size_t len;
    const uint8_t *body; /* Behind all headers. */
    size_t body_len;
};

/* Says which message the LEN bytes at DATA are, one whole message.  Its body has a length that the message may have;
 * what is in it is left to the decoder.  OFPBRC_BAD_LEN, _BAD_VERSION, _BAD_TYPE, _BAD_STAT, _BAD_VENDOR or
 * _BAD_SUBTYPE otherwise. HELLO and ERROR are recognized in any version, for both are sent before there is a common
 * one; 'version' is then the header's and may be none of enum ofp_version. */
enum ofp_error ofp_msg_recognize(const void *data, size_t len, struct ofp_msg *ret_msg);

/* "FLOW_MOD". */
const char *ofp_msg_name(enum ofp_msg_id id);
/* May the controller (else the switch) send it?  If not, its arrival is OFPBRC_BAD_TYPE. */
bool ofp_msg_is_from_controller(enum ofp_msg_id id);
/* Do we speak this version? */
bool ofp_version_ok(uint8_t version);

static inline struct ofp_cursor ofp_msg_cursor(const struct ofp_msg *m) { return ofp_cursor(m->body, m->body_len); }
static inline bool ofp_msg_is_nx(const struct ofp_msg *m)
{
    return m->form->class == OFP_MSGCLASS_NXT || m->form->class == OFP_MSGCLASS_NXSTREQ ||
           m->form->class == OFP_MSGCLASS_NXSTREP;
}

/* Appends the headers of the message ID in the first form that VERSION has; the second, one of CLASS, with TYPE if it
 * is not 0. There must be one.  Returns the offset of the message, for ofp_msg_end(), which puts in its length: 0, or
 * -EMSGSIZE if it is too long for a message, which is then taken back. */
size_t ofp_msg_begin(struct buf *b, enum ofp_msg_id id, enum ofp_version version, be32 xid);
size_t ofp_msg_begin_form(struct buf *b, enum ofp_msg_id id, enum ofp_version version, be32 xid,
                          enum ofp_msg_class class, uint16_t type);
int ofp_msg_end(struct buf *b, size_t start);
/* Has the message such a form in VERSION? */
const struct ofp_msg_form *ofp_msg_find_form(enum ofp_msg_id id, enum ofp_version version, enum ofp_msg_class class,
                                             uint16_t type);

/* A reply that may have many entries.  Each is appended to 'buf' and then committed; when the message that it is in
 * becomes too long, the entry goes into a message of its own, and the one before gets the flag MORE. */
struct ofp_reply {
    struct buf buf; /* Messages, back to back; the last is not ended. */
    enum ofp_msg_id id;
    const struct ofp_msg_form *form;
    enum ofp_version version;
    be32 xid;
    size_t start; /* Of the last message. */
    size_t entry; /* Where the next entry begins. */
};

/* Begins the reply ID to REQUEST, in the same version, with its transaction id, and in the same vendor's form. */
void ofp_reply_begin(struct ofp_reply *r, const struct ofp_msg *request, enum ofp_msg_id id);
/* What was appended to 'buf' since the last commit is an entry.  0; -EMSGSIZE if it fits into no message: then it is
 * taken back. */
int ofp_reply_commit(struct ofp_reply *r);
/* The number of bytes at the start of 'buf' that are whole messages and may be sent: take them with ofp_reply_sent().
 */
static inline size_t ofp_reply_ready(const struct ofp_reply *r) { return r->start; }
void ofp_reply_sent(struct ofp_reply *r, size_t n);
/* Ends the last message: all of 'buf' may be sent. */
void ofp_reply_end(struct ofp_reply *r);
void ofp_reply_uninit(struct ofp_reply *r);

/* The forms in which a match may be. */
enum ofp_match_form {
    OFP_MATCH_OFP10, /* struct ofp10_match: 40 bytes. */
    OFP_MATCH_NXM,   /* A list of NXM or OXM fields, without its padding. */
    OFP_MATCH_OXM,   /* Of 1.2 and later: type and length, then fields; without its padding. */
};

struct ofp_match_ref {
    enum ofp_match_form form;
    struct bytes bytes;
};

/* Takes a match off C and its padding to 8 bytes: one of 1.2 and later (OFPBMC_BAD_TYPE, _BAD_LEN), or one in NXM of
 * LEN bytes. */
enum ofp_error ofp_get_match_oxm(struct ofp_cursor *c, struct ofp_match_ref *ret_match);
enum ofp_error ofp_get_match_nxm(struct ofp_cursor *c, size_t len, struct ofp_match_ref *ret_match);
struct ofp_match_ref ofp_get_match10(struct ofp_cursor *c);
/* Appends a match with its padding. */
void ofp_put_match(struct buf *b, const struct ofp_match_ref *match);

/* Takes off C a property (TYPE, length, content), and its padding to 8 bytes.  OFPBPC_BAD_LEN. */
enum ofp_error ofp_get_property(struct ofp_cursor *c, uint16_t *ret_type, struct ofp_cursor *ret_content);
/* Begins a property; the end takes what begin returned and pads it. */
size_t ofp_begin_property(struct buf *b, uint16_t type);
void ofp_end_property(struct buf *b, size_t start);

/* Port numbers: 16 bits in 1.0, 32 in later versions, where the reserved ones are at the end of them.
 * OFPBAC_BAD_OUT_PORT if ours cannot have it. */
enum ofp_error ofp_port_from_u32(uint32_t wire, ofp_port_t *ret_port);
static inline uint32_t ofp_port_to_u32(ofp_port_t port) { return port.n < OFPP_MAX ? port.n : port.n | 0xffff0000u; }
/* As VERSION has it. */
enum ofp_error ofp_get_port(struct ofp_cursor *c, enum ofp_version version, ofp_port_t *ret_port);
void ofp_put_port(struct buf *b, enum ofp_version version, ofp_port_t port);

#endif
