/* The version of Open vSwitch whose commands, database columns and log lines this daemon answers like.  Scripts parse
 * it from `version` and --version.  Sluice's own version is PACKAGE_VERSION, from configure.ac. */
#ifndef BASE_VERSION_H
#define BASE_VERSION_H 1

#define OVS_COMPAT_VERSION "3.1.0"

#endif
