/* Histograms as JSON, for the commands that answer in it. */
#ifndef RPC_HISTOGRAM_JSON_H
#define RPC_HISTOGRAM_JSON_H 1

#include <jansson.h>

struct histogram;

/* {"n":,"mean_ns":,"p50_ns":,"p90_ns":,"p99_ns":,"p999_ns":,"max_ns":,"buckets":[[UPPER_NS,COUNT],...]}: the buckets
 * that are not empty, upward; the upper bound of the last of all, which has none, is the maximum.  From any thread.  A
 * new reference. */
json_t *histogram_to_json(const struct histogram *h);

#endif
