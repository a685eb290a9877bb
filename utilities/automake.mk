# Scripts that are run from the source tree.
EXTRA_DIST += utilities/guest utilities/demo

# What `make bench-dispatch` measures by: see the head of the script.
noinst_PROGRAMS += utilities/null-handler
utilities_null_handler_SOURCES = utilities/null-handler.c
utilities_null_handler_LDADD = $(SLUICE_LIBS)
EXTRA_DIST += utilities/bench-dispatch utilities/benchkit.py utilities/benchchange.py

bench-dispatch: all
	$(srcdir)/utilities/bench-dispatch --builddir . $(BENCHFLAGS)

.PHONY: bench-dispatch

# Traffic for the tests and measurements; not installed.
noinst_PROGRAMS += utilities/flowgen utilities/flowsink
FLOW_SOURCES = utilities/flowprobe.c utilities/flowprobe.h utilities/flowopt.c utilities/flowopt.h
utilities_flowgen_SOURCES = utilities/flowgen.c $(FLOW_SOURCES)
utilities_flowgen_LDADD = lib/libsluice.a $(URCU_LIBS)
utilities_flowsink_SOURCES = utilities/flowsink.c utilities/flowcount.c utilities/flowcount.h \
	utilities/flowsock.c utilities/flowsock.h $(FLOW_SOURCES)
utilities_flowsink_LDADD = lib/libsluice.a $(URCU_LIBS)
