"""Rules about files that must know of each other: sources and CMake lists, documents and what they point to."""

import posixpath
import re

LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)(?:\s+\"[^\"]*\")?\)")
PROMISE = re.compile(r"^\|\s*\**(P\d+)\b")
QUOTED = re.compile(r"`([^`]+)`")
SOURCE_FOLDERS = ("libbase/", "libstore/", "libkafka/", "libooutbox/", "libinbox/", "relay/", "samples/", "tests/")
GUARANTEES = "docs/guarantees.md"


def check(tree):
    yield from unlisted_sources(tree)
    yield from unlisted_folders(tree)
    yield from dead_links(tree)
    yield from unproved_promises(tree)


def unlisted_sources(tree):
    """Sources are listed by hand; one that is forgotten would never be compiled or run."""
    lists = {posixpath.dirname(file.path): file.code for file in tree.files if file.name == "CMakeLists.txt"}
    for file in tree.files:
        if file.suffix == ".cmake":  # these name files from the root on
            lists[""] = lists.get("", "") + file.code
    callers = "\n".join(file.code for file in tree.files if file.suffix == ".py" or file.is_shell)
    for file in tree.files:
        if not file.path.startswith(SOURCE_FOLDERS):
            continue
        listed = False
        if file.suffix == ".py":
            stem = re.escape(file.name.removesuffix(".py"))
            listed = re.search(rf"\bimport (?:\w+, )*{stem}\b|\bfrom (?:\w+\.)*{stem} import\b|/{stem}\.py\b", callers)
        elif file.suffix != ".cpp" and not (file.is_header and re.search(r"/include/|^relay/", file.path)):
            continue  # a private header is not listed: the build finds it beside its source
        if not listed and not is_listed(file.path, lists):
            yield f"{file.path}:1: build: no CMakeLists.txt lists it"


def unlisted_folders(tree):
    """A folder of sources joins the build only if the folder above adds it; a project of its own is built by others."""
    lists = {posixpath.dirname(file.path): file.code for file in tree.files if file.name == "CMakeLists.txt"}
    for folder, listing in lists.items():
        above = posixpath.dirname(folder)
        if not folder or re.search(r"(?m)^\s*project\s*\(", listing):
            continue
        while above and above not in lists:
            above = posixpath.dirname(above)
        # The root may add a folder that lies deeper, as it does with the benchmarks.
        places = [(above, posixpath.relpath(folder, above or ".")), ("", folder)]
        if not any(re.search(rf"\badd_subdirectory\(\s*{re.escape(name)}\s*\)", lists.get(place, ""))
                   for place, name in places):
            yield f"{folder}/CMakeLists.txt:1: build: no CMakeLists.txt above adds this folder"


def is_listed(path, lists):
    folder = posixpath.dirname(path)
    while True:
        name = posixpath.relpath(path, folder or ".")
        if re.search(rf"(?<![\w./-]){re.escape(name)}(?![\w-])", lists.get(folder, "")):
            return True
        if re.search(rf"/{re.escape(name)}(?![\w-])", lists.get(folder, "")):
            return True  # written with a variable before it: ${{CMAKE_CURRENT_SOURCE_DIR}}/name
        if not folder:
            return False
        folder = posixpath.dirname(folder)


def dead_links(tree):
    for file in tree.files:
        if file.suffix != ".md":
            continue
        fenced = False
        for number, line in enumerate(file.lines, 1):
            if line.lstrip().startswith("```"):
                fenced = not fenced
            if fenced:
                continue
            for target in LINK.findall(re.sub(r"`[^`]*`", "", line)):
                path = target.split("#", 1)[0]
                if not path or re.match(r"[a-z]+:", path):
                    continue
                if not tree.exists(posixpath.join(posixpath.dirname(file.path), path)):
                    yield f"{file.path}:{number}: link: {target} does not exist"


def unproved_promises(tree):
    """A row of the promises names its proof: `tests/FILE`, or `tests/FILE: CASE` for one test case in it."""
    guarantees = next((file for file in tree.files if file.path == GUARANTEES), None)
    if guarantees is None:
        return
    texts = {file.path: file.text for file in tree.files}
    for number, line in enumerate(guarantees.lines, 1):
        promise = PROMISE.match(line)
        named = [name for name in QUOTED.findall(line) if name.startswith("tests/")]
        if promise and not named:
            yield f"{GUARANTEES}:{number}: promise: {promise.group(1)} names no test (`tests/...`)"
        for name in named:
            path, _, case = name.partition(": ")
            if path not in texts and not tree.exists(path):
                yield f"{GUARANTEES}:{number}: promise: {path} does not exist"
            elif case and case not in texts.get(path, ""):
                yield f"{GUARANTEES}:{number}: promise: {path} has no test '{case}'"
