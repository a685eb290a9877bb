/* Cells: where upcalls wait.
 *
 * What has been read from a channel is copied into a cell and waits there until it is served, so the kernel's queues
 * can be read empty while a batch is still to be worked through.  (The copy of a small upcall, about 250 bytes, costs less than
 * a hundredth of its service; in return a waiting upcall holds 512 bytes, not a receive slot of 68 KiB.)
 *
 * A pool belongs to one handler, which alone takes cells from it and puts them back; nothing here locks.  Its memory is
 * address space, in slabs of SLAB_SIZE; a slab is cut into cells of one size when it is needed, and is free for another size when all
 * its cells are.  cell_pool_trim() gives the memory back to the system when nothing waits. */
#ifndef OFPROTO_CELL_H
#define OFPROTO_CELL_H 1

#include "lib/base/rcu.h"
#include "lib/dpif/dpif.h"

struct port_queue;

/* Bytes that may wait at one handler: 98,000 small upcalls, of which one port may have 68,000. */
#define CELL_POOL_SIZE (48 * 1024 * 1024)

struct cell {
    struct cds_wfcq_node node; /* Of the lane that it waits in. */
    struct port_queue *queue;  /* Of the port that it came in at. */
    uint64_t arrived;          /* ns; when it came up, or could have. */
    /* What its server measured, ns; the stages only if it was 'timed'. */
    uint64_t waited;
    uint32_t translate, install;
    bool timed;
    uint32_t size;             /* Of the cell, as it is charged. */
    uint32_t len;              /* Of the message. */
    struct dpif_upcall dp;     /* Points into 'msg'. */
    uint64_t msg[];            /* Aligned as netlink wants it. */
};

struct slab;
struct cell_pool {
    char *memory;
    struct slab *slabs; /* One each SLAB_SIZE of 'memory'. */
    unsigned int n_slabs, n_touched;
    struct slab *free;       /* Touched, and cut into nothing. */
    struct slab *partial[4]; /* By size: with at least one free cell. */
    unsigned int n_cut[4];   /* By size: slabs that are cut into it; */
    size_t taken[4];         /* bytes of them that are taken. */
    size_t size, used;       /* Bytes; of all cells that are taken. */
};

/* Makes a pool of at most SIZE bytes.  Returns 0 or -ENOMEM. */
int cell_pool_init(struct cell_pool *p, size_t size);
void cell_pool_uninit(struct cell_pool *p);
/* The size of a cell for a message of LEN bytes. */
size_t cell_size(size_t len);
/* Takes a cell for a message of LEN bytes; only 'size' and 'len' are set.  NULL: the pool is full, or LEN is more than any
 * upcall has. */
struct cell *cell_alloc(struct cell_pool *p, size_t len);
void cell_free(struct cell_pool *p, struct cell *c);
/* Bytes that may still be taken in cells for messages of LEN bytes, so that a sixteenth of the pool stays for each other size: the
 * memory of a slab is none for another size, however little of it is taken. */
size_t cell_pool_room(const struct cell_pool *p, size_t len);
/* Gives the memory of a pool of which nothing is taken back to the system, if it is worth a system call. */
void cell_pool_trim(struct cell_pool *p);

#endif
