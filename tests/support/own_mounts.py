"""File systems of a test's own: small ones that fill up, and ones that take no writing."""

import os
import subprocess
import sys

from support.kafka import SKIPPED

INSIDE = "TXBOX_TEST_OWN_MOUNTS"


def in_a_namespace_of_its_own():
    """What is mounted from here on nobody else sees, and it goes with this process."""
    if os.environ.get(INSIDE):
        return
    # In a chroot the root is no mount point, whose propagation could be changed.
    for options in (["--mount"], ["--mount", "--map-root-user"], ["--mount", "--propagation", "unchanged"]):
        words = ["unshare", *options]
        if subprocess.run([*words, "true"], stderr=subprocess.DEVNULL, check=False).returncode == 0:
            os.execvpe("unshare", [*words, sys.executable, *sys.argv], {**os.environ, INSIDE: "1"})
    print("skipped: no small file system can be mounted here", file=sys.stderr)
    sys.exit(SKIPPED)


def mount_disk(run, name, size):
    """A disk of `size` bytes; returns its folder."""
    folder = run.path(name)
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "txbox-test", folder], check=True)
    run.at_end(lambda: subprocess.run(["umount", "--lazy", folder], check=False))
    return folder


def forbid_writing(folder):
    subprocess.run(["mount", "-o", "remount,ro", folder], check=True)
