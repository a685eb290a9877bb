/* Datapath actions: OVS_ACTION_ATTR_* written and printed.  Writers append to an attrbuf. */
#ifndef ODP_ACTIONS_H
#define ODP_ACTIONS_H 1

#include <stdio.h>

#include "lib/base/types.h"
#include "lib/nl/attrbuf.h"
#include "lib/odp/odp-key.h"

struct flow;

void odp_put_output(struct attrbuf *b, odp_port_t port);
void odp_put_push_vlan(struct attrbuf *b, be16 tpid, be16 tci); /* VLAN_CFI is added. */
void odp_put_pop_vlan(struct attrbuf *b);
void odp_put_userspace(struct attrbuf *b, uint32_t pid, const void *userdata, size_t userdata_len);
void odp_put_recirc(struct attrbuf *b, uint32_t recirc_id);
void odp_put_trunc(struct attrbuf *b, uint32_t max_len);
/* Makes the packet's outermost VLAN tag (a pop, a push, or both) what TO says, coming from FROM. */
void odp_put_vlan_change(struct attrbuf *b, const struct flow *from, const struct flow *to);

/* Prints as `ovs-dpctl dump-flows` does; "drop" for an empty list.  Unknown actions are printed as
 * `actionN(hex)`. */
void odp_actions_print(FILE *out, const struct nlattr *actions, size_t len, const struct odp_names *names);

/* Reads text as printed.  Returns NULL, or an error in words to be freed. */
char *odp_actions_scan(const char *text, struct attrbuf *actions);

#endif
