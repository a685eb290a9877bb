#! /bin/bash
# boot.sh - from a fresh Debian 12 to a running Sluice, or to all of its tests.
#
#   ./boot.sh demo    builds, and shows two network namespaces talking through Sluice on a real kernel datapath
#   ./boot.sh check   builds, and runs every test
#
# Both first say which packages are missing and install them (as root, or by sudo); elsewhere than on Debian they print
# the list and stop.  SLUICE_PACKAGES=ignore skips that.  All that is built and logged is below build/.

set -u
cd "$(dirname "$0")" || exit 1
top=$PWD
jobs=$(nproc)

# What every build needs, what a guest under User Mode Linux needs, and what only the tests need.
build_packages=(autoconf automake libtool pkg-config make gcc libc6-dev liburcu-dev libmnl-dev libevent-dev
    libjansson-dev libnuma-dev libssl-dev libxxhash-dev systemtap-sdt-dev)
run_packages=(openvswitch-switch openvswitch-common iproute2 iputils-ping iputils-arping kmod procps util-linux)
uml_packages=(user-mode-linux busybox-static)
qemu_packages=(qemu-system-x86 busybox-static cpio xz-utils)
check_packages=(clang libclang-rt-14-dev llvm libcmocka-dev python3 tcpdump valgrind cppcheck spin ethtool jq
    openssl openvswitch-testcontroller python3-os-ken)

usage() {
    sed -n '2,/^$/s/^# \{0,1\}//p' "$0"
}

say() { printf '\n== %s\n' "$*"; }

die() {
    echo "boot.sh: $*" >&2
    exit 1
}

# --- Packages -------------------------------------------------------------------------------------------------------

is_debian() { [[ -r /etc/os-release ]] && (. /etc/os-release && [[ ${ID-} = debian ]]); }

as_root() {
    if (($(id -u) == 0)); then
        "$@"
    else
        sudo -- "$@"
    fi
}

policy=/usr/sbin/policy-rc.d
policy_made=no

remove_policy() {
    if [[ $policy_made = yes ]]; then
        as_root rm -f "$policy"
        policy_made=no
    fi
}

# Installs what is missing of the packages named.  No service is started: a running Open vSwitch would hold the
# datapath that the demo wants, and nobody asked for one.
need() {
    local package missing=()

    [[ ${SLUICE_PACKAGES-} != ignore ]] || return 0
    if ! is_debian; then
        echo "This is not Debian.  Needed are, by Debian's names of packages:"
        printf '  %s\n' "$@"
        echo "When they are there, run again with SLUICE_PACKAGES=ignore."
        exit 1
    fi
    for package; do
        [[ $(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) = installed ]] || missing+=("$package")
    done
    ((${#missing[@]})) || return 0
    say "Installing ${#missing[@]} Debian packages"
    printf '%s\n' "${missing[*]}" | fold -s -w 100
    (($(id -u) == 0)) || command -v sudo >/dev/null || die "installing packages needs root, or sudo"
    if [[ ! -e $policy ]]; then
        trap remove_policy EXIT
        trap 'exit 130' INT
        trap 'exit 143' TERM
        policy_made=yes
        printf '#!/bin/sh\nexit 101\n' | as_root tee "$policy" >/dev/null && as_root chmod 755 "$policy"
    fi
    mkdir -p "$top/build/logs"
    {
        as_root apt-get -q update &&
            as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y --no-install-recommends install "${missing[@]}"
    } </dev/null >"$top/build/logs/packages.log" 2>&1 || {
        tail -n 20 "$top/build/logs/packages.log"
        die "the packages could not be installed; see build/logs/packages.log"
    }
    remove_policy
}

# --- Build ----------------------------------------------------------------------------------------------------------

# build DIRECTORY [CONFIGURE-ARGUMENT]...: configures there, if that is not done with these arguments, and makes.
build() {
    local dir=$1
    shift
    if [[ ! -x configure || -n $(find configure.ac Makefile.am -newer configure) ]]; then
        autoreconf --install || return 1
    fi
    mkdir -p "$dir" || return 1
    (
        cd "$dir" || exit 1
        if [[ ! -e Makefile || $(cat configure-arguments 2>/dev/null) != "$*" ]]; then
            "$top/configure" "$@" && echo "$*" >configure-arguments || exit 1
        fi
        make -j"$jobs"
    )
}

# --- Demo -----------------------------------------------------------------------------------------------------------

has_datapath() { [[ -d /sys/module/openvswitch ]] || as_root modprobe openvswitch 2>/dev/null; }

demo() {
    local log=build/logs/build.log
    mkdir -p build/logs

    need "${build_packages[@]}" "${run_packages[@]}"
    say "Building (log: $log)"
    build build >"$log" 2>&1 || {
        tail -n 30 "$log"
        die "the build failed"
    }
    if has_datapath; then
        say "The demo, on this machine's kernel"
        as_root utilities/demo build/vswitchd/ovs-vswitchd
        return
    fi
    need "${uml_packages[@]}"
    if utilities/guest --timeout 60 -- test -d /sys/module/openvswitch 2>"$log.uml"; then
        say "The demo, in User Mode Linux (this machine's kernel has no openvswitch module)"
        utilities/guest --timeout 150 -- utilities/demo build/vswitchd/ovs-vswitchd
    else
        tail -n 3 "$log.uml"
        need "${qemu_packages[@]}"
        say "The demo, in QEMU (this machine's kernel has no openvswitch module, and User Mode Linux does not start)"
        utilities/guest --kernel qemu --timeout 170 -- utilities/demo build/vswitchd/ovs-vswitchd
    fi
}

# --- Check ----------------------------------------------------------------------------------------------------------

passed=0 failed=0 skipped=0 broken=()

count() { # PASSED FAILED SKIPPED
    passed=$((passed + $1)) failed=$((failed + $2)) skipped=$((skipped + $3))
    result="$1 of $(($1 + $2)) passed"
    (($3 == 0)) || result+=", $3 left out"
}

# The counts in a log: of Automake's summary, or of tests/system/run.
read_counts() {
    awk '
        /^# (PASS|XFAIL):/ { p += $3; seen = 1 }
        /^# (FAIL|XPASS|ERROR):/ { f += $3; seen = 1 }
        /^# SKIP:/ { s += $3; seen = 1 }
        /^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$/ { p += $1; f += $3; s += $5; seen = 1 }
        END { if (seen) print p + 0, f + 0, s + 0 }' "$1"
}

# phase NAME SECONDS COMMAND...: runs it for at most that long; its output goes to a log, its counts are added up.  One
# that fails without saying which test failed counts as a failure itself; "build" phases are not tests.
phase() {
    local name=$1 begin=$SECONDS

    printf '%-44s' "$name ..."
    limited "$@"
    verdict "$name" "$2" $? $((SECONDS - begin))
}

# limited NAME SECONDS COMMAND...
limited() {
    local log=build/logs/${1// /-}.log limit=$2

    shift 2
    timeout --kill-after=30 "$limit" "$@" </dev/null >"$log" 2>&1
}

# verdict NAME SECONDS STATUS TOOK: what is to be said of it.
verdict() {
    local log=build/logs/${1// /-}.log limit=$2 rc=$3 took=$4 counts result=

    counts=$(read_counts "$log")
    if [[ -n $counts ]]; then
        # shellcheck disable=SC2086
        count $counts
    fi
    if ((rc == 0)); then
        printf '%4d s  ok%s\n' "$took" "${result:+: $result}"
        return 0
    fi
    [[ $counts =~ ^[0-9]+\ [1-9] ]] || failed=$((failed + 1))
    ((rc != 124 && rc != 137)) || result="the time limit of $limit s ran out"
    printf '%4d s  FAILED%s (%s)\n' "$took" "${result:+: $result}" "$log"
    broken+=("$log")
    return 1
}

# beside NAME SECONDS COMMAND...: begins a phase beside the next one; joined says what became of it.
beside() {
    beside=("$@")
    { begin=$SECONDS; limited "$@"; echo $? $((SECONDS - begin)); } >build/logs/beside &
}

joined() {
    local rc=1 took=0

    wait
    printf '%-44s' "${beside[0]} ..."
    read -r rc took <build/logs/beside
    verdict "${beside[0]}" "${beside[1]}" "$rc" "$took"
}

# Runs each program in a guest, as a test of its own: status 77 is "not here".
guest_program() { # KERNEL CPUS PROGRAM...
    local kernel=$1 cpus=$2 program p=0 f=0 s=0
    shift 2
    for program; do
        [[ ${program##*/} != *.* && -x $program ]] || continue
        echo "$program"
        utilities/guest --kernel "$kernel" --cpus "$cpus" --timeout 300 -- "$program"
        case $? in
            0) p=$((p + 1)) ;;
            77) s=$((s + 1)) ;;
            *) f=$((f + 1)) ;;
        esac
    done
    echo "$p passed, $f failed, $s skipped"
    ((f == 0))
}

# Shows what went wrong: the logs of the tests that failed.
show_failures() {
    local log test
    for log in "${broken[@]}"; do
        say "$log (its end)"
        tail -n 40 "$log"
    done
    for log in $(find build/check build/asan -name '*.trs' -exec grep -l '^:test-result: \(FAIL\|ERROR\)' {} + 2>/dev/null); do
        say "${log%.trs}.log"
        tail -n 60 "${log%.trs}.log"
    done
    for test in $(find build -path '*/testsuite.dir/*/testsuite.log' -exec grep -l 'FAILED (' {} + 2>/dev/null); do
        say "$test"
        tail -n 60 "$test"
        if [[ -s ${test%/*}/ovs-vswitchd.log ]]; then
            say "${test%/*}/ovs-vswitchd.log (its end)"
            tail -n 30 "${test%/*}/ovs-vswitchd.log"
        fi
    done
    # Once more in short, for who sees only the end: which check it was, and what it got.
    for log in $(find build/check build/asan -name '*.trs' -exec grep -l '^:test-result: \(FAIL\|ERROR\)' {} + 2>/dev/null); do
        say "In short: ${log%.trs}.log"
        tail -n 8 "${log%.trs}.log" | cut -c 1-200
    done
    for test in $(find build -path '*/testsuite.dir/*/testsuite.log' -exec grep -l 'FAILED (' {} + 2>/dev/null); do
        say "In short: $test"
        grep -E -B 10 'FAILED \(' "$test" | tail -n 11 | cut -c 1-200
    done
}

check() {
    mkdir -p build/logs
    need "${build_packages[@]}" "${run_packages[@]}" "${uml_packages[@]}" "${qemu_packages[@]}" "${check_packages[@]}"
    export -f build guest_program
    export top jobs

    say "Checking; the logs are in build/logs"
    phase "build, gcc" 600 bash -c 'build build/check --enable-Werror --enable-debug CC=gcc'
    phase "build, clang and sanitizers" 900 \
        bash -c 'build build/asan --enable-Werror --enable-debug --enable-asan CC=clang "CFLAGS=-g -O1"'
    [[ -x build/check/vswitchd/ovs-vswitchd ]] && phase "unit tests, gcc" 600 make -C build/check -j"$jobs" check
    [[ -x build/asan/vswitchd/ovs-vswitchd ]] && phase "unit tests, clang and sanitizers" 900 make -C build/asan -j"$jobs" check
    [[ -x build/asan/vswitchd/ovs-vswitchd ]] &&
        phase "fuzzing, a minute each" 900 tests/fuzz/run --seconds 60 --jobs "$jobs" . build/asan
    if [[ -x build/check/vswitchd/ovs-vswitchd ]]; then
        phase "kernel tests in UML" 400 bash -c 'guest_program uml 1 build/check/tests/system/test-*'
        phase "scenarios in UML" 3600 make -C build/check check-system
        phase "QEMU kernel image" 300 utilities/guest --kernel qemu --fetch
    fi
    # Two guests that have four CPUs, and use one most of the time: one beside the other.
    [[ -x build/asan/vswitchd/ovs-vswitchd ]] &&
        beside "dispatch scenarios in QEMU, sanitizers" 2400 make -C build/asan check-system-qemu
    [[ -x build/check/vswitchd/ovs-vswitchd ]] && phase "dispatch scenarios in QEMU, 4 CPUs" 1800 make -C build/check check-system-qemu
    [[ -x build/asan/vswitchd/ovs-vswitchd ]] && joined
    if ((${#broken[@]})); then
        show_failures
        echo
        echo "Not all is well: ${broken[*]}"
    fi
    if ((passed + failed)); then
        echo
        echo "$passed passed, $failed failed, $skipped skipped"
    fi
    ((failed == 0 && passed > 0))
}

case ${1-} in
    demo) demo ;;
    check) check ;;
    -h | --help) usage ;;
    *)
        usage >&2
        exit 2
        ;;
esac
