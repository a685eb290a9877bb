lib_libsluice_a_SOURCES += \
	lib/dpif/channel.c lib/dpif/channel.h lib/dpif/channel-set.c lib/dpif/channel-set.h \
	lib/dpif/dispatch.c lib/dpif/dispatch.h lib/dpif/dispatch-provider.h \
	lib/dpif/dispatch-cpu.c lib/dpif/dispatch-loss.c lib/dpif/dispatch-port.c \
	lib/dpif/session-pool.c lib/dpif/session-pool.h \
	lib/dpif/rcvbuf-budget.c lib/dpif/rcvbuf-budget.h
lib_libsluice_a_SOURCES += \
	lib/dpif/dpif-kernel-dp.c \
	lib/dpif/dpif-kernel-flow.c \
	lib/dpif/dpif-kernel-operate.c \
	lib/dpif/dpif-kernel-port.c \
	lib/dpif/dpif-kernel-probe.c lib/dpif/dpif-kernel-meter.c lib/dpif/dpif-sim-meter.c \
	lib/dpif/dpif-kernel.c lib/dpif/dpif-kernel.h \
	lib/dpif/dpif-provider.h \
	lib/dpif/dpif-upcall.c lib/dpif/dpif-upcall.h \
	lib/dpif/dpif.c lib/dpif/dpif.h
lib_libsluice_a_SOURCES += \
	lib/dpif/dpif-sim-channel.c \
	lib/dpif/dpif-sim-check.c \
	lib/dpif/dpif-sim-ct.c \
	lib/dpif/dpif-sim-dump.c \
	lib/dpif/dpif-sim-flow.c \
	lib/dpif/dpif-sim-map.c \
	lib/dpif/dpif-sim-packet.c \
	lib/dpif/dpif-sim-port.c \
	lib/dpif/dpif-sim-private.h \
	lib/dpif/dpif-sim.c lib/dpif/dpif-sim.h
