"""What bench-dispatch is made of: the systems under test, the topology, the traffic, what is read of processes.

All runs as root in a guest that is thrown away; still, everything that is started here is ended here (Bench.close), by
its process id, and every wait has an end.  Wait for conditions, with wait_for(); nothing sleeps for their sake.
"""
import contextlib
import glob
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time

SCHEMA = "/usr/share/openvswitch/vswitch.ovsschema"
RUN = "/run/sluice-bench"
# The devices: what is sent into sN comes in at port pN.  In pairs: from s0 to s1, from s2 to s3.
N_PORTS = 4
# More of them, where a scenario wants many ports: what is sent into wN comes in at vN.  The group is for ip(8).
SPARE_GROUP = "7"
TABLE_SIZE = 1000000
# Systems under test run as ovs-ctl has an ovs-vswitchd run (--ovs-vswitchd-priority).  Where one CPU is all there is, as
# in UML, this decides who has it: the daemon, or the generator of a flood.
NICE = "-10"


class BenchError(Exception):
    pass


def say(text):
    print("bench-dispatch: " + text, file=sys.stderr, flush=True)


def run(*words, check=True, timeout=120, env=None):
    """Runs a command to its end.  Returns its standard output."""
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=timeout, env=env)
    if check and done.returncode:
        raise BenchError("%s: status %d: %s" % (" ".join(words), done.returncode, done.stderr.strip()))
    return done.stdout


def wait_for(what, condition, seconds=60):
    """Returns what CONDITION() does as soon as that is true."""
    end = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() >= end:
            raise BenchError("after %d s there is still no %s" % (seconds, what))
        time.sleep(0.02)


def pairs(text):
    """The key=value pairs of a line; numbers as numbers."""
    ret = {}
    for word in text.split():
        key, equals, value = word.partition("=")
        if equals:
            with contextlib.suppress(ValueError):
                value = float(value)
            ret[key] = value
    return ret


def read(path):
    with open(path) as f:
        return f.read()


def uptime():
    return float(read("/proc/uptime").split()[0])


def nap(seconds):
    """How long it takes to sleep that long."""
    times = []
    for _ in range(5):
        before = time.monotonic()
        time.sleep(seconds)
        times.append(time.monotonic() - before)
    return sorted(times)[2]


# --- Processes and their threads -------------------------------------------------------------------------------------

def state(pid):
    """One letter: R, S, T...; "" if there is none."""
    try:
        return read("/proc/%d/stat" % pid).rpartition(")")[2].split()[0]
    except OSError:
        return ""


def is_gone(pid):
    return state(pid) in ("", "Z", "X")


def handlers(pid):
    """The thread ids of the handlers of process PID."""
    ret = []
    for path in glob.glob("/proc/%d/task/*/comm" % pid):
        with contextlib.suppress(OSError):
            if read(path).startswith("handler"):
                ret.append(int(path.split("/")[4]))
    return ret


def switches(pid):
    """How often the handlers of PID have gone to sleep, and so been woken."""
    total = 0
    for tid in handlers(pid):
        for line in read("/proc/%d/task/%d/status" % (pid, tid)).splitlines():
            if line.startswith("voluntary_ctxt_switches:"):
                total += int(line.split()[1])
    return total


def cpu_seconds(pid, tids):
    """What threads TIDS of PID have run: to the nanosecond where the kernel counts so, else by its ticks."""
    total = 0
    for tid in tids:
        task = "/proc/%d/task/%d/" % (pid, tid)
        try:
            total += int(read(task + "schedstat").split()[0]) / 1e9
        except OSError:
            fields = read(task + "stat").rpartition(")")[2].split()
            total += (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return total


def tracer(tid):
    for line in read("/proc/%d/status" % tid).splitlines():
        if line.startswith("TracerPid:"):
            return int(line.split()[1])
    return 0


class Strace:
    """Counts the system calls of the handlers of a process."""

    def __init__(self, pid):
        self.out = os.path.join(RUN, "strace")
        tids = handlers(pid)
        words = ["strace", "-c", "-U", "name,calls", "-o", self.out]
        for tid in tids:
            words += ["-p", str(tid)]
        self.process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            wait_for("strace at each handler", lambda: all(tracer(tid) for tid in tids))
        except BenchError:
            self.close()
            raise

    def close(self):
        """Lets go of the process.  Returns a dictionary of counts."""
        self.process.send_signal(signal.SIGINT)
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        counts = {}
        with contextlib.suppress(OSError):
            for line in read(self.out).splitlines():
                words = line.split()
                if len(words) == 2 and words[1].isdigit() and words[0] != "total":
                    counts[words[0]] = int(words[1])
        return counts


# --- The systems under test ------------------------------------------------------------------------------------------

class System:
    """One way of serving upcalls.  What stands for a daemon's name in the tables is `label`.  lookups() says of its
    datapath: hit, missed, lost, flows.

    While one runs, nobody but itself is asked of its datapath: ovs-dpctl, by opening a datapath, changes its features.
    """

    dp = None
    is_ours = is_daemon = False

    def __init__(self, bench, name, label, mode):
        self.bench, self.name, self.label, self.mode = bench, name, label, mode
        self.pid = None
        self.first_drain = None  # Flows/s of the first queue since it was started.
        self.sustained = None  # Flows/s: see sustained().

    def n_handlers(self):
        return len(handlers(self.pid))

    def quiesce(self):
        """Empties flows and learned addresses, teaches where the receivers are, and waits until nothing is going on."""
        self.empty()
        wait_for("empty flow table", lambda: self.lookups()["flows"] <= 16, 120)
        self.bench.announce()
        self.rest()

    def rest(self):
        """Waits until nothing is going on."""
        def at_rest():
            try:
                tids = [int(tid) for tid in os.listdir("/proc/%d/task" % self.pid)]
                before = cpu_seconds(self.pid, tids)
                time.sleep(0.25)  # The time over which rest is judged.
                return cpu_seconds(self.pid, tids) - before < 0.02
            except FileNotFoundError:  # A thread has ended: that is none.
                return False
        wait_for("rest of " + self.label, at_rest, 120)


class Control:
    """A client of a daemon's control socket: without a process for each command, which would be most of the cost."""

    def __init__(self, s):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(60)
        self.socket.connect(os.path.join(s.dir, "ovs-vswitchd.%d.ctl" % s.pid))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def request(self, command, *words):
        self.socket.sendall(json.dumps({"id": 0, "method": command, "params": words}).encode())

    def ask(self, command, *words):
        """Returns what the command says."""
        self.request(command, *words)
        got = b""
        while True:
            more = self.socket.recv(1 << 20)
            if not more:
                raise BenchError("%s: the daemon has closed the connection" % command)
            got += more
            if more.endswith((b"}", b"}\n")):  # Else it is not the end, and need not be looked at.
                with contextlib.suppress(ValueError):
                    answer = json.loads(got)
                    break
        if answer.get("error"):
            raise BenchError("%s: %s" % (command, answer["error"]))
        return answer["result"]


class Daemon(System):
    """An ovs-vswitchd with a database of its own."""

    dp = "system@ovs-system"
    is_daemon = True

    def __init__(self, bench, name, label, mode, binary, is_peer):
        super().__init__(bench, name, label, mode)
        self.binary, self.is_peer, self.is_ours = binary, is_peer, not is_peer
        self.dir = os.path.join(RUN, name)
        self.env = dict(os.environ, OVS_RUNDIR=self.dir, OVS_DBDIR=self.dir, OVS_SYSCONFDIR=self.dir,
                        OVS_LOGDIR=self.dir, OVS_CTL_TIMEOUT="110")

    def tool(self, *words, **kwargs):
        return run(*words, env=self.env, **kwargs)

    def app(self, *words):
        with Control(self) as control:
            return control.ask(*words)

    def set(self, key, value):
        """Sets a key of Open_vSwitch's other_config; None: removes it.  Returns when the daemon has taken it."""
        if value is None:
            self.tool("ovs-vsctl", "remove", "Open_vSwitch", ".", "other_config", key)
        else:
            self.tool("ovs-vsctl", "set", "Open_vSwitch", ".", "other_config:%s=%s" % (key, value))

    def add_ports(self, names):
        self.tool("ovs-vsctl", *[word for name in names for word in ("--", "add-port", "br0", name)])

    def del_ports(self, names):
        self.tool("ovs-vsctl", *[word for name in names for word in ("--", "--if-exists", "del-port", "br0", name)])

    def lookups(self):
        ret = {}
        for line in self.app("dpctl/show").splitlines():
            words = line.split()
            if words[:1] == ["lookups:"]:
                ret.update((k, int(v)) for k, v in (w.split(":") for w in words[1:]))
            elif words[:1] == ["flows:"]:
                ret["flows"] = int(words[1])
        return ret

    def start(self):
        shutil.rmtree(self.dir, ignore_errors=True)
        os.makedirs(self.dir)
        db = os.path.join(self.dir, "conf.db")
        self.tool("ovsdb-tool", "create", db, SCHEMA)
        common = ["--detach", "--no-chdir", "--pidfile", "--log-file", "-vconsole:off"]
        self.tool("ovsdb-server", *common, "--remote=punix:%s/db.sock" % self.dir, db)
        self.db_pid = int(read(os.path.join(self.dir, "ovsdb-server.pid")))
        self.tool("ovs-vsctl", "--no-wait", "init")
        if self.is_peer:
            # Started earlier it counts no CPU and serves no upcall.
            wait_for("uptime of 11 s", lambda: uptime() >= 11)
        else:
            self.tool("ovs-vsctl", "--no-wait", "set", "Open_vSwitch", ".",
                      "other_config:upcall-dispatch=" + self.mode)
        self.tool("nice", "-n", NICE, self.binary, *common)
        self.pid = int(read(os.path.join(self.dir, "ovs-vswitchd.pid")))
        words = ["add-br", "br0", "--", "set", "Bridge", "br0", "other_config:mac-table-size=%d" % TABLE_SIZE]
        for i in range(N_PORTS):
            words += ["--", "add-port", "br0", "p%d" % i]
        self.tool("ovs-vsctl", *words)

    def set_handlers(self, n):
        """Of N handlers; None: the default.  The packaged daemon does not heed it in per-CPU mode."""
        self.set("n-handler-threads", n)
        if n is not None and self.is_ours:
            wait_for("%d handlers" % n, lambda: self.n_handlers() == n)

    def empty(self):
        self.app("revalidator/purge")
        self.app("fdb/flush", "br0")

    def stop(self):
        if self.pid:
            with contextlib.suppress(Exception):
                self.app("exit", "--cleanup")
        for pid in (self.pid, getattr(self, "db_pid", None)):
            end_process(pid)
        self.pid = self.db_pid = None
        delete_datapath(self.dp)


class Null(System):
    """The null handler."""

    dp = "system@null-handler"

    def __init__(self, bench, name, label, mode, binary):
        super().__init__(bench, name, label, mode)
        self.binary, self.process, self.summary = binary, None, {}

    def start(self, n=None, more_ports=()):
        words = ["nice", "-n", NICE, self.binary, "--mode", self.mode]
        for name in ["p%d" % i for i in range(N_PORTS)] + list(more_ports):
            words += ["--port", name]
        if n is not None:
            words += ["--handlers", str(n)]
        self.process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        self.pid = self.process.pid
        if self.process.stdout.readline().strip() != "ready":
            raise BenchError("the null handler did not start")

    def set_handlers(self, n):
        self.stop()
        self.start(n)

    def ask(self, sig):
        self.process.send_signal(sig)
        return pairs(self.process.stdout.readline())

    def lookups(self):
        return self.ask(signal.SIGUSR1)

    def empty(self):
        self.ask(signal.SIGUSR2)

    def stop(self):
        if self.process:
            self.process.terminate()
            try:
                self.summary = pairs(self.process.communicate(timeout=30)[0])
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.communicate()
        self.process = self.pid = None
        delete_datapath(self.dp)


def carrier(device):
    """Is the link there?"""
    return read("/sys/class/net/%s/operstate" % device).strip() == "up"


def end_process(pid):
    """Ends PID, which is no child of ours."""
    for sig in (signal.SIGCONT, signal.SIGTERM, signal.SIGKILL):
        if not pid or is_gone(pid):
            return
        with contextlib.suppress(OSError):
            os.kill(pid, sig)
        if sig != signal.SIGCONT:
            with contextlib.suppress(BenchError):
                wait_for("end of process %d" % pid, lambda: is_gone(pid), 10)


def delete_datapath(dp):
    if dp in run("ovs-dpctl", "dump-dps", check=False).split():
        run("ovs-dpctl", "del-dp", dp, check=False)


# --- Topology and traffic --------------------------------------------------------------------------------------------

def mac(i):
    """The receiver behind port I."""
    return "02:ee:00:00:00:%02x" % i


class Bench:
    def __init__(self, builddir):
        self.gen = os.path.join(builddir, "utilities/flowgen")
        self.sink = os.path.join(builddir, "utilities/flowsink")
        for path in (self.gen, self.sink):
            if not os.access(path, os.X_OK):
                raise BenchError("%s is missing: build it first" % path)
        self.next_stream = 1
        self.children = []
        self.notes = []
        self.failures = []  # Of a part of a scenario.
        self.n_spare = 0
        os.makedirs(RUN, exist_ok=True)
        self.n_cpus = os.cpu_count()
        # No router solicitations and listener reports of devices that are made from here on: each would be an upcall.
        run("modprobe", "-q", "ipv6", check=False)
        with contextlib.suppress(OSError):
            with open("/proc/sys/net/ipv6/conf/default/disable_ipv6", "w") as f:
                f.write("1")
        # What is queued between a device and the switch is not what is measured.
        with open("/proc/sys/net/core/netdev_max_backlog", "w") as f:
            f.write("100000")
        for i in range(N_PORTS):
            run("ip", "link", "add", "s%d" % i, "type", "veth", "peer", "name", "p%d" % i)
            for name in ("s%d" % i, "p%d" % i):
                run("ip", "link", "set", name, "up")
        for i in range(N_PORTS):
            wait_for("carrier at s%d" % i, lambda i=i: "state UP" in run("ip", "link", "show", "s%d" % i))
        self.raw = []
        for i in range(N_PORTS):
            s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
            s.bind(("s%d" % i, 0))
            self.raw.append(s)

    def close(self):
        for child in self.children:
            if child.poll() is None:
                child.kill()
                child.wait()
        for s in self.raw:
            s.close()
        for i in range(N_PORTS):
            run("ip", "link", "del", "s%d" % i, check=False)
        if self.n_spare:
            run("ip", "link", "del", "group", SPARE_GROUP, check=False)

    def spare(self, n):
        """The names of N devices to be made ports, v0 and on; what is sent into w0 and on comes in there."""
        if n > self.n_spare:
            lines = ["link add w%d group %s type veth peer name v%d group %s\n" % (i, SPARE_GROUP, i, SPARE_GROUP)
                     for i in range(self.n_spare, n)]
            path = os.path.join(RUN, "links")
            with open(path, "w") as f:
                f.writelines(lines)
            self.n_spare = n
            run("ip", "-batch", path)
            run("ip", "link", "set", "group", SPARE_GROUP, "up")
            for i in range(n):
                wait_for("carrier at v%d" % i, lambda i=i: carrier("v%d" % i) and carrier("w%d" % i))
        return ["v%d" % i for i in range(n)]

    def announce(self):
        """Every receiver says a word, so that the switch knows where it is."""
        for i in range(1, N_PORTS, 2):
            frame = b"\xff" * 6 + bytes.fromhex(mac(i).replace(":", "")) + b"\x88\xb6" + b"\0" * 46
            self.raw[i].send(frame)
        self.settle()

    def settle(self):
        """Until what has been sent has been forwarded or dropped: nothing is waited for that may not come."""
        time.sleep(0.1)

    def child(self, *words):
        process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        self.children.append(process)
        return process

    def stream(self):
        """A number that no stream has had: its source addresses are new."""
        self.next_stream += 1
        return self.next_stream - 1

    def start_sink(self, device, stream, flows, per_flow, seconds, idle_ms):
        """STREAM: one, or several with commas between them."""
        ready = os.path.join(RUN, "ready")
        with contextlib.suppress(OSError):
            os.unlink(ready)
        process = self.child(self.sink, "--device", device, "--stream", str(stream), "--flows", str(flows),
                             "--per-flow", str(per_flow), "--idle-ms", str(idle_ms), "--duration", str(seconds),
                             "--ready", ready)
        wait_for("flowsink", lambda: os.path.exists(ready) or process.poll() is not None)
        return process

    def start_gen(self, port, stream, flows, rate=None, cpu=None, seconds=60, per_flow=1, devices=None, more=()):
        """From sPORT, or from DEVICES in turn, to the receiver next to sPORT.  MORE options of flowgen."""
        words = [self.gen, "--device", ",".join(devices or ["s%d" % port]), "--stream", str(stream), "--flows",
                 str(flows), "--per-flow", str(per_flow), "--dst", mac(port + 1), *more]
        words += ["--burst"] if rate is None else ["--rate", "%d" % max(rate, 1)]
        words += ["--duration", "%d" % seconds]
        if cpu is not None:
            words += ["--cpu", str(cpu)]
        return self.child(*words)

    def finish(self, process, seconds):
        """What a tool has said when it has ended."""
        try:
            out = process.communicate(timeout=seconds)[0]
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            raise BenchError("%s did not end" % process.args[0])
        self.children.remove(process)
        # A device or the receiver's socket had no room for all: the figures tell, and what they prove is less.
        if process.returncode not in (0, 1, 3, -signal.SIGTERM) or not out.strip():
            raise BenchError("%s: status %d" % (" ".join(process.args), process.returncode))
        ret = pairs(out)
        for key in ("dev_dropped", "sink_dropped", "backlog_dropped", "refused"):
            if ret.get(key):
                self.note("%s: %s=%d" % (os.path.basename(process.args[0]), key, ret[key]))
        return ret

    def note(self, text):
        """What casts doubt on a figure is said with it."""
        self.notes.append(text)

    def drained(self, device):
        """Waits until nothing has come to DEVICE for half a second."""
        last = [None, 0]

        def is_quiet():
            n, now = int(read("/sys/class/net/%s/statistics/rx_packets" % device)), time.monotonic()
            if n != last[0]:
                last[:] = [n, now]
            return now - last[1] > 0.5
        wait_for("silence at " + device, is_quiet, 60)

    def fail(self, text):
        """A part of a scenario could not be measured: the others are."""
        self.failures.append(text)
        say(text)

    def send(self, flows, rate=None, port=0, cpu=None, idle_ms=3000, per_flow=1, sent=None, more=()):
        """FLOWS new flows from sPORT to the receiver next to it, at RATE a second or at once.  SENT() is called when
        they have been sent.  Returns what the generator and the receiver said."""
        # If nothing at all comes, or no end.
        seconds = 30 + flows / min(rate or 500, 500)
        stream = self.stream()
        sink = self.start_sink("s%d" % (port + 1), stream, flows, per_flow, int(seconds), idle_ms)
        gen = self.finish(self.start_gen(port, stream, flows, rate, cpu, seconds, per_flow, more=more), seconds + 60)
        if sent:
            sent()
        return gen, self.finish(sink, seconds + 60)


class Stream:
    """New flows from s0 to s1 at RATE a second, until end(), or for SECONDS.  KEPT: not new ones but so many, again and
    again, from s2 to s3."""

    def __init__(self, bench, rate, seconds, kept=None):
        self.bench, self.port = bench, 2 if kept else 0
        flows, per_flow = kept or int(rate * seconds) + 1, int(rate * seconds / kept) + 1 if kept else 1
        self.id = bench.stream()
        # It is ended by end(), not by a silence: that may be what is to be measured.
        self.sink = bench.start_sink("s%d" % (self.port + 1), self.id, flows, per_flow, seconds + 100, 1000 * seconds)
        self.gen = bench.start_gen(self.port, self.id, flows, rate, seconds=seconds, per_flow=per_flow,
                                   more=["--spread"] if kept else [])
        self.begin = time.monotonic()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for child in (self.gen, self.sink):
            if child in self.bench.children:  # It did not come to end().
                child.kill()
                child.communicate()
                self.bench.children.remove(child)

    def run_until(self, seconds):
        """Lets it run until SECONDS have passed since its begin."""
        time.sleep(max(0, self.begin + seconds - time.monotonic()))
        if self.gen.poll() is not None:
            raise BenchError("the generator has ended too early")

    def end(self):
        """Returns what the receiver says; its `lost` are those of what was sent, its `sent` is that."""
        self.gen.terminate()
        gen = self.bench.finish(self.gen, 30)
        self.bench.drained("s%d" % (self.port + 1))
        self.sink.terminate()
        sink = self.bench.finish(self.sink, 30)
        sink["sent"], sink["lost"] = gen["sent"], gen["sent"] - sink["received"]
        return sink


# --- What several scenarios measure ----------------------------------------------------------------------------------

def span(what):
    """Seconds that a generator sent, or from a receiver's first arrival to its last."""
    return max(what.get("elapsed_ms", 0), what.get("span_ms", 0), 0.001) / 1e3


def stopped_drain(s, bench, n):
    """N new flows wait when the system goes on.  Returns how many came, and how many a second of the time they took."""
    def go():
        bench.settle()
        os.kill(s.pid, signal.SIGCONT)

    os.kill(s.pid, signal.SIGSTOP)
    try:
        wait_for("stop", lambda: state(s.pid) in "Tt", 10)
        sink = bench.send(n, sent=go, idle_ms=5000)[1]
    finally:
        os.kill(s.pid, signal.SIGCONT)
    if sink["received"] < n:
        bench.note("%s: %d of %d waiting packets lost" % (s.label, n - sink["received"], n))
    if sink["received"] < 2:
        raise BenchError("nothing of the queue arrived")
    return sink["received"], sink["received"] / span(sink)


def sustained(s, bench, n, anew=False):
    """A rate without loss and without a growing queue, in flows/s, such that one 20 % higher is too much.  N new
    flows, in a queue, show where to begin.  It is measured once for each start of the system, or ANEW."""
    if s.sustained and not anew:
        return s.sustained
    s.quiesce()
    # A queue that waits is served much faster than what comes one by one.
    low, high, rate = 0, None, 0.3 * stopped_drain(s, bench, n)[1]
    for _ in range(12):
        s.quiesce()
        gen, sink = bench.send(int(rate * 2) + 1, rate=rate, idle_ms=1000)
        offered, arrived = gen["sent"] / span(gen), sink["received"] / span(sink)
        # A queue that grows loses nothing yet, but is no rate to live with: the last would come late.
        kept_up = span(sink) <= 1.03 * span(gen) + 0.02
        if sink["received"] >= 0.999 * gen["sent"] and kept_up and offered >= 0.9 * rate:
            low = offered
        else:
            # Where the generator takes the same CPU it may fall behind: then there is no more to be had than it sent.
            high = min(rate, max(offered, arrived))
        if low and high and high < 1.2 * low:
            break
        # Between what it can and what it cannot do.  What arrives at overload may be less than it could do in peace.
        if low:
            rate = (low * high) ** 0.5 if high else 1.4 * low
        else:
            rate = min(max(arrived, 0.4 * rate), 0.85 * rate)
        if rate < 50:
            break
    if not low:
        raise BenchError("no rate without loss")
    s.sustained = low
    say("%s: sustained %d flows/s" % (s.label, low))
    return low
