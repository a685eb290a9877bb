/* The errors of OpenFlow, one line each: name, and type and code in OpenFlow 1.0, 1.3, 1.4 and 1.5.
 *
 * STD: as in that version's document.  NX: an error of the vendor Nicira, as the packaged tools decode it.  ONF: an error of the
 * extension 1.4 features in 1.3.  NONE: that version has no such error.  Names are the documents'; an error that
 * a later version renamed has its first name. */
#ifndef OFP_ERROR_LIST_H
#define OFP_ERROR_LIST_H 1

/* clang-format off */
#define OFP_ERRORS(X)                                                                \
    /* Hello failed. */                                                              \
    X(OFPHFC_INCOMPATIBLE, STD(0, 0), STD(0, 0), STD(0, 0), STD(0, 0))               \
    X(OFPHFC_EPERM, STD(0, 1), STD(0, 1), STD(0, 1), STD(0, 1))                      \
    /* Bad request. */                                                               \
    X(OFPBRC_BAD_VERSION, STD(1, 0), STD(1, 0), STD(1, 0), STD(1, 0))                \
    X(OFPBRC_BAD_TYPE, STD(1, 1), STD(1, 1), STD(1, 1), STD(1, 1))                   \
    X(OFPBRC_BAD_STAT, STD(1, 2), STD(1, 2), STD(1, 2), STD(1, 2))                   \
    X(OFPBRC_BAD_VENDOR, STD(1, 3), STD(1, 3), STD(1, 3), STD(1, 3))                 \
    X(OFPBRC_BAD_SUBTYPE, STD(1, 4), STD(1, 4), STD(1, 4), STD(1, 4))                \
    X(OFPBRC_EPERM, STD(1, 5), STD(1, 5), STD(1, 5), STD(1, 5))                      \
    X(OFPBRC_BAD_LEN, STD(1, 6), STD(1, 6), STD(1, 6), STD(1, 6))                    \
    X(OFPBRC_BUFFER_EMPTY, STD(1, 7), STD(1, 7), STD(1, 7), STD(1, 7))               \
    X(OFPBRC_BUFFER_UNKNOWN, STD(1, 8), STD(1, 8), STD(1, 8), STD(1, 8))             \
    X(OFPBRC_BAD_TABLE_ID, NX(1, 512), STD(1, 9), STD(1, 9), STD(1, 9))              \
    X(OFPBRC_BAD_PORT, NX(1, 514), STD(1, 11), STD(1, 11), STD(1, 11))               \
    X(OFPBRC_IS_SECONDARY, NONE, STD(1, 10), STD(1, 10), STD(1, 10))                 \
    X(OFPBRC_BAD_PACKET, NONE, STD(1, 12), STD(1, 12), STD(1, 12))                   \
    X(OFPBRC_MULTIPART_BUFFER_OVERFLOW, NONE, STD(1, 13), STD(1, 13), STD(1, 13))    \
    X(OFPBRC_MULTIPART_REQUEST_TIMEOUT, NONE, ONF(2640, 0), STD(1, 14), STD(1, 14))  \
    X(OFPBRC_MULTIPART_REPLY_TIMEOUT, NONE, ONF(2641, 0), STD(1, 15), STD(1, 15))    \
    X(OFPBRC_MULTIPART_BAD_SCHED, NONE, NONE, NONE, STD(1, 16))                      \
    X(OFPBRC_PIPELINE_FIELDS_ONLY, NONE, NONE, NONE, STD(1, 17))                     \
    X(OFPBRC_UNKNOWN, NONE, NONE, NONE, STD(1, 18))                                  \
    X(NXBRC_NXM_INVALID, NX(1, 256), NX(2, 0), NX(2, 0), NX(2, 0))                   \
    X(NXBRC_NXM_BAD_TYPE, NX(1, 257), NX(3, 0), NX(3, 0), NX(3, 0))                  \
    X(NXBRC_MUST_BE_ZERO, NX(1, 515), NX(4, 0), NX(4, 0), NX(4, 0))                  \
    X(NXBRC_BAD_REASON, NX(1, 516), NX(5, 0), NX(5, 0), NX(5, 0))                    \
    X(NXBRC_FM_BAD_EVENT, NX(1, 520), NX(9, 0), NX(9, 0), NX(9, 0))                  \
    X(NXBRC_UNENCODABLE_ERROR, NX(1, 521), NX(10, 0), NX(10, 0), NX(10, 0))          \
    /* Bad action. */                                                                \
    X(OFPBAC_BAD_TYPE, STD(2, 0), STD(2, 0), STD(2, 0), STD(2, 0))                   \
    X(OFPBAC_BAD_LEN, STD(2, 1), STD(2, 1), STD(2, 1), STD(2, 1))                    \
    X(OFPBAC_BAD_VENDOR, STD(2, 2), STD(2, 2), STD(2, 2), STD(2, 2))                 \
    X(OFPBAC_BAD_VENDOR_TYPE, STD(2, 3), STD(2, 3), STD(2, 3), STD(2, 3))            \
    X(OFPBAC_BAD_OUT_PORT, STD(2, 4), STD(2, 4), STD(2, 4), STD(2, 4))               \
    X(OFPBAC_BAD_ARGUMENT, STD(2, 5), STD(2, 5), STD(2, 5), STD(2, 5))               \
    X(OFPBAC_EPERM, STD(2, 6), STD(2, 6), STD(2, 6), STD(2, 6))                      \
    X(OFPBAC_TOO_MANY, STD(2, 7), STD(2, 7), STD(2, 7), STD(2, 7))                   \
    X(OFPBAC_BAD_QUEUE, STD(2, 8), STD(2, 8), STD(2, 8), STD(2, 8))                  \
    X(OFPBAC_MATCH_INCONSISTENT, NX(1, 522), STD(2, 10), STD(2, 10), STD(2, 10))     \
    X(OFPBAC_BAD_SET_TYPE, NX(1, 523), STD(2, 13), STD(2, 13), STD(2, 13))           \
    X(OFPBAC_BAD_SET_LEN, NX(1, 524), STD(2, 14), STD(2, 14), STD(2, 14))            \
    X(OFPBAC_BAD_SET_ARGUMENT, NX(1, 525), STD(2, 15), STD(2, 15), STD(2, 15))       \
    X(OFPBAC_BAD_OUT_GROUP, NX(2, 9), STD(2, 9), STD(2, 9), STD(2, 9))               \
    X(OFPBAC_UNSUPPORTED_ORDER, NONE, STD(2, 11), STD(2, 11), STD(2, 11))            \
    X(OFPBAC_BAD_TAG, NONE, STD(2, 12), STD(2, 12), STD(2, 12))                      \
    X(OFPBAC_BAD_SET_MASK, NONE, NONE, NONE, STD(2, 16))                             \
    X(OFPBAC_BAD_METER, NONE, NONE, NONE, STD(2, 17))                                \
    X(NXBAC_CT_DATAPATH_SUPPORT, NX(1, 265), NX(42, 0), NX(42, 0), NX(42, 0))        \
    X(NXBAC_MUST_BE_ZERO, NX(2, 256), NX(11, 0), NX(11, 0), NX(11, 0))               \
    X(NXBAC_BAD_CONJUNCTION, NX(2, 526), NX(15, 0), NX(15, 0), NX(15, 0))            \
    X(NXBAC_BAD_HEADER_TYPE, NONE, NX(39, 0), NX(39, 0), NX(39, 0))                  \
    X(NXBAC_UNKNOWN_ED_PROP, NONE, NX(40, 0), NX(40, 0), NX(40, 0))                  \
    X(NXBAC_BAD_ED_PROP, NONE, NX(41, 0), NX(41, 0), NX(41, 0))                      \
    /* Bad instruction. */                                                           \
    X(OFPBIC_UNSUP_INST, NX(2, 257), STD(3, 1), STD(3, 1), STD(3, 1))                \
    X(OFPBIC_UNKNOWN_INST, NONE, STD(3, 0), STD(3, 0), STD(3, 0))                    \
    X(OFPBIC_BAD_TABLE_ID, NONE, STD(3, 2), STD(3, 2), STD(3, 2))                    \
    X(OFPBIC_UNSUP_METADATA, NONE, STD(3, 3), STD(3, 3), STD(3, 3))                  \
    X(OFPBIC_UNSUP_METADATA_MASK, NONE, STD(3, 4), STD(3, 4), STD(3, 4))             \
    X(OFPBIC_BAD_EXPERIMENTER, NONE, STD(3, 5), STD(3, 5), STD(3, 5))                \
    X(OFPBIC_BAD_EXP_TYPE, NONE, STD(3, 6), STD(3, 6), STD(3, 6))                    \
    X(OFPBIC_BAD_LEN, NONE, STD(3, 7), STD(3, 7), STD(3, 7))                         \
    X(OFPBIC_EPERM, NONE, STD(3, 8), STD(3, 8), STD(3, 8))                           \
    X(OFPBIC_DUP_INST, NONE, ONF(2600, 0), STD(3, 9), STD(3, 9))                     \
    /* Bad match. */                                                                 \
    X(OFPBMC_BAD_FIELD, NX(0, 263), STD(4, 6), STD(4, 6), STD(4, 6))                 \
    X(OFPBMC_BAD_VALUE, NX(1, 258), STD(4, 7), STD(4, 7), STD(4, 7))                 \
    X(OFPBMC_BAD_MASK, NX(1, 259), STD(4, 8), STD(4, 8), STD(4, 8))                  \
    X(OFPBMC_BAD_PREREQ, NX(1, 260), STD(4, 9), STD(4, 9), STD(4, 9))                \
    X(OFPBMC_DUP_FIELD, NX(1, 261), STD(4, 10), STD(4, 10), STD(4, 10))              \
    X(OFPBMC_BAD_WILDCARDS, NX(1, 262), STD(4, 5), STD(4, 5), STD(4, 5))             \
    X(OFPBMC_BAD_TYPE, NONE, STD(4, 0), STD(4, 0), STD(4, 0))                        \
    X(OFPBMC_BAD_LEN, NONE, STD(4, 1), STD(4, 1), STD(4, 1))                         \
    X(OFPBMC_BAD_TAG, NONE, STD(4, 2), STD(4, 2), STD(4, 2))                         \
    X(OFPBMC_BAD_DL_ADDR_MASK, NONE, STD(4, 3), STD(4, 3), STD(4, 3))                \
    X(OFPBMC_BAD_NW_ADDR_MASK, NONE, STD(4, 4), STD(4, 4), STD(4, 4))                \
    X(OFPBMC_EPERM, NONE, STD(4, 11), STD(4, 11), STD(4, 11))                        \
    X(NXBMC_CT_DATAPATH_SUPPORT, NX(1, 264), NX(43, 0), NX(43, 0), NX(43, 0))        \
    /* Flow mod failed. */                                                           \
    X(OFPFMFC_TABLE_FULL, STD(3, 0), STD(5, 1), STD(5, 1), STD(5, 1))                \
    X(OFPFMFC_OVERLAP, STD(3, 1), STD(5, 3), STD(5, 3), STD(5, 3))                   \
    X(OFPFMFC_EPERM, STD(3, 2), STD(5, 4), STD(5, 4), STD(5, 4))                     \
    X(OFPFMFC_BAD_EMERG_TIMEOUT, STD(3, 3), NONE, NONE, NONE)                        \
    X(OFPFMFC_BAD_COMMAND, STD(3, 4), STD(5, 6), STD(5, 6), STD(5, 6))               \
    X(OFPFMFC_UNSUPPORTED, STD(3, 5), NONE, NONE, NONE)                              \
    X(OFPFMFC_BAD_FLAGS, NX(3, 258), STD(5, 7), STD(5, 7), STD(5, 7))                \
    X(OFPFMFC_UNKNOWN, NONE, STD(5, 0), STD(5, 0), STD(5, 0))                        \
    X(OFPFMFC_BAD_TABLE_ID, NONE, STD(5, 2), STD(5, 2), STD(5, 2))                   \
    X(OFPFMFC_BAD_TIMEOUT, NONE, STD(5, 5), STD(5, 5), STD(5, 5))                    \
    X(OFPFMFC_BAD_PRIORITY, NONE, ONF(2360, 0), STD(5, 9), STD(5, 9))                \
    X(OFPFMFC_CANT_SYNC, NONE, NONE, STD(5, 8), STD(5, 8))                           \
    X(OFPFMFC_IS_SYNC, NONE, NONE, STD(5, 10), STD(5, 10))                           \
    X(NXFMFC_INVALID_TLV_FIELD, NX(1, 536), NX(37, 0), NX(37, 0), NX(37, 0))         \
    X(NXFMFC_HARDWARE, NX(5, 256), NX(12, 0), NX(12, 0), NX(12, 0))                  \
    X(NXFMFC_BAD_TABLE_ID, NX(5, 257), NX(13, 0), NX(13, 0), NX(13, 0))              \
    /* Group mod failed. */                                                          \
    X(OFPGMFC_GROUP_EXISTS, NX(6, 0), STD(6, 0), STD(6, 0), STD(6, 0))               \
    X(OFPGMFC_INVALID_GROUP, NX(6, 1), STD(6, 1), STD(6, 1), STD(6, 1))              \
    X(OFPGMFC_WEIGHT_UNSUPPORTED, NX(6, 2), STD(6, 2), STD(6, 2), STD(6, 2))         \
    X(OFPGMFC_OUT_OF_GROUPS, NX(6, 3), STD(6, 3), STD(6, 3), STD(6, 3))              \
    X(OFPGMFC_OUT_OF_BUCKETS, NX(6, 4), STD(6, 4), STD(6, 4), STD(6, 4))             \
    X(OFPGMFC_CHAINING_UNSUPPORTED, NX(6, 5), STD(6, 5), STD(6, 5), STD(6, 5))       \
    X(OFPGMFC_WATCH_UNSUPPORTED, NX(6, 6), STD(6, 6), STD(6, 6), STD(6, 6))          \
    X(OFPGMFC_LOOP, NX(6, 7), STD(6, 7), STD(6, 7), STD(6, 7))                       \
    X(OFPGMFC_UNKNOWN_GROUP, NX(6, 8), STD(6, 8), STD(6, 8), STD(6, 8))              \
    X(OFPGMFC_CHAINED_GROUP, NX(6, 9), STD(6, 9), STD(6, 9), STD(6, 9))              \
    X(OFPGMFC_BAD_TYPE, NX(6, 10), STD(6, 10), STD(6, 10), STD(6, 10))               \
    X(OFPGMFC_BAD_COMMAND, NX(6, 11), STD(6, 11), STD(6, 11), STD(6, 11))            \
    X(OFPGMFC_BAD_BUCKET, NX(6, 12), STD(6, 12), STD(6, 12), STD(6, 12))             \
    X(OFPGMFC_BAD_WATCH, NX(6, 13), STD(6, 13), STD(6, 13), STD(6, 13))              \
    X(OFPGMFC_EPERM, NX(6, 14), STD(6, 14), STD(6, 14), STD(6, 14))                  \
    X(OFPGMFC_UNKNOWN_BUCKET, NX(6, 15), NONE, NONE, STD(6, 15))                     \
    X(OFPGMFC_BUCKET_EXISTS, NX(6, 16), NONE, NONE, STD(6, 16))                      \
    /* Port mod failed. */                                                           \
    X(OFPPMFC_BAD_PORT, STD(4, 0), STD(7, 0), STD(7, 0), STD(7, 0))                  \
    X(OFPPMFC_BAD_HW_ADDR, STD(4, 1), STD(7, 1), STD(7, 1), STD(7, 1))               \
    X(OFPPMFC_BAD_CONFIG, NONE, STD(7, 2), STD(7, 2), STD(7, 2))                     \
    X(OFPPMFC_BAD_ADVERTISE, NONE, STD(7, 3), STD(7, 3), STD(7, 3))                  \
    X(OFPPMFC_EPERM, NONE, STD(7, 4), STD(7, 4), STD(7, 4))                          \
    /* Table mod failed. */                                                          \
    X(OFPTMFC_BAD_TABLE, NONE, STD(8, 0), STD(8, 0), STD(8, 0))                      \
    X(OFPTMFC_BAD_CONFIG, NONE, STD(8, 1), STD(8, 1), STD(8, 1))                     \
    X(OFPTMFC_EPERM, NONE, STD(8, 2), STD(8, 2), STD(8, 2))                          \
    /* Queue operation failed. */                                                    \
    X(OFPQOFC_BAD_PORT, STD(5, 0), STD(9, 0), STD(9, 0), STD(9, 0))                  \
    X(OFPQOFC_BAD_QUEUE, STD(5, 1), STD(9, 1), STD(9, 1), STD(9, 1))                 \
    X(OFPQOFC_EPERM, STD(5, 2), STD(9, 2), STD(9, 2), STD(9, 2))                     \
    X(NXQOFC_QUEUE_ERROR, NONE, NONE, NX(23, 0), NX(23, 0))                          \
    /* Switch configuration failed. */                                               \
    X(OFPSCFC_BAD_FLAGS, NONE, STD(10, 0), STD(10, 0), STD(10, 0))                   \
    X(OFPSCFC_BAD_LEN, NONE, STD(10, 1), STD(10, 1), STD(10, 1))                     \
    X(OFPSCFC_EPERM, NONE, STD(10, 2), STD(10, 2), STD(10, 2))                       \
    /* Role request failed. */                                                       \
    X(OFPRRFC_BAD_ROLE, NX(1, 513), STD(11, 2), STD(11, 2), STD(11, 2))              \
    X(OFPRRFC_STALE, NONE, STD(11, 0), STD(11, 0), STD(11, 0))                       \
    X(OFPRRFC_UNSUP, NONE, STD(11, 1), STD(11, 1), STD(11, 1))                       \
    X(OFPRRFC_ID_UNSUP, NONE, NONE, NONE, STD(11, 3))                                \
    X(OFPRRFC_ID_IN_USE, NONE, NONE, NONE, STD(11, 4))                               \
    /* Meter mod failed. */                                                          \
    X(OFPMMFC_UNKNOWN, NONE, STD(12, 0), STD(12, 0), STD(12, 0))                     \
    X(OFPMMFC_METER_EXISTS, NONE, STD(12, 1), STD(12, 1), STD(12, 1))                \
    X(OFPMMFC_INVALID_METER, NONE, STD(12, 2), STD(12, 2), STD(12, 2))               \
    X(OFPMMFC_UNKNOWN_METER, NONE, STD(12, 3), STD(12, 3), STD(12, 3))               \
    X(OFPMMFC_BAD_COMMAND, NONE, STD(12, 4), STD(12, 4), STD(12, 4))                 \
    X(OFPMMFC_BAD_FLAGS, NONE, STD(12, 5), STD(12, 5), STD(12, 5))                   \
    X(OFPMMFC_BAD_RATE, NONE, STD(12, 6), STD(12, 6), STD(12, 6))                    \
    X(OFPMMFC_BAD_BURST, NONE, STD(12, 7), STD(12, 7), STD(12, 7))                   \
    X(OFPMMFC_BAD_BAND, NONE, STD(12, 8), STD(12, 8), STD(12, 8))                    \
    X(OFPMMFC_BAD_BAND_VALUE, NONE, STD(12, 9), STD(12, 9), STD(12, 9))              \
    X(OFPMMFC_OUT_OF_METERS, NONE, STD(12, 10), STD(12, 10), STD(12, 10))            \
    X(OFPMMFC_OUT_OF_BANDS, NONE, STD(12, 11), STD(12, 11), STD(12, 11))             \
    /* Table features failed. */                                                     \
    X(OFPTFFC_BAD_TABLE, NONE, STD(13, 0), STD(13, 0), STD(13, 0))                   \
    X(OFPTFFC_BAD_METADATA, NONE, STD(13, 1), STD(13, 1), STD(13, 1))                \
    X(OFPTFFC_EPERM, NONE, STD(13, 5), STD(13, 5), STD(13, 5))                       \
    X(OFPTFFC_BAD_CAPA, NONE, NONE, NONE, STD(13, 6))                                \
    X(OFPTFFC_BAD_MAX_ENT, NONE, NONE, NONE, STD(13, 7))                             \
    X(OFPTFFC_BAD_FEATURES, NONE, NONE, NONE, STD(13, 8))                            \
    X(OFPTFFC_BAD_COMMAND, NONE, NONE, NONE, STD(13, 9))                             \
    X(OFPTFFC_TOO_MANY, NONE, NONE, NONE, STD(13, 10))                               \
    X(NXTFFC_DUP_TABLE, NONE, NX(44, 0), NX(44, 0), NX(44, 0))                       \
    /* Bad property. */                                                              \
    X(OFPBPC_BAD_TYPE, NX(13, 2), STD(13, 2), STD(14, 0), STD(14, 0))                \
    X(OFPBPC_BAD_LEN, NX(13, 3), STD(13, 3), STD(14, 1), STD(14, 1))                 \
    X(OFPBPC_BAD_VALUE, NX(13, 4), STD(13, 4), STD(14, 2), STD(14, 2))               \
    X(OFPBPC_TOO_MANY, NX(14, 3), NONE, STD(14, 3), STD(14, 3))                      \
    X(OFPBPC_DUP_TYPE, NX(14, 4), NONE, STD(14, 4), STD(14, 4))                      \
    X(OFPBPC_BAD_EXPERIMENTER, NX(14, 5), NONE, STD(14, 5), STD(14, 5))              \
    X(OFPBPC_BAD_EXP_TYPE, NX(14, 6), NONE, STD(14, 6), STD(14, 6))                  \
    X(OFPBPC_BAD_EXP_VALUE, NX(14, 7), NONE, STD(14, 7), STD(14, 7))                 \
    X(OFPBPC_EPERM, NX(14, 8), NONE, STD(14, 8), STD(14, 8))                         \
    /* Asynchronous configuration failed. */                                         \
    X(OFPACFC_INVALID, NONE, ONF(2370, 0), STD(15, 0), STD(15, 0))                   \
    X(OFPACFC_UNSUPPORTED, NONE, ONF(2371, 0), STD(15, 1), STD(15, 1))               \
    X(OFPACFC_EPERM, NONE, ONF(2372, 0), STD(15, 2), STD(15, 2))                     \
    /* Flow monitor failed. */                                                       \
    X(OFPMOFC_MONITOR_EXISTS, NX(1, 517), NX(6, 0), STD(16, 1), STD(16, 1))          \
    X(OFPMOFC_BAD_FLAGS, NX(1, 518), NX(7, 0), STD(16, 5), STD(16, 5))               \
    X(OFPMOFC_UNKNOWN_MONITOR, NX(1, 519), NX(8, 0), STD(16, 3), STD(16, 3))         \
    X(OFPMOFC_UNKNOWN, NONE, NONE, STD(16, 0), STD(16, 0))                           \
    X(OFPMOFC_INVALID_MONITOR, NONE, NONE, STD(16, 2), STD(16, 2))                   \
    X(OFPMOFC_BAD_COMMAND, NONE, NONE, STD(16, 4), STD(16, 4))                       \
    X(OFPMOFC_BAD_TABLE_ID, NONE, NONE, STD(16, 6), STD(16, 6))                      \
    X(OFPMOFC_BAD_OUT, NONE, NONE, STD(16, 7), STD(16, 7))                           \
    /* Bundle failed. */                                                             \
    X(OFPBFC_UNKNOWN, NONE, ONF(2300, 0), STD(17, 0), STD(17, 0))                    \
    X(OFPBFC_EPERM, NONE, ONF(2301, 0), STD(17, 1), STD(17, 1))                      \
    X(OFPBFC_BAD_ID, NONE, ONF(2302, 0), STD(17, 2), STD(17, 2))                     \
    X(OFPBFC_BUNDLE_EXIST, NONE, ONF(2303, 0), STD(17, 3), STD(17, 3))               \
    X(OFPBFC_BUNDLE_CLOSED, NONE, ONF(2304, 0), STD(17, 4), STD(17, 4))              \
    X(OFPBFC_OUT_OF_BUNDLES, NONE, ONF(2305, 0), STD(17, 5), STD(17, 5))             \
    X(OFPBFC_BAD_TYPE, NONE, ONF(2306, 0), STD(17, 6), STD(17, 6))                   \
    X(OFPBFC_BAD_FLAGS, NONE, ONF(2307, 0), STD(17, 7), STD(17, 7))                  \
    X(OFPBFC_MSG_BAD_LEN, NONE, ONF(2308, 0), STD(17, 8), STD(17, 8))                \
    X(OFPBFC_MSG_BAD_XID, NONE, ONF(2309, 0), STD(17, 9), STD(17, 9))                \
    X(OFPBFC_MSG_UNSUP, NONE, ONF(2310, 0), STD(17, 10), STD(17, 10))                \
    X(OFPBFC_MSG_CONFLICT, NONE, ONF(2311, 0), STD(17, 11), STD(17, 11))             \
    X(OFPBFC_MSG_TOO_MANY, NONE, ONF(2312, 0), STD(17, 12), STD(17, 12))             \
    X(OFPBFC_MSG_FAILED, NONE, ONF(2313, 0), STD(17, 13), STD(17, 13))               \
    X(OFPBFC_TIMEOUT, NONE, ONF(2314, 0), STD(17, 14), STD(17, 14))                  \
    X(OFPBFC_BUNDLE_IN_PROGRESS, NONE, ONF(2315, 0), STD(17, 15), STD(17, 15))       \
    X(OFPBFC_SCHED_NOT_SUPPORTED, NONE, NONE, NONE, STD(17, 16))                     \
    X(OFPBFC_SCHED_FUTURE, NONE, NONE, NONE, STD(17, 17))                            \
    X(OFPBFC_SCHED_PAST, NONE, NONE, NONE, STD(17, 18))                              \
    X(OFPBFC_BAD_VERSION, NONE, NONE, NX(22, 0), NX(22, 0))                          \
    /* Tunnel option table. */                                                       \
    X(NXTTMFC_BAD_COMMAND, NX(1, 527), NX(16, 0), NX(16, 0), NX(16, 0))              \
    X(NXTTMFC_BAD_OPT_LEN, NX(1, 528), NX(17, 0), NX(17, 0), NX(17, 0))              \
    X(NXTTMFC_BAD_FIELD_IDX, NX(1, 529), NX(18, 0), NX(18, 0), NX(18, 0))            \
    X(NXTTMFC_TABLE_FULL, NX(1, 530), NX(19, 0), NX(19, 0), NX(19, 0))               \
    X(NXTTMFC_ALREADY_MAPPED, NX(1, 531), NX(20, 0), NX(20, 0), NX(20, 0))           \
    X(NXTTMFC_DUP_ENTRY, NX(1, 532), NX(21, 0), NX(21, 0), NX(21, 0))                \
    X(NXTTMFC_INVALID_TLV_DEL, NX(1, 537), NX(38, 0), NX(38, 0), NX(38, 0))          \
    /* Resume of a continuation. */                                                  \
    X(NXR_NOT_SUPPORTED, NX(1, 533), NX(34, 0), NX(34, 0), NX(34, 0))                \
    X(NXR_STALE, NX(1, 534), NX(35, 0), NX(35, 0), NX(35, 0))                        \
    /* Statistics. */                                                                \
    X(NXST_NOT_CONFIGURED, NX(1, 535), NX(36, 0), NX(36, 0), NX(36, 0))
/* clang-format on */

#endif
