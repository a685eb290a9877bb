# L2: OpenFlow on the wire.
lib_libsluice_a_SOURCES += \
	lib/ofp/ofp-conn.c \
	lib/ofp/ofp-conn.h \
	lib/ofp/ofp-cursor.h \
	lib/ofp/ofp-error-list.h \
	lib/ofp/ofp-error.c \
	lib/ofp/ofp-error.h \
	lib/ofp/ofp-field-list.h \
	lib/ofp/ofp-field-text.c \
	lib/ofp/ofp-field.c \
	lib/ofp/ofp-field.h \
	lib/ofp/ofp-header.c \
	lib/ofp/ofp-hello.c \
	lib/ofp/ofp-hello.h \
	lib/ofp/ofp-listener.c \
	lib/ofp/ofp-listener.h \
	lib/ofp/ofp-match-get.c \
	lib/ofp/ofp-match-print.c \
	lib/ofp/ofp-match-put.c \
	lib/ofp/ofp-match-scan.c \
	lib/ofp/ofp-match.h \
	lib/ofp/ofp-match10.c \
	lib/ofp/ofp-msg-bundle.c \
	lib/ofp/ofp-msg-flow-mod.c \
	lib/ofp/ofp-msg-flow-stats.c \
	lib/ofp/ofp-msg-flow.h \
	lib/ofp/ofp-msg-list.h \
	lib/ofp/ofp-msg-monitor.c \
	lib/ofp/ofp-msg-packet.c \
	lib/ofp/ofp-msg-packet.h \
	lib/ofp/ofp-msg-parts.c \
	lib/ofp/ofp-msg-port.c \
	lib/ofp/ofp-msg-port.h \
	lib/ofp/ofp-msg-queue.c \
	lib/ofp/ofp-msg-role.c \
	lib/ofp/ofp-msg-session.c \
	lib/ofp/ofp-msg-session.h \
	lib/ofp/ofp-msg-table.c \
	lib/ofp/ofp-msg-table.h \
	lib/ofp/ofp-msg.c \
	lib/ofp/ofp-msg.h \
	lib/ofp/ofp-rconn.c \
	lib/ofp/ofp-rconn.h \
	lib/ofp/ofp-subfield.c
lib_libsluice_a_SOURCES += \
	lib/ofp/ofp-action.c lib/ofp/ofp-action.h lib/ofp/ofp-action-list.h lib/ofp/ofp-action-private.h \
	lib/ofp/ofp-action-check.c lib/ofp/ofp-action-controller.c lib/ofp/ofp-action-ct.c lib/ofp/ofp-action-field.c \
	lib/ofp/ofp-action-flow.c lib/ofp/ofp-action-hash.c lib/ofp/ofp-action-learn.c lib/ofp/ofp-action-number.c \
	lib/ofp/ofp-action-output.c lib/ofp/ofp-action-print.c lib/ofp/ofp-action-scan.c lib/ofp/ofp-action-verify.c \
	lib/ofp/ofp-instruction.c
