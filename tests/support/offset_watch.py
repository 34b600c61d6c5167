"""Watches a group from both sides while it works: what Kafka was told, and what the database says."""

import re
import threading
import time

from support.billing import Database
from support.group_log import GroupLog
from support.harness import check, require

METADATA = re.compile(r"txbox1:([^:]+):(\d+)")


class OffsetWatch:
    """Each commit in Kafka's log is compared with inbox_offsets, read after it: Kafka is never ahead, never goes back,
    and names the store. A commit of a person's tool (its metadata is empty) must be announced by expect_reset()."""

    def __init__(self, run, bootstrap, databases):
        """`databases`: {group: file}."""
        self.databases = {group: Database(path, group) for group, path in databases.items()}
        self.committed = {}
        self.resets_expected = False
        self.resets = 0
        self.log = GroupLog(run, bootstrap, databases, self._commit)

    def _commit(self, commit):
        place = (commit.group, *commit.place)
        text = f"group {commit.group}, {commit.topic}[{commit.partition}]"
        if commit.offset is None or not commit.metadata:
            require(self.resets_expected, f"{text}: a commit of nobody's: {commit}")
            self.resets += 1
            self.committed.pop(place, None)
            return
        database = self.databases[commit.group]
        stored = database.positions().get(commit.place, -1)
        require(
            stored >= commit.offset, f"{text}: Kafka has {commit.offset}, the database only {stored}: Kafka is ahead"
        )
        last = self.committed.get(place, -1)
        require(commit.offset >= last, f"{text}: Kafka's offset went back from {last} to {commit.offset}")
        named = METADATA.fullmatch(commit.metadata)
        uuid = database.store_uuid()
        require(named and named.group(1) == uuid, f"{text}: metadata {commit.metadata!r} does not name store {uuid}")
        self.committed[place] = commit.offset

    def expect_reset(self, expected=True):
        self.resets_expected = expected

    def catch_up(self):
        """Everything that was committed until now holds. With the group's processes dead this is exact."""
        self.log.catch_up()

    def report(self, when):
        self.catch_up()
        check(
            self.log.commits > 0,
            f"{when}: none of {self.log.commits} commits in Kafka was ahead of the database or went back, each named"
            " its store",
        )


class PositionWatch:
    """Samples inbox_offsets in a thread of its own: no position goes back; how long each of them stood still."""

    def __init__(self, run, path, places, group="billing", every=0.05):
        self.database = Database(path, group)
        self.every = every
        self.samples = 0
        self.last = {}
        now = time.monotonic()
        self.moved_at = {place: now for place in places}
        self.longest = {place: 0.0 for place in places}
        self.failure = None
        self.stopping = threading.Event()
        self.thread = threading.Thread(target=self._sample_on, daemon=True)
        self.thread.start()
        run.at_end(self.stop)

    def _sample_on(self):
        try:
            while not self.stopping.wait(self.every):
                self._sample()
        except BaseException as failure:  # handed over to the thread that asks
            self.failure = failure
        finally:
            self.database.close()

    def _sample(self):
        self.samples += 1
        positions = self.database.positions()
        now = time.monotonic()
        for place in self.moved_at:
            offset, last = positions.get(place, -1), self.last.get(place, -1)
            require(offset >= last, f"{place}: the database's position went back from {last} to {offset}")
            if offset > last:
                self.moved_at[place] = now
            self.longest[place] = max(self.longest[place], now - self.moved_at[place])
            self.last[place] = offset

    def all_moved_since(self, moment):
        """True when every partition has moved after `moment` of the monotonic clock."""
        self.check()
        return min(self.moved_at.values()) > moment

    def standing_still(self):
        """Seconds for which the slowest partition has not moved until now."""
        self.check()
        return time.monotonic() - min(self.moved_at.values())

    def check(self):
        if self.failure is not None:
            raise self.failure

    def stop(self):
        self.stopping.set()
        self.thread.join(20)
