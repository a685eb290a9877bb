"""Random pipelines and packets, as text for ovs-ofctl and ofproto/trace.  All of it follows from the random.Random that is given.

Values come from small sets, so that packets and rules meet.  ACTIONS, MATCHES and PACKETS are lists of functions of a Maker: who can do more
appends to them.
"""
import re

MACS = ["02:00:00:00:00:01", "02:00:00:00:00:02", "02:00:00:00:00:03", "ff:ff:ff:ff:ff:ff", "01:00:5e:00:00:01"]
IPS = ["10.0.0.1", "10.0.0.2", "10.0.1.3", "10.1.0.4", "192.168.0.5"]
NETS = ["10.0.0.0/24", "10.0.0.0/8", "10.0.0.0/255.255.0.255", "192.168.0.0/16", "10.0.0.1", "10.0.1.3"]
IP6S = ["fd00::1", "fd00::2", "fd00:1::3", "fe80::4"]
NET6S = ["fd00::/64", "fd00::/16", "fe80::/10", "fd00::1"]
TCPS = [22, 80, 443, 1000, 8080]
VLANS = [5, 6, 7]
N_TABLES = 4
N_PORTS = 4
PATCH = 5  # The number of a port that leads to another bridge; rules send to it now and then.


class Maker:
    """A source of rules and packets.  OFF: names of actions that are not to be made.

    VERSION is that of OpenFlow to give the rules in: 10, which has no instructions and lets actions be that do not fit the match; or 15."""

    def __init__(self, random, off=(), version=None):
        self.random = random
        self.version = version or random.choice([10, 15])
        self.patch = True
        # Beside an action set there is no clone, within which the packaged switch does the set, too; no exit, after which it does not; and no ct, for the packaged daemon dies of
        # an assertion (recirc_alloc_id__) when a packet that has a set comes back.
        self.off = set(off) | ({"push_vlan", "instructions"} if self.version == 10 else {"clone", "ct", "exit"})

    def pick(self, values):
        return self.random.choice(values)

    def chance(self, p):
        return self.random.random() < p

    def port(self):
        return self.random.randint(1, N_PORTS)

    def port_or_patch(self):
        return PATCH if self.patch and self.chance(0.15) else self.port()

    # ---- Rules. ----

    def match(self):
        while True:
            make = self.pick(MATCHES)
            if self.version != 10 or make is not by_metadata:
                return make(self)

    def action(self, table, match):
        while True:
            make = self.pick(ACTIONS)
            name = make.__name__.rstrip("_")
            fits = (self.version == 10 and name not in ("set_transport", "ct")) or name not in NEEDS or re.match(NEEDS[name], match)
            # The packaged switch loses the innermost of three tags: at most one is pushed, in a table that is met once.
            if name not in self.off and fits and (name != "push_vlan" or not (table or self.pushed)):
                self.pushed |= name == "push_vlan"
                return make(self, table)

    def actions(self, table, match):
        self.pushed = False
        if self.chance(0.1):
            return "drop"
        acts = [self.action(table, match) for _ in range(self.random.randint(1, 4))]
        if "instructions" in self.off:
            return ",".join(acts)
        # Instructions come last, and in order.
        tail = []
        if self.chance(0.2):
            tail.append("write_actions(%s)" % self.pick(["output:%d" % self.port(), "set_field:1->reg5,output:%d" % self.port(),
                                                         "mod_dl_src:02:00:00:00:00:09,output:%d" % self.port()]))
        if self.chance(0.1):
            tail.append("write_metadata:%#x/0xff" % self.random.randint(0, 3))
        if self.chance(0.2) and table + 1 < N_TABLES:
            tail.append("goto_table:%d" % self.random.randint(table + 1, N_TABLES - 1))
        return ",".join(acts + tail)

    def rule(self, priority):
        table = self.random.randint(0, N_TABLES - 1)
        parts = ["table=%d" % table, "priority=%d" % priority]
        if self.chance(0.3):
            parts.insert(0, "cookie=%#x" % self.random.randint(1, 99))
        match = self.match()
        return ",".join(parts + ([match] if match else [])) + " actions=" + self.actions(table, match)

    def pipeline(self, n):
        """N rules and one that catches what is left in table 0.  No two have one priority: either might be met."""
        priorities = list(range(1, n + 1))
        self.random.shuffle(priorities)
        return [self.rule(p) for p in priorities] + ["table=0,priority=0,actions=resubmit(,1)"]

    # ---- Packets. ----

    def packet(self):
        """A packet as ofproto/trace takes it: all that it has is said.  It is not to its own sender: whether NORMAL learns first or looks first is
        seen with those only."""
        source = self.pick(MACS[:3])
        fields = ["in_port=%d" % self.port(), "dl_src=" + source, "dl_dst=" + self.pick([m for m in MACS if m != source])]
        if self.chance(0.3):
            fields += ["dl_vlan=%d" % self.pick(VLANS), "dl_vlan_pcp=%d" % self.random.randint(0, 7)]
        return self.pick(PACKETS)(self) + "," + ",".join(fields)

    def ipv4(self):
        return "nw_src=%s,nw_dst=%s,nw_ttl=%d,nw_tos=%d" % (self.pick(IPS), self.pick(IPS), self.pick([1, 2, 64]), self.pick([0, 32]))

    def ipv6(self):
        return "ipv6_src=%s,ipv6_dst=%s,nw_ttl=%d" % (self.pick(IP6S), self.pick(IP6S), self.pick([1, 64]))

    def transport(self, protocol):
        return "%s_src=%d,%s_dst=%d" % (protocol, self.pick(TCPS), protocol, self.pick(TCPS))


# ---- What there is to choose from. ----

# What the match must begin with for an action to be consistent with it, as OpenFlow 1.1 and later want it.
NEEDS = {"set_ip": "(ip|tcp|udp|icmp),", "set_transport": "(tcp|udp|tcp6),", "set_tos": "(ip|tcp|udp|icmp|ipv6|tcp6),",
         "dec_ttl": "(ip|tcp|udp|icmp|ipv6|tcp6),", "ct": "(ip|tcp|udp|icmp|ipv6|tcp6),",
         "set_vlan": "dl_vlan=|vlan_tci=0x1000", "strip_vlan": "dl_vlan=|vlan_tci=0x1000"}


def anything(m):
    return ""


def by_port(m):
    return "in_port=%d" % m.port()


def by_address(m):
    return "dl_dst=" + m.pick(MACS)


def by_source(m):
    return "dl_src=%s/%s" % (m.pick(MACS), m.pick(["ff:ff:ff:ff:ff:ff", "ff:ff:00:00:00:01"]))


def by_net(m):
    return "ip,nw_dst=" + m.pick(NETS)


def by_nets(m):
    return "ip,nw_src=%s,nw_dst=%s" % (m.pick(NETS), m.pick(NETS))


def by_net6(m):
    return "ipv6,ipv6_dst=" + m.pick(NET6S)


def by_transport(m):
    return m.pick(["tcp", "udp", "tcp6"]) + ",tp_dst=" + m.pick(["22", "80", "0x50/0xfff0", "443"])


def by_vlan(m):
    return m.pick(["dl_vlan=%d" % m.pick(VLANS), "vlan_tci=0/0x1fff", "vlan_tci=0x1000/0x1000"])


def by_register(m):
    return "reg%d=%d" % (m.random.randint(0, 2), m.random.randint(0, 3))


def by_register_bits(m):
    return "reg%d=%#x/%#x" % ((m.random.randint(0, 2),) + m.pick([(1, 1), (2, 3), (0, 2)]))


def by_metadata(m):
    return "metadata=%d/0xff" % m.random.randint(0, 3)


def by_arp(m):
    return "arp,arp_op=%d" % m.random.randint(1, 2)


def by_icmp(m):
    return "icmp,icmp_type=%d" % m.pick([0, 8])


def by_ttl(m):
    return "ip,nw_ttl=%d" % m.pick([1, 64])


def by_ct_state(m):
    return "ip,ct_state=" + m.pick(["+trk+new", "-trk", "+trk-est", "-new"])


MATCHES = [by_ct_state, anything, by_port, by_address, by_source, by_net, by_net, by_nets, by_net6, by_transport, by_transport, by_vlan, by_register,
           by_register, by_register_bits, by_metadata, by_arp, by_icmp, by_ttl]


def output(m, table):
    return "output:%d" % m.port_or_patch()


def output_missing(m, table):
    return "output:99"


def in_port(m, table):
    return "in_port"


def normal(m, table):
    return "normal"


def flood(m, table):
    return m.pick(["flood", "all"])


def output_reg(m, table):
    return "output:NXM_NX_REG0[]"


def resubmit(m, table):
    """Only onwards: a loop ends at a limit, and what then becomes of the packet is another matter.  The last table leads to an empty one."""
    return "resubmit(,%d)" % m.random.randint(table + 1, N_TABLES)


def resubmit_port(m, table):
    return "resubmit(%d,%d)" % (m.port(), m.random.randint(table + 1, N_TABLES))


def load(m, table):
    return "load:%d->NXM_NX_REG%d[]" % (m.random.randint(0, 3), m.random.randint(0, 2))


def load_bits(m, table):
    return "load:%d->NXM_NX_REG%d[0..1]" % (m.random.randint(0, 3), m.random.randint(0, 2))


def move(m, table):
    return m.pick(["move:NXM_NX_REG0[]->NXM_NX_REG1[]", "move:NXM_OF_ETH_SRC[]->NXM_OF_ETH_DST[]", "move:NXM_OF_IN_PORT[]->NXM_NX_REG0[0..15]",
                   "move:NXM_OF_ETH_SRC[0..7]->NXM_NX_REG2[0..7]"])


def set_ethernet(m, table):
    return "mod_dl_%s:%s" % (m.pick(["src", "dst"]), m.pick(MACS[:3]))


def set_ip(m, table):
    return "mod_nw_%s:%s" % (m.pick(["src", "dst"]), m.pick(IPS))


def set_transport(m, table):
    """Of TCP and UDP only: in 1.0 the packaged switch writes type and code of ICMP by this, which ovs-actions(7) does not say."""
    return "mod_tp_%s:%d" % (m.pick(["src", "dst"]), m.pick(TCPS))


def set_tos(m, table):
    return "mod_nw_tos:%d" % m.pick([0, 32, 184])


def set_vlan(m, table):
    """Never to a tag with a priority and no id."""
    return "mod_vlan_vid:%d" % m.pick(VLANS) + (",mod_vlan_pcp:%d" % m.random.randint(0, 7) if m.chance(0.5) else "")


def strip_vlan(m, table):
    return "strip_vlan"


def push_vlan(m, table):
    return "push_vlan:0x8100,set_field:%d->vlan_vid" % (4096 + m.pick(VLANS))


def dec_ttl(m, table):
    return "dec_ttl"


def stack(m, table):
    return m.pick(["push:NXM_NX_REG0[]", "pop:NXM_NX_REG1[]", "push:NXM_OF_ETH_SRC[],pop:NXM_OF_ETH_DST[]"])


def clone(m, table):
    return "clone(%s,output:%d)" % (m.pick(["load:1->NXM_NX_REG0[]", "mod_dl_src:" + MACS[2]]), m.port())


def note(m, table):
    return "note:01.02.03"


def exit_(m, table):
    return "exit"


def ct(m, table):
    """What comes back meets a later table, so that it comes to an end."""
    table = m.random.randint(table + 1, N_TABLES)
    return m.pick(["ct(table=%d)" % table, "ct(commit,zone=3)", "ct(table=%d,zone=3)" % table, "ct(commit,table=%d)" % table])


def ct_clear(m, table):
    return "ct_clear"


ACTIONS = [ct, ct, ct_clear, output, output, output, output_missing, in_port, normal, flood, output_reg, resubmit, resubmit,
           resubmit, resubmit_port, load, load,
           load_bits, move, set_ethernet, set_ip, set_transport, set_tos, set_vlan, strip_vlan, push_vlan, dec_ttl, stack, clone, note, exit_]


def tcp(m):
    return "tcp,%s,%s" % (m.ipv4(), m.transport("tcp"))


def udp(m):
    return "udp,%s,%s" % (m.ipv4(), m.transport("udp"))


def icmp(m):
    return "icmp,%s,icmp_type=%d,icmp_code=0" % (m.ipv4(), m.pick([0, 8]))


def tcp6(m):
    return "tcp6,%s,%s" % (m.ipv6(), m.transport("tcp"))


def arp(m):
    return "arp,arp_op=%d,arp_spa=%s,arp_tpa=%s,arp_sha=%s,arp_tha=%s" % (m.random.randint(1, 2), m.pick(IPS), m.pick(IPS), MACS[0], MACS[1])


def other(m):
    return "dl_type=0x88b5"


def fragment(m):
    return "udp,%s,nw_frag=later" % m.ipv4()


PACKETS = [tcp, tcp, udp, icmp, tcp6, arp, other, fragment]
