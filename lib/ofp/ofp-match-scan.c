/* Matches from text, as in flows that are given to ovs-ofctl.  See ofp-match.h. */
#include <config.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>

#include "lib/base/compiler.h"
#include "lib/base/util.h"
#include "lib/ofp/ofp-field.h"
#include "lib/ofp/ofp-match.h"

/* Words that stand for values of fields. */
static const struct {
    const char *word;
    uint16_t eth_type; /* 0: that it is of Ethernet. */
    uint8_t ip_proto;  /* 0: not said. */
} words[] = {
    { "eth", 0, 0 },
    { "ip", ETH_TYPE_IPV4, 0 },
    { "ipv4", ETH_TYPE_IPV4, 0 },
    { "ip4", ETH_TYPE_IPV4, 0 },
    { "icmp", ETH_TYPE_IPV4, IPPROTO_ICMP },
    { "tcp", ETH_TYPE_IPV4, IPPROTO_TCP },
    { "udp", ETH_TYPE_IPV4, IPPROTO_UDP },
    { "sctp", ETH_TYPE_IPV4, IPPROTO_SCTP },
    { "ipv6", ETH_TYPE_IPV6, 0 },
    { "ip6", ETH_TYPE_IPV6, 0 },
    { "icmp6", ETH_TYPE_IPV6, IPPROTO_ICMPV6 },
    { "tcp6", ETH_TYPE_IPV6, IPPROTO_TCP },
    { "udp6", ETH_TYPE_IPV6, IPPROTO_UDP },
    { "sctp6", ETH_TYPE_IPV6, IPPROTO_SCTP },
    { "arp", ETH_TYPE_ARP, 0 },
    { "rarp", ETH_TYPE_RARP, 0 },
    { "mpls", ETH_TYPE_MPLS, 0 },
    { "mplsm", ETH_TYPE_MPLS_MC, 0 },
};

static void set_number(enum ofp_field_id id, uint64_t number, struct match *match)
{
    const struct ofp_field *f = ofp_field(id);
    union ofp_value v;

    ofp_value_put_u64(&v, f->n_bytes, number);
    ofp_field_set_match(f, &v, NULL, match);
}

/* Adds what WORD stands for; returns false if it is none of ours. */
static bool scan_word(const char *word, struct match *match)
{
    for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
        if (!strcmp(words[i].word, word)) {
            if (words[i].eth_type) {
                set_number(OFP_FIELD_ETH_TYPE, words[i].eth_type, match);
            } else {
                set_number(OFP_FIELD_PACKET_TYPE, 0, match);
            }
            if (words[i].ip_proto) {
                set_number(OFP_FIELD_NW_PROTO, words[i].ip_proto, match);
            }
            return true;
        }
    }
    return false;
}

/* Of what is said twice the later counts, with its mask. */
static void forget_field(const struct ofp_field *f, struct match *match)
{
    struct flow keep, field;

    memset(&field, 0, sizeof field);
    ofp_field_unwildcard(f, &match->flow, &field);
    memset(&keep, 0xff, sizeof keep);
    for (size_t i = 0; i < sizeof keep; i++) {
        ((uint8_t *) &keep)[i] &= ~((uint8_t *) &field)[i];
    }
    flow_apply_mask(&match->mask, &keep);
    flow_apply_mask(&match->flow, &match->mask);
}

/* Adds "NAME=VALUE".  Returns NULL or an error, to be freed. */
static char *scan_field(const char *name, const char *text, struct match *match)
{
    const struct ofp_field *f = ofp_field_by_name(name, strlen(name));
    union ofp_value value, mask;

    if (!f) {
        return xasprintf("unknown field %s (of value %s): see ovs-fields(7)", name, text);
    }
    char *error = ofp_field_scan(f, text, &value, &mask);
    if (error) {
        return error;
    }
    forget_field(f, match);
    if (f->prereq != OFP_PREREQ_NONE && f->prereq != OFP_PREREQ_CT) {
        match->mask.is_l3 = 0xff; /* It is of Ethernet, unless another packet type is said. */
    }
    if (ofp_value_is_zero(&mask, f->n_bytes)) {
        return NULL;
    }
    if (f->id == OFP_FIELD_DL_VLAN && ofp_value_get_u64(&value, 2) == 0xffff) {
        set_number(OFP_FIELD_VLAN_TCI, 0, match); /* No tag. */
        return NULL;
    }
    ofp_field_set_match(f, &value, &mask, match);
    return NULL;
}

/* The end of the item at S: the next comma or space that is in no parentheses. */
static size_t item_len(const char *s)
{
    int depth = 0;
    size_t n = 0;

    while (s[n] && (depth > 0 || !strchr(", \t\r\n", s[n]))) {
        depth += (s[n] == '(') - (s[n] == ')');
        n++;
    }
    return n;
}

static char *scan_item(const char *item, size_t len, struct match *match)
{
    char *name = strndup(item, len), *error = NULL;
    char *value = strchr(name, '=');

    if (value) {
        *value++ = '\0';
        error = scan_field(name, value, match);
    } else if (!scan_word(name, match)) {
        error = xasprintf("%s: neither a protocol such as tcp6 nor a field with its value", name);
    }
    free(name);
    return error;
}

/* In ARP's packets the opcode has the place, and may have the name, of the protocol. */
static void move_arp_op(struct match *match)
{
    be16 type = match->flow.eth_type;

    if ((type == htons(ETH_TYPE_ARP) || type == htons(ETH_TYPE_RARP)) && match->mask.ip_proto && !match->mask.arp_op) {
        set_number(OFP_FIELD_ARP_OP, match->flow.ip_proto, match);
    }
}

char *ofp_match_scan(const char *text, struct match *ret_match)
{
    struct match match;

    memset(&match, 0, sizeof match);
    while (*text) {
        size_t len = item_len(text);
        char *error = len ? scan_item(text, len, &match) : NULL;
        if (error) {
            return error;
        }
        text += len + (text[len] != '\0');
    }
    move_arp_op(&match);
    ofp_match_normalize(&match);
    *ret_match = match;
    return NULL;
}

/* Several fields share a place (the source port of TCP, that of UDP, the ICMP type): it is cleared if none of them is
 * there.  What is required of a packet is in places of its own, which stay; clearing one may take a requirement away
 * from another. */
void ofp_match_normalize(struct match *match)
{
    struct flow before;

    do {
        struct flow keep;
        before = match->mask;
        memset(&keep, 0, sizeof keep);
        for (int i = 0; i < OFP_N_FIELDS; i++) {
            const struct ofp_field *f = ofp_field(i);
            if (f->prereq == OFP_PREREQ_CT || ofp_field_match_prereqs_ok(f, match)) {
                ofp_field_unwildcard(f, &match->flow, &keep);
            }
        }
        keep.is_l3 = keep.ct_orig_is_ipv6 = 0xff;
        flow_apply_mask(&match->mask, &keep);
        flow_apply_mask(&match->flow, &match->mask);
    } while (memcmp(&before, &match->mask, sizeof before));
}
