/* The actions and instructions of OpenFlow: what there is, how the wire says it, and what it is called.
 *
 * Three lists.  OFP_ACTIONS has the internal forms; from it come enum ofp_act_type and the table of encoders, printers and
 * checkers.  OFP_WIRE_ACTIONS has every form on the wire; from it come the decoder's table and, for actions that are one number,
 * the encoder.  OFP_KEYWORDS has the words of text, each with its scanner. */
#ifndef OFP_ACTION_LIST_H
#define OFP_ACTION_LIST_H 1

/* clang-format off */

/* X(ID, NAME, INSTRUCTION, IN_SET, FORM, CHECK)
 *   NAME         for messages;
 *   INSTRUCTION  which it is, or APPLY: it is an action (enum ofp_inst, in the order in which flows have them);
 *   IN_SET       may it be in an action set?
 *   FORM         ofp_encode_FORM() and ofp_print_FORM(); "number" and "plain" are driven by tables;
 *   CHECK        ofp_check_CHECK(): its ports, fields and prerequisites. */
#define OFP_ACTIONS(X)                                                            \
    X(OUTPUT,           "output",           APPLY,    true,  output,           output)           \
    X(OUTPUT_REG,       "output_reg",       APPLY,    false, output_reg,       output_reg)       \
    X(OUTPUT_TRUNC,     "output_trunc",     APPLY,    false, output_trunc,     output_trunc)     \
    X(CONTROLLER,       "controller",       APPLY,    false, controller,       nothing)          \
    X(ENQUEUE,          "enqueue",          APPLY,    false, enqueue,          enqueue)          \
    X(BUNDLE,           "bundle",           APPLY,    false, bundle,           bundle)           \
    X(GROUP,            "group",            APPLY,    true,  number,           nothing)          \
    X(SET_QUEUE,        "set_queue",        APPLY,    true,  number,           nothing)          \
    X(POP_QUEUE,        "pop_queue",        APPLY,    false, plain,            nothing)          \
    X(SET_FIELD,        "set_field",        APPLY,    true,  set_field,        set_field)        \
    X(MOVE,             "move",             APPLY,    true,  move,             move)             \
    X(PUSH,             "push",             APPLY,    false, stack,            push)             \
    X(POP,              "pop",              APPLY,    false, stack,            pop)              \
    X(SET_VLAN_VID,     "set_vlan_vid",     APPLY,    true,  number,           vlan)             \
    X(SET_VLAN_PCP,     "set_vlan_pcp",     APPLY,    true,  number,           vlan)             \
    X(STRIP_VLAN,       "strip_vlan",       APPLY,    true,  plain,            strip_vlan)       \
    X(PUSH_VLAN,        "push_vlan",        APPLY,    true,  number,           push_vlan)        \
    X(PUSH_MPLS,        "push_mpls",        APPLY,    true,  number,           push_mpls)        \
    X(POP_MPLS,         "pop_mpls",         APPLY,    true,  number,           pop_mpls)         \
    X(SET_MPLS_LABEL,   "set_mpls_label",   APPLY,    true,  number,           mpls)             \
    X(SET_MPLS_TC,      "set_mpls_tc",      APPLY,    true,  number,           mpls)             \
    X(SET_MPLS_TTL,     "set_mpls_ttl",     APPLY,    true,  number,           mpls)             \
    X(DEC_MPLS_TTL,     "dec_mpls_ttl",     APPLY,    true,  plain,            mpls)             \
    X(SET_ETH_SRC,      "mod_dl_src",       APPLY,    true,  number,           nothing)          \
    X(SET_ETH_DST,      "mod_dl_dst",       APPLY,    true,  number,           nothing)          \
    X(SET_IPV4_SRC,     "mod_nw_src",       APPLY,    true,  number,           ipv4)             \
    X(SET_IPV4_DST,     "mod_nw_dst",       APPLY,    true,  number,           ipv4)             \
    X(SET_IP_DSCP,      "mod_nw_tos",       APPLY,    true,  number,           ip)               \
    X(SET_IP_ECN,       "mod_nw_ecn",       APPLY,    true,  number,           ip)               \
    X(SET_IP_TTL,       "mod_nw_ttl",       APPLY,    true,  number,           ip)               \
    X(SET_L4_SRC,       "mod_tp_src",       APPLY,    true,  number,           l4)               \
    X(SET_L4_DST,       "mod_tp_dst",       APPLY,    true,  number,           l4)               \
    X(DEC_TTL,          "dec_ttl",          APPLY,    true,  dec_ttl,          ip)               \
    X(SET_TUNNEL,       "set_tunnel",       APPLY,    true,  number,           nothing)          \
    X(RESUBMIT,         "resubmit",         APPLY,    true,  resubmit,         resubmit)         \
    X(LEARN,            "learn",            APPLY,    false, learn,            learn)            \
    X(FIN_TIMEOUT,      "fin_timeout",      APPLY,    false, fin_timeout,      tcp)              \
    X(CONJUNCTION,      "conjunction",      APPLY,    false, conjunction,      nothing)          \
    X(MULTIPATH,        "multipath",        APPLY,    false, multipath,        multipath)        \
    X(CHECK_PKT_LARGER, "check_pkt_larger", APPLY,    false, check_pkt_larger, check_pkt_larger) \
    X(CT,               "ct",               APPLY,    true,  ct,               ct)               \
    X(NAT,              "nat",              APPLY,    false, nat,              nat)              \
    X(CT_CLEAR,         "ct_clear",         APPLY,    true,  plain,            nothing)          \
    X(CLONE,            "clone",            APPLY,    false, clone,            clone)            \
    X(SAMPLE,           "sample",           APPLY,    false, sample,           nothing)          \
    X(NOTE,             "note",             APPLY,    false, note,             nothing)          \
    X(EXIT,             "exit",             APPLY,    false, plain,            nothing)          \
    X(DEBUG_RECIRC,     "debug_recirc",     APPLY,    false, plain,            nothing)          \
    X(METER,            "meter",            METER,    false, number,           meter)            \
    X(CLEAR_ACTIONS,    "clear_actions",    CLEAR,    false, clear_actions,    nothing)          \
    X(WRITE_ACTIONS,    "write_actions",    WRITE,    false, write_actions,    write_actions)    \
    X(WRITE_METADATA,   "write_metadata",   METADATA, false, write_metadata,   nothing)          \
    X(GOTO_TABLE,       "goto_table",       GOTO,     false, goto_table,       goto_table)

/* W(VENDOR, CODE, FIRST, LAST, LEN, MORE, DECODER, TYPE, OFS, WIDTH)
 *   VENDOR   STD, or NX or ONF: an experimenter's action; CODE its type or subtype;
 *   FIRST, LAST  OpenFlow versions times ten;
 *   LEN      of the whole action in bytes; MORE: or longer;
 *   DECODER  ofp_decode_DECODER(); number_old: of OpenFlow 1.1, read from controllers of later versions and never written;
 *   TYPE, OFS, WIDTH  for DECODER number and plain: what it becomes, where its number is behind the header, how many bytes. */
#define OFP_WIRE_ACTIONS(W)                                                 \
    W(STD,    0, 10, 10,  8, false, output10,         OUTPUT,         0, 0) \
    W(STD,    1, 10, 10,  8, false, number,           SET_VLAN_VID,   0, 2) \
    W(STD,    2, 10, 10,  8, false, number,           SET_VLAN_PCP,   0, 1) \
    W(STD,    3, 10, 10,  8, false, plain,            STRIP_VLAN,     0, 0) \
    W(STD,    4, 10, 10, 16, false, number,           SET_ETH_SRC,    0, 6) \
    W(STD,    5, 10, 10, 16, false, number,           SET_ETH_DST,    0, 6) \
    W(STD,    6, 10, 10,  8, false, number,           SET_IPV4_SRC,   0, 4) \
    W(STD,    7, 10, 10,  8, false, number,           SET_IPV4_DST,   0, 4) \
    W(STD,    8, 10, 10,  8, false, number,           SET_IP_DSCP,    0, 1) \
    W(STD,    9, 10, 10,  8, false, number,           SET_L4_SRC,     0, 2) \
    W(STD,   10, 10, 10,  8, false, number,           SET_L4_DST,     0, 2) \
    W(STD,   11, 10, 10, 16, false, enqueue,          ENQUEUE,        0, 0) \
    W(STD,    0, 13, 15, 16, false, output13,         OUTPUT,         0, 0) \
    W(STD,   15, 13, 15,  8, false, number,           SET_MPLS_TTL,   0, 1) \
    W(STD,   16, 13, 15,  8, false, plain,            DEC_MPLS_TTL,   0, 0) \
    W(STD,   17, 13, 15,  8, false, number,           PUSH_VLAN,      0, 2) \
    W(STD,   18, 13, 15,  8, false, plain,            STRIP_VLAN,     0, 0) \
    W(STD,   19, 13, 15,  8, false, number,           PUSH_MPLS,      0, 2) \
    W(STD,   20, 13, 15,  8, false, number,           POP_MPLS,       0, 2) \
    W(STD,   21, 13, 15,  8, false, number,           SET_QUEUE,      0, 4) \
    W(STD,   22, 13, 15,  8, false, number,           GROUP,          0, 4) \
    W(STD,   23, 13, 15,  8, false, number,           SET_IP_TTL,     0, 1) \
    W(STD,   24, 13, 15,  8, false, dec_ttl,          DEC_TTL,        0, 0) \
    W(STD,   25, 13, 15,  8, true,  set_field,        SET_FIELD,      0, 0) \
    W(STD,   28, 15, 15,  8, true,  copy_field,       MOVE,           0, 0) \
    W(STD,   29, 15, 15,  8, false, number,           METER,          0, 4) \
    W(STD,    1, 13, 15,  8, false, number_old,       SET_VLAN_VID,   0, 2) \
    W(STD,    2, 13, 15,  8, false, number_old,       SET_VLAN_PCP,   0, 1) \
    W(STD,    3, 13, 15, 16, false, number_old,       SET_ETH_SRC,    0, 6) \
    W(STD,    4, 13, 15, 16, false, number_old,       SET_ETH_DST,    0, 6) \
    W(STD,    5, 13, 15,  8, false, number_old,       SET_IPV4_SRC,   0, 4) \
    W(STD,    6, 13, 15,  8, false, number_old,       SET_IPV4_DST,   0, 4) \
    W(STD,    7, 13, 15,  8, false, number_old,       SET_IP_DSCP,    0, 1) \
    W(STD,    8, 13, 15,  8, false, number_old,       SET_IP_ECN,     0, 1) \
    W(STD,    9, 13, 15,  8, false, number_old,       SET_L4_SRC,     0, 2) \
    W(STD,   10, 13, 15,  8, false, number_old,       SET_L4_DST,     0, 2) \
    W(STD,   13, 13, 15,  8, false, number_old,       SET_MPLS_LABEL, 0, 4) \
    W(STD,   14, 13, 15,  8, false, number_old,       SET_MPLS_TC,    0, 1) \
    W(ONF, 3200, 13, 14, 16, true,  copy_field_onf,   MOVE,           0, 0) \
    W(NX,     1, 10, 15, 16, false, resubmit,         RESUBMIT,       0, 0) \
    W(NX,     2, 10, 15, 16, false, number,           SET_TUNNEL,     2, 4) \
    W(NX,     4, 10, 10, 16, false, number,           SET_QUEUE,      2, 4) \
    W(NX,     5, 10, 15, 16, false, plain,            POP_QUEUE,      0, 0) \
    W(NX,     6, 10, 15, 24, true,  move,             MOVE,           0, 0) \
    W(NX,     7, 10, 15, 24, false, reg_load,         SET_FIELD,      0, 0) \
    W(NX,     8, 10, 15, 16, true,  note,             NOTE,           0, 0) \
    W(NX,     9, 10, 15, 24, false, number,           SET_TUNNEL,     6, 8) \
    W(NX,    10, 10, 15, 32, false, multipath,        MULTIPATH,      0, 0) \
    W(NX,    12, 10, 15, 32, true,  bundle,           BUNDLE,         0, 0) \
    W(NX,    13, 10, 15, 32, true,  bundle,           BUNDLE,         0, 0) \
    W(NX,    14, 10, 15, 16, false, resubmit,         RESUBMIT,       0, 0) \
    W(NX,    15, 10, 15, 24, false, output_reg,       OUTPUT_REG,     0, 0) \
    W(NX,    16, 10, 15, 32, true,  learn,            LEARN,          0, 0) \
    W(NX,    17, 10, 15, 16, false, plain,            EXIT,           0, 0) \
    W(NX,    18, 10, 10, 16, false, dec_ttl,          DEC_TTL,        0, 0) \
    W(NX,    19, 10, 15, 16, false, fin_timeout,      FIN_TIMEOUT,    0, 0) \
    W(NX,    20, 10, 15, 16, false, controller,       CONTROLLER,     0, 0) \
    W(NX,    21, 10, 15, 16, true,  dec_ttl_ids,      DEC_TTL,        0, 0) \
    W(NX,    22, 10, 15, 32, false, write_metadata,   WRITE_METADATA, 0, 0) \
    W(NX,    23, 10, 10, 16, false, number,           PUSH_MPLS,      0, 2) \
    W(NX,    24, 10, 10, 16, false, number,           POP_MPLS,       0, 2) \
    W(NX,    25, 10, 10, 16, false, number,           SET_MPLS_TTL,   0, 1) \
    W(NX,    26, 10, 10, 16, false, plain,            DEC_MPLS_TTL,   0, 0) \
    W(NX,    27, 10, 15, 24, true,  stack,            PUSH,           0, 0) \
    W(NX,    28, 10, 15, 24, true,  stack,            POP,            0, 0) \
    W(NX,    29, 10, 15, 24, false, sample,           SAMPLE,         0, 0) \
    W(NX,    30, 10, 10, 16, false, number,           SET_MPLS_LABEL, 2, 4) \
    W(NX,    31, 10, 10, 16, false, number,           SET_MPLS_TC,    0, 1) \
    W(NX,    32, 10, 15, 24, false, output_reg,       OUTPUT_REG,     0, 0) \
    W(NX,    33, 10, 14, 16, true,  reg_load2,        SET_FIELD,      0, 0) \
    W(NX,    34, 10, 15, 16, false, conjunction,      CONJUNCTION,    0, 0) \
    W(NX,    35, 10, 15, 24, true,  ct,               CT,             0, 0) \
    W(NX,    36, 10, 15, 16, true,  nat,              NAT,            0, 0) \
    W(NX,    37, 10, 15, 16, true,  controller2,      CONTROLLER,     0, 0) \
    W(NX,    38, 10, 15, 32, false, sample,           SAMPLE,         0, 0) \
    W(NX,    39, 10, 15, 16, false, output_trunc,     OUTPUT_TRUNC,   0, 0) \
    W(NX,    40, 10, 10, 16, false, number,           GROUP,          2, 4) \
    W(NX,    41, 10, 15, 32, false, sample,           SAMPLE,         0, 0) \
    W(NX,    42, 10, 15, 16, true,  clone,            CLONE,          0, 0) \
    W(NX,    43, 10, 15, 16, false, plain,            CT_CLEAR,       0, 0) \
    W(NX,    44, 10, 15, 16, false, resubmit,         RESUBMIT,       0, 0) \
    W(NX,    45, 10, 15, 40, true,  learn,            LEARN,          0, 0) \
    W(NX,    49, 10, 15, 24, false, check_pkt_larger, CHECK_PKT_LARGER, 0, 0) \
    W(NX,   255, 10, 15, 16, false, debug_recirc,     DEBUG_RECIRC,   0, 0)

/* N(ID, FORMAT, BITS, FIELD): the actions that are one number.
 *   FORMAT  of text: DECIMAL "name:5", ROUND "name(5)", ETHERTYPE, HEX, MAC, IPV4;
 *   BITS    that may be set; what else is wrong with a value, see number_error();
 *   FIELD   in versions that have no such action, set_field of this does it; NONE: it is left out there. */
#define OFP_NUMBER_ACTIONS(N)                            \
    N(GROUP,          DECIMAL,   0xffffffff, NONE)       \
    N(SET_QUEUE,      DECIMAL,   0xffffffff, NONE)       \
    N(SET_VLAN_VID,   DECIMAL,   0xfff,      VLAN_VID)   \
    N(SET_VLAN_PCP,   DECIMAL,   7,          VLAN_PCP)   \
    N(PUSH_VLAN,      ETHERTYPE, 0xffff,     NONE)       \
    N(PUSH_MPLS,      ETHERTYPE, 0xffff,     NONE)       \
    N(POP_MPLS,       ETHERTYPE, 0xffff,     NONE)       \
    N(SET_MPLS_LABEL, ROUND,     0xfffff,    MPLS_LABEL) \
    N(SET_MPLS_TC,    ROUND,     7,          MPLS_TC)    \
    N(SET_MPLS_TTL,   ROUND,     0xff,       MPLS_TTL)   \
    N(SET_ETH_SRC,    MAC,       0xffffffffffff, ETH_SRC) \
    N(SET_ETH_DST,    MAC,       0xffffffffffff, ETH_DST) \
    N(SET_IPV4_SRC,   IPV4,      0xffffffff, IP_SRC)     \
    N(SET_IPV4_DST,   IPV4,      0xffffffff, IP_DST)     \
    N(SET_IP_DSCP,    DECIMAL,   0xfc,       IP_DSCP)    \
    N(SET_IP_ECN,     DECIMAL,   3,          NW_ECN)     \
    N(SET_IP_TTL,     DECIMAL,   0xff,       NW_TTL)     \
    N(SET_L4_SRC,     DECIMAL,   0xffff,     TCP_SRC)    \
    N(SET_L4_DST,     DECIMAL,   0xffff,     TCP_DST)    \
    N(SET_TUNNEL,     HEX,       UINT64_MAX, TUN_ID)     \
    N(METER,          DECIMAL,   0xffffffff, NONE)

/* K(WORD, SCANNER, TYPE, FLAGS): ofp_scan_SCANNER() reads what is behind WORD. */
#define OFP_KEYWORDS(K)                                                             \
    K("output",           output,           OUTPUT,           0)                    \
    K("controller",       controller,       CONTROLLER,       0)                    \
    K("enqueue",          enqueue,          ENQUEUE,          0)                    \
    K("bundle",           bundle,           BUNDLE,           0)                    \
    K("bundle_load",      bundle,           BUNDLE,           OFP_KEYWORD_LOAD)     \
    K("group",            number,           GROUP,            0)                    \
    K("set_queue",        number,           SET_QUEUE,        0)                    \
    K("pop_queue",        plain,            POP_QUEUE,        0)                    \
    K("set_field",        set_field,        SET_FIELD,        0)                    \
    K("load",             load,             SET_FIELD,        OFP_KEYWORD_LOAD)     \
    K("move",             move,             MOVE,             0)                    \
    K("push",             stack,            PUSH,             0)                    \
    K("pop",              stack,            POP,              0)                    \
    K("mod_vlan_vid",     number,           SET_VLAN_VID,     OFP_KEYWORD_OLD)      \
    K("mod_vlan_pcp",     number,           SET_VLAN_PCP,     OFP_KEYWORD_OLD)      \
    K("set_vlan_vid",     number,           SET_VLAN_VID,     0)                    \
    K("set_vlan_pcp",     number,           SET_VLAN_PCP,     0)                    \
    K("strip_vlan",       plain,            STRIP_VLAN,       OFP_KEYWORD_OLD)      \
    K("pop_vlan",         plain,            STRIP_VLAN,       0)                    \
    K("push_vlan",        number,           PUSH_VLAN,        0)                    \
    K("push_mpls",        number,           PUSH_MPLS,        0)                    \
    K("pop_mpls",         number,           POP_MPLS,         0)                    \
    K("set_mpls_label",   number,           SET_MPLS_LABEL,   0)                    \
    K("set_mpls_tc",      number,           SET_MPLS_TC,      0)                    \
    K("set_mpls_ttl",     number,           SET_MPLS_TTL,     0)                    \
    K("dec_mpls_ttl",     plain,            DEC_MPLS_TTL,     0)                    \
    K("mod_dl_src",       number,           SET_ETH_SRC,      0)                    \
    K("mod_dl_dst",       number,           SET_ETH_DST,      0)                    \
    K("mod_nw_src",       number,           SET_IPV4_SRC,     0)                    \
    K("mod_nw_dst",       number,           SET_IPV4_DST,     0)                    \
    K("mod_nw_tos",       number,           SET_IP_DSCP,      0)                    \
    K("mod_nw_ecn",       number,           SET_IP_ECN,       0)                    \
    K("mod_nw_ttl",       number,           SET_IP_TTL,       0)                    \
    K("mod_tp_src",       number,           SET_L4_SRC,       0)                    \
    K("mod_tp_dst",       number,           SET_L4_DST,       0)                    \
    K("dec_ttl",          dec_ttl,          DEC_TTL,          0)                    \
    K("set_tunnel",       number,           SET_TUNNEL,       0)                    \
    K("set_tunnel64",     number,           SET_TUNNEL,       OFP_KEYWORD_WIDE)     \
    K("resubmit",         resubmit,         RESUBMIT,         0)                    \
    K("learn",            learn,            LEARN,            0)                    \
    K("fin_timeout",      fin_timeout,      FIN_TIMEOUT,      0)                    \
    K("conjunction",      conjunction,      CONJUNCTION,      0)                    \
    K("multipath",        multipath,        MULTIPATH,        0)                    \
    K("check_pkt_larger", check_pkt_larger, CHECK_PKT_LARGER, 0)                    \
    K("ct",               ct,               CT,               0)                    \
    K("nat",              nat,              NAT,              0)                    \
    K("ct_clear",         plain,            CT_CLEAR,         0)                    \
    K("clone",            nest,             CLONE,            0)                    \
    K("sample",           sample,           SAMPLE,           0)                    \
    K("note",             note,             NOTE,             0)                    \
    K("exit",             plain,            EXIT,             0)                    \
    K("debug_recirc",     plain,            DEBUG_RECIRC,     0)                    \
    K("meter",            number,           METER,            0)                    \
    K("clear_actions",    plain,            CLEAR_ACTIONS,    0)                    \
    K("write_actions",    nest,             WRITE_ACTIONS,    0)                    \
    K("write_metadata",   write_metadata,   WRITE_METADATA,   0)                    \
    K("goto_table",       goto_table,       GOTO_TABLE,       0)

/* clang-format on */

#endif
