lib_libsluice_a_SOURCES += \
	ofproto/mac.c ofproto/mac.h \
	ofproto/mac-bundle.c ofproto/mac-bundle.h \
	ofproto/xlate-config.c ofproto/xlate-config.h
lib_libsluice_a_SOURCES += \
	ofproto/cell.c ofproto/cell.h ofproto/port-ledger.c ofproto/port-ledger.h ofproto/sched.c ofproto/sched.h \
	ofproto/crew.c ofproto/crew.h ofproto/handler-help.c ofproto/handler-private.h \
	ofproto/upcall-peek.c ofproto/upcall-peek.h \
	ofproto/engine.c ofproto/engine.h ofproto/engine-private.h \
	ofproto/engine-ctl.c ofproto/engine-packet.c ofproto/engine-ctl.h ofproto/engine-dump.c ofproto/engine-place.c \
	ofproto/engine-show.c ofproto/engine-show-ports.c ofproto/engine-show.h \
	ofproto/flow-ops.c ofproto/flow-ops.h ofproto/flowcache.h \
	ofproto/handler.c ofproto/handler.h ofproto/handler-watch.c \
	ofproto/port-limit.c ofproto/port-limit.h \
	ofproto/reval-flow.c ofproto/reval-flow.h \
	ofproto/revalidators.c ofproto/revalidators.h \
	ofproto/dep.h ofproto/ukey.c ofproto/ukey.h \
	ofproto/upcall.h ofproto/upcall-parse.c ofproto/upcall-translate.c ofproto/upcall-install.c \
	ofproto/xlate.c ofproto/xlate.h ofproto/xlate-normal.c ofproto/xlate-ctx.h \
	ofproto/xlate-trace.c ofproto/xlate-trace.h \
	ofproto/trace-ctl.c ofproto/trace-flow.c ofproto/trace-print.c ofproto/trace.h ofproto/engine-flow.c \
	ofproto/tables-ctl.c \
	ofproto/xlate-pipeline.c ofproto/xlate-pipeline.h ofproto/xlate-actions.c ofproto/xlate-acts.c ofproto/xlate-acts.h \
	ofproto/xlate-ct.c ofproto/xlate-fence.c ofproto/xlate-recirc.c ofproto/recirc.c ofproto/recirc.h ofproto/ct-check.c ofproto/ct-check.h \
	ofproto/xlate-controller.c ofproto/xlate-meter.c \
	ofproto/meter.c ofproto/meter.h ofproto/ofproto-meter.c \
	ofproto/group.c ofproto/group.h ofproto/ofproto-group.c ofproto/xlate-group.c \
	ofproto/xlate-hash.c ofproto/xlate-multipath.c ofproto/xlate-check-len.c \
	ofproto/pin.c ofproto/pin.h ofproto/slow.c ofproto/slow.h \
	ofproto/rule.c ofproto/rule.h ofproto/tables.c ofproto/tables.h ofproto/flow-mod.c ofproto/flow-mod.h \
	ofproto/ofproto.c ofproto/ofproto.h ofproto/ofproto-private.h ofproto/ofconn.c \
	ofproto/ofproto-session.c ofproto/ofproto-port.c ofproto/ofproto-table.c ofproto/ofproto-flow.c \
	ofproto/ofproto-packet.c ofproto/ofconn-rate.c \
	ofproto/ofproto-flow-stats.c ofproto/ofproto-bundle.c ofproto/ofproto-none.c
lib_libsluice_a_SOURCES += ofproto/controller.c ofproto/controller.h ofproto/controller-private.h ofproto/fail-mode.c ofproto/snoop.c
lib_libsluice_a_SOURCES += ofproto/odp-numbers.c ofproto/odp-numbers.h
lib_libsluice_a_SOURCES += \
	ofproto/classifier.c ofproto/classifier.h ofproto/classifier-private.h \
	ofproto/classifier-find.c ofproto/classifier-lookup.c \
	ofproto/classifier-mask.c ofproto/classifier-mask.h \
	ofproto/classifier-slots.c ofproto/classifier-slots.h \
	ofproto/classifier-trie.c ofproto/classifier-trie.h
lib_libsluice_a_SOURCES += \
	ofproto/lesson.c ofproto/lesson.h ofproto/learned.c ofproto/learned.h ofproto/learn-queue.c ofproto/learn-queue.h \
	ofproto/xlate-learn.c ofproto/upcall-learn.c ofproto/ofproto-learn.c \
	ofproto/evict.c ofproto/evict.h ofproto/ofproto-limit.c
lib_libsluice_a_SOURCES += ofproto/ofproto-monitor.c ofproto/ofproto-monitor.h ofproto/ofproto-catchup.c
