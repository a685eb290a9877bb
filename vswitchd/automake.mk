# L4: the process.
sbin_PROGRAMS += vswitchd/ovs-vswitchd
vswitchd_ovs_vswitchd_SOURCES = \
	vswitchd/main.c \
	vswitchd/options.c vswitchd/options.h \
	vswitchd/shutdown.c vswitchd/shutdown.h \
	vswitchd/control.h \
	vswitchd/process-ctl.c \
	vswitchd/datapath-ctl.c \
	vswitchd/fdb-ctl.c \
	vswitchd/view.c vswitchd/view.h \
	vswitchd/vswitch.h \
	vswitchd/schema.c \
	vswitchd/reconfigure.c \
	vswitchd/sync.c \
	vswitchd/wish.c \
	vswitchd/settings.c vswitchd/settings.h \
	vswitchd/vlan-config.c vswitchd/vlan-config.h \
	vswitchd/datapath.c \
	vswitchd/iface.c \
	vswitchd/local.c \
	vswitchd/port-numbers.c vswitchd/port-numbers.h \
	vswitchd/openflow.c vswitchd/controllers.c vswitchd/flow-tables.c \
	vswitchd/publish.c \
	vswitchd/status.c \
	vswitchd/events.c
vswitchd_ovs_vswitchd_LDADD = $(SLUICE_LIBS)
dist_man_MANS += vswitchd/ovs-vswitchd.8
