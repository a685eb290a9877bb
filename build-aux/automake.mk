# Checks of the tree itself.  They look at $srcdir, so they work from any build directory.
dist_check_SCRIPTS += build-aux/check-layers build-aux/check-sizes
AM_TESTS_ENVIRONMENT = srcdir='$(abs_top_srcdir)'; export srcdir;
