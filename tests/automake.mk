# Unit tests: one a noun, tests/unit/test-NOUN.c.  A program without a line of its own below is made of the .c of its name.
LDADD = $(UNIT_LIBS)
if HAVE_CMOCKA
check_PROGRAMS += \
	tests/unit/test-affinity \
	tests/unit/test-arena \
	tests/unit/test-attrbuf \
	tests/unit/test-cell \
	tests/unit/test-classifier \
	tests/unit/test-classifier-race \
	tests/unit/test-classifier-random \
	tests/unit/test-classifier-scale \
	tests/unit/test-counter \
	tests/unit/test-daemon \
	tests/unit/test-dispatch-cpu \
	tests/unit/test-dispatch \
	tests/unit/test-dpif-sim \
	tests/unit/test-dpif-sim-dump \
	tests/unit/test-dpif-sim-flow \
	tests/unit/test-dpif-sim-referee \
	tests/unit/test-dpif-upcall \
	tests/unit/test-evict \
	tests/unit/test-flow \
	tests/unit/test-flowprobe \
	tests/unit/test-histogram \
	tests/unit/test-jsonrpc \
	tests/unit/test-learn \
	tests/unit/test-link \
	tests/unit/test-lock \
	tests/unit/test-log \
	tests/unit/test-loop \
	tests/unit/test-mac tests/unit/test-meter tests/unit/test-dpif-sim-meter \
	tests/unit/test-nl \
	tests/unit/test-odp-actions \
	tests/unit/test-odp-key \
	tests/unit/test-odp-numbers \
	tests/unit/test-ofp-conn \
	tests/unit/test-ofp-hello \
	tests/unit/test-ofp-rconn tests/unit/test-controller \
	tests/unit/test-ofp-msg \
	tests/unit/test-ofp-msg-reply \
	tests/unit/test-ofp-action \
	tests/unit/test-ofp-field \
	tests/unit/test-ofp-match \
	tests/unit/test-odp-rewrite \
	tests/unit/test-ovsdb \
	tests/unit/test-ovsdb-row \
	tests/unit/test-packet \
	tests/unit/test-placement \
	tests/unit/test-port-limit \
	tests/unit/test-port-numbers \
	tests/unit/test-rcvbuf-budget \
	tests/unit/test-recirc \
	tests/unit/test-sched \
	tests/unit/test-sched-limit \
	tests/unit/test-session-pool \
	tests/unit/test-settings \
	tests/unit/test-stream \
	tests/unit/test-stream-name \
	tests/unit/test-tables \
	tests/unit/test-sleeper \
	tests/unit/test-thread \
	tests/unit/test-tls \
	tests/unit/test-ukey \
	tests/unit/test-unixctl \
	tests/unit/test-upcall-peek \
	tests/unit/test-util \
	tests/unit/test-vlan-config \
	tests/unit/test-wakeup \
	tests/unit/test-xlate \
	tests/unit/test-xlate-config \
	tests/unit/test-xlate-ct \
	tests/unit/test-xlate-ct-data \
	tests/unit/test-xlate-random \
	tests/unit/test-xlate-tables \
	tests/unit/test-xlate-trace tests/unit/test-xlate-group \
	tests/unit/test-xlate-multipath \
	tests/unit/test-pin \
	tests/unit/test-ofproto-packet \
	tests/unit/test-monitor tests/unit/test-port-mod \
	tests/unit/test-slow \
	tests/unit/test-odp-apply \
	tests/unit/test-xlate-tables-random \
	tests/sim/test-engine \
	tests/sim/test-engine-failures \
	tests/sim/test-engine-handover \
	tests/sim/test-engine-learn \
	tests/sim/test-engine-limit \
	tests/sim/test-engine-recirc \
	tests/sim/test-packet-in \
	tests/sim/test-engine-show \
	tests/sim/test-scale \
	tests/system/test-dpif-kernel
tests_unit_test_classifier_SOURCES = tests/unit/test-classifier.c tests/unit/classifier-kit.h
tests_unit_test_classifier_race_SOURCES = tests/unit/test-classifier-race.c tests/unit/classifier-kit.h
tests_unit_test_classifier_scale_SOURCES = tests/unit/test-classifier-scale.c tests/unit/classifier-kit.h
tests_unit_test_classifier_random_SOURCES = tests/unit/test-classifier-random.c tests/unit/classifier-kit.h
tests_unit_test_ofp_match_CPPFLAGS = $(AM_CPPFLAGS) -DSRCDIR='"$(srcdir)"'
tests_unit_test_dispatch_SOURCES = tests/unit/test-dispatch.c tests/unit/dpif-sim-kit.h
tests_unit_test_dispatch_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=dpif_channel_open,--wrap=dpif_channel_set_rcvbuf \
	-Wl,--wrap=dpif_channel_drops
tests_unit_test_dpif_sim_SOURCES = tests/unit/test-dpif-sim.c tests/unit/dpif-sim-kit.h
tests_unit_test_dpif_sim_meter_SOURCES = tests/unit/test-dpif-sim-meter.c tests/unit/dpif-sim-kit.h
tests_unit_test_meter_SOURCES = tests/unit/test-meter.c tests/unit/xlate-tables-kit.h tests/unit/xlate-kit.h
tests_unit_test_meter_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=dpif_meter_set,--wrap=clock_msec
tests_unit_test_dpif_sim_dump_SOURCES = tests/unit/test-dpif-sim-dump.c tests/unit/dpif-sim-kit.h
tests_unit_test_dpif_sim_flow_SOURCES = tests/unit/test-dpif-sim-flow.c tests/unit/dpif-sim-kit.h
tests_unit_test_dpif_sim_referee_SOURCES = tests/unit/test-dpif-sim-referee.c tests/unit/dpif-sim-kit.h
tests_unit_test_flowprobe_SOURCES = tests/unit/test-flowprobe.c utilities/flowprobe.c utilities/flowcount.c
tests_unit_test_ofp_conn_SOURCES = tests/unit/test-ofp-conn.c tests/unit/io-kit.h
tests_unit_test_ofp_hello_SOURCES = tests/unit/test-ofp-hello.c tests/unit/io-kit.h
tests_unit_test_ofproto_packet_SOURCES = tests/unit/test-ofproto-packet.c tests/unit/io-kit.h
tests_unit_test_monitor_SOURCES = tests/unit/test-monitor.c tests/unit/io-kit.h
tests_unit_test_port_mod_SOURCES = tests/unit/test-port-mod.c tests/unit/io-kit.h tests/unit/xlate-tables-kit.h tests/unit/xlate-kit.h
tests_unit_test_controller_SOURCES = tests/unit/test-controller.c tests/unit/io-kit.h
tests_unit_test_ofp_rconn_SOURCES = tests/unit/test-ofp-rconn.c tests/unit/io-kit.h
tests_unit_test_ofp_msg_SOURCES = tests/unit/test-ofp-msg.c tests/ofp/ofp-msg-text.c tests/ofp/ofp-msg-text.h
tests_unit_test_port_numbers_SOURCES = tests/unit/test-port-numbers.c vswitchd/port-numbers.c
tests_unit_test_sched_SOURCES = tests/unit/test-sched.c tests/unit/sched-kit.h
tests_unit_test_sched_limit_SOURCES = tests/unit/test-sched-limit.c tests/unit/sched-kit.h
tests_unit_test_settings_SOURCES = tests/unit/test-settings.c vswitchd/settings.c
tests_unit_test_stream_SOURCES = tests/unit/test-stream.c tests/unit/stream-kit.h tests/unit/io-kit.h
tests_unit_test_stream_name_SOURCES = tests/unit/test-stream-name.c tests/unit/io-kit.h
tests_unit_test_tls_SOURCES = tests/unit/test-tls.c tests/unit/stream-kit.h tests/unit/io-kit.h
tests_unit_test_vlan_config_SOURCES = tests/unit/test-vlan-config.c vswitchd/vlan-config.c
tests_unit_test_xlate_SOURCES = tests/unit/test-xlate.c tests/unit/xlate-kit.h
tests_unit_test_xlate_random_SOURCES = tests/unit/test-xlate-random.c tests/unit/xlate-kit.h
tests_unit_test_xlate_ct_data_SOURCES = tests/unit/test-xlate-ct-data.c tests/unit/xlate-tables-kit.h tests/unit/xlate-kit.h
tests_unit_test_xlate_ct_data_CPPFLAGS = $(AM_CPPFLAGS) -DSRCDIR='"$(srcdir)"'
tests_unit_test_xlate_ct_SOURCES = tests/unit/test-xlate-ct.c tests/unit/xlate-tables-kit.h tests/unit/xlate-kit.h
tests_unit_test_xlate_tables_SOURCES = tests/unit/test-xlate-tables.c tests/unit/xlate-tables-kit.h tests/unit/xlate-kit.h
tests_unit_test_xlate_group_SOURCES = tests/unit/test-xlate-group.c tests/unit/xlate-tables-kit.h tests/unit/xlate-kit.h
tests_unit_test_xlate_multipath_SOURCES = tests/unit/test-xlate-multipath.c tests/unit/xlate-tables-kit.h tests/unit/xlate-kit.h
tests_unit_test_xlate_trace_SOURCES = tests/unit/test-xlate-trace.c tests/unit/xlate-tables-kit.h tests/unit/xlate-kit.h
tests_unit_test_xlate_tables_random_SOURCES = tests/unit/test-xlate-tables-random.c tests/unit/xlate-tables-kit.h tests/unit/xlate-kit.h
tests_sim_test_engine_learn_SOURCES = tests/sim/test-engine-learn.c tests/unit/xlate-tables-kit.h tests/unit/xlate-kit.h
tests_unit_test_evict_SOURCES = tests/unit/test-evict.c tests/unit/xlate-tables-kit.h tests/unit/xlate-kit.h
tests_unit_test_learn_SOURCES = tests/unit/test-learn.c tests/unit/xlate-tables-kit.h tests/unit/xlate-kit.h
tests_unit_test_learn_CPPFLAGS = $(AM_CPPFLAGS) -DSRCDIR='"$(srcdir)"'
tests_unit_test_learn_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=learn_queue_wait
EXTRA_DIST += tests/ofp/make-learn-data tests/ofp/learn.in tests/ofp/learn.data
tests_unit_test_tables_SOURCES = tests/unit/test-tables.c tests/unit/xlate-tables-kit.h tests/unit/xlate-kit.h
tests_sim_test_engine_SOURCES = tests/sim/test-engine.c tests/sim/sim-world.c tests/sim/sim-world-check.c tests/sim/sim-world.h \
	tests/sim/sim-kit.h
tests_sim_test_engine_failures_SOURCES = tests/sim/test-engine-failures.c tests/sim/engine-net-kit.h tests/sim/sim-kit.h
tests_sim_test_packet_in_SOURCES = tests/sim/test-packet-in.c tests/sim/engine-net-kit.h tests/sim/sim-kit.h \
	tests/unit/xlate-tables-kit.h tests/unit/xlate-kit.h
tests_sim_test_engine_handover_SOURCES = tests/sim/test-engine-handover.c tests/sim/engine-net-kit.h tests/sim/sim-kit.h
tests_sim_test_engine_recirc_SOURCES = tests/sim/test-engine-recirc.c tests/unit/xlate-tables-kit.h tests/unit/xlate-kit.h
tests_sim_test_scale_SOURCES = tests/sim/test-scale.c tests/sim/big-world.c tests/sim/big-ports.c \
	tests/sim/big-machine.c tests/sim/big-check.c tests/sim/big-world.h tests/sim/sim-kit.h
tests_unit_test_session_pool_SOURCES = tests/unit/test-session-pool.c tests/unit/dpif-sim-kit.h
tests_system_test_dpif_kernel_SOURCES = tests/system/test-dpif-kernel.c tests/system/dpif-kernel-kit.h
tests_unit_test_sleeper_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=ppoll,--wrap=epoll_pwait,--wrap=tgkill
tests_unit_test_session_pool_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=dpif_operate,--wrap=dpif_session_open,--wrap=dpif_session_close
tests_unit_test_dispatch_cpu_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=dpif_set_dispatch
tests_sim_test_engine_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=upcall_account,--wrap=dispatch_kernel_grace_period
tests_sim_test_scale_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=upcall_account,--wrap=sched_add,--wrap=dispatch_kernel_grace_period \
	-Wl,--wrap=dpif_set_dispatch
tests_sim_test_engine_show_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=unixctl_reply_take,--wrap=unixctl_error
tests_sim_test_engine_failures_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=dpif_session_open,--wrap=dpif_channel_open \
	-Wl,--wrap=dpif_set_dispatch,--wrap=dpif_port_set_pid,--wrap=epoll_ctl,--wrap=epoll_create1,--wrap=thread_start
tests_sim_test_engine_handover_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=dpif_channel_open,--wrap=dpif_channel_close,--wrap=epoll_ctl \
	-Wl,--wrap=sleeper_wake
endif

# System tests: scenarios on the real kernel datapath, in a guest.  "make check" leaves them out.
#   make check-system        all, in User Mode Linux
#   make check-system-qemu   those of keyword "dispatch", with four CPUs in QEMU
# TESTSUITEFLAGS go to the Autotest script; VSWITCHD and WRAPPER say what is tested (tests/system/harness.sh).
SYSTEM_AT = \
	tests/system/testsuite.at \
	tests/system/macros.at \
	tests/system/flowtools.at \
	tests/system/openflow.at \
	tests/system/controller.at \
	tests/system/conntrack.at \
	tests/system/trace.at \
	tests/system/megaflow.at tests/system/scale.at \
	tests/system/packet-in.at tests/system/meter.at tests/system/group.at tests/system/actions.at \
	tests/system/openflow-flows.txt \
	tests/system/learn.at \
	tests/system/monitor.at \
	tests/system/portmod.at \
	tests/system/ping.at \
	tests/system/herd.at \
	tests/system/change.at \
	tests/system/affinity.at tests/system/stall.at \
	tests/system/vlan.at \
	tests/system/ports.at \
	tests/system/restart.at \
	tests/system/patch.at \
	tests/system/fdb.at \
	tests/system/commands.at \
	tests/system/upcall-show.at \
	tests/system/upcall-limit.at \
	tests/system/misuse.at \
	tests/system/dispatch-misuse.at \
	tests/system/churn.at \
	tests/system/ovs-ctl.at
EXTRA_DIST += tests/ofp/make-match-data tests/ofp/match.in tests/ofp/match.data tests/ofp/make-ct-data tests/ofp/ct.data
tests_unit_test_ofp_action_CPPFLAGS = $(AM_CPPFLAGS) -DSRCDIR='"$(srcdir)"'
EXTRA_DIST += tests/ofp/make-action-data tests/ofp/action.in tests/ofp/action.data tests/ofp/make-bad-action-data \
	tests/ofp/bad-action.data
EXTRA_DIST += $(SYSTEM_AT) tests/system/harness.sh tests/system/run tests/system/learning_switch.py tests/system/connections.py \
	tests/system/valgrind.supp
CLEANFILES += tests/system/testsuite tests/system/package.m4
AUTOM4TE = autom4te

tests/system/testsuite: $(SYSTEM_AT) Makefile
	$(AM_V_GEN)$(MKDIR_P) tests/system && \
	printf 'm4_define([AT_PACKAGE_%s], [%s])\n' NAME '$(PACKAGE_NAME)' TARNAME '$(PACKAGE_TARNAME)' \
	    VERSION '$(PACKAGE_VERSION)' STRING '$(PACKAGE_STRING)' BUGREPORT '$(PACKAGE_BUGREPORT)' \
	    URL '$(PACKAGE_URL)' >tests/system/package.m4 && \
	$(AUTOM4TE) --language=autotest -I tests/system -I $(srcdir)/tests/system -o $@.tmp $(srcdir)/tests/system/testsuite.at && \
	mv $@.tmp $@

check-system: all tests/system/testsuite
	$(srcdir)/tests/system/run --guests 2 $(srcdir) . $(TESTSUITEFLAGS)

check-system-qemu: all tests/system/testsuite
	$(srcdir)/tests/system/run --kernel qemu --cpus 4 $(srcdir) . -k dispatch $(TESTSUITEFLAGS)

clean-local: clean-system
clean-system:
	rm -rf tests/system/uml tests/system/qemu

.PHONY: check-system check-system-qemu clean-system

# Fuzzing: `tests/fuzz/fuzz-NOUN DIRECTORY` searches on and on; `make check` runs each for a moment, from its seeds, and
# `boot.sh check` for a minute.
EXTRA_DIST += tests/fuzz/seeds tests/fuzz/run
dist_check_SCRIPTS += \
	tests/fuzz/briefly-odp-key \
	tests/fuzz/briefly-ofp-action \
	tests/fuzz/briefly-ofp-match \
	tests/fuzz/briefly-ofp-msg \
	tests/fuzz/briefly-ofp-session
if HAVE_FUZZER
noinst_PROGRAMS += tests/fuzz/fuzz-odp-key tests/fuzz/fuzz-ofp-match
tests_fuzz_fuzz_odp_key_SOURCES = tests/fuzz/fuzz-odp-key.c
tests_fuzz_fuzz_odp_key_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer
tests_fuzz_fuzz_odp_key_LDADD = $(SLUICE_LIBS)
noinst_PROGRAMS += tests/fuzz/fuzz-ofp-msg
tests_fuzz_fuzz_ofp_msg_SOURCES = tests/fuzz/fuzz-ofp-msg.c tests/ofp/ofp-msg-text.c tests/ofp/ofp-msg-text.h
tests_fuzz_fuzz_ofp_msg_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer
tests_fuzz_fuzz_ofp_msg_LDADD = $(SLUICE_LIBS)
tests_fuzz_fuzz_ofp_match_SOURCES = tests/fuzz/fuzz-ofp-match.c
tests_fuzz_fuzz_ofp_match_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer
tests_fuzz_fuzz_ofp_match_LDADD = $(SLUICE_LIBS)
noinst_PROGRAMS += tests/fuzz/fuzz-ofp-session
tests_fuzz_fuzz_ofp_session_SOURCES = tests/fuzz/fuzz-ofp-session.c
tests_fuzz_fuzz_ofp_session_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer
tests_fuzz_fuzz_ofp_session_LDADD = $(SLUICE_LIBS)
noinst_PROGRAMS += tests/fuzz/fuzz-ofp-action
tests_fuzz_fuzz_ofp_action_SOURCES = tests/fuzz/fuzz-ofp-action.c
tests_fuzz_fuzz_ofp_action_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer
tests_fuzz_fuzz_ofp_action_LDADD = $(SLUICE_LIBS)
endif

# Models of the lanes' hand-over and of revalidation, checked by spin.
EXTRA_DIST += tests/model/lane.pml tests/model/dep.pml
dist_check_SCRIPTS += tests/model/check-model

# OpenFlow messages: those of ovs-ofctl, and ours that it must understand.
EXTRA_DIST += tests/ofp/capture-requests tests/ofp/requests.txt tests/ofp/requests-more.txt tests/ofp/requests.expected \
	tests/ofp/replies.txt
dist_check_SCRIPTS += tests/ofp/check-replies

# ofproto/trace beside the packaged daemon's.
EXTRA_DIST += tests/trace/switches.py tests/trace/pipelines.py tests/trace/traces.py
dist_check_SCRIPTS += tests/trace/check-trace
