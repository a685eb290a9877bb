# L0: what everything stands on.
lib_libsluice_a_SOURCES += \
	lib/base/arena.c lib/base/arena.h \
	lib/base/buf.c lib/base/buf.h \
	lib/base/clock.c lib/base/clock.h \
	lib/base/compiler.h \
	lib/base/counter.c lib/base/counter.h \
	lib/base/dirs.c lib/base/dirs.h \
	lib/base/hash.c lib/base/hash.h \
	lib/base/histogram.c lib/base/histogram.h \
	lib/base/lock.c lib/base/lock.h \
	lib/base/log.c lib/base/log.h \
	lib/base/log-file.c \
	lib/base/log-pattern.c lib/base/log-pattern.h \
	lib/base/log-private.h \
	lib/base/log-spec.c \
	lib/base/log-syslog.c \
	lib/base/rcu.h \
	lib/base/types.h \
	lib/base/util.c lib/base/util.h \
	lib/base/version.h
