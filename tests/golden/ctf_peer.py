# SPDX-License-Identifier: BSD-2-Clause
"""ctf_peer.py OURS PEER: the lines of kevents against those of babeltrace2 (--names=all --fields=all), event for event and
field for field, in order of time. Events of one instant may come in any order of their streams."""
import re
import sys

SCOPES = {"stream.packet.context": "packet.", "stream.event.context": "stream.", "event.context": "context.",
          "event.fields": ""}
IGNORED = re.compile(r"delta$|trace$|trace:|loglevel$|stream\.|model\.|emf|$")
ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "v": "\v", "f": "\f", "e": "\x1b", "0": "\0"}


class Text:
    """A cursor over a line of either."""

    def __init__(self, line):
        self.s, self.i = line, 0

    def at(self, word):
        return self.s.startswith(word, self.i)

    def take(self, word):
        if not self.at(word):
            raise ValueError("no %r at ...%s" % (word, self.s[self.i:self.i + 60]))
        self.i += len(word)

    def match(self, pattern):
        m = re.compile(pattern).match(self.s, self.i)
        if not m:
            raise ValueError("no %s at ...%s" % (pattern, self.s[self.i:self.i + 60]))
        self.i = m.end()
        return m.group(0)

    def string(self):
        out = []
        self.take('"')
        while not self.at('"'):
            c = self.s[self.i]
            self.i += 1
            if c == "\\":
                c = self.s[self.i]
                self.i += 1
                if c == "x":
                    c = chr(int(self.s[self.i:self.i + 2], 16))
                    self.i += 2
                else:
                    c = ESCAPES.get(c, c)
            out.append(c)
        self.take('"')
        return "".join(out)


def number(word):
    if re.fullmatch(r"-?\d+", word):
        return int(word)
    if word.startswith("0x") or word.startswith("0b"):
        return int(word, 0)
    return float(word)


def peer_value(t, name, out):
    """A value of babeltrace2 into flat names."""
    if t.at('"'):
        out.append((name, t.string()))
    elif t.at("{ }") or t.at("[ ]"):
        out.append((name, t.match(r"[\[{] [\]}]").replace(" ", "")))
    elif t.at("{"):
        t.take("{ ")
        while not t.at("}"):
            member = t.match(r'"?[^ "]+"? (?:=|:) ')
            member = re.sub(r'"| [=:] $', "", member)
            peer_value(t, name + ("." if name else "") + member, out)
            t.match(r",? ")
        t.take("}")
    elif t.at("["):
        t.take("[ ")
        while not t.at("]"):
            peer_value(t, name + re.sub(" = $", "", t.match(r"\[\d+\] = ")), out)
            t.match(r",? ")
        t.take("]")
    elif t.at("("):
        t.take("( ")
        labels = []
        while not t.at("container") and not t.at(":"):
            if t.at("<unknown>"):
                t.take("<unknown>")
            elif t.at("{"):
                t.take("{ ")
                while not t.at("}"):
                    labels.append(t.string())
                    t.match(r",? ")
                t.take("}")
            else:
                labels.append(t.string())
            t.match(r",? ")
        t.match(r":? ?container = ")
        value = number(t.match(r"-?[0-9a-fA-Fx]+"))
        t.take(" )")
        out.append((name, (value, tuple(labels)) if labels else value))
    else:
        out.append((name, number(t.match(r"[^ ,]+"))))


def peer(line):
    t = Text(line)
    ev = {"time": None, "name": "", "fields": []}
    while t.i < len(t.s):
        if t.at(", ") or t.at(" "):
            t.match(r",? ")
            continue
        name = t.match(r"[^ ,]+ = ")[:-3]
        if name in SCOPES:
            out = []
            peer_value(t, "", out)
            # nothing is in it: no fields
            ev["fields"] += [(SCOPES[name] + n, v) for n, v in out if n]
        elif name == "timestamp":
            s, ns = t.match(r"\d+\.\d+").split(".")
            ev["time"] = int(s) * 10 ** 9 + int(ns)
        elif name == "name":
            # the last of those before the fields; it may hold anything
            ev["name"] = t.match(r".*?(?=, (?:stream\.packet\.context|stream\.event\.context|event\.context|event\.fields|loglevel) = |$)")
        elif IGNORED.match(name):
            t.match(r"[^,]*")
        else:
            raise ValueError("what is %r" % name)
    return ev


def our_value(t):
    if t.at('"'):
        labels = [t.string()]
        while t.at("|"):
            t.take("|")
            labels.append(t.string())
        if not t.at("("):
            return labels[0]
        t.take("(")
        value = number(t.match(r"-?[0-9a-fA-Fx]+"))
        t.take(")")
        return (value, tuple(labels))
    if t.at("{}") or t.at("[]"):
        return t.match(r"..")
    return number(t.match(r"[^ ,\]]+"))


def ours(line):
    m = re.match(r"(\S+) (\S+) (\S+) (\S+) (\d+) (.*?): (.*)$", line, re.S)
    time = m.group(1).split("+")[0]
    ev = {"time": None if time == "-" else int(time), "name": m.group(6), "fields": []}
    t = Text(m.group(7))
    while t.i < len(t.s):
        name = t.match(r"[^=]+=")[:-1]
        if t.at("[") and not t.at("[]"):
            t.take("[")
            i = 0
            while not t.at("]"):
                ev["fields"].append(("%s[%d]" % (name, i), our_value(t)))
                i += 1
                t.match(r"(, )?")
            t.take("]")
        else:
            ev["fields"].append((name, our_value(t)))
        t.match(r" ?")
    return ev


def order(ev):
    """The contexts come last with us, first with babeltrace2."""
    scopes = ("packet.", "stream.", "context.")
    return sorted(ev["fields"], key=lambda f: next((i for i, s in enumerate(scopes) if f[0].startswith(s)), 9))


def groups(events):
    """Runs of one time, each in one order."""
    out, last = [], None
    for ev in events:
        if not out or ev["time"] != last:
            out.append([])
            last = ev["time"]
        out[-1].append((ev["name"], order(ev)))
    return [(sorted(g, key=repr)) for g in out]


def same(a, b):
    if isinstance(a, float) or isinstance(b, float):
        # babeltrace2 prints six digits behind the point
        return a == b or abs(float(a) - float(b)) <= 1e-5 * max(1, abs(float(b))) or (a != a and b != b)
    return a == b


def main():
    mine = [ours(x) for x in open(sys.argv[1], encoding="latin-1").read().split("\n")[:-1]
            if not re.match(r"end |\S+ \S+ \S+ \S+ \d+ (gap |stream\.lost: )", x)]
    his = [peer(x) for x in open(sys.argv[2], encoding="latin-1").read().split("\n")[:-1]]
    if len(mine) != len(his):
        sys.exit("%d events, babeltrace2 has %d" % (len(mine), len(his)))
    moved = sum(a["time"] != b["time"] or a["name"] != b["name"] for a, b in zip(mine, his))
    fields = 0
    for a, b in zip(groups(mine), groups(his)):
        for (an, af), (bn, bf) in zip(a, b):
            if an != bn or len(af) != len(bf):
                sys.exit("differ:\n%s %s\n%s %s" % (an, af, bn, bf))
            for x, y in zip(af, bf):
                if x[0] != y[0] or not same(x[1], y[1]):
                    sys.exit("%s: %s is not %s" % (an, x, y))
            fields += len(af)
    for a, b in zip(mine, his):
        if a["time"] != b["time"]:
            sys.exit("time %s is not %s" % (a["time"], b["time"]))
    print("%d events, %d fields, %d of one instant in another order" % (len(mine), fields, moved))


main()
