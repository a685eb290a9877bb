/* The fields of OpenFlow, as ovs-fields(7) describes them: one entry each, and the only place that knows them all.
 *
 * X(ID, NAME, ALIAS, BYTES, BITS, MASK, ACCESS, PREREQ, FORMAT, WHERE, NXM, OXM, ET)
 *   BYTES on the wire, of which the low BITS may be set;
 *   MASK     MASKABLE or EXACT;  ACCESS  RW, or RO: no action writes it;  PREREQ  enum ofp_prereq;  FORMAT  enum ofp_format;
 *   WHERE    its place in struct flow: AT(MEMBER, SHIFT) big-endian, HOST(MEMBER, SHIFT) in host order, WIDE(MEMBER, SIZE) bytes,
 *            NSH(OFFSET, SIZE, SHIFT) bytes of the NSH header, PORT32(MEMBER) a 16-bit port that the wire has in 32 bits, TYPE_OF_PACKET;
 *   NXM, OXM, ET  its headers, or NONE: H(CLASS, NAME, NUMBER, FIRST VERSION times 10).  ET is the ONF's experimenter class, for
 *            what 1.5 took into OXM.
 * Not here, for the kernel's datapath does not have them, or there is no place for them yet: tun_metadataN, tun_erspan_*, tun_gtpu_*,
 * nd_reserved, nd_options_type.  (The order of messages is not this order; see ofp-match-put.c.) */
#ifndef OFP_FIELD_LIST_H
#define OFP_FIELD_LIST_H 1

/* clang-format off */
#define OFP_FIELDS(X)                                                                                                \
    /* Conjunctive matches. */                                                                                       \
    X(CONJ_ID, "conj_id", NULL, 4, 32, EXACT, RO, NONE, DECIMAL,                                                     \
      AT(conj_id, 0), H(NXM_NX, CONJ_ID, 37, 10), NONE, NONE)                                                        \
    /* Tunnels. */                                                                                                   \
    X(TUN_ID, "tun_id", "tunnel_id", 8, 64, MASKABLE, RW, NONE, HEX,                                                 \
      AT(tunnel.tun_id, 0), H(NXM_NX, TUN_ID, 16, 10), H(OXM_OF, TUNNEL_ID, 38, 13), NONE)                           \
    X(TUN_SRC, "tun_src", NULL, 4, 32, MASKABLE, RW, NONE, IPV4,                                                     \
      AT(tunnel.ip_src, 0), H(NXM_NX, TUN_IPV4_SRC, 31, 10), NONE, NONE)                                             \
    X(TUN_DST, "tun_dst", NULL, 4, 32, MASKABLE, RW, NONE, IPV4,                                                     \
      AT(tunnel.ip_dst, 0), H(NXM_NX, TUN_IPV4_DST, 32, 10), NONE, NONE)                                             \
    X(TUN_IPV6_SRC, "tun_ipv6_src", NULL, 16, 128, MASKABLE, RW, NONE, IPV6,                                         \
      AT(tunnel.ipv6_src, 0), H(NXM_NX, TUN_IPV6_SRC, 109, 10), NONE, NONE)                                          \
    X(TUN_IPV6_DST, "tun_ipv6_dst", NULL, 16, 128, MASKABLE, RW, NONE, IPV6,                                         \
      AT(tunnel.ipv6_dst, 0), H(NXM_NX, TUN_IPV6_DST, 110, 10), NONE, NONE)                                          \
    X(TUN_TTL, "tun_ttl", NULL, 1, 8, EXACT, RW, NONE, DECIMAL,                                                      \
      AT(tunnel.ttl, 0), NONE, NONE, NONE)                                                                           \
    X(TUN_TOS, "tun_tos", NULL, 1, 8, EXACT, RW, NONE, DECIMAL,                                                      \
      AT(tunnel.tos, 0), NONE, NONE, NONE)                                                                           \
    X(TUN_GBP_ID, "tun_gbp_id", NULL, 2, 16, MASKABLE, RW, NONE, DECIMAL,                                            \
      HOST(tunnel.gbp, 0), H(NXM_NX, TUN_GBP_ID, 38, 10), NONE, NONE)                                                \
    X(TUN_GBP_FLAGS, "tun_gbp_flags", NULL, 1, 8, MASKABLE, RW, NONE, HEX,                                           \
      HOST(tunnel.gbp, 16), H(NXM_NX, TUN_GBP_FLAGS, 39, 10), NONE, NONE)                                            \
    X(TUN_FLAGS, "tun_flags", NULL, 2, 1, MASKABLE, RW, NONE, TUN_FLAGS,                                             \
      HOST(tunnel.flags, 3), H(NXM_NX, TUN_FLAGS, 104, 10), NONE, NONE)                                              \
    /* Metadata of the packet. */                                                                                    \
    X(METADATA, "metadata", NULL, 8, 64, MASKABLE, RW, NONE, HEX,                                                    \
      AT(metadata, 0), NONE, H(OXM_OF, METADATA, 2, 12), NONE)                                                       \
    X(IN_PORT, "in_port", NULL, 2, 16, EXACT, RW, NONE, PORT,                                                        \
      AT(ofp_in_port, 0), H(NXM_OF, IN_PORT, 0, 10), NONE, NONE)                                                     \
    X(IN_PORT_OXM, "in_port_oxm", NULL, 4, 32, EXACT, RW, NONE, PORT_OXM,                                            \
      PORT32(ofp_in_port), NONE, H(OXM_OF, IN_PORT, 0, 12), NONE)                                                    \
    X(ACTSET_OUTPUT, "actset_output", NULL, 4, 32, EXACT, RO, NONE, PORT_OXM,                                        \
      PORT32(actset_output), NONE, H(OXM_OF, ACTSET_OUTPUT, 43, 15), H(ONFOXM_ET, ACTSET_OUTPUT, 43, 13))            \
    X(PACKET_TYPE, "packet_type", NULL, 4, 32, EXACT, RO, NONE, PACKET_TYPE,                                         \
      TYPE_OF_PACKET, NONE, H(OXM_OF, PACKET_TYPE, 44, 15), NONE)                                                  \
    X(SKB_PRIORITY, "skb_priority", NULL, 4, 32, EXACT, RO, NONE, HEX,                                               \
      HOST(skb_priority, 0), NONE, NONE, NONE)                                                                       \
    X(PKT_MARK, "pkt_mark", NULL, 4, 32, MASKABLE, RW, NONE, HEX,                                                    \
      HOST(pkt_mark, 0), H(NXM_NX, PKT_MARK, 33, 10), NONE, NONE)                                                    \
    X(DP_HASH, "dp_hash", NULL, 4, 32, MASKABLE, RO, NONE, HEX,                                                      \
      HOST(dp_hash, 0), H(NXM_NX, DP_HASH, 35, 10), NONE, NONE)                                                      \
    X(RECIRC_ID, "recirc_id", NULL, 4, 32, EXACT, RO, NONE, HEX,                                                     \
      HOST(recirc_id, 0), H(NXM_NX, RECIRC_ID, 36, 10), NONE, NONE)                                                  \
    /* Connection tracking. */                                                                                       \
    X(CT_STATE, "ct_state", NULL, 4, 32, MASKABLE, RO, NONE, CT_STATE,                                               \
      HOST(ct_state, 0), H(NXM_NX, CT_STATE, 105, 10), NONE, NONE)                                                   \
    X(CT_ZONE, "ct_zone", NULL, 2, 16, EXACT, RO, NONE, DECIMAL,                                                     \
      HOST(ct_zone, 0), H(NXM_NX, CT_ZONE, 106, 10), NONE, NONE)                                                     \
    X(CT_MARK, "ct_mark", NULL, 4, 32, MASKABLE, RW, NONE, HEX,                                                      \
      HOST(ct_mark, 0), H(NXM_NX, CT_MARK, 107, 10), NONE, NONE)                                                     \
    X(CT_LABEL, "ct_label", NULL, 16, 128, MASKABLE, RW, NONE, HEX,                                                  \
      HOST(ct_label, 0), H(NXM_NX, CT_LABEL, 108, 10), NONE, NONE)                                                   \
    X(CT_NW_PROTO, "ct_nw_proto", NULL, 1, 8, EXACT, RO, CT, DECIMAL,                                                \
      AT(ct_orig_proto, 0), H(NXM_NX, CT_NW_PROTO, 119, 10), NONE, NONE)                                             \
    X(CT_NW_SRC, "ct_nw_src", NULL, 4, 32, MASKABLE, RO, CT, IPV4,                                                  \
      AT(ct_orig_src.v4, 0), H(NXM_NX, CT_NW_SRC, 120, 10), NONE, NONE)                                              \
    X(CT_NW_DST, "ct_nw_dst", NULL, 4, 32, MASKABLE, RO, CT, IPV4,                                                  \
      AT(ct_orig_dst.v4, 0), H(NXM_NX, CT_NW_DST, 121, 10), NONE, NONE)                                              \
    X(CT_IPV6_SRC, "ct_ipv6_src", NULL, 16, 128, MASKABLE, RO, CT, IPV6,                                            \
      AT(ct_orig_src.v6, 0), H(NXM_NX, CT_IPV6_SRC, 122, 10), NONE, NONE)                                            \
    X(CT_IPV6_DST, "ct_ipv6_dst", NULL, 16, 128, MASKABLE, RO, CT, IPV6,                                            \
      AT(ct_orig_dst.v6, 0), H(NXM_NX, CT_IPV6_DST, 123, 10), NONE, NONE)                                            \
    X(CT_TP_SRC, "ct_tp_src", NULL, 2, 16, MASKABLE, RO, CT, DECIMAL,                                                \
      AT(ct_orig_tp_src, 0), H(NXM_NX, CT_TP_SRC, 124, 10), NONE, NONE)                                              \
    X(CT_TP_DST, "ct_tp_dst", NULL, 2, 16, MASKABLE, RO, CT, DECIMAL,                                                \
      AT(ct_orig_tp_dst, 0), H(NXM_NX, CT_TP_DST, 125, 10), NONE, NONE)                                              \
    /* Registers. */                                                                                                 \
    X(REG0, "reg0", NULL, 4, 32, MASKABLE, RW, NONE, HEX,                                                            \
      AT(regs[0], 0), H(NXM_NX, REG0, 0, 10), NONE, NONE)                                                            \
    X(REG1, "reg1", NULL, 4, 32, MASKABLE, RW, NONE, HEX,                                                            \
      AT(regs[1], 0), H(NXM_NX, REG1, 1, 10), NONE, NONE)                                                            \
    X(REG2, "reg2", NULL, 4, 32, MASKABLE, RW, NONE, HEX,                                                            \
      AT(regs[2], 0), H(NXM_NX, REG2, 2, 10), NONE, NONE)                                                            \
    X(REG3, "reg3", NULL, 4, 32, MASKABLE, RW, NONE, HEX,                                                            \
      AT(regs[3], 0), H(NXM_NX, REG3, 3, 10), NONE, NONE)                                                            \
    X(REG4, "reg4", NULL, 4, 32, MASKABLE, RW, NONE, HEX,                                                            \
      AT(regs[4], 0), H(NXM_NX, REG4, 4, 10), NONE, NONE)                                                            \
    X(REG5, "reg5", NULL, 4, 32, MASKABLE, RW, NONE, HEX,                                                            \
      AT(regs[5], 0), H(NXM_NX, REG5, 5, 10), NONE, NONE)                                                            \
    X(REG6, "reg6", NULL, 4, 32, MASKABLE, RW, NONE, HEX,                                                            \
      AT(regs[6], 0), H(NXM_NX, REG6, 6, 10), NONE, NONE)                                                            \
    X(REG7, "reg7", NULL, 4, 32, MASKABLE, RW, NONE, HEX,                                                            \
      AT(regs[7], 0), H(NXM_NX, REG7, 7, 10), NONE, NONE)                                                            \
    X(REG8, "reg8", NULL, 4, 32, MASKABLE, RW, NONE, HEX,                                                            \
      AT(regs[8], 0), H(NXM_NX, REG8, 8, 10), NONE, NONE)                                                            \
    X(REG9, "reg9", NULL, 4, 32, MASKABLE, RW, NONE, HEX,                                                            \
      AT(regs[9], 0), H(NXM_NX, REG9, 9, 10), NONE, NONE)                                                            \
    X(REG10, "reg10", NULL, 4, 32, MASKABLE, RW, NONE, HEX,                                                          \
      AT(regs[10], 0), H(NXM_NX, REG10, 10, 10), NONE, NONE)                                                         \
    X(REG11, "reg11", NULL, 4, 32, MASKABLE, RW, NONE, HEX,                                                          \
      AT(regs[11], 0), H(NXM_NX, REG11, 11, 10), NONE, NONE)                                                         \
    X(REG12, "reg12", NULL, 4, 32, MASKABLE, RW, NONE, HEX,                                                          \
      AT(regs[12], 0), H(NXM_NX, REG12, 12, 10), NONE, NONE)                                                         \
    X(REG13, "reg13", NULL, 4, 32, MASKABLE, RW, NONE, HEX,                                                          \
      AT(regs[13], 0), H(NXM_NX, REG13, 13, 10), NONE, NONE)                                                         \
    X(REG14, "reg14", NULL, 4, 32, MASKABLE, RW, NONE, HEX,                                                          \
      AT(regs[14], 0), H(NXM_NX, REG14, 14, 10), NONE, NONE)                                                         \
    X(REG15, "reg15", NULL, 4, 32, MASKABLE, RW, NONE, HEX,                                                          \
      AT(regs[15], 0), H(NXM_NX, REG15, 15, 10), NONE, NONE)                                                         \
    X(XREG0, "xreg0", NULL, 8, 64, MASKABLE, RW, NONE, HEX,                                                          \
      WIDE(regs[0], 8), NONE, H(OXM_OF_PKT, REG0, 0, 13), NONE)                                                      \
    X(XREG1, "xreg1", NULL, 8, 64, MASKABLE, RW, NONE, HEX,                                                          \
      WIDE(regs[2], 8), NONE, H(OXM_OF_PKT, REG1, 1, 13), NONE)                                                      \
    X(XREG2, "xreg2", NULL, 8, 64, MASKABLE, RW, NONE, HEX,                                                          \
      WIDE(regs[4], 8), NONE, H(OXM_OF_PKT, REG2, 2, 13), NONE)                                                      \
    X(XREG3, "xreg3", NULL, 8, 64, MASKABLE, RW, NONE, HEX,                                                          \
      WIDE(regs[6], 8), NONE, H(OXM_OF_PKT, REG3, 3, 13), NONE)                                                      \
    X(XREG4, "xreg4", NULL, 8, 64, MASKABLE, RW, NONE, HEX,                                                          \
      WIDE(regs[8], 8), NONE, H(OXM_OF_PKT, REG4, 4, 13), NONE)                                                      \
    X(XREG5, "xreg5", NULL, 8, 64, MASKABLE, RW, NONE, HEX,                                                          \
      WIDE(regs[10], 8), NONE, H(OXM_OF_PKT, REG5, 5, 13), NONE)                                                     \
    X(XREG6, "xreg6", NULL, 8, 64, MASKABLE, RW, NONE, HEX,                                                          \
      WIDE(regs[12], 8), NONE, H(OXM_OF_PKT, REG6, 6, 13), NONE)                                                     \
    X(XREG7, "xreg7", NULL, 8, 64, MASKABLE, RW, NONE, HEX,                                                          \
      WIDE(regs[14], 8), NONE, H(OXM_OF_PKT, REG7, 7, 13), NONE)                                                     \
    X(XXREG0, "xxreg0", NULL, 16, 128, MASKABLE, RW, NONE, HEX,                                                      \
      WIDE(regs[0], 16), H(NXM_NX, XXREG0, 111, 10), NONE, NONE)                                                     \
    X(XXREG1, "xxreg1", NULL, 16, 128, MASKABLE, RW, NONE, HEX,                                                      \
      WIDE(regs[4], 16), H(NXM_NX, XXREG1, 112, 10), NONE, NONE)                                                     \
    X(XXREG2, "xxreg2", NULL, 16, 128, MASKABLE, RW, NONE, HEX,                                                      \
      WIDE(regs[8], 16), H(NXM_NX, XXREG2, 113, 10), NONE, NONE)                                                     \
    X(XXREG3, "xxreg3", NULL, 16, 128, MASKABLE, RW, NONE, HEX,                                                      \
      WIDE(regs[12], 16), H(NXM_NX, XXREG3, 114, 10), NONE, NONE)                                                    \
    /* Ethernet. */                                                                                                  \
    X(ETH_SRC, "eth_src", "dl_src", 6, 48, MASKABLE, RW, ETHERNET, MAC,                                              \
      AT(eth_src, 0), H(NXM_OF, ETH_SRC, 2, 10), H(OXM_OF, ETH_SRC, 4, 12), NONE)                                    \
    X(ETH_DST, "eth_dst", "dl_dst", 6, 48, MASKABLE, RW, ETHERNET, MAC,                                              \
      AT(eth_dst, 0), H(NXM_OF, ETH_DST, 1, 10), H(OXM_OF, ETH_DST, 3, 12), NONE)                                    \
    X(ETH_TYPE, "eth_type", "dl_type", 2, 16, EXACT, RO, ETHERNET, HEX,                                              \
      AT(eth_type, 0), H(NXM_OF, ETH_TYPE, 3, 10), H(OXM_OF, ETH_TYPE, 5, 12), NONE)                                 \
    X(VLAN_TCI, "vlan_tci", NULL, 2, 16, MASKABLE, RW, ETHERNET, HEX,                                                \
      AT(vlan[0].tci, 0), H(NXM_OF, VLAN_TCI, 4, 10), NONE, NONE)                                                    \
    X(DL_VLAN, "dl_vlan", NULL, 2, 12, EXACT, RW, ETHERNET, DECIMAL,                                                 \
      AT(vlan[0].tci, 0), NONE, NONE, NONE)                                                                          \
    X(VLAN_VID, "vlan_vid", NULL, 2, 12, MASKABLE, RW, ETHERNET, DECIMAL,                                            \
      AT(vlan[0].tci, 0), NONE, H(OXM_OF, VLAN_VID, 6, 12), NONE)                                                    \
    X(DL_VLAN_PCP, "dl_vlan_pcp", NULL, 1, 3, EXACT, RW, ETHERNET, DECIMAL,                                          \
      AT(vlan[0].tci, 13), NONE, NONE, NONE)                                                                         \
    X(VLAN_PCP, "vlan_pcp", NULL, 1, 3, EXACT, RW, VLAN, DECIMAL,                                                    \
      AT(vlan[0].tci, 13), NONE, H(OXM_OF, VLAN_PCP, 7, 12), NONE)                                                   \
    /* MPLS. */                                                                                                      \
    X(MPLS_LABEL, "mpls_label", NULL, 4, 20, EXACT, RW, MPLS, DECIMAL,                                               \
      AT(mpls[0], 12), NONE, H(OXM_OF, MPLS_LABEL, 34, 12), NONE)                                                    \
    X(MPLS_TC, "mpls_tc", NULL, 1, 3, EXACT, RW, MPLS, DECIMAL,                                                      \
      AT(mpls[0], 9), NONE, H(OXM_OF, MPLS_TC, 35, 12), NONE)                                                        \
    X(MPLS_BOS, "mpls_bos", NULL, 1, 1, EXACT, RO, MPLS, DECIMAL,                                                    \
      AT(mpls[0], 8), NONE, H(OXM_OF, MPLS_BOS, 36, 13), NONE)                                                       \
    X(MPLS_TTL, "mpls_ttl", NULL, 1, 8, EXACT, RW, MPLS, DECIMAL,                                                    \
      AT(mpls[0], 0), H(NXM_NX, MPLS_TTL, 30, 10), NONE, NONE)                                                       \
    /* IPv4 and IPv6. */                                                                                             \
    X(IP_SRC, "ip_src", "nw_src", 4, 32, MASKABLE, RW, IPV4, IPV4,                                                   \
      AT(ip_src, 0), H(NXM_OF, IP_SRC, 7, 10), H(OXM_OF, IPV4_SRC, 11, 12), NONE)                                    \
    X(IP_DST, "ip_dst", "nw_dst", 4, 32, MASKABLE, RW, IPV4, IPV4,                                                   \
      AT(ip_dst, 0), H(NXM_OF, IP_DST, 8, 10), H(OXM_OF, IPV4_DST, 12, 12), NONE)                                    \
    X(IPV6_SRC, "ipv6_src", NULL, 16, 128, MASKABLE, RW, IPV6, IPV6,                                                 \
      AT(ipv6_src, 0), H(NXM_NX, IPV6_SRC, 19, 10), H(OXM_OF, IPV6_SRC, 26, 12), NONE)                               \
    X(IPV6_DST, "ipv6_dst", NULL, 16, 128, MASKABLE, RW, IPV6, IPV6,                                                 \
      AT(ipv6_dst, 0), H(NXM_NX, IPV6_DST, 20, 10), H(OXM_OF, IPV6_DST, 27, 12), NONE)                               \
    X(IPV6_LABEL, "ipv6_label", NULL, 4, 20, MASKABLE, RW, IPV6, HEX,                                                \
      AT(ipv6_label, 0), H(NXM_NX, IPV6_LABEL, 27, 10), H(OXM_OF, IPV6_FLABEL, 28, 12), NONE)                        \
    X(NW_PROTO, "nw_proto", "ip_proto", 1, 8, EXACT, RO, IP, DECIMAL,                                                \
      AT(ip_proto, 0), H(NXM_OF, IP_PROTO, 6, 10), H(OXM_OF, IP_PROTO, 10, 12), NONE)                                \
    X(NW_TOS, "nw_tos", NULL, 1, 8, EXACT, RW, IP, DECIMAL,                                                          \
      AT(ip_tos, 0), H(NXM_OF, IP_TOS, 5, 10), NONE, NONE)                                                           \
    X(IP_DSCP, "ip_dscp", NULL, 1, 6, EXACT, RW, IP, DECIMAL,                                                        \
      AT(ip_tos, 2), NONE, H(OXM_OF, IP_DSCP, 8, 12), NONE)                                                          \
    X(NW_ECN, "nw_ecn", "ip_ecn", 1, 2, EXACT, RW, IP, DECIMAL,                                                      \
      AT(ip_tos, 0), H(NXM_NX, IP_ECN, 28, 10), H(OXM_OF, IP_ECN, 9, 12), NONE)                                      \
    X(NW_TTL, "nw_ttl", NULL, 1, 8, EXACT, RW, IP, DECIMAL,                                                          \
      AT(ip_ttl, 0), H(NXM_NX, IP_TTL, 29, 10), NONE, NONE)                                                          \
    X(IP_FRAG, "ip_frag", "nw_frag", 1, 2, MASKABLE, RO, IP, FRAG,                                                   \
      AT(ip_frag, 0), H(NXM_NX, IP_FRAG, 26, 10), NONE, NONE)                                                        \
    /* ARP. */                                                                                                       \
    X(ARP_OP, "arp_op", NULL, 2, 16, EXACT, RW, ARP, DECIMAL,                                                        \
      AT(arp_op, 0), H(NXM_OF, ARP_OP, 15, 10), H(OXM_OF, ARP_OP, 21, 12), NONE)                                     \
    X(ARP_SPA, "arp_spa", NULL, 4, 32, MASKABLE, RW, ARP, IPV4,                                                      \
      AT(ip_src, 0), H(NXM_OF, ARP_SPA, 16, 10), H(OXM_OF, ARP_SPA, 22, 12), NONE)                                   \
    X(ARP_TPA, "arp_tpa", NULL, 4, 32, MASKABLE, RW, ARP, IPV4,                                                      \
      AT(ip_dst, 0), H(NXM_OF, ARP_TPA, 17, 10), H(OXM_OF, ARP_TPA, 23, 12), NONE)                                   \
    X(ARP_SHA, "arp_sha", NULL, 6, 48, MASKABLE, RW, ARP, MAC,                                                       \
      AT(arp_sha, 0), H(NXM_NX, ARP_SHA, 17, 10), H(OXM_OF, ARP_SHA, 24, 12), NONE)                                  \
    X(ARP_THA, "arp_tha", NULL, 6, 48, MASKABLE, RW, ARP, MAC,                                                       \
      AT(arp_tha, 0), H(NXM_NX, ARP_THA, 18, 10), H(OXM_OF, ARP_THA, 25, 12), NONE)                                  \
    /* NSH. */                                                                                                       \
    X(NSH_FLAGS, "nsh_flags", NULL, 1, 8, MASKABLE, RW, NSH, DECIMAL,                                                \
      NSH(0, 1, 0), H(NXOXM_NSH, FLAGS, 1, 10), NONE, NONE)                                                          \
    X(NSH_TTL, "nsh_ttl", NULL, 1, 8, EXACT, RW, NSH, DECIMAL,                                                       \
      NSH(1, 1, 0), H(NXOXM_NSH, TTL, 10, 10), NONE, NONE)                                                           \
    X(NSH_MDTYPE, "nsh_mdtype", NULL, 1, 8, EXACT, RO, NSH, DECIMAL,                                                 \
      NSH(2, 1, 0), H(NXOXM_NSH, MDTYPE, 2, 10), NONE, NONE)                                                         \
    X(NSH_NP, "nsh_np", NULL, 1, 8, EXACT, RO, NSH, DECIMAL,                                                         \
      NSH(3, 1, 0), H(NXOXM_NSH, NP, 3, 10), NONE, NONE)                                                             \
    X(NSH_SPI, "nsh_spi", "nsp", 4, 24, EXACT, RW, NSH, HEX,                                                         \
      NSH(4, 4, 8), H(NXOXM_NSH, SPI, 4, 10), NONE, NONE)                                                            \
    X(NSH_SI, "nsh_si", "nsi", 1, 8, EXACT, RW, NSH, DECIMAL,                                                        \
      NSH(7, 1, 0), H(NXOXM_NSH, SI, 5, 10), NONE, NONE)                                                             \
    X(NSH_C1, "nsh_c1", "nshc1", 4, 32, MASKABLE, RW, NSH, HEX,                                                      \
      NSH(8, 4, 0), H(NXOXM_NSH, C1, 6, 10), NONE, NONE)                                                             \
    X(NSH_C2, "nsh_c2", "nshc2", 4, 32, MASKABLE, RW, NSH, HEX,                                                      \
      NSH(12, 4, 0), H(NXOXM_NSH, C2, 7, 10), NONE, NONE)                                                            \
    X(NSH_C3, "nsh_c3", "nshc3", 4, 32, MASKABLE, RW, NSH, HEX,                                                      \
      NSH(16, 4, 0), H(NXOXM_NSH, C3, 8, 10), NONE, NONE)                                                            \
    X(NSH_C4, "nsh_c4", "nshc4", 4, 32, MASKABLE, RW, NSH, HEX,                                                      \
      NSH(20, 4, 0), H(NXOXM_NSH, C4, 9, 10), NONE, NONE)                                                            \
    /* TCP, UDP and SCTP. */                                                                                         \
    X(TCP_SRC, "tcp_src", "tp_src", 2, 16, MASKABLE, RW, TCP, DECIMAL,                                               \
      AT(tp_src, 0), H(NXM_OF, TCP_SRC, 9, 10), H(OXM_OF, TCP_SRC, 13, 12), NONE)                                    \
    X(TCP_DST, "tcp_dst", "tp_dst", 2, 16, MASKABLE, RW, TCP, DECIMAL,                                               \
      AT(tp_dst, 0), H(NXM_OF, TCP_DST, 10, 10), H(OXM_OF, TCP_DST, 14, 12), NONE)                                   \
    X(UDP_SRC, "udp_src", NULL, 2, 16, MASKABLE, RW, UDP, DECIMAL,                                                   \
      AT(tp_src, 0), H(NXM_OF, UDP_SRC, 11, 10), H(OXM_OF, UDP_SRC, 15, 12), NONE)                                   \
    X(UDP_DST, "udp_dst", NULL, 2, 16, MASKABLE, RW, UDP, DECIMAL,                                                   \
      AT(tp_dst, 0), H(NXM_OF, UDP_DST, 12, 10), H(OXM_OF, UDP_DST, 16, 12), NONE)                                   \
    X(SCTP_SRC, "sctp_src", NULL, 2, 16, MASKABLE, RW, SCTP, DECIMAL,                                                \
      AT(tp_src, 0), NONE, H(OXM_OF, SCTP_SRC, 17, 12), NONE)                                                        \
    X(SCTP_DST, "sctp_dst", NULL, 2, 16, MASKABLE, RW, SCTP, DECIMAL,                                                \
      AT(tp_dst, 0), NONE, H(OXM_OF, SCTP_DST, 18, 12), NONE)                                                        \
    X(TCP_FLAGS, "tcp_flags", NULL, 2, 12, MASKABLE, RO, TCP, TCP_FLAGS,                                             \
      AT(tcp_flags, 0), H(NXM_NX, TCP_FLAGS, 34, 10), H(OXM_OF, TCP_FLAGS, 42, 15), H(ONFOXM_ET, TCP_FLAGS, 42, 13)) \
    /* ICMP and neighbour discovery. */                                                                              \
    X(ICMP_TYPE, "icmp_type", NULL, 1, 8, EXACT, RW, ICMPV4, DECIMAL,                                                \
      AT(tp_src, 0), H(NXM_OF, ICMP_TYPE, 13, 10), H(OXM_OF, ICMPV4_TYPE, 19, 12), NONE)                             \
    X(ICMP_CODE, "icmp_code", NULL, 1, 8, EXACT, RW, ICMPV4, DECIMAL,                                                \
      AT(tp_dst, 0), H(NXM_OF, ICMP_CODE, 14, 10), H(OXM_OF, ICMPV4_CODE, 20, 12), NONE)                             \
    X(ICMPV6_TYPE, "icmpv6_type", NULL, 1, 8, EXACT, RW, ICMPV6, DECIMAL,                                            \
      AT(tp_src, 0), H(NXM_NX, ICMPV6_TYPE, 21, 10), H(OXM_OF, ICMPV6_TYPE, 29, 12), NONE)                           \
    X(ICMPV6_CODE, "icmpv6_code", NULL, 1, 8, EXACT, RW, ICMPV6, DECIMAL,                                            \
      AT(tp_dst, 0), H(NXM_NX, ICMPV6_CODE, 22, 10), H(OXM_OF, ICMPV6_CODE, 30, 12), NONE)                           \
    X(ND_TARGET, "nd_target", NULL, 16, 128, MASKABLE, RW, ND, IPV6,                                                 \
      AT(nd_target, 0), H(NXM_NX, ND_TARGET, 23, 10), H(OXM_OF, IPV6_ND_TARGET, 31, 12), NONE)                       \
    X(ND_SLL, "nd_sll", NULL, 6, 48, MASKABLE, RW, ND_SOLICIT, MAC,                                                  \
      AT(nd_sll, 0), H(NXM_NX, ND_SLL, 24, 10), H(OXM_OF, IPV6_ND_SLL, 32, 12), NONE)                                \
    X(ND_TLL, "nd_tll", NULL, 6, 48, MASKABLE, RW, ND_ADVERT, MAC,                                                   \
      AT(nd_tll, 0), H(NXM_NX, ND_TLL, 25, 10), H(OXM_OF, IPV6_ND_TLL, 33, 12), NONE)
/* clang-format on */

#endif
