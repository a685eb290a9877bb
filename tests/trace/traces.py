"""What ofproto/trace answers, taken apart; and what datapath actions do to a packet.

    t = Trace(text)
    t.flow, t.steps, t.final, t.megaflow, t.actions      (text)
    deliveries(fields(t.flow), t.actions, ports)         what leaves where, with which fields
"""
import ipaddress
import re


class Malformed(Exception):
    """Text that this file does not know how to read."""


def parts(text):
    """The traces that an answer consists of: one, and one each time that the datapath brings the packet back.  Recirculation ids become 1, 2...; what
    stands in their heads is the first of the steps."""
    ids = {}

    def renumber(m):
        return m.group(1) + "0x%x" % ids.setdefault(m.group(2), len(ids) + 1)
    text = re.sub(r"(recirc\(|recirc_id=)0x([0-9a-f]+)", renumber, text)
    pieces = re.split(r"\n={79}\n(recirc\(0x[0-9a-f]+\).*)\n={79}\n", text)
    traces = [Trace(pieces[0])]
    for head, piece in zip(pieces[1::2], pieces[2::2]):
        traces.append(Trace(piece))
        traces[-1].steps.insert(0, head)
    return traces


class Trace:
    """One part of the answer."""

    def __init__(self, text):
        self.text = text
        self.flow = self._line(r"Flow: (.*)")
        self.final = self._line(r"Final flow: (.*)")
        if self.final == self.flow:
            self.final = "unchanged"  # The packaged switch compares what it does not show, too.
        self.megaflow = self._line(r"Megaflow: (.*)")
        self.actions = self._line(r"Datapath actions: (.*)")
        start, end = text.find("\n\n"), text.find("\nFinal flow: ")
        self.steps = [line.rstrip() for line in text[start:end].splitlines() if line.strip()]

    def _line(self, pattern):
        m = re.search("^" + pattern + "$", self.text, re.M)
        if not m:
            raise Malformed("no \"%s\" in:\n%s" % (pattern, self.text))
        return m.group(1)


# ---- Matches. ----

def items(text):
    """Cuts TEXT at commas that are in no brackets."""
    part, depth = "", 0
    for c in text:
        if c == "," and not depth:
            yield part.strip()
            part = ""
            continue
        depth += (c in "([") - (c in ")]")
        part += c
    if part.strip():
        yield part.strip()


PROTOCOLS = {
    "ip": (0x800, None), "icmp": (0x800, 1), "tcp": (0x800, 6), "udp": (0x800, 17), "sctp": (0x800, 132),
    "ipv6": (0x86dd, None), "icmp6": (0x86dd, 58), "tcp6": (0x86dd, 6), "udp6": (0x86dd, 17), "sctp6": (0x86dd, 132),
    "arp": (0x806, None), "rarp": (0x8035, None), "mpls": (0x8847, None), "mplsm": (0x8848, None),
}
FRAGMENTS = {"no": (0, 3), "yes": (1, 1), "first": (1, 3), "later": (3, 3), "not_later": (0, 2)}
TCP_FLAGS = ["fin", "syn", "rst", "psh", "ack", "urg", "ece", "cwr", "ns"]
CT_STATES = ["new", "est", "rel", "rpl", "inv", "trk", "snat", "dnat"]


def number(text):
    """An address, or a number of any base."""
    if re.match(r"^[0-9a-fA-F]{2}(:[0-9a-fA-F]{2}){5}$", text):
        return int(text.replace(":", ""), 16)
    if ":" in text or re.match(r"^\d+\.\d+\.\d+\.\d+$", text):
        return int(ipaddress.ip_address(text))
    return int(text, 0)


def is_number(text):
    try:
        number(text)
    except ValueError:
        return False
    return True


WIDTHS = {"dl_src": 48, "dl_dst": 48, "arp_sha": 48, "arp_tha": 48, "nd_sll": 48, "nd_tll": 48, "nw_src": 32, "nw_dst": 32, "arp_spa": 32,
          "arp_tpa": 32, "ipv6_src": 128, "ipv6_dst": 128, "nd_target": 128, "ipv6_label": 20, "vlan_tci": 16, "vlan_tci1": 16, "dl_vlan": 12,
          "dl_vlan_pcp": 3, "dl_vlan1": 12, "dl_vlan_pcp1": 3, "nw_tos": 8, "nw_ecn": 2, "nw_ttl": 8, "nw_proto": 8, "tp_src": 16, "tp_dst": 16,
          "tcp_flags": 12, "dl_type": 16}


def flags(text, names):
    """+a-b, a|b or a number: (value, mask); mask None: all."""
    if re.match(r"^[+-]", text):
        value = mask = 0
        for sign, name in re.findall(r"([+-])([a-z]+)", text):
            bit = 1 << names.index(name)
            mask |= bit
            value |= bit if sign == "+" else 0
        return value, mask
    if is_number(text):
        return number(text), None
    return sum(1 << names.index(name) for name in text.split("|")), None


def prefix_mask(value, mask, width):
    """The mask that is written MASK behind the address VALUE."""
    if "." in mask or ":" in mask or not ("." in value or ":" in value):
        return number(mask)
    return ((1 << width) - 1) ^ ((1 << (width - int(mask))) - 1)


def fields(text):
    """A match or a flow as {field: (value, mask)}; the protocol's word becomes dl_type and nw_proto."""
    f = {}
    for item in items(text):
        name, _, value = item.partition("=")
        if name in PROTOCOLS and not value:
            dl_type, proto = PROTOCOLS[name]
            f["dl_type"] = (dl_type, 0xffff)
            if proto is not None:
                f["nw_proto"] = (proto, 0xff)
            continue
        if name in ("eth", "recirc_id") or not value:
            continue
        width = WIDTHS.get(name, 64)
        ones = (1 << width) - 1
        if name in ("nw_frag", "ip_frag"):
            f["nw_frag"] = FRAGMENTS[value]
        elif name in ("tcp_flags", "ct_state"):
            v, mask = flags(value, TCP_FLAGS if name == "tcp_flags" else CT_STATES)
            f[name] = (v, ones if mask is None else mask)
        elif "/" in value:
            v, _, mask = value.partition("/")
            f[name] = (number(v), prefix_mask(v, mask, width))
        elif is_number(value):
            f[name] = (number(value), ones)
        else:
            f[name] = (value, ones)
    return f


# ---- Datapath actions. ----

NAMES = {  # Of the fields in set(GROUP(FIELD=...)), as matches name them.
    "eth": {"src": "dl_src", "dst": "dl_dst"},
    "ipv4": {"src": "nw_src", "dst": "nw_dst", "tos": "tos", "ttl": "nw_ttl", "proto": "nw_proto", "frag": None},
    "ipv6": {"src": "ipv6_src", "dst": "ipv6_dst", "label": "ipv6_label", "tclass": "tos", "hlimit": "nw_ttl", "proto": "nw_proto",
             "frag": None},
    "tcp": {"src": "tp_src", "dst": "tp_dst"},
    "udp": {"src": "tp_src", "dst": "tp_dst"},
    "sctp": {"src": "tp_src", "dst": "tp_dst"},
    "icmp": {"type": "icmp_type", "code": "icmp_code"},
    "icmpv6": {"type": "icmp_type", "code": "icmp_code"},
    "arp": {"sip": "arp_spa", "tip": "arp_tpa", "op": "arp_op", "sha": "arp_sha", "tha": "arp_tha"},
    "nd": {"target": "nd_target", "sll": "nd_sll", "tll": "nd_tll"},
    "mpls": {"label": "mpls_label", "tc": "mpls_tc", "ttl": "mpls_ttl", "bos": "mpls_bos"},
}
ALONE = {"skb_mark": "pkt_mark", "skb_priority": "skb_priority"}


class Packet:
    """The fields of a packet, and its tags, outermost first."""

    def __init__(self, flow):
        self.f = {k: v for k, (v, _) in flow.items()}
        self.tags = []
        if "dl_vlan" in self.f:
            self.tags.append((0x8100, self.f.pop("dl_vlan"), self.f.pop("dl_vlan_pcp", 0)))
        for name in ("vlan_tci", "vlan_tci1", "in_port", "metadata"):
            self.f.pop(name, None)
        for name in [n for n in self.f if re.match(r"x*reg\d+$", n)]:
            del self.f[name]
        self.f["tos"] = self.f.pop("nw_tos", 0) | self.f.pop("nw_ecn", 0)

    def copy(self):
        p = Packet({})
        p.f, p.tags = dict(self.f), list(self.tags)
        return p

    def key(self):
        return tuple(self.tags), tuple(sorted((k, v) for k, v in self.f.items() if v))


def body_of(action):
    name, _, rest = action.partition("(")
    return name, rest[:-1] if rest.endswith(")") else rest


def apply_set(p, text):
    group, body = body_of(text)
    if group in ALONE:
        value, _, mask = body.partition("/")
        old, m = p.f.get(ALONE[group], 0), number(mask) if mask else 0xffffffff
        p.f[ALONE[group]] = (old & ~m) | (number(value) & m)
        return
    if group not in NAMES:
        raise Malformed("set(%s)" % text)
    for item in items(body):
        name, _, value = item.partition("=")
        field = NAMES[group][name]
        if field is None or (field in ("nw_proto",)):
            continue
        v, _, mask = value.partition("/")
        if mask:
            width = WIDTHS.get(field, 8)
            m = prefix_mask(v, mask, width)
            p.f[field] = (p.f.get(field, 0) & ~m) | (number(v) & m)
        else:
            p.f[field] = number(v)


def deliveries(flow, actions, ports):
    """What ACTIONS do to the packet of FLOW (as of fields()): a list of (port, tags, fields), in order.  PORTS names datapath ports."""
    out = []
    run(Packet(flow), actions, ports, out)
    return out


def run(p, actions, ports, out):
    cut = None
    for action in items(actions):
        name, body = body_of(action)
        if name == "drop" or (name == "userspace" and "controller(" in body):
            continue  # What is told to controllers is told to none here.
        if name == "set":
            apply_set(p, body)
        elif name == "push_vlan":
            f = dict(item.split("=") for item in items(body))
            p.tags.insert(0, (int(f.get("tpid", "0x8100"), 0), int(f["vid"]), int(f["pcp"])))
        elif name == "pop_vlan":
            p.tags.pop(0)
        elif name == "clone":
            run(p.copy(), body, ports, out)
        elif name == "trunc":
            cut = number(body)
        elif re.match(r"^\d+$", name) or name in ports.values():
            key = p.key()
            out.append((ports.get(name, name),) + key + ((("cut", cut),) if cut else ()))
            cut = None
        else:
            out.append((action,) + p.key())  # Something that this file need not understand to compare it.


# ---- Comparing. ----

def looks_at_more(ours, theirs):
    """Fields of which OURS, a match as of fields(), looks at bits that THEIRS does not."""
    more = []
    for name, (_, mask) in sorted(ours.items()):
        their = theirs.get(name, (0, 0))[1]
        if mask & ~their:
            more.append(name)
    return more


def covers(match, flow):
    """Is the packet of FLOW one that MATCH covers?  (Both as of fields(); what FLOW does not have is zero.)"""
    for name, (value, mask) in match.items():
        have = flow.get(name, (0, 0))[0]
        if isinstance(value, str) or isinstance(have, str):
            if value != have:
                return False
        elif (value ^ have) & mask:
            return False
    return True
