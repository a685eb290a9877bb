lib_libsluice_a_SOURCES += \
	lib/pkt/flow.c \
	lib/pkt/flow.h \
	lib/pkt/match.h \
	lib/pkt/packet-build.c \
	lib/pkt/packet-build.h \
	lib/pkt/packet.c \
	lib/pkt/packet.h
