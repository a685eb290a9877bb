/* FLOW_MOD, and requests for flows.  See ofp-msg-flow.h. */
#include <config.h>

#include "lib/base/compiler.h"
#include "lib/ofp/ofp-msg-flow.h"

#define FLAGS10 (OFPFF_SEND_FLOW_REM | OFPFF_CHECK_OVERLAP)
#define FLAGS13 (FLAGS10 | OFPFF_RESET_COUNTS | OFPFF_NO_PKT_COUNTS | OFPFF_NO_BYT_COUNTS)

static bool is_delete(enum ofp_flow_mod_command command)
{
    return command == OFPFC_DELETE || command == OFPFC_DELETE_STRICT;
}

/* Splits the 16 bits COMMAND of 1.0. */
static enum ofp_error set_command10(struct ofp_flow_mod *mod, uint16_t command, bool table_id)
{
    mod->table_id = table_id ? command >> 8 : OFP_TABLE_ALL;
    command &= table_id ? 0xff : 0xffff;
    if (command > OFPFC_DELETE_STRICT) {
        return OFPERR_OFPFMFC_BAD_COMMAND;
    }
    mod->command = command;
    return 0;
}

/* In 1.0 and in Nicira's form the cookie is what the flow gets; all ones in a modify leave it as it is. */
static void set_new_cookie(struct ofp_flow_mod *mod, uint64_t cookie)
{
    mod->new_cookie = cookie;
    mod->set_cookie = mod->command == OFPFC_ADD || (!is_delete(mod->command) && cookie != UINT64_MAX);
}

/* What 1.0 and Nicira's form have between command and actions, in this order. */
static void get_common10(struct ofp_cursor *c, struct ofp_flow_mod *mod)
{
    mod->idle_timeout = ofp_get_u16(c);
    mod->hard_timeout = ofp_get_u16(c);
    mod->priority = ofp_get_u16(c);
    mod->buffer_id = ofp_get_u32(c);
    mod->out_port = (ofp_port_t){ ofp_get_u16(c) };
    mod->flags = ofp_get_u16(c);
}

static enum ofp_error get_flow_mod10(struct ofp_cursor *c, bool table_id, struct ofp_flow_mod *mod)
{
    mod->match = ofp_get_match10(c);
    uint64_t cookie = ofp_get_u64(c);
    enum ofp_error error = set_command10(mod, ofp_get_u16(c), table_id);
    get_common10(c, mod);
    set_new_cookie(mod, cookie);
    return error ? error : c->bad ? OFPERR_OFPBRC_BAD_LEN : 0;
}

static enum ofp_error get_flow_mod_nx(struct ofp_cursor *c, bool table_id, struct ofp_flow_mod *mod)
{
    uint64_t cookie = ofp_get_u64(c);
    enum ofp_error error = set_command10(mod, ofp_get_u16(c), table_id);
    get_common10(c, mod);
    set_new_cookie(mod, cookie);
    size_t match_len = ofp_get_u16(c);
    ofp_skip(c, 6);
    return error ? error : ofp_get_match_nxm(c, match_len, &mod->match);
}

static enum ofp_error get_flow_mod13(struct ofp_cursor *c, enum ofp_version version, struct ofp_flow_mod *mod)
{
    uint64_t cookie = ofp_get_u64(c), cookie_mask = ofp_get_u64(c);
    mod->table_id = ofp_get_u8(c);
    uint8_t command = ofp_get_u8(c);
    mod->idle_timeout = ofp_get_u16(c);
    mod->hard_timeout = ofp_get_u16(c);
    mod->priority = ofp_get_u16(c);
    mod->buffer_id = ofp_get_u32(c);
    uint32_t out_port = ofp_get_u32(c);
    mod->out_group = ofp_get_u32(c);
    mod->flags = ofp_get_u16(c);
    mod->importance = ofp_get_u16(c);

    if (version < OFP14_VERSION) {
        mod->importance = 0; /* Padding. */
    }
    if (command > OFPFC_DELETE_STRICT) {
        return OFPERR_OFPFMFC_BAD_COMMAND;
    }
    mod->command = command;
    if (command == OFPFC_ADD) {
        mod->new_cookie = cookie;
        mod->set_cookie = true;
    } else {
        mod->cookie = cookie;
        mod->cookie_mask = cookie_mask;
    }
    if (mod->table_id == OFP_TABLE_ALL && !is_delete(command)) {
        return OFPERR_OFPFMFC_BAD_TABLE_ID;
    } else if (is_delete(command) && ofp_port_from_u32(out_port, &mod->out_port)) {
        return OFPERR_OFPBAC_BAD_OUT_PORT;
    }
    return ofp_get_match_oxm(c, &mod->match);
}

enum ofp_error ofp_decode_flow_mod(const struct ofp_msg *msg, bool table_id, struct ofp_flow_mod *ret_mod)
{
    struct ofp_cursor c = ofp_msg_cursor(msg);
    struct ofp_flow_mod mod = { .out_port = OFPP_NONE, .out_group = OFPG_ANY };
    bool old = ofp_msg_is_nx(msg) || msg->version == OFP10_VERSION;
    enum ofp_error error = ofp_msg_is_nx(msg)              ? get_flow_mod_nx(&c, table_id, &mod)
                           : msg->version == OFP10_VERSION ? get_flow_mod10(&c, table_id, &mod)
                                                           : get_flow_mod13(&c, msg->version, &mod);

    if (error) {
        return error;
    } else if (mod.flags & ~(old ? FLAGS10 : FLAGS13)) {
        return OFPERR_OFPFMFC_BAD_FLAGS; /* Among them 1.0's emergency flows, which only its first edition has. */
    }
    if (!is_delete(mod.command)) {
        mod.out_port = OFPP_NONE;
        mod.out_group = OFPG_ANY;
    } else {
        mod.buffer_id = OFP_NO_BUFFER;
    }
    mod.actions = (struct bytes){ c.data, c.len };
    *ret_mod = mod;
    return 0;
}

/* Requests. */

enum ofp_error ofp_decode_flow_request(const struct ofp_msg *msg, struct ofp_flow_request *ret_request)
{
    struct ofp_cursor c = ofp_msg_cursor(msg);
    struct ofp_flow_request request = { .out_group = OFPG_ANY };
    enum ofp_error error = 0;

    if (ofp_msg_is_nx(msg)) {
        request.out_port = (ofp_port_t){ ofp_get_u16(&c) };
        size_t match_len = ofp_get_u16(&c);
        request.table_id = ofp_get_u8(&c);
        ofp_skip(&c, 3);
        error = ofp_get_match_nxm(&c, match_len, &request.match);
    } else if (msg->version == OFP10_VERSION) {
        request.match = ofp_get_match10(&c);
        request.table_id = ofp_get_u8(&c);
        ofp_skip(&c, 1);
        request.out_port = (ofp_port_t){ ofp_get_u16(&c) };
    } else {
        request.table_id = ofp_get_u8(&c);
        ofp_skip(&c, 3);
        if (ofp_port_from_u32(ofp_get_u32(&c), &request.out_port)) {
            return OFPERR_OFPBAC_BAD_OUT_PORT;
        }
        request.out_group = ofp_get_u32(&c);
        ofp_skip(&c, 4);
        request.cookie = ofp_get_u64(&c);
        request.cookie_mask = ofp_get_u64(&c);
        error = ofp_get_match_oxm(&c, &request.match);
    }
    if (error) {
        return error;
    } else if (c.bad || c.len) {
        return OFPERR_OFPBRC_BAD_LEN;
    }
    *ret_request = request;
    return 0;
}
