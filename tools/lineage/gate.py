"""The lineage gate's classes and table as docs/lineage-format.md gives them: an independent twin of core/src/lineage, simple rather than quick."""

from sealed import content_digest, record_hash, unseal

SOURCE_CLASS = {"user": 1, "approved_source": 2, "agent": 3}


def own_class(channel, author, parents, approved):
    if channel == "approved_source" and author not in approved:
        return 4
    if channel == "agent" and not parents:
        return 4
    return SOURCE_CLASS.get(channel, 4)


def classify(nodes, approved):
    """Class and breakage of each node. A node is {"channel", "author", "parents": [names], "broken": None or a reason}; a name that is no node is missing."""
    found, open_now = {}, set()
    # Depth first with a list of its own: a node is looked at when it opens and again when its parents are done.
    for start in nodes:
        stack = [start]
        while stack:
            name = stack[-1]
            if name in found:
                stack.pop()
                continue
            node = nodes[name]
            if name not in open_now:
                open_now.add(name)
                if node["broken"] is None:
                    # A parent that is open is an ancestor's descendant of itself.
                    if any(parent in open_now for parent in node["parents"]):
                        node["broken"] = "cycle"
                    else:
                        stack += [parent for parent in node["parents"] if parent in nodes and parent not in found]
                        continue
            stack.pop()
            open_now.discard(name)
            found[name] = settle(node, nodes, found, approved)
    return found


def settle(node, nodes, found, approved):
    if node["broken"] is None and any(parent not in nodes for parent in node["parents"]):
        node["broken"] = "missing_parent"
    if node["broken"] is None and any(found.get(parent, (4, "cycle"))[1] for parent in node["parents"]):
        node["broken"] = "broken_parent"
    if node["broken"]:
        return 4, node["broken"]
    own = own_class(node["channel"], node["author"], node["parents"], approved)
    return max([own, *(found[parent][0] for parent in node["parents"])]), None


def decide(authority_class, broken, instruction_like, effect, in_mandate):
    """The gate's table, in the words of vectors/lineage.json."""
    if broken:
        return "quarantine_broken_lineage"
    if authority_class <= 2:
        return "run"
    if authority_class == 3:
        return "run" if effect == "read" or in_mandate else "ask_user"
    if effect == "side_effect" or instruction_like:
        return "quarantine_untrusted"
    return "allow_with_label"


def verify(entry, ancestors, ring, approved, tenant, principal):
    """Class and breakage of an entry {"record", "content"} with its ancestors' records, all bytes."""
    records = {record_hash(sealed): sealed for sealed in ancestors}
    top = record_hash(entry["record"])
    records[top] = entry["record"]
    nodes, waiting = {}, [top]
    while waiting:
        at = waiting.pop()
        if at in nodes or at not in records:
            continue
        fields, problem = unseal("record", records[at], ring)
        if problem == "unknown_key":
            nodes[at] = {"channel": "unknown", "author": "", "parents": [], "broken": None}
            continue
        if problem:
            nodes[at] = {"channel": "unknown", "author": "", "parents": [], "broken": problem}
            continue
        foreign = (fields["tenant"], fields["principal"]) != (tenant, principal)
        node = {"channel": "unknown" if foreign else fields["channel"], "author": fields["author"], "parents": fields["parents"], "broken": None}
        if at == top and fields["content"] != content_digest(entry["content"]):
            node["broken"] = "content_mismatch"
        nodes[at] = node
        waiting += fields["parents"]
    return classify(nodes, approved)[top]
