/* A chained hash table for the simulated datapath.
 *
 * Nodes are embedded in what they belong to; the table grows by doubling and never shrinks.  The caller locks. */
#include <config.h>

#include <stdlib.h>

#include "lib/base/util.h"
#include "lib/dpif/dpif-sim-private.h"

/* Frees the table; what it held is the caller's. */
void sim_map_uninit(struct sim_map *m)
{
    free(m->buckets);
    *m = (struct sim_map){ .n = 0 };
}

static void sim_map_grow(struct sim_map *m)
{
    size_t n_buckets = m->n_buckets ? m->n_buckets * 2 : 16;
    struct sim_node **buckets = xcalloc(n_buckets, sizeof *buckets);

    for (size_t i = 0; i < m->n_buckets; i++) {
        struct sim_node *next;
        for (struct sim_node *node = m->buckets[i]; node; node = next) {
            struct sim_node **head = &buckets[node->hash & (n_buckets - 1)];
            next = node->next;
            node->next = *head;
            *head = node;
        }
    }
    free(m->buckets);
    m->buckets = buckets;
    m->n_buckets = n_buckets;
}

/* Adds NODE under HASH; equal hashes may be many. */
void sim_map_insert(struct sim_map *m, struct sim_node *node, uint64_t hash)
{
    if (m->n >= m->n_buckets) {
        sim_map_grow(m);
    }
    struct sim_node **head = &m->buckets[hash & (m->n_buckets - 1)];
    node->hash = hash;
    node->next = *head;
    *head = node;
    m->n++;
}

/* Takes NODE, which must be in M, out. */
void sim_map_remove(struct sim_map *m, struct sim_node *node)
{
    struct sim_node **p = &m->buckets[node->hash & (m->n_buckets - 1)];

    while (*p != node) {
        p = &(*p)->next;
    }
    *p = node->next;
    m->n--;
}

static struct sim_node *sim_map_skip(struct sim_node *node, uint64_t hash)
{
    while (node && node->hash != hash) {
        node = node->next;
    }
    return node;
}

/* Returns the first node under HASH, or NULL. */
struct sim_node *sim_map_first(const struct sim_map *m, uint64_t hash)
{
    return m->n ? sim_map_skip(m->buckets[hash & (m->n_buckets - 1)], hash) : NULL;
}

/* Returns the next node under NODE's hash, or NULL. */
struct sim_node *sim_map_next(const struct sim_node *node) { return sim_map_skip(node->next, node->hash); }
