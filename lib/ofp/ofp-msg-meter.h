/* Messages about meters, of OpenFlow 1.3, 1.4 and 1.5, which have them in the same form.  See ofp-msg.h. */
#ifndef OFP_MSG_METER_H
#define OFP_MSG_METER_H 1

#include "lib/ofp/ofp-msg.h"

#define OFPM_MAX 0xffff0000u /* The last that is not virtual; the first is 1. */
/* Virtual meters: of all packets that the slow path gets, and of those to controllers.  OFPM_ALL stands for all meters. */
#define OFPM_SLOWPATH   0xfffffffdu
#define OFPM_CONTROLLER 0xfffffffeu
#define OFPM_ALL        0xffffffffu

enum ofp_meter_command { OFPMC_ADD, OFPMC_MODIFY, OFPMC_DELETE };

/* Flags. */
#define OFPMF_KBPS  (1 << 0) /* Rates are kbit/s, bursts kbit. */
#define OFPMF_PKTPS (1 << 1) /* Rates are packets/s, bursts packets. */
#define OFPMF_BURST (1 << 2) /* Bursts are given. */
#define OFPMF_STATS (1 << 3)
#define OFPMF_ALL (OFPMF_KBPS | OFPMF_PKTPS | OFPMF_BURST | OFPMF_STATS)

#define OFPMBT_DROP 1 /* The only type of band that is taken. */

struct ofp_meter_band {
    uint32_t rate, burst;
};

struct ofp_meter_mod {
    enum ofp_meter_command command;
    uint32_t id;
    uint16_t flags;
    struct bytes bands; /* As on the wire; DELETE: none, whatever was there. */
};

/* OFPMMFC_BAD_COMMAND, OFPMMFC_BAD_FLAGS; of bands OFPBRC_BAD_LEN, OFPMMFC_BAD_BAND. */
enum ofp_error ofp_decode_meter_mod(const struct ofp_msg *msg, struct ofp_meter_mod *ret_mod);
size_t ofp_meter_n_bands(const struct ofp_meter_mod *mod);
struct ofp_meter_band ofp_meter_band(const struct ofp_meter_mod *mod, size_t i);

/* METER_STATS_REQUEST and METER_CONFIG_REQUEST: of which meter, or OFPM_ALL. */
uint32_t ofp_decode_meter_request(const struct ofp_msg *msg);

struct ofp_meter_band_stats {
    uint64_t packets, bytes;
};
struct ofp_meter_stats {
    uint32_t id, n_flows;
    uint64_t packets, bytes;
    uint32_t duration_sec, duration_nsec;
    const struct ofp_meter_band_stats *bands;
    size_t n_bands;
};
/* 0 or -EMSGSIZE, as ofp_reply_commit(). */
int ofp_reply_meter_stats(struct ofp_reply *r, const struct ofp_meter_stats *stats);

struct ofp_meter_config {
    uint32_t id;
    uint16_t flags;
    const struct ofp_meter_band *bands;
    size_t n_bands;
};
int ofp_reply_meter_config(struct ofp_reply *r, const struct ofp_meter_config *config);

struct ofp_meter_features {
    uint32_t max_meters;
    uint32_t band_types; /* 1 << OFPMBT_*. */
    uint32_t capabilities; /* OFPMF_*. */
    uint8_t max_bands, max_color;
};
int ofp_reply_meter_features(struct ofp_reply *r, const struct ofp_meter_features *f);

#endif
