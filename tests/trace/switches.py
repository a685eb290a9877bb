"""Two switches beside each other, without a kernel module: ours on the simulated datapath, the packaged one on its dummy datapath.

    with Switch.ours(directory, builddir) as ours, Switch.packaged(directory) as theirs:
        for s in (ours, theirs):
            s.add_bridge("br0", ports=4)
            s.flows("br0", ["priority=1,actions=normal"])
            print(s.appctl("ofproto/trace", "br0", "in_port=1"))

Each has a database, a directory of its own below DIRECTORY, and ports p1, p2... with the OpenFlow numbers 1, 2....
"""
import os
import shutil
import subprocess
import time

PACKAGED = "/usr/lib/openvswitch-switch/ovs-vswitchd"
SCHEMA = "/usr/share/openvswitch/vswitch.ovsschema"
TOOLS = ["ovsdb-tool", "ovsdb-server", "ovs-vsctl", "ovs-ofctl", "ovs-appctl"]
LIFE = "600"  # Seconds after which whatever was started ends by itself.


class Failed(Exception):
    """A tool or daemon said no."""


def missing():
    """What must be installed and is not, or None."""
    for tool in TOOLS:
        if not shutil.which(tool):
            return tool
    for path in (PACKAGED, SCHEMA):
        if not os.path.exists(path):
            return path
    return None


def wait_for(what, condition, seconds=30):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise Failed("%s: not after %d seconds" % (what, seconds))
        time.sleep(0.02)


class Switch:
    """A daemon with its database."""

    @classmethod
    def ours(cls, directory, builddir="."):
        return cls("ours", directory, [os.path.join(os.path.abspath(builddir), "vswitchd/ovs-vswitchd"), "--enable-sim"], "sim")

    @classmethod
    def packaged(cls, directory):
        return cls("packaged", directory, [PACKAGED, "--enable-dummy=override", "--disable-system"], "dummy")

    def __init__(self, name, directory, command, datapath_type):
        self.name = name
        self.dir = os.path.join(os.path.abspath(directory), name)
        self.command = command
        self.datapath_type = datapath_type
        self.processes = []
        self.control = os.path.join(self.dir, "ctl")
        self.log = os.path.join(self.dir, "vswitchd.log")
        self.env = dict(os.environ, OVS_RUNDIR=self.dir, OVS_DBDIR=self.dir, OVS_LOGDIR=self.dir, OVS_SYSCONFDIR=self.dir)

    def __enter__(self):
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_):
        self.stop()

    def start(self):
        shutil.rmtree(self.dir, ignore_errors=True)
        os.makedirs(self.dir)
        database, socket = os.path.join(self.dir, "conf.db"), os.path.join(self.dir, "db.sock")
        self.run("ovsdb-tool", "create", database, SCHEMA)
        self.spawn(["ovsdb-server", "--unixctl=" + os.path.join(self.dir, "db.ctl"), "--remote=punix:" + socket, database])
        wait_for("the database's socket", lambda: os.path.exists(socket))
        self.run("ovs-vsctl", "--no-wait", "init")
        self.spawn(self.command + ["--unixctl=" + self.control, "--log-file=" + self.log, "--pidfile", "unix:" + socket])
        wait_for(self.name + ": its control socket", lambda: os.path.exists(self.control))
        # A database that nobody has written to says nothing of whether the daemon follows it.
        self.vsctl("set", "Open_vSwitch", ".", "external_ids:test=1")

    def spawn(self, command):
        with open(os.path.join(self.dir, os.path.basename(command[0]) + ".out"), "ab") as out:
            self.processes.append(subprocess.Popen(["timeout", LIFE] + command + ["-vconsole:off"], stdout=out, stderr=out,
                                                   env=self.env, cwd=self.dir))

    def stop(self):
        for p in reversed(self.processes):
            p.terminate()
            try:
                p.wait(10)
            except subprocess.TimeoutExpired:
                p.kill()
                p.wait()
        self.processes = []

    def run(self, *command, stdin=None, check=True):
        """Output of COMMAND, or of what it says that is wrong if not CHECK."""
        r = subprocess.run(command, input=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True, env=self.env,
                           timeout=120)
        if r.returncode and check:
            raise Failed("%s: %s: %s" % (self.name, " ".join(command), r.stderr or r.stdout))
        return r.stdout if not r.returncode else r.stderr or r.stdout

    def vsctl(self, *args):
        return self.run("ovs-vsctl", "--timeout=30", *args)

    def ofctl(self, *args, **kwargs):
        return self.run("ovs-ofctl", "--timeout=30", *args, **kwargs)

    def appctl(self, *args, check=True):
        return self.run("ovs-appctl", "--timeout=60", "-t", self.control, *args, check=check)

    def add_bridge(self, bridge, ports, first=1, secure=True):
        """PORTS of them, with the OpenFlow numbers FIRST and following."""
        kind = "type=dummy" if self.datapath_type == "dummy" else "type=internal"
        args = ["add-br", bridge, "--", "set", "bridge", bridge, "datapath_type=" + self.datapath_type]
        if secure:
            args.append("fail_mode=secure")
        for n in range(first, first + ports):
            args += ["--", "add-port", bridge, "p%d" % n, "--", "set", "interface", "p%d" % n, kind, "ofport_request=%d" % n]
        self.vsctl(*args)

    def add_patch(self, bridge1, port1, number1, bridge2, port2, number2):
        args = []
        for br, port, no, peer in ((bridge1, port1, number1, port2), (bridge2, port2, number2, port1)):
            args += ["--", "add-port", br, port, "--", "set", "interface", port, "type=patch", "options:peer=" + peer,
                     "ofport_request=%d" % no]
        self.vsctl(*args)

    def flows(self, bridge, flows, version=10):
        """Makes the tables of BRIDGE be FLOWS; in 1.0 actions need not fit the match."""
        version = "OpenFlow%d" % version
        self.ofctl("-O", version, "del-flows", bridge)
        self.ofctl("-O", version, "add-flows", bridge, "-", stdin="\n".join(flows) + "\n")

    def ports(self):
        """Datapath port number (text) -> interface."""
        numbers = {}
        for line in self.appctl("dpif/show").splitlines():
            words = line.split()
            if len(words) >= 3 and "/" in words[1] and words[1].endswith(":"):
                number = words[1][:-1].split("/")[1]
                if number.isdigit():
                    numbers[number] = words[0]
        return numbers
