lib_libsluice_a_SOURCES += \
	lib/odp/odp-actions-print.c \
	lib/odp/odp-actions-scan.c \
	lib/odp/odp-actions.c \
	lib/odp/odp-actions.h \
	lib/odp/odp-apply.c \
	lib/odp/odp-apply.h \
	lib/odp/odp-attr.h \
	lib/odp/odp-cookie.c \
	lib/odp/odp-cookie.h \
	lib/odp/odp-ct.c \
	lib/odp/odp-ct.h \
	lib/odp/odp-field-scan.c \
	lib/odp/odp-field.c \
	lib/odp/odp-field.h \
	lib/odp/odp-key-print.c \
	lib/odp/odp-key-put.c \
	lib/odp/odp-key-scan.c \
	lib/odp/odp-key-scan.h \
	lib/odp/odp-key.c \
	lib/odp/odp-key.h \
	lib/odp/odp-proto.h \
	lib/odp/odp-rewrite.c \
	lib/odp/odp-rewrite.h \
	lib/odp/odp-text.c \
	lib/odp/odp-text.h \
	lib/odp/odp-tunnel-scan.c \
	lib/odp/odp-tunnel.c
