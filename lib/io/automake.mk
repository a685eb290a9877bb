# L1: threads, the event loop, the process.
lib_libsluice_a_SOURCES += \
	lib/io/daemon.c lib/io/daemon.h \
	lib/io/daemon-monitor.c \
	lib/io/daemon-pidfile.c \
	lib/io/daemon-private.h \
	lib/io/daemon-user.c \
	lib/io/affinity.c lib/io/affinity.h \
	lib/io/loop.c lib/io/loop.h \
	lib/io/machine.c lib/io/machine.h \
	lib/io/placement.c lib/io/placement.h \
	lib/io/stream.c lib/io/stream.h \
	lib/io/stream-listener.c lib/io/stream-listener.h \
	lib/io/stream-name.c lib/io/stream-name.h \
	lib/io/sleeper.c lib/io/sleeper.h \
	lib/io/thread.c lib/io/thread.h \
	lib/io/tls.c lib/io/tls.h \
	lib/io/unix-socket.c lib/io/unix-socket.h \
	lib/io/wakeup.c lib/io/wakeup.h
