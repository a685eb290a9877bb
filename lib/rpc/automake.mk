lib_libsluice_a_SOURCES += \
	lib/rpc/histogram-json.c lib/rpc/histogram-json.h \
	lib/rpc/jsonrpc.c lib/rpc/jsonrpc.h \
	lib/rpc/ovsdb.c lib/rpc/ovsdb.h lib/rpc/ovsdb-private.h \
	lib/rpc/ovsdb-row.c \
	lib/rpc/ovsdb-table.c \
	lib/rpc/ovsdb-txn.c \
	lib/rpc/rpc-socket.c lib/rpc/rpc-socket.h \
	lib/rpc/unixctl.c lib/rpc/unixctl.h \
	lib/rpc/unixctl-command.c lib/rpc/unixctl-private.h
