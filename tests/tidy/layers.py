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
    "relay/engine/core": ({"base", "store"}, set()),
    "relay/demo/": ({"base", "store", "kafka", "outbox", "inbox"}, RELAY_LIBRARIES | {"sqlite3"}),
    "samples/": ({"base", "outbox", "inbox"}, None),
    "tests/": (None, None),
}
# What applications include: a library of someone else's there would become everybody's business.
PUBLIC_HEADERS = ("libbase/include/", "libooutbox/include/", "libinbox/include/")
# The core of the relay is a function of its events; a test can then play any history.
PURE = ("relay/engine/core",)
IMPURE_HEADERS = {"thread", "mutex", "condition_variable", "fstream", "iostream", "filesystem", "future", "unistd.h",
                  "fcntl.h", "poll.h", "sys/inotify.h", "pthread.h"}

BOX_TABLE = r"""["\[`]?(?:outbox(?:_\w+)?|inbox(?:_\w+)?|txbox_(?:meta|audit))\b"""
BOX_SQL = re.compile(
    rf"\b(?:FROM|JOIN|INTO|UPDATE|TABLE|TRIGGER|VIEW)\s+(?:IF\s+(?:NOT\s+)?EXISTS\s+)?{BOX_TABLE}", re.IGNORECASE)
# The contract for other programs is plain SQL, and samples show it.
CONTRACT_SQL = re.compile(r"\b(?:INTO\s+(?:outbox|inbox)\s*\(|FROM\s+outbox_status\b)", re.IGNORECASE)


def check(tree):
    for file in tree.files:
        if file.is_cpp:
            yield from includes(file)
        if (file.is_cpp or file.suffix == ".py") and not file.path.startswith(("libstore/", "tests/")):
            yield from box_sql(file)


def includes(file):
    folder = max((prefix for prefix in ALLOWED if file.path.startswith(prefix)), key=len, default=None)
    if folder is None:
        return
    modules, libraries = ALLOWED[folder]
    public = file.path.startswith(PUBLIC_HEADERS)
    for number, line in enumerate(file.lines, 1):
        match = INCLUDE.match(line)
        if not match:
            continue
        target = match.group(2)
        where = f"{file.path}:{number}"
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
        if target in IMPURE_HEADERS and file.path.startswith(PURE):
            yield f"{where}: include: the core has no threads and no I/O ({target})"


def library_of(target):
    return next((library for prefix, library in LIBRARIES.items() if target.startswith(prefix)), None)


def box_sql(file):
    for line, literal in file.string_literals():
        rest = CONTRACT_SQL.sub("", literal) if file.path.startswith(("samples/", "relay/demo/")) else literal
        match = BOX_SQL.search(rest)
        if match:
            yield f"{file.path}:{line}: sql: statements on the boxes' tables stand in libstore only ({match.group()})"
