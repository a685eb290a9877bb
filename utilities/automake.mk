# Scripts that are run from the source tree.
EXTRA_DIST += utilities/guest utilities/demo
