lib_libsluice_a_SOURCES += \
	lib/nl/attrbuf.c lib/nl/attrbuf.h \
	lib/nl/nl-genl.c \
	lib/nl/nl.c lib/nl/nl.h
lib_libsluice_a_SOURCES += lib/nl/link.c lib/nl/link.h lib/nl/link-ethtool.c
