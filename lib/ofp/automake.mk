# L2: OpenFlow on the wire.
lib_libsluice_a_SOURCES += \
	lib/ofp/ofp-conn.c lib/ofp/ofp-conn.h \
	lib/ofp/ofp-error.c lib/ofp/ofp-error.h lib/ofp/ofp-error-list.h \
	lib/ofp/ofp-field.c lib/ofp/ofp-field.h lib/ofp/ofp-field-list.h \
	lib/ofp/ofp-hello.c lib/ofp/ofp-hello.h \
	lib/ofp/ofp-listener.c lib/ofp/ofp-listener.h \
	lib/ofp/ofp-rconn.c lib/ofp/ofp-rconn.h
