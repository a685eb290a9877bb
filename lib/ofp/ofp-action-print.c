/* Text of actions: lists, and what several of them share.  See ofp-action.h. */
#include <config.h>

#include <stdlib.h>

#include "lib/base/util.h"
#include "lib/ofp/ofp-action-private.h"

void ofp_print_comma(FILE *out, bool *first)
{
    if (!*first) {
        fputc(',', out);
    }
    *first = false;
}

void ofp_print_port(const struct print *p, ofp_port_t port)
{
    const char *name = ofp_port_name(port.n);

    if (!name && p->names && p->names->port) {
        name = p->names->port(port, p->names->aux);
    }
    if (name) {
        fputs(name, p->out);
    } else {
        fprintf(p->out, "%u", port.n);
    }
}

void ofp_print_table(const struct print *p, uint8_t table)
{
    const char *name = p->names && p->names->table ? p->names->table(table, p->names->aux) : NULL;

    if (name) {
        fputs(name, p->out);
    } else {
        fprintf(p->out, "%u", table);
    }
}

void ofp_print_hex(FILE *out, const uint8_t *data, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        fprintf(out, "%s%02x", i ? "." : "", data[i]);
    }
}

void ofp_print_list(const struct print *p, const void *acts, size_t len)
{
    bool first = true;

    OFP_ACT_FOR_EACH(a, acts, len)
    {
        ofp_print_comma(p->out, &first);
        ofp_act_info[a->type].print(p, a);
    }
    if (first) {
        fputs("drop", p->out);
    }
}

void ofp_acts_print(FILE *out, const void *acts, size_t len, const struct ofp_act_names *names)
{
    struct print p = { .out = out, .names = names };

    ofp_print_list(&p, acts, len);
}
