EXTRA_DIST += doc/architecture.md doc/dispatch.md doc/testing.md
