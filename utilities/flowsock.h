/* Packet sockets that receive probes, with their times of arrival, and tell what they could not keep. */
#ifndef FLOWSOCK_H
#define FLOWSOCK_H 1

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct flow_device;

struct flowsock {
    int fd; /* Not blocking; to be read with recvmsg() or recvmmsg(), the time as SCM_TIMESTAMPNS. */
    const char *device;
    bool failed; /* For the reader: it was told that this socket had an error. */
};

void flowsock_open(struct flowsock *k, const struct flow_device *d, uint16_t ethertype, const uint32_t *streams,
                   size_t n_streams);
void flowsock_close(struct flowsock *k);
uint64_t flowsock_dropped(const struct flowsock *k);
uint64_t flowsock_backlog_dropped(void);

#endif
