"""Which folder may use which, as docs/architecture.md has it: the #include lines, and where SQL stands."""

import re

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')

# How an include names a library from outside.
LIBRARIES = {
    "sqlite3.h": "sqlite3", "librdkafka/": "rdkafka", "nlohmann/": "json", "CLI/": "CLI11", "spdlog/": "spdlog",
    "fmt/": "spdlog", "toml++/": "toml++", "toml.hpp": "toml++", "microhttpd.h": "microhttpd",
    "prometheus/": "prometheus", "openssl/": "openssl", "hiredis/": "hiredis", "systemd/": "systemd",
    "doctest/": "doctest", "rapidcheck": "rapidcheck", "benchmark/": "benchmark", "SQLiteCpp/": "SQLiteCpp",
}
RELAY_LIBRARIES = {"CLI11", "json", "toml++", "spdlog", "microhttpd", "prometheus", "systemd"}

# The longest folder that fits a file decides: (modules it may include, libraries it may include). None: anything.
ALLOWED = {
    "libbase/": ({"base"}, set()),
    "libstore/": ({"base", "store"}, {"sqlite3", "json"}),
    "libkafka/": ({"base", "kafka"}, {"rdkafka"}),
    "libooutbox/": ({"base", "store", "outbox"}, {"sqlite3"}),
    "libinbox/": ({"base", "store", "inbox"}, {"sqlite3", "openssl"}),
    "libinbox/src/consumer": ({"base", "store", "kafka", "inbox"}, {"sqlite3", "openssl"}),
    "libinbox/include/txbox/inbox/consumer": ({"base", "inbox"}, set()),
    "relay/": ({"base", "store", "kafka"}, RELAY_LIBRARIES),
    "relay/engine/": ({"base", "store", "kafka"}, set()),
    "relay/demo/": ({"base", "store", "kafka", "outbox", "inbox"}, RELAY_LIBRARIES | {"sqlite3"}),
    "samples/": ({"base", "outbox", "inbox"}, None),
    "tests/": (None, None),
}
# What applications include: a library of someone else's there would become everybody's business.
PUBLIC_HEADERS = ("libbase/include/", "libooutbox/include/", "libinbox/include/")
# Inside the relay: the engine knows no command line and no file of settings, and the demo is a command like any other.
INSIDE_RELAY = {
    "relay/engine/": {"engine"},
    "relay/config/": {"config"},
    "relay/doctor/": {"engine", "doctor"},
    "relay/host/": {"engine", "host"},
    "relay/http/": {"config", "http"},
    "relay/metrics/": {"engine", "metrics"},
    "relay/cli/": {"engine", "config", "doctor", "cli", "demo", "host", "http", "metrics"},
    "relay/demo/": {"engine", "cli", "demo"},
}

# A core is a function of its events, so that a test can play any history: no threads, no I/O, no time of day. Each is
# the target of one list of sources.
CORE_LISTS = (("relay/engine/CMakeLists.txt", "relay_core"), ("libinbox/CMakeLists.txt", "inbox_core"))
IMPURE_HEADERS = {"thread", "mutex", "condition_variable", "fstream", "iostream", "filesystem", "future", "unistd.h",
                  "fcntl.h", "poll.h", "sys/inotify.h", "pthread.h", "sqlite3.h"}
TIME_OF_DAY = re.compile(r"\b(?:now|time|clock_gettime|gettimeofday)\s*\(")

BOX_TABLE = r"""["\[`]?(?:outbox(?:_\w+)?|inbox(?:_\w+)?|txbox_(?:meta|audit))\b"""
BOX_SQL = re.compile(
    rf"\b(?:FROM|JOIN|INTO|UPDATE|TABLE|TRIGGER|VIEW)\s+(?:IF\s+(?:NOT\s+)?EXISTS\s+)?{BOX_TABLE}", re.IGNORECASE)
# The contract for other programs is plain SQL, and samples show it.
CONTRACT_SQL = re.compile(r"\b(?:INTO\s+(?:outbox|inbox)\s*\(|FROM\s+outbox_status\b)", re.IGNORECASE)


def check(tree):
    core = core_files(tree)
    for file in tree.files:
        if file.is_cpp:
            yield from includes(file)
            if file.path in core:
                yield from impurity(file)
        if (file.is_cpp or file.suffix == ".py") and not file.path.startswith(("libstore/", "tests/")):
            yield from box_sql(file)


def includes_of(file):
    for number, line in enumerate(file.lines, 1):
        match = INCLUDE.match(line)
        if match:
            yield f"{file.path}:{number}", match.group(2)


def includes(file):
    folder = max((prefix for prefix in ALLOWED if file.path.startswith(prefix)), key=len, default=None)
    if folder is None:
        return
    modules, libraries = ALLOWED[folder]
    public = file.path.startswith(PUBLIC_HEADERS)
    for where, target in includes_of(file):
        module = re.match(r"txbox/(\w+)/", target)
        if module and modules is not None and module.group(1) not in modules:
            yield f"{where}: include: {folder} must not use {module.group(1)} ({target})"
        library = library_of(target)
        if library and libraries is not None and library not in libraries:
            yield f"{where}: include: {folder} must not use {library} ({target})"
        elif library and public:
            yield f"{where}: include: a public header must not bring {library} to every caller ({target})"
        elif library == "json" and file.is_header:
            yield f"{where}: include: JSON is parsed in .cpp files only ({target})"
        if public and module and module.group(1) in {"store", "kafka"}:
            yield f"{where}: include: a public header must not need a header that is not installed ({target})"
        inside = re.match(r"relay/(\w+)/", target)
        if inside and folder != "tests/" and inside.group(1) not in allowed_inside_relay(file):
            yield f"{where}: include: {folder} must not use the relay's {inside.group(1)} ({target})"


def allowed_inside_relay(file):
    return next((allowed for folder, allowed in INSIDE_RELAY.items() if file.path.startswith(folder)), set())


def core_files(tree):
    """The sources and headers that the cores' targets list."""
    found = set()
    for path, target in CORE_LISTS:
        listing = next((file.code for file in tree.files if file.path == path), "")
        match = re.search(rf"\(\s*{target}\b([^)]*)\)", listing)
        folder = path.rsplit("/", 1)[0]
        found |= {f"{folder}/{name}" for name in re.findall(r"[\w/]+\.[ch]pp\b", match.group(1))} if match else set()
    return found


def impurity(file):
    for where, target in includes_of(file):
        if target in IMPURE_HEADERS or target.startswith("txbox/kafka/"):
            yield f"{where}: include: the core has no threads and no I/O ({target})"
    for match in TIME_OF_DAY.finditer(file.code):
        line = file.line_of(match.start())
        yield f"{file.path}:{line}: core: the time of day comes in with the event ({match.group()}...)"


def library_of(target):
    return next((library for prefix, library in LIBRARIES.items() if target.startswith(prefix)), None)


def box_sql(file):
    for line, literal in file.string_literals():
        rest = CONTRACT_SQL.sub("", literal) if file.path.startswith(("samples/", "relay/demo/")) else literal
        match = BOX_SQL.search(rest)
        if match:
            yield f"{file.path}:{line}: sql: statements on the boxes' tables stand in libstore only ({match.group()})"
