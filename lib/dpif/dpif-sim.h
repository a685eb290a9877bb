/* The simulated datapath: what tests may do to it.
 *
 * dpif_open("sim", NAME) makes or finds an in-memory datapath that answers as the kernel's does.  Datapaths belong
 * to the process, not to the handle: like the kernel's they stay, with their ports and flows, when their last dpif is
 * closed, so that a restart of the daemon can be played.  sim_reset() removes them all.
 *
 * A test plays the network (sim_inject(), the output callback), the machine (the clock, the CPU, vanishing devices)
 * and the kernel's bad days (faults, old kernels).
 *
 * Channels.  What dpif_channel_open() returns is one end of a pair of SOCK_SEQPACKET sockets; on it arrive the
 * messages that the kernel would send, each a datagram.  Port ids are numbers that the sim hands out, unique in the
 * process.  A message takes sim_charge(LENGTH) bytes of the queue, as in the kernel: 1,280 for a small upcall.
 * The queue takes a message if it is empty or the sum stays within the 'rcvbuf' given to dpif_channel_open(), which is
 * used literally, not doubled.  What does not fit is dropped and counted, for the channel and as lost, and does not
 * latch the channel (the kernel's behaviour under NETLINK_NO_ENOBUFS).  Without CAP_NET_ADMIN a queue also ends where
 * net.core.wmem_max does, as a kernel's ends at rmem_max.
 *
 * Everything here may be called from any thread, with no lock of a rank above SIM held, except where it says otherwise.
 */
#ifndef DPIF_DPIF_SIM_H
#define DPIF_DPIF_SIM_H 1

#include "lib/dpif/dpif.h"

/* What SIM_FAULT_* does; ARG is the argument of sim_set_fault().  0 ends a fault. */
enum sim_fault {
    SIM_FAULT_PUT_EEXIST,   /* The next ARG puts do nothing and answer -EEXIST. */
    SIM_FAULT_PUT_FAIL,     /* The next ARG puts do nothing and answer -ENOMEM. */
    SIM_FAULT_REPLY_LOST,   /* The next ARG ops are done, and answer -ENOBUFS as if the reply had been lost. */
    SIM_FAULT_EVENTS_LOST,  /* The next ARG port events are not delivered, but reported as -ENOBUFS. */
    SIM_FAULT_SLOW_PIDS,    /* After each change of port ids, the next ARG upcalls still go to the old ones. */
    SIM_FAULT_CHANNEL_FULL, /* The next ARG upcalls find their channel full. */
    SIM_FAULT_PORT_ADD,     /* The next port add fails with error ARG (positive, an errno). */
    SIM_FAULT_DUMP_REPEAT,  /* Dumps report the next ARG flows twice. */
    SIM_FAULT_DUMP_OMIT,    /* Dumps leave out the next ARG flows. */
    SIM_FAULT_DUMP_FAIL,    /* The next ARG calls of dpif_flow_dump_next() answer -EINTR. */
    SIM_N_FAULTS
};
void sim_set_fault(struct dpif *dpif, enum sim_fault fault, uint64_t arg);

/* Which kernel datapaths opened from now on play. */
enum sim_kernel {
    SIM_KERNEL_CURRENT,    /* The default: per-CPU dispatch, UFIDs, upcall counts, a reply pid for EXECUTE. */
    SIM_KERNEL_NO_PER_CPU, /* As Linux 5.14: upcalls are dispatched per port only. */
    SIM_KERNEL_OLD,        /* Also without UFIDs: flows are known by their keys; one VLAN; no clone, trunc, drop. */
};
void sim_set_kernel(enum sim_kernel kernel);

/* Removes all datapaths (open handles then see -ENODEV), and puts clock, kernel and step callback back. */
void sim_reset(void);

/* The clock that 'used' of flow statistics is read from: MSEC from now on; 0: CLOCK_MONOTONIC again. */
void sim_set_time(uint64_t msec);
/* The CPU that requests of the calling thread run on (0 at first): upcalls of EXECUTE depend on it. */
void sim_set_thread_cpu(unsigned int cpu);
/* CB is called, without a lock, before each op and each dump step; WHERE names it.  A seeded scheduler switches threads
 * there, or takes the time a late answer takes.  NULL: none. */
typedef void sim_step_cb(const char *where, void *aux);
void sim_set_step_cb(sim_step_cb *cb, void *aux);

/* FRAME arrives from port IN_PORT on CPU: it is looked up, and its flow's actions are carried out, or a miss upcall is
 * sent.  A frame of a port that is not there, or too short for an Ethernet header, is ignored. */
void sim_inject(struct dpif *dpif, odp_port_t in_port, unsigned int cpu, const void *frame, size_t len);

/* CB is called for each frame that leaves through a port, in the thread that caused it, with no lock held: it
 * may inject and make requests.  FRAME is valid during the call.  NULL: frames vanish. */
typedef void sim_output_cb(odp_port_t port, const void *frame, size_t len, void *aux);
void sim_set_output_cb(struct dpif *dpif, sim_output_cb *cb, void *aux);

/* The device behind the port NAME disappears: the port goes, with an event.  -ENODEV: there is no such port. */
int sim_port_vanish(struct dpif *dpif, const char *name);

/* What the kernel would tell only its log. */
struct sim_counts {
    uint64_t n_outputs;       /* Frames that left through a port. */
    uint64_t n_action_errors; /* Actions not carried out: unknown to the sim, or nested too deep. */
    uint64_t n_cpu_mismatch;  /* Upcalls from a CPU with no entry of its own among the pids. */
    uint64_t n_stale_pids;    /* Upcalls that went to old pids by SIM_FAULT_SLOW_PIDS. */
    uint64_t n_miss_upcalls;  /* Upcalls delivered to a channel, by kind. */
    uint64_t n_action_upcalls;
    uint64_t n_executes;
    uint64_t n_puts, n_dels; /* That succeeded. */
    uint64_t n_set_dispatch;
    enum dpif_dispatch dispatch;
    size_t n_pids;
};
void sim_get_counts(struct dpif *dpif, struct sim_counts *ret_counts);

/* What a netlink message of LEN bytes takes of a socket's receive buffer: its socket buffer's true size. */
size_t sim_charge(size_t len);
/* Descriptors that the simulation holds in the kernel's stead: one a channel.  All else takes as many as on the kernel: a channel, a
 * session, a datapath's events, a dump (one is kept for the next). */
size_t sim_n_kernel_fds(void);
/* Messages sent and not yet read, of the channel with port id PID; 0 if there is none such. */
size_t sim_channel_depth(struct dpif *dpif, uint32_t pid);

#endif
