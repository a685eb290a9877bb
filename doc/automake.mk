EXTRA_DIST += doc/architecture.md doc/testing.md
