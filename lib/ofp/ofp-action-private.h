/* What the files of lib/ofp/ofp-action*.c share.  Nobody else includes it.
 *
 * Each form of a record has a decoder, an encoder, a printer, a scanner and a checker, named in ofp-action-list.h and
 * declared here from the same lists. */
#ifndef OFP_ACTION_PRIVATE_H
#define OFP_ACTION_PRIVATE_H 1

#include "lib/ofp/ofp-action.h"
#include "lib/ofp/ofp-msg.h" /* Ports in 32 bits. */

/* Reserved ports. */
#define PORT_IN_PORT    ((ofp_port_t){ OFPP_IN_PORT_N })
#define PORT_TABLE      ((ofp_port_t){ OFPP_TABLE_N })
#define PORT_NORMAL     ((ofp_port_t){ OFPP_NORMAL_N })
#define PORT_FLOOD      ((ofp_port_t){ OFPP_FLOOD_N })
#define PORT_ALL        ((ofp_port_t){ OFPP_ALL_N })
#define PORT_CONTROLLER ((ofp_port_t){ OFPP_CONTROLLER_N })

#define METER_MAX 0xffff0000u

enum ofp_vendor { OFP_VENDOR_STD, OFP_VENDOR_NX, OFP_VENDOR_ONF };

struct decode;
/* A row of OFP_WIRE_ACTIONS. */
struct wire_action {
    enum ofp_vendor vendor;
    uint16_t code;
    enum ofp_version first, last;
    uint16_t len;
    bool more;
    enum ofp_error (*decode)(struct decode *d, struct buf *acts);
    enum ofp_act_type type;
    uint8_t ofs, width;
};

/* An action that is being decoded. */
struct decode {
    const uint8_t *body; /* Behind the header (type and length; vendor and subtype). */
    size_t len;          /* Of the body, at least what the table says. */
    enum ofp_version version;
    unsigned int depth;
    const struct wire_action *wire;
};

/* Decodes a list that is nested in D's action, or (DEPTH 0) is not. */
enum ofp_error ofp_decode_list(const uint8_t *data, size_t len, enum ofp_version version, unsigned int depth,
                               struct buf *acts);
/* Of a flow in 1.0: a list in which write_metadata may be. */
enum ofp_error ofp_flow_actions10_decode(const void *data, size_t len, struct buf *acts);
/* The row by which TYPE, an action that is a number or nothing but itself, is said in VERSION; NULL. */
const struct wire_action *ofp_wire_action(enum ofp_act_type type, enum ofp_version version, bool wide);

/* Rules of what may be in what (ofp-action-verify.c): order and duplicates of instructions, conjunctions; of a nest,
 * IN: the type of the record.  *RET_WHY says it in words, to be freed, unless RET_WHY is NULL. */
enum ofp_error ofp_acts_verify(const void *acts, size_t len, char **ret_why);
/* OFPBIC_UNSUP_INST if there are instructions; in 1.5, meter is an action. */
enum ofp_error ofp_acts_verify_no_instructions(const void *acts, size_t len, enum ofp_version version);
enum ofp_error ofp_acts_verify_nested(const void *acts, size_t len, enum ofp_act_type in, char **ret_why);

/* ---- Encoding. ---- */

/* Begin an action; the end pads it to 8 bytes and sets its length. */
size_t ofp_put_std(struct buf *w, uint16_t code);
size_t ofp_put_nx(struct buf *w, uint16_t subtype);
void ofp_put_end(struct buf *w, size_t start);
/* Ports have 32 bits from 1.1 on.  OFPBAC_BAD_OUT_PORT if ours cannot have the number. */
/* Can there be an output to it?  And one with truncation, or to a queue? */
enum ofp_error ofp_output_port_error(ofp_port_t port);
bool ofp_trunc_port_ok(ofp_port_t port);
bool ofp_zeros(const uint8_t *p, size_t n);
/* The list without instructions. */
void ofp_encode_list(const void *acts, size_t len, enum ofp_version version, struct buf *w);
/* OFP_ACT_SET_FIELD's encoder, for actions that some version has only by it. */
void ofp_encode_field(const struct ofp_field *field, const union ofp_value *value, enum ofp_version version,
                      struct buf *w);
/* reg_load of the bits of 'field' that are in MASK. */
void ofp_encode_loads(const struct ofp_act_set_field *a, struct buf *w);

/* ---- Fields on the wire. ---- */

/* A header of 4 bytes (8: an experimenter's) without a mask.  OFPBAC_BAD_SET_TYPE, OFPBMC_BAD_LEN... */
enum ofp_error ofp_get_field(struct bytes *b, const struct ofp_field **ret_field);
/* The same where more may follow: OFPBMC_BAD_FIELD. */
enum ofp_error ofp_get_field_in_list(struct bytes *b, const struct ofp_field **ret_field);
/* Appends the header that ofp_get_field() reads. */
void ofp_put_field(struct buf *w, const struct ofp_field *field, enum ofp_version version);
/* Is its header an experimenter's, of 8 bytes? */
bool ofp_field_is_experimenter(const struct ofp_field *field);
/* 16 bits: the first bit, and the number of bits less one. */
static inline uint16_t ofp_ofs_nbits(const struct ofp_subfield *sf) { return sf->ofs << 6 | (sf->n_bits - 1); }
static inline void ofp_set_ofs_nbits(struct ofp_subfield *sf, uint16_t v)
{
    sf->ofs = v >> 6;
    sf->n_bits = (v & 0x3f) + 1;
}
/* May set_field give FIELD that value (EXACT: all of it)? */
bool ofp_set_value_ok(const struct ofp_field *field, const union ofp_value *value, bool exact);
/* Is SF inside its field (and with DST, may it be written)?  OFPBAC_BAD_SET_LEN, OFPBAC_BAD_SET_ARGUMENT. */
enum ofp_error ofp_subfield_ok(const struct ofp_subfield *sf, bool dst);

/* ---- Printing. ---- */

struct print {
    FILE *out;
    const struct ofp_act_names *names; /* May be NULL. */
};

void ofp_print_port(const struct print *p, ofp_port_t port);
void ofp_print_table(const struct print *p, uint8_t table);
void ofp_print_list(const struct print *p, const void *acts, size_t len);
/* A value as actions' text has it: unlike a match's, without leading zeros, and a masked number may be decimal. */
void ofp_print_value(FILE *out, const struct ofp_field *f, const union ofp_value *value, const union ofp_value *mask);
/* A list whose items are separated by commas: begin with *FIRST true. */
void ofp_print_comma(FILE *out, bool *first);
void ofp_print_hex(FILE *out, const uint8_t *data, size_t n); /* With points between. */

/* ---- Scanning. ---- */

struct scan {
    const struct ofp_act_names *names;
    unsigned int depth;
    bool in_ct; /* In ct's exec. */
    struct buf *acts;
};

struct keyword {
    const char *word;
    char *(*scan)(struct scan *s, const struct keyword *k, char *args);
    enum ofp_act_type type;
    unsigned int flags;
};
/* Text may make this many bytes of records: far more than any message carries. */
#define OFP_ACTS_MAX_TEXT (1u << 20)

enum { OFP_KEYWORD_OLD = 1, OFP_KEYWORD_LOAD = 2, OFP_KEYWORD_WIDE = 4 };

/* Appends what TEXT says; it is cut into pieces. */
char *ofp_scan_list(struct scan *s, char *text);
/* Cuts the next argument off *POS, and its value: "a=b", "a(b)", "a:b" or "a" (*RET_VALUE is then "", where the text
 * ends).  False at the end.  Separators are commas and blanks. */
bool ofp_scan_arg(char **pos, char **ret_key, char **ret_value);
/* Numbers, decimal, or hexadecimal with 0x.  NULL or an error that names WHAT. */
char *ofp_scan_number64(const char *what, const char *text, uint64_t max, uint64_t *ret);
char *ofp_scan_u32(const char *what, const char *text, uint32_t *ret);
char *ofp_scan_u16(const char *what, const char *text, uint16_t *ret);
bool ofp_scan_port_name(const struct scan *s, const char *text, ofp_port_t *ret);
char *ofp_scan_port(const struct scan *s, const char *what, const char *text, ofp_port_t *ret);
char *ofp_scan_table(const struct scan *s, const char *what, const char *text, uint8_t *ret);
char *ofp_scan_subfield(const char *what, const char *text, struct ofp_subfield *ret);
/* One whose header has 4 bytes, for actions that have no room for more. */
char *ofp_scan_short_subfield(const char *what, const char *text, struct ofp_subfield *ret);
/* One that actions write. */
char *ofp_scan_dst(const char *what, const char *text, struct ofp_subfield *ret);
char *ofp_scan_hash_fields(const char *what, const char *text, uint16_t *ret);
const char *ofp_hash_fields_name(uint16_t fields);
/* Appends the bytes of hexadecimal TEXT, with points between or not. */
char *ofp_scan_hex(const char *what, const char *text, struct buf *b);
/* Cuts "A->B" in two. */
char *ofp_scan_arrow(const char *what, char *text, char **ret_dst);

/* ---- Checking. ---- */

struct check_state {
    const struct ofp_check *in;
    struct flow *flow; /* As the actions until here leave it. */
    bool in_set;       /* In write_actions: whether an action fits is seen when it is executed. */
};

enum ofp_error ofp_check_list(struct check_state *s, void *acts, size_t len);
enum ofp_error ofp_check_src(const struct check_state *s, const struct ofp_subfield *sf);
enum ofp_error ofp_check_dst(const struct check_state *s, const struct ofp_subfield *sf);

/* ---- The functions of the lists. ---- */

struct act_info {
    const char *name;
    enum ofp_inst instruction;
    bool in_set;
    void (*encode)(const struct ofp_act *a, enum ofp_version version, struct buf *w);
    void (*print)(const struct print *p, const struct ofp_act *a);
    enum ofp_error (*check)(struct check_state *s, struct ofp_act *a);
};
extern const struct act_info ofp_act_info[OFP_N_ACTS];

#define OFP_DECLARE_ACTION(ID, NAME, INST, SET, FORM, CHECK)                                                           \
    void ofp_encode_##FORM(const struct ofp_act *a, enum ofp_version version, struct buf *w);                          \
    void ofp_print_##FORM(const struct print *p, const struct ofp_act *a);                                             \
    enum ofp_error ofp_check_##CHECK(struct check_state *s, struct ofp_act *a);
OFP_ACTIONS(OFP_DECLARE_ACTION)
#undef OFP_DECLARE_ACTION

#define OFP_DECLARE_DECODER(VENDOR, CODE, FIRST, LAST, LEN, MORE, DECODER, TYPE, OFS, WIDTH)                           \
    enum ofp_error ofp_decode_##DECODER(struct decode *d, struct buf *acts);
OFP_WIRE_ACTIONS(OFP_DECLARE_DECODER)
#undef OFP_DECLARE_DECODER

#define OFP_DECLARE_SCANNER(WORD, SCANNER, TYPE, FLAGS)                                                                \
    char *ofp_scan_##SCANNER(struct scan *s, const struct keyword *k, char *args);
OFP_KEYWORDS(OFP_DECLARE_SCANNER)
#undef OFP_DECLARE_SCANNER

#endif
