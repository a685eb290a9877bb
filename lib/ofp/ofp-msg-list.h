/* The messages of OpenFlow, all versions: the table that ofp-msg.c works from.
 *
 *   M(NAME, DIRECTION, FORMS)
 *       NAME: of the message, whatever its version and form; OFPMSG_NAME.
 *       DIRECTION: who may send it: C the controller, S the switch, B both.
 *   F(FIRST, LAST, CLASS, TYPE, MIN, UNIT)
 *       One way to write it: in the versions FIRST to LAST (10, 13, 14, 15), as
 *       OFPT   TYPE of the header,
 *       STREQ, STREP   TYPE of a statistics (1.0) or multipart request or reply,
 *       NXT, ONFT   a message of the vendor Nicira or ONF of subtype TYPE,
 *       NXSTREQ, NXSTREP, ONFSTREQ, ONFSTREP   statistics of that vendor.
 *       The body, after all headers, has MIN bytes (UNIT 0), or MIN and any multiple of UNIT.
 *
 * The first form of a version is the one that is written unless another is asked for.  A message without a decoder is
 * here for its name and so that its length is judged (tunnel options: not yet served by a module). */
#ifndef OFP_MSG_LIST_H
#define OFP_MSG_LIST_H 1

/* clang-format off */
#define OFP_MSGS(M, F)                                                                                                \
    M(HELLO, B, F(10, 15, OFPT, 0, 0, 1))                                                                             \
    M(ERROR, B, F(10, 15, OFPT, 1, 4, 1))                                                                             \
    M(ECHO_REQUEST, B, F(10, 15, OFPT, 2, 0, 1))                                                                      \
    M(ECHO_REPLY, B, F(10, 15, OFPT, 3, 0, 1))                                                                        \
    M(FEATURES_REQUEST, C, F(10, 15, OFPT, 5, 0, 0))                                                                  \
    M(FEATURES_REPLY, S, F(10, 10, OFPT, 6, 24, 48) F(13, 15, OFPT, 6, 24, 0))                                        \
    M(GET_CONFIG_REQUEST, C, F(10, 15, OFPT, 7, 0, 0))                                                                \
    M(GET_CONFIG_REPLY, S, F(10, 15, OFPT, 8, 4, 0))                                                                  \
    M(SET_CONFIG, C, F(10, 15, OFPT, 9, 4, 0))                                                                        \
    M(PACKET_IN, S, F(10, 10, OFPT, 10, 10, 1) F(13, 15, OFPT, 10, 24, 1) F(10, 15, NXT, 17, 26, 1)                   \
                    F(10, 15, NXT, 30, 0, 8))                                                                         \
    M(FLOW_REMOVED, S, F(10, 10, OFPT, 11, 80, 0) F(13, 14, OFPT, 11, 48, 8) F(15, 15, OFPT, 11, 32, 8)               \
                       F(10, 15, NXT, 14, 40, 8))                                                                     \
    M(PORT_STATUS, S, F(10, 10, OFPT, 12, 56, 0) F(13, 13, OFPT, 12, 72, 0) F(14, 15, OFPT, 12, 48, 8))               \
    M(PACKET_OUT, C, F(10, 10, OFPT, 13, 8, 1) F(13, 14, OFPT, 13, 16, 1) F(15, 15, OFPT, 13, 16, 1))                 \
    M(FLOW_MOD, C, F(10, 10, OFPT, 14, 64, 8) F(13, 15, OFPT, 14, 48, 8) F(10, 15, NXT, 13, 32, 8))                   \
    M(GROUP_MOD, C, F(13, 14, OFPT, 15, 8, 8) F(15, 15, OFPT, 15, 16, 8) F(10, 10, NXT, 31, 16, 8))                   \
    M(PORT_MOD, C, F(10, 10, OFPT, 15, 24, 0) F(13, 13, OFPT, 16, 32, 0) F(14, 15, OFPT, 16, 24, 8))                  \
    M(TABLE_MOD, C, F(13, 13, OFPT, 17, 8, 0) F(14, 15, OFPT, 17, 8, 8))                                              \
    M(BARRIER_REQUEST, C, F(10, 10, OFPT, 18, 0, 0) F(13, 15, OFPT, 20, 0, 0))                                        \
    M(BARRIER_REPLY, S, F(10, 10, OFPT, 19, 0, 0) F(13, 15, OFPT, 21, 0, 0))                                          \
    M(QUEUE_GET_CONFIG_REQUEST, C, F(10, 10, OFPT, 20, 4, 0) F(13, 13, OFPT, 22, 8, 0) F(14, 15, STREQ, 15, 8, 0))    \
    M(QUEUE_GET_CONFIG_REPLY, S, F(10, 10, OFPT, 21, 8, 8) F(13, 13, OFPT, 23, 8, 8) F(14, 15, STREP, 15, 0, 8))      \
    M(ROLE_REQUEST, C, F(13, 15, OFPT, 24, 16, 0) F(10, 15, NXT, 10, 4, 0))                                           \
    M(ROLE_REPLY, S, F(13, 15, OFPT, 25, 16, 0) F(10, 15, NXT, 11, 4, 0))                                             \
    M(ROLE_STATUS, S, F(14, 15, OFPT, 30, 16, 8) F(13, 13, ONFT, 1911, 16, 8))                                        \
    M(GET_ASYNC_REQUEST, C, F(13, 15, OFPT, 26, 0, 0))                                                                \
    M(GET_ASYNC_REPLY, S, F(13, 13, OFPT, 27, 24, 0) F(14, 15, OFPT, 27, 0, 8))                                       \
    M(SET_ASYNC, C, F(13, 13, OFPT, 28, 24, 0) F(14, 15, OFPT, 28, 0, 8) F(10, 15, NXT, 19, 24, 0)                    \
                    F(10, 13, NXT, 27, 0, 8))                                                                         \
    M(METER_MOD, C, F(13, 15, OFPT, 29, 8, 8))                                                                        \
    M(BUNDLE_CTRL, B, F(14, 15, OFPT, 33, 8, 8) F(13, 13, ONFT, 2300, 8, 8))                                          \
    M(BUNDLE_ADD, C, F(14, 15, OFPT, 34, 16, 1) F(13, 13, ONFT, 2301, 16, 1))                                         \
    M(SET_FLOW_FORMAT, C, F(10, 10, NXT, 12, 4, 0))                                                                   \
    M(FLOW_MOD_TABLE_ID, C, F(10, 15, NXT, 15, 8, 0))                                                                 \
    M(SET_PACKET_IN_FORMAT, C, F(10, 15, NXT, 16, 4, 0))                                                              \
    M(FLOW_AGE, C, F(10, 15, NXT, 18, 0, 0))                                                                          \
    M(SET_CONTROLLER_ID, C, F(10, 15, NXT, 20, 8, 0))                                                                 \
    M(FLOW_MONITOR_CANCEL, C, F(10, 10, NXT, 21, 4, 0) F(13, 13, ONFT, 1870, 4, 0))                                   \
    M(FLOW_MONITOR_PAUSED, S, F(10, 10, NXT, 22, 0, 0) F(13, 13, ONFT, 1871, 0, 0))                                   \
    M(FLOW_MONITOR_RESUMED, S, F(10, 10, NXT, 23, 0, 0) F(13, 13, ONFT, 1872, 0, 0))                                  \
    M(TLV_TABLE_MOD, C, F(10, 15, NXT, 24, 8, 8))                                                                     \
    M(TLV_TABLE_REQUEST, C, F(10, 15, NXT, 25, 0, 0))                                                                 \
    M(TLV_TABLE_REPLY, S, F(10, 15, NXT, 26, 16, 8))                                                                  \
    M(RESUME, C, F(10, 15, NXT, 28, 0, 8))                                                                            \
    M(CT_FLUSH, C, F(10, 15, NXT, 32, 8, 8))                                                                          \
    M(TABLE_STATUS, S, F(14, 15, OFPT, 31, 8, 8))                                                                     \
    M(REQUESTFORWARD, S, F(14, 15, OFPT, 32, 8, 8) F(13, 13, ONFT, 2350, 8, 8))                                       \
    M(CT_FLUSH_ZONE, C, F(10, 15, NXT, 29, 8, 0))                                                                     \
    M(DESC_REQUEST, C, F(10, 15, STREQ, 0, 0, 0))                                                                     \
    M(DESC_REPLY, S, F(10, 15, STREP, 0, 1056, 0))                                                                    \
    M(FLOW_STATS_REQUEST, C, F(10, 10, STREQ, 1, 44, 0) F(13, 15, STREQ, 1, 40, 8) F(10, 10, NXSTREQ, 0, 8, 8))       \
    M(FLOW_STATS_REPLY, S, F(10, 15, STREP, 1, 0, 8) F(10, 10, NXSTREP, 0, 0, 8))                                     \
    M(FLOW_COUNTS_REQUEST, C, F(15, 15, STREQ, 17, 40, 8))                                                            \
    M(FLOW_COUNTS_REPLY, S, F(15, 15, STREP, 17, 0, 8))                                                               \
    M(AGGREGATE_REQUEST, C, F(10, 10, STREQ, 2, 44, 0) F(13, 15, STREQ, 2, 40, 8) F(10, 10, NXSTREQ, 1, 8, 8))        \
    M(AGGREGATE_REPLY, S, F(10, 14, STREP, 2, 24, 0) F(15, 15, STREP, 2, 8, 8) F(10, 10, NXSTREP, 1, 24, 0))          \
    M(TABLE_STATS_REQUEST, C, F(10, 15, STREQ, 3, 0, 0))                                                              \
    M(TABLE_STATS_REPLY, S, F(10, 10, STREP, 3, 0, 64) F(13, 15, STREP, 3, 0, 24))                                    \
    M(PORT_STATS_REQUEST, C, F(10, 15, STREQ, 4, 8, 0))                                                               \
    M(PORT_STATS_REPLY, S, F(10, 10, STREP, 4, 0, 104) F(13, 13, STREP, 4, 0, 112) F(14, 15, STREP, 4, 0, 8))         \
    M(QUEUE_STATS_REQUEST, C, F(10, 15, STREQ, 5, 8, 0))                                                              \
    M(QUEUE_STATS_REPLY, S, F(10, 10, STREP, 5, 0, 32) F(13, 13, STREP, 5, 0, 40) F(14, 15, STREP, 5, 0, 8))          \
    M(GROUP_STATS_REQUEST, C, F(13, 15, STREQ, 6, 8, 0) F(10, 10, NXSTREQ, 7, 8, 0))                                  \
    M(GROUP_STATS_REPLY, S, F(13, 15, STREP, 6, 0, 8) F(10, 10, NXSTREP, 7, 0, 8))                                    \
    M(GROUP_DESC_REQUEST, C, F(13, 14, STREQ, 7, 0, 0) F(15, 15, STREQ, 7, 8, 0) F(10, 10, NXSTREQ, 8, 8, 0))         \
    M(GROUP_DESC_REPLY, S, F(13, 15, STREP, 7, 0, 8) F(10, 10, NXSTREP, 8, 0, 8))                                     \
    M(GROUP_FEATURES_REQUEST, C, F(13, 15, STREQ, 8, 0, 0) F(10, 10, NXSTREQ, 9, 0, 0))                               \
    M(GROUP_FEATURES_REPLY, S, F(13, 15, STREP, 8, 40, 0) F(10, 10, NXSTREP, 9, 40, 0))                               \
    M(METER_STATS_REQUEST, C, F(13, 15, STREQ, 9, 8, 0))                                                              \
    M(METER_STATS_REPLY, S, F(13, 15, STREP, 9, 0, 8))                                                                \
    M(METER_CONFIG_REQUEST, C, F(13, 15, STREQ, 10, 8, 0))                                                            \
    M(METER_CONFIG_REPLY, S, F(13, 15, STREP, 10, 0, 8))                                                              \
    M(METER_FEATURES_REQUEST, C, F(13, 15, STREQ, 11, 0, 0))                                                          \
    M(METER_FEATURES_REPLY, S, F(13, 14, STREP, 11, 16, 0) F(15, 15, STREP, 11, 16, 8))                               \
    M(TABLE_FEATURES_REQUEST, C, F(13, 15, STREQ, 12, 0, 8))                                                          \
    M(TABLE_FEATURES_REPLY, S, F(13, 15, STREP, 12, 64, 8))                                                           \
    M(PORT_DESC_REQUEST, C, F(10, 14, STREQ, 13, 0, 0) F(15, 15, STREQ, 13, 8, 0))                                    \
    M(PORT_DESC_REPLY, S, F(10, 10, STREP, 13, 0, 48) F(13, 13, STREP, 13, 0, 64) F(14, 15, STREP, 13, 0, 8))         \
    M(TABLE_DESC_REQUEST, C, F(14, 15, STREQ, 14, 0, 0))                                                              \
    M(TABLE_DESC_REPLY, S, F(14, 15, STREP, 14, 8, 8))                                                                \
    M(FLOW_MONITOR_REQUEST, C, F(14, 15, STREQ, 16, 24, 8) F(13, 13, ONFSTREQ, 1870, 24, 8)                           \
                               F(10, 10, NXSTREQ, 2, 16, 8))                                                          \
    M(FLOW_MONITOR_REPLY, S, F(14, 15, STREP, 16, 0, 8) F(13, 13, ONFSTREP, 1870, 0, 8) F(10, 10, NXSTREP, 2, 0, 8))  \
    M(IPFIX_BRIDGE_REQUEST, C, F(10, 15, NXSTREQ, 3, 0, 0))                                                           \
    M(IPFIX_FLOW_REQUEST, C, F(10, 15, NXSTREQ, 4, 0, 0))
/* clang-format on */

#endif
