/* Actions read from text: lists, and what several of them share.  See ofp-action.h and ovs-actions(7).
 *
 * For commands and tests.  Each error says which action, which value, and what would be right. */
#include <config.h>

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "lib/base/compiler.h"
#include "lib/base/util.h"
#include "lib/ofp/ofp-action-private.h"

static const struct keyword keywords[] = {
#define KEYWORD(WORD, SCANNER, TYPE, FLAGS) { WORD, ofp_scan_##SCANNER, OFP_ACT_##TYPE, FLAGS },
    OFP_KEYWORDS(KEYWORD)
#undef KEYWORD
};

/* ---- Taking text apart. ---- */

#define SEPARATORS ", \t\r\n"

/* The bracket that closes the one at P, or the end. */
static char *closing(char *p)
{
    int depth = 0;

    for (; *p; p++) {
        if (*p == '(') {
            depth++;
        } else if (*p == ')' && !--depth) {
            break;
        }
    }
    return p;
}

bool ofp_scan_arg(char **pos, char **ret_key, char **ret_value)
{
    char *p = *pos + strspn(*pos, SEPARATORS);

    if (!*p) {
        *pos = p;
        return false;
    }
    *ret_key = p;
    p += strcspn(p, ":=(" SEPARATORS);
    char kind = *p;
    *ret_value = p;
    if (kind == '(') {
        char *value = p + 1;
        char *end = closing(p);
        char *after = *end ? end + 1 : end;

        *p = *end = '\0';
        /* check_pkt_larger(N)->DST: what follows the brackets is of the argument. */
        size_t n = strcspn(after, SEPARATORS);
        if (n) {
            memmove(end, after, n);
            end[n] = '\0';
        }
        *ret_value = value;
        p = after + n + (after[n] != '\0');
    } else if (kind == ':' || kind == '=') {
        *p = '\0';
        *ret_value = ++p;
        /* A value may have brackets with commas in them, and begin with one: load:0x1->NXM_NX_REG0[]. */
        while (*p && !strchr(SEPARATORS, *p)) {
            if (*p == '(') {
                p = closing(p);
            }
            p += *p != '\0';
        }
        if (*p) {
            *p++ = '\0';
        }
    } else if (kind) {
        *p++ = '\0';
    }
    *pos = p;
    return true;
}

char *ofp_scan_arrow(const char *what, char *text, char **ret_dst)
{
    char *arrow = strstr(text, "->");

    if (!arrow) {
        return xasprintf("%s:%s: expected VALUE->FIELD", what, text);
    }
    *arrow = '\0';
    *ret_dst = arrow + 2;
    return NULL;
}

char *ofp_scan_number64(const char *what, const char *text, uint64_t max, uint64_t *ret)
{
    char *end;

    errno = 0;
    unsigned long long v = strtoull(text, &end, 0);
    if (end == text || *end || errno || *text == '-' || v > max) {
        return xasprintf("%s:%s: expected a number from 0 to %" PRIu64, what, text, max);
    }
    *ret = v;
    return NULL;
}

char *ofp_scan_u32(const char *what, const char *text, uint32_t *ret)
{
    uint64_t v;
    char *error = ofp_scan_number64(what, text, UINT32_MAX, &v);

    if (!error) {
        *ret = v;
    }
    return error;
}

char *ofp_scan_u16(const char *what, const char *text, uint16_t *ret)
{
    uint64_t v;
    char *error = ofp_scan_number64(what, text, UINT16_MAX, &v);

    if (!error) {
        *ret = v;
    }
    return error;
}

bool ofp_scan_port_name(const struct scan *s, const char *text, ofp_port_t *ret)
{
    uint16_t n;

    if (ofp_port_scan(text, &n)) {
        ret->n = n;
        return true;
    }
    return s->names && s->names->find_port && s->names->find_port(text, ret, s->names->aux);
}

char *ofp_scan_port(const struct scan *s, const char *what, const char *text, ofp_port_t *ret)
{
    if (!ofp_scan_port_name(s, text, ret)) {
        return xasprintf("%s:%s: expected the number or the name of a port", what, text);
    }
    return NULL;
}

char *ofp_scan_table(const struct scan *s, const char *what, const char *text, uint8_t *ret)
{
    uint64_t v;

    if (s->names && s->names->find_table && s->names->find_table(text, ret, s->names->aux)) {
        return NULL;
    }
    char *error = ofp_scan_number64(what, text, UINT8_MAX, &v);
    if (error) {
        free(error);
        return xasprintf("%s:%s: expected the number or the name of a table", what, text);
    }
    *ret = v;
    return NULL;
}

char *ofp_scan_subfield(const char *what, const char *text, struct ofp_subfield *ret)
{
    struct ofp_subfield sf;
    char *why = ofp_subfield_scan(text, &sf);

    if (why) {
        char *error = xasprintf("%s:%s", what, why);
        free(why);
        return error;
    }
    if (!ofp_field_header(sf.field, OFP10_VERSION)) {
        return xasprintf("%s:%s: no action can name %s", what, text, sf.field->name);
    }
    /* By member: the bytes between them stay zero, so that equal records are equal bytes. */
    ret->field = sf.field;
    ret->ofs = sf.ofs;
    ret->n_bits = sf.n_bits;
    return NULL;
}

char *ofp_scan_short_subfield(const char *what, const char *text, struct ofp_subfield *ret)
{
    char *error = ofp_scan_subfield(what, text, ret);

    if (!error && ofp_field_is_experimenter(ret->field)) {
        error = xasprintf("%s:%s: this action cannot name %s", what, text, ret->field->name);
    }
    return error;
}

static int hex_digit(char c)
{
    static const char digits[] = "0123456789abcdef";
    const char *p = c ? strchr(digits, c >= 'A' && c <= 'F' ? c - 'A' + 'a' : c) : NULL;

    return p ? (int) (p - digits) : -1;
}

char *ofp_scan_hex(const char *what, const char *text, struct buf *b)
{
    for (const char *p = text; *p;) {
        if (*p == '.') {
            p++;
            continue;
        }
        int high = hex_digit(p[0]);
        int low = high < 0 ? -1 : hex_digit(p[1]);
        if (low < 0) {
            return xasprintf("%s:%s: expected pairs of hexadecimal digits", what, text);
        }
        buf_put_u8(b, high << 4 | low);
        p += 2;
    }
    return NULL;
}

/* ---- Lists. ---- */

static const struct keyword *find_keyword(const char *word)
{
    for (size_t i = 0; i < ARRAY_SIZE(keywords); i++) {
        if (!strcasecmp(word, keywords[i].word)) {
            return &keywords[i];
        }
    }
    return NULL;
}

/* A port by itself is an output. */
static char *scan_bare_port(struct scan *s, const char *word, const char *args)
{
    static const struct keyword output = { "output", ofp_scan_output, OFP_ACT_OUTPUT, 0 };
    ofp_port_t port;

    if (*args || !ofp_scan_port_name(s, word, &port)) {
        return xasprintf("%s: there is no such action, nor is it a port", word);
    }
    char *copy = xstrdup(word);
    char *error = ofp_scan_output(s, &output, copy);
    free(copy);
    return error;
}

char *ofp_scan_list(struct scan *s, char *text)
{
    char *word, *args;
    unsigned int n = 0;
    bool drop = false;

    if (s->depth > OFP_ACT_MAX_DEPTH) {
        return xasprintf("actions are nested deeper than %d", OFP_ACT_MAX_DEPTH);
    }
    while (ofp_scan_arg(&text, &word, &args)) {
        const struct keyword *k = find_keyword(word);
        char *error = NULL;

        n++;
        if (!strcasecmp(word, "drop") && !*args) {
            drop = true;
        } else if (s->acts->len > OFP_ACTS_MAX_TEXT) {
            error = xasprintf("%s: too many actions", word);
        } else {
            error = k ? k->scan(s, k, args) : scan_bare_port(s, word, args);
        }
        if (!error && drop && n > 1) {
            error = xstrdup("\"drop\" must not be accompanied by any other action or instruction");
        }
        if (error) {
            return error;
        }
    }
    return NULL;
}

char *ofp_acts_scan(const char *text, const struct ofp_act_names *names, struct buf *acts)
{
    size_t start = acts->len;
    struct scan s = { .names = names, .acts = acts };
    char *copy = xstrdup(text);
    char *error = ofp_scan_list(&s, copy);

    if (!error && acts->len > start && ofp_acts_verify(acts->data + start, acts->len - start, &error) && !error) {
        error = xstrdup("these actions cannot be together");
    }
    if (error) {
        acts->len = start;
    }
    free(copy);
    return error;
}
