/* Which CPUs there are, which of them the process may use, and which handler serves which. */
#ifndef IO_PLACEMENT_H
#define IO_PLACEMENT_H 1

/* One more than the highest CPU number that the machine can ever have (hot-add included); at least 1. */
unsigned int placement_n_possible_cpus(void);
/* CPUs in the process's affinity mask; at least 1.  Asked anew at each call, with a mask as large as the kernel's, so that
 * a machine with more possible CPU numbers than online ones is counted right. */
unsigned int placement_n_usable_cpus(void);
/* The handler, 0..N_HANDLERS-1, that upcalls of CPU go to. */
unsigned int placement_handler_of_cpu(unsigned int cpu, unsigned int n_handlers);
/* Thread counts that follow from the CPUs: as many handlers as CPUs; a quarter as many revalidators, and one. */
unsigned int placement_default_handlers(void);
unsigned int placement_default_revalidators(void);

#endif
