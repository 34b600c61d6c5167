"""The service manager's end of sd_notify(3): a datagram socket that a relay is started with."""

import socket
import time

from support.harness import Failure


class NotifySocket:
    def __init__(self, run, name="notify"):
        self.path = run.path(name)
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC)
        self._socket.bind(str(self.path))
        run.at_end(self._socket.close)

    def environment(self, watchdog_seconds=None):
        found = {"NOTIFY_SOCKET": str(self.path)}
        if watchdog_seconds is not None:
            found["WATCHDOG_USEC"] = str(int(watchdog_seconds * 1e6))
        return found

    def receive(self, seconds):
        """The next message as a dictionary, or None when none comes in time."""
        self._socket.settimeout(max(seconds, 0.001))
        try:
            text = self._socket.recv(65536).decode()
        except socket.timeout:
            return None
        return dict(line.split("=", 1) for line in text.splitlines())

    def receive_until(self, wanted, seconds):
        """All messages up to the first one that `wanted` says yes to."""
        found, deadline = [], time.monotonic() + seconds
        while not found or not wanted(found[-1]):
            message = self.receive(deadline - time.monotonic())
            if message is None:
                raise Failure(f"not within {seconds} s; what came: {found}")
            found.append(message)
        return found
