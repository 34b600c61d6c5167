"""Reads strace's output (-f -y): was the WAL synced between reading a row and sending it, or writing and telling?"""

import re

LINE = re.compile(r"^(?P<pid>\d+)\s+(?P<rest>.*)$")
CALL = re.compile(r"^(?P<name>\w+)\((?P<arguments>.*)$")
RESUMED = re.compile(r"^<\.\.\. (?P<name>\w+) resumed>(?P<arguments>.*)$")
SYNCS = ("fsync", "fdatasync")
SENDS = ("sendmsg", "sendto", "write", "writev")
UNFINISHED = "<unfinished ...>"


def unsynced_markers(lines, wal_name, markers):
    """{marker: reason} where the first send did not follow a finished, good sync that began after a read of it."""
    reads = {marker: [] for marker in markers}
    sends = {}
    syncs = []  # (began, ended)
    for name, text, began, ended in finished_calls(lines):
        if name in SYNCS and wal_name in text and re.search(r"\)\s+= 0", text):
            syncs.append((began, ended))
            continue
        found = [marker for marker in markers if marker in text] if name == "pread64" or name in SENDS else []
        for marker in found:
            if name == "pread64" and wal_name in text:
                reads[marker].append(ended)
            elif name in SENDS and "<socket:" in text or "TCP:" in text:
                sends.setdefault(marker, began)
    bad = {}
    for marker in markers:
        if marker not in sends:
            bad[marker] = "never seen in a send"
        elif not any(read < began and ended < sends[marker] for read in reads[marker] for began, ended in syncs):
            bad[marker] = "sent without a sync after it was read"
    return bad


def sends_before_a_sync(lines, wal_name, marker):
    """(how many sends hold `marker`, those among them that began while something written to the WAL was not synced)."""
    written = -1  # where the newest write to the WAL ended
    synced = -1  # where the newest sync began that has ended
    sends = 0
    early = []
    for name, text, began, ended in finished_calls(lines):
        if name == "pwrite64" and wal_name in text:
            written = ended
        elif name in SYNCS and wal_name in text and re.search(r"\)\s+= 0", text):
            synced = max(synced, began)
        elif name in SENDS and marker in text and ("<socket:" in text or "TCP:" in text):
            sends += 1
            if synced < written < began:
                early.append(text[:200])
    return sends, early


def finished_calls(lines):
    """(name, the whole text, the lines where it began and ended), in the order in which calls end."""
    open_calls = {}
    for number, line in enumerate(lines):
        match = LINE.match(line)
        if not match:
            continue
        pid, rest = match["pid"], match["rest"]
        call, resumed = CALL.match(rest), RESUMED.match(rest)
        if call and rest.endswith(UNFINISHED):
            open_calls[pid] = (call["name"], rest[: -len(UNFINISHED)], number)
            continue
        if call:
            name, text, began = call["name"], rest, number
        elif resumed and pid in open_calls:
            name, start, began = open_calls.pop(pid)
            text = start + resumed["arguments"]
        else:
            continue
        yield name, text, began, number
