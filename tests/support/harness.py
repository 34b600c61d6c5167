"""What every acceptance script needs: checks that say what they saw, a watchdog, a folder, a seed, tied children."""

import ctypes
import faulthandler
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback

ROOT = pathlib.Path(__file__).resolve().parents[2]
PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True)


class Failure(Exception):
    """A promise did not hold."""


def check(holds, text):
    """One line of the report if it holds; the end of the test if it does not."""
    if not holds:
        raise Failure(text)
    print(f"ok    {text}", flush=True)


def require(holds, text):
    """As check(), without the line: for what is looked at many times."""
    if not holds:
        raise Failure(text)


def note(text):
    print(f"      {text}", flush=True)


def wait_until(condition, seconds, what, every=0.05):
    """Polls a condition of another process, which sends no signal; fails after `seconds`. Returns what it answered."""
    deadline = time.monotonic() + seconds
    while True:
        answer = condition()
        if answer:
            return answer
        require(time.monotonic() < deadline, f"not within {seconds} s: {what}")
        time.sleep(every)  # tidy: waits for another process that sends no signal


def let_pass(seconds, why):
    """Where time itself is the input: how long a fault or a load lasts, or the random moment of a kill."""
    assert why
    time.sleep(seconds)  # tidy: waits for nothing; the reason stands at each call


def die_with_parent():
    """For preexec_fn: a child must not outlive a test that was killed."""
    _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def spawn(arguments, **options):
    return subprocess.Popen([str(a) for a in arguments], preexec_fn=die_with_parent, **options)


def binary(name):
    """A program of this build: TXBOX_BIN names the folder, else build/bin."""
    folder = pathlib.Path(os.environ.get("TXBOX_BIN", ROOT / "build" / "bin"))
    path = folder / name
    require(path.exists(), f"{path} is not built")
    return path


class Run:
    """One test run: its folder (kept when it failed), its random numbers, what must be stopped at its end."""

    def __init__(self, name):
        self.name = name
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix=f"txbox-{name}-"))
        self.seed = int(os.environ.get("TXBOX_TEST_SEED", random.SystemRandom().randrange(1 << 32)))
        self.random = random.Random(self.seed)
        self._stops = []

    def at_end(self, action):
        self._stops.append(action)

    def path(self, name):
        return self.folder / name

    def stop_all(self):
        while self._stops:
            self._stops.pop()()


def main(name, body, limit_seconds):
    """Runs body(run). Exit 0 when all checks held, 1 otherwise; never longer than the limit."""
    run = Run(name)
    print(f"{name}: seed {run.seed} (TXBOX_TEST_SEED repeats it), folder {run.folder}", flush=True)

    def out_of_time(_signal, _frame):
        raise Failure(f"watchdog: not finished after {limit_seconds} s")

    signal.signal(signal.SIGALRM, out_of_time)
    signal.alarm(limit_seconds)
    faulthandler.dump_traceback_later(limit_seconds + 60, exit=True)  # also when the cleaning up hangs
    started = time.monotonic()
    code = 1
    try:
        body(run)
        code = 0
    except Failure as failure:
        print(f"FAIL  {failure}", flush=True)
        traceback.print_exc(limit=-4)
    except SystemExit as leaving:  # skipped: there is no broker
        code = leaving.code
    except Exception:  # an accident of the test itself is a failure, told apart by its trace
        traceback.print_exc()
    finally:
        signal.alarm(0)
        if code == 1:
            show_logs(run.folder)
        run.stop_all()
    if code != 1:
        shutil.rmtree(run.folder, ignore_errors=True)
    word = {0: "passed", 1: "FAILED"}.get(code, "skipped")
    print(f"{name}: {word} after {time.monotonic() - started:.1f} s", flush=True)
    sys.exit(code)


def show_logs(folder, lines=60):
    for log in sorted(folder.glob("*.log")):
        text = log.read_text(errors="replace").splitlines()
        print(f"--- last lines of {log}", *text[-lines:], sep="\n", flush=True)
