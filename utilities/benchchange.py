"""What bench-dispatch measures of order, balance, and change without loss.  Its help says what follows.

  D3  1,000 trials of ten back-to-back packets of a new flow on one port: the share of trials whose packets all arrive,
      in order; with the ten in one system call of the generator, and each in its own
  D4  --ports ports, equally loaded with misses from every CPU: the busiest handler over the mean, in upcalls (Sluice
      tells), and in CPU time (all; the packaged daemon does not count upcalls by handler).  With dispatch per CPU each
      system has its default of handlers, one a CPU; with dispatch per port at least four
  C1  (and P8) misses at half of the system's own sustained rate (P2), and while they go on one of the changes below:
      what the receiver misses, duplicates, `lost` of the datapath, and p99 of the latency over that of as long a time
      without the change
  C2  the same changes, and deleting another bridge, while 500 flows have traffic: those whose UFID is gone afterwards,
      or that count fewer packets than before, so that they were made anew
  C3  four clients of the control socket ask what is commonly asked, at half the sustained rate: how long handlers were
      away from their channels, by what Sluice itself has counted; and latency.  (Where the clients take the same CPU,
      absence is mostly time in which they, not the handlers, had it)
  C4  --flows flows are dumped, and whoever asked for that stops reading: at the control socket (what an ovs-appctl is
      that was stopped by SIGSTOP), and at the kernel (a netlink dump).  Latency and loss at half the sustained rate,
      over those without
  C7  5,000 new flows wait in the kernel's queues and the daemon, stopped until then, is told to exit: what is missed

The changes: the number of handlers (4, 1, the default) and of revalidators (3, 1, the default); the CPU mask of all
threads (taskset; where there is more than one CPU); the mode of dispatch (the other one, and back; Sluice only); half
of --ports ports added, and deleted, in one transaction each; 1,000 flow-mods, and the rules' deletion;
dpctl/dump-flows, upcall/show and coverage/show, several times each.
"""
import json
import os
import re
import select
import signal
import socket
import struct
import subprocess
import threading
import time

import benchkit as kit

MISS_SECONDS = (2, 4, 8, 16, 32, 64)  # How long misses go on, so that times with and without a change are as long.
MARGIN = 0.5  # Seconds of misses before a change, and after it.
N_FLOW_MODS = 1000
KEPT = 500  # Flows with traffic, and packets of theirs a second.
LOST, DUPLICATES, KERNEL, RATIO = "packets lost", "duplicates", "lost by the kernel", "p99, times the undisturbed"


# --- Order and balance ----------------------------------------------------------------------------------------------

def scenario_d3(s, bench, args):
    ret = []
    for how, more in (("one system call", []), ("ten system calls", ["--batch", "1"])):
        s.quiesce()
        gen, sink = bench.send(1000, rate=200, per_flow=10, more=more)
        ret += [("%s: in order, %%" % how, sink["flows_in_order"] / 10),
                ("%s: packets lost" % how, gen["sent"] - sink["received"])]
    return ret


def handlers_json(s):
    return json.loads(s.app("upcall/show-handlers", "--json"))


def by_handler(s):
    """What each handler has done: "served", "received" (Sluice), "CPU time", by thread."""
    ret = {"CPU time": {tid: kit.cpu_seconds(s.pid, [tid]) for tid in kit.handlers(s.pid)}}
    if s.is_ours:
        for h in handlers_json(s)["handlers"]:
            ret.setdefault("upcalls served", {})[h["thread_id"]] = h["served"]
            ret.setdefault("upcalls received", {})[h["thread_id"]] = h["received"]
    return ret


def load_ports(bench, n, n_flows, rate):
    """Sends N_FLOWS from each of N ports, in all RATE a second, from every CPU as many.  Returns how many were sent."""
    gens = []
    for cpu in range(bench.n_cpus):
        devices = ["w%d" % i for i in range(cpu, n, bench.n_cpus)]
        gens.append(bench.start_gen(0, bench.stream(), n_flows * len(devices), rate=rate / bench.n_cpus, cpu=cpu,
                                    devices=devices, seconds=120))
    return sum(bench.finish(gen, 180)["sent"] for gen in gens)


def scenario_d4(s, bench, args):
    names = bench.spare(args.ports)
    n_handlers = max(4, bench.n_cpus) if s.mode == "per-port" else None
    begin = time.monotonic()
    if s.is_daemon:
        s.add_ports(names)
        if n_handlers:
            s.set_handlers(n_handlers)
    else:
        s.stop()
        s.start(n_handlers, names)
    added = time.monotonic() - begin
    try:
        s.quiesce()
        before, missed = by_handler(s), s.lookups()["missed"]
        # Far below what it can do: who is busy is not helped by who happens to be awake.
        sent = load_ports(bench, args.ports, 5, s.first_drain / 4)
        s.rest()
        after, missed = by_handler(s), s.lookups()["missed"] - missed
    finally:
        if s.is_daemon:
            s.del_ports(names)
            s.set_handlers(None)
        else:
            s.stop()
            s.start()
    ret = []
    for what in after:
        done = [n - before[what].get(tid, 0) for tid, n in after[what].items()]
        ret.append(("busiest handler over the mean, " + what, max(done) * len(done) / max(sum(done), 1e-9)))
    return ret + [("handlers", len(after["CPU time"])), ("flows sent", sent), ("upcalls", missed),
                  ("seconds to add the ports", added)]


# --- The changes ----------------------------------------------------------------------------------------------------

def change_handlers(s, bench, args):
    for n in (4, 1, None):
        s.set_handlers(n)


def change_revalidators(s, bench, args):
    for n in (3, 1, None):
        s.set("n-revalidator-threads", n)


def change_mask(s, bench, args):
    for cpus in ("0", "0-%d" % (bench.n_cpus - 1)):
        kit.run("taskset", "-a", "-p", "-c", cpus, str(s.pid))
        time.sleep(0.6)  # Sluice looks twice a second.


def change_mode(s, bench, args):
    for mode in ("per-port" if s.mode == "per-cpu" else "per-cpu", s.mode):
        s.set("upcall-dispatch", mode)


def add_ports(s, bench, args):
    s.add_ports(bench.spare(args.ports // 2))


def del_ports(s, bench, args):
    s.del_ports(bench.spare(args.ports // 2))


def other_bridge(s, bench, args):
    s.tool("ovs-vsctl", "add-br", "br1", "--", "add-port", "br1", "in1", "--", "set", "Interface", "in1",
           "type=internal")
    s.tool("ovs-vsctl", "del-br", "br1")


def flow_mods(s, bench, args):
    """1,000 rules are added, one by one, and all deleted.  No packet of ours meets them; but each is a change of the tables."""
    path = os.path.join(s.dir, "flows")
    with open(path, "w") as f:
        f.writelines("table=0,priority=7,arp,arp_tpa=10.%d.%d.1,actions=drop\n" % (i >> 8, i & 255)
                     for i in range(N_FLOW_MODS))
    s.tool("ovs-ofctl", "add-flows", "br0", path)
    s.tool("ovs-ofctl", "del-flows", "br0", "arp")


def asking(command, times):
    def ask(s, bench, args):
        with kit.Control(s) as control:
            for _ in range(times):
                control.ask(command)
    return ask


CHANGES = [("handlers", change_handlers), ("revalidators", change_revalidators), ("CPU mask", change_mask),
           ("mode", change_mode), ("ports added", add_ports), ("ports deleted", del_ports),
           ("flow-mods", flow_mods), ("dump-flows", asking("dpctl/dump-flows", 3)), ("upcall/show", asking("upcall/show", 50)),
           ("coverage/show", asking("coverage/show", 50))]


def changes(s, bench):
    """Those that system S can do."""
    return [(name, do) for name, do in CHANGES
            if (name != "CPU mask" or bench.n_cpus > 1) and (name != "mode" or s.is_ours)]


# --- Clients of the control socket ------------------------------------------------------------------------------------

class Clients:
    """Clients that go on asking, each in turn all of COMMANDS, until end()."""

    def __init__(self, s, n, commands):
        self.stop, self.counts, self.errors = False, [0] * n, []
        self.threads = [threading.Thread(target=self.run, args=(s, i, commands)) for i in range(n)]
        for t in self.threads:
            t.start()

    def run(self, s, i, commands):
        try:
            with kit.Control(s) as control:
                while not self.stop:
                    # Each begins with another one.
                    control.ask(*commands[(self.counts[i] + 2 * i) % len(commands)])
                    self.counts[i] += 1
        except (OSError, kit.BenchError) as e:
            self.errors.append("a client: %s" % e)

    def end(self):
        """Returns how many commands were answered."""
        self.stop = True
        for t in self.threads:
            t.join()
        if self.errors:
            raise kit.BenchError(self.errors[0])
        return sum(self.counts)


# --- Change without loss --------------------------------------------------------------------------------------------

def disturbed(s, bench, rate, what=None, seconds=0):
    """New flows at RATE, and while they go on WHAT() is done, if that is not None.  Returns what the receiver says, and
    `kernel`, what the datapath lost; `took`, how long WHAT() did, and `said`, what it returned; `seconds`, how long new
    flows were sent: SECONDS or more."""
    before = s.lookups()["lost"]
    with kit.Stream(bench, rate, MISS_SECONDS[-1] + 60) as stream:
        stream.run_until(MARGIN)
        begin = time.monotonic()
        said = what() if what else None
        took = time.monotonic() - begin
        least = max(seconds, took + 2 * MARGIN)
        seconds = next((n for n in MISS_SECONDS if n >= least), least)
        stream.run_until(seconds)
        sink = stream.end()
    sink.update(kernel=s.lookups()["lost"] - before, took=took, said=said, seconds=seconds)
    return sink


def latency(sink):
    return sink["setup_p99_us"] if sink["received"] else float("inf")


class Undisturbed:
    """p99 without a change, by the length of time."""

    def __init__(self, s, bench, rate):
        self.s, self.bench, self.rate, self.known = s, bench, rate, {}

    def p99(self, seconds):
        if seconds not in self.known:
            self.s.quiesce()
            sink = disturbed(self.s, self.bench, self.rate, seconds=seconds)
            if sink["lost"]:
                self.bench.note("%s: %d packets lost at half the sustained rate (%d/s), undisturbed" %
                                (self.s.label, sink["lost"], self.rate))
            self.known[seconds] = latency(sink)
        return self.known[seconds]


def scenario_c1(s, bench, args):
    if not s.is_daemon:
        return []
    bench.spare(args.ports // 2)
    rate = kit.sustained(s, bench, args.queue) / 2
    undisturbed = Undisturbed(s, bench, rate)
    ret = [("new flows/s", rate), ("undisturbed: p99, µs", undisturbed.p99(MISS_SECONDS[0]))]
    for name, do in changes(s, bench):
        begin = time.monotonic()
        try:
            s.quiesce()
            sink = disturbed(s, bench, rate, lambda do=do: do(s, bench, args))
            ret += [("%s: %s" % (name, figure), value) for figure, value in (
                (LOST, sink["lost"]), (DUPLICATES, sink["duplicates"]), (KERNEL, sink["kernel"]),
                (RATIO, latency(sink) / undisturbed.p99(sink["seconds"])), ("seconds it took", sink["took"]))]
            kit.say("C1 %s, %s: %.1f s of %.1f" % (s.label, name, sink["took"], time.monotonic() - begin))
        except (kit.BenchError, OSError, subprocess.TimeoutExpired) as e:
            bench.fail("C1 %s, %s: %r" % (s.label, name, e))
    return ret


def kept_flows(s, stream):
    """The datapath's flows of a stream: packets that each has counted, by UFID."""
    mac = r"src=02:%02x:%02x:" % (stream >> 8, stream & 255)
    ret = {}
    with kit.Control(s) as control:
        for line in control.ask("dpctl/dump-flows", "-m").splitlines():
            found = re.match(r"ufid:([0-9a-f-]+),.*" + mac + r".*packets:(\d+)", line)
            if found:
                ret[found.group(1)] = int(found.group(2))
    return ret


def scenario_c2(s, bench, args):
    if not s.is_daemon:
        return []
    bench.spare(args.ports // 2)
    s.quiesce()
    ret = []
    with kit.Stream(bench, KEPT, 300, kept=KEPT) as stream:
        kit.wait_for("flows with traffic", lambda: len(kept_flows(s, stream.id)) >= KEPT, 60)
        for name, do in changes(s, bench) + [("another bridge", other_bridge)]:
            before = kept_flows(s, stream.id)
            do(s, bench, args)
            time.sleep(1.2)  # Revalidators, which might delete them, had a round, and each flow a packet.
            after = kept_flows(s, stream.id)
            gone = sum(ufid not in after for ufid in before)
            anew = sum(ufid in after and after[ufid] < n for ufid, n in before.items())
            ret += [(name + ": flows gone", gone), (name + ": flows made anew", anew)]
        sink = stream.end()
    return ret + [("packets lost of flows with traffic", sink["lost"])]


# --- Control commands, and readers that do not read -----------------------------------------------------------------

COMMON = [("upcall/show",), ("dpctl/show",), ("coverage/show",), ("dpctl/dump-flows",), ("memory/show",),
          ("fdb/show", "br0"), ("dpif/show",), ("vlog/list",)]
OURS = [("upcall/show-handlers",), ("upcall/show-ports",)]


def absences(s):
    """How often handlers were away from their channels for so many ns, at most."""
    ret = {}
    answer = handlers_json(s)
    for h in answer["handlers"] + [answer["ended"]]:
        for upper, n in h["absence"]["buckets"]:
            ret[upper] = ret.get(upper, 0) + n
    return ret


def quantile(before, after, q):
    """Of what AFTER has more than BEFORE: the time that a share Q does not exceed, in µs; None if there is nothing."""
    more = sorted((upper, n - before.get(upper, 0)) for upper, n in after.items() if n > before.get(upper, 0))
    rank, total = q * sum(n for _, n in more), 0
    for upper, n in more:
        total += n
        if total >= rank:
            return upper / 1e3
    return None


def scenario_c3(s, bench, args):
    if not s.is_daemon:
        return []
    rate, seconds = kit.sustained(s, bench, args.queue) / 2, MISS_SECONDS[1]

    def ask():
        clients = Clients(s, 4, COMMON + (OURS if s.is_ours else []))
        try:
            time.sleep(seconds - 3 * MARGIN)
        finally:
            n = clients.end()
        return n

    def measure(when, what):
        s.quiesce()
        before = absences(s) if s.is_ours else {}
        sink = disturbed(s, bench, rate, what, seconds)
        after = absences(s) if s.is_ours else {}
        figures = [(LOST, sink["lost"]), ("p99, µs", latency(sink))]
        for name, q in (("absence, p99.9, µs", 0.999), ("absence, longest, µs", 1)):
            figures += [(name, us) for us in [quantile(before, after, q)] if us is not None]
        return sink, [("%s: %s" % (when, figure), value) for figure, value in figures]

    quiet, figures = measure("without commands", None)
    busy, more = measure("with commands", ask)
    return figures + more + [("with commands: " + RATIO, latency(busy) / latency(quiet)), ("commands", busy["said"])]


def netlink(kind, flags, body):
    return struct.pack("=IHHII", 16 + len(body), kind, flags, 1, 0) + body


def raw_dump(s):
    """Begins a dump of S's flows at the kernel and does not read it.  Returns the socket, to be closed."""
    sock = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 16)  # NETLINK_GENERIC
    name = b"ovs_flow\0"
    # CTRL_CMD_GETFAMILY of the controller, with CTRL_ATTR_FAMILY_NAME; the answer has CTRL_ATTR_FAMILY_ID.
    attr = struct.pack("=HH", 4 + len(name), 2) + name
    sock.send(netlink(16, 1, struct.pack("=BBH", 3, 1, 0) + attr.ljust((len(attr) + 3) & ~3, b"\0")))
    answer, family, at = sock.recv(65536), None, 20
    while at + 4 <= len(answer):
        size, kind = struct.unpack_from("=HH", answer, at)
        if kind == 1:
            family = struct.unpack_from("=H", answer, at + 4)[0]
        at += max((size + 3) & ~3, 4)
    if not family:
        raise kit.BenchError("the kernel has no ovs_flow")
    # OVS_FLOW_CMD_GET with NLM_F_REQUEST and NLM_F_DUMP.
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
    dp = socket.if_nametoindex(s.dp.split("@")[1])
    sock.send(netlink(family, 0x301, struct.pack("=BBHI", 3, 1, 0, dp)))
    select.select([sock], [], [], 10)
    if struct.unpack_from("=H", sock.recv(65536, socket.MSG_PEEK), 4)[0] != family:
        raise kit.BenchError("the dump did not begin")
    return sock


def control_dump(s):
    """The same, asked for at the control socket."""
    control = kit.Control(s)
    control.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    control.request("dpctl/dump-flows")
    # It has begun to answer; nobody will read more than this.
    control.socket.recv(1, socket.MSG_PEEK)
    return control.socket


def scenario_c4(s, bench, args):
    rate = kit.sustained(s, bench, args.queue) / 2
    if s.is_daemon:
        s.set("flow-limit", 1000000)
        s.set("max-idle", 3600000)
    try:
        s.quiesce()
        bench.send(args.flows, rate=1.6 * rate)
        there = s.lookups()["flows"]
        p99 = latency(disturbed(s, bench, rate))
        ret = [("flows in the datapath", there), ("undisturbed: p99, µs", p99)]
        for name, begin in (("control socket", control_dump), ("netlink", raw_dump)):
            if begin == control_dump and not s.is_daemon:
                continue
            reader = []
            try:
                sink = disturbed(s, bench, rate, lambda: reader.append(begin(s)), MISS_SECONDS[0])
            finally:
                for sock in reader:
                    sock.close()
            ret += [("%s: %s" % (name, figure), value) for figure, value in (
                (LOST, sink["lost"]), (KERNEL, sink["kernel"]), (RATIO, latency(sink) / p99))]
    finally:
        if s.is_daemon:
            s.set("flow-limit", None)
            s.set("max-idle", None)
    return ret


def scenario_c7(s, bench, args):
    s.quiesce()

    def end():
        os.kill(s.pid, signal.SIGTERM)
        os.kill(s.pid, signal.SIGCONT)

    os.kill(s.pid, signal.SIGSTOP)
    try:
        kit.wait_for("stop", lambda: kit.state(s.pid) in "Tt", 10)
        gen, sink = bench.send(args.queue, sent=end, idle_ms=5000)
        kit.wait_for("end of " + s.label, lambda: kit.is_gone(s.pid), 30)
    finally:
        s.stop()
        s.start()
    s.quiesce()
    return [("missed of what waited", gen["sent"] - sink["received"]), (DUPLICATES, sink["duplicates"])]


# --- What was promised ----------------------------------------------------------------------------------------------

SCENARIOS = {"D3": scenario_d3, "D4": scenario_d4, "C1": scenario_c1, "C2": scenario_c2, "C3": scenario_c3,
             "C4": scenario_c4, "C7": scenario_c7}


def promises(scenario, judge):
    """Yields sentences; JUDGE(figure, limit, text, least=...) yields one if there is such a figure."""
    if scenario == "D3":
        for how in ("one system call", "ten system calls"):
            yield from judge(how + ": in order, %", 99, "%% of the trials in order, sent in %s (at least 99 %%)" % how,
                             least=True)
    elif scenario == "D4":
        yield from judge("busiest handler over the mean, upcalls served", 1.25,
                         "times the mean is what the busiest handler serves (at most 1.25)")
    elif scenario == "C1":
        for name, _ in CHANGES:
            for figure in (LOST, DUPLICATES, KERNEL):
                yield from judge("%s: %s" % (name, figure), 0, "%s, %s (none)" % (figure, name))
            yield from judge("%s: %s" % (name, RATIO), 2, "times the undisturbed p99, %s (at most 2)" % name)
    elif scenario == "C2":
        for name, _ in CHANGES + [("another bridge", None)]:
            for figure in ("flows gone", "flows made anew"):
                yield from judge("%s: %s" % (name, figure), 0, "%s, %s (none)" % (figure, name))
    elif scenario == "C3":
        yield from judge("with commands: absence, p99.9, µs", 1000,
                         "µs is p99.9 of handlers' absence while commands run (at most 1,000)")
    elif scenario == "C4":
        for name in ("control socket", "netlink"):
            for figure in (LOST, KERNEL):
                yield from judge("%s: %s" % (name, figure), 0, "%s, a reader at the %s (none)" % (figure, name))
            yield from judge("%s: %s" % (name, RATIO), 1.1, "times the undisturbed p99, a reader at the %s (1)" % name)
    elif scenario == "C7":
        yield from judge("missed of what waited", 0, "missed of what waited when it was told to exit (none)")
