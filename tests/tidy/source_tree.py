"""The files of a tree and what the rules need to know of their text. No rule lives here."""

import io
import pathlib
import re
import subprocess
import tokenize

CPP_SUFFIXES = {".cpp", ".hpp", ".h", ".c"}
TEXT_SUFFIXES = CPP_SUFFIXES | {".py", ".cmake", ".txt", ".md", ".sql", ".sh", ".json", ".toml", ".xml", ".in"}

# Comments, raw strings, strings and characters, in this order. A quote after a digit separates digits (20'000).
CPP_TOKEN = re.compile(
    r"""//[^\n]*|/\*.*?\*/|R"(?P<delimiter>\w*)\((?P<raw>.*?)\)(?P=delimiter)"|"(?P<text>(?:\\.|[^"\\\n])*)\""""
    r"""|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'""",
    re.DOTALL)


class File:
    """One text file. `path` is relative to the tree, with forward slashes."""

    def __init__(self, path, text):
        self.path = path
        self.text = text
        self.lines = text.splitlines()
        self._code = None

    @property
    def name(self):
        return self.path.rsplit("/", 1)[-1]

    @property
    def suffix(self):
        return pathlib.PurePosixPath(self.path).suffix

    @property
    def is_cpp(self):
        return self.suffix in CPP_SUFFIXES

    @property
    def is_header(self):
        return self.suffix in {".hpp", ".h"}

    @property
    def is_cmake(self):
        return self.name == "CMakeLists.txt" or self.suffix == ".cmake"

    @property
    def is_shell(self):
        return self.suffix == ".sh" or self.text.startswith(("#!/bin/sh", "#!/usr/bin/env bash", "#!/bin/bash"))

    @property
    def code(self):
        """The text with comments and literals blanked out, line for line."""
        if self._code is None:
            if self.is_cpp:
                self._code = CPP_TOKEN.sub(lambda match: _blank(match.group()), self.text)
            elif self.suffix == ".py":
                self._code = _python_code(self.text)
            elif self.is_cmake or self.is_shell:
                self._code = re.sub(r"(?m)(^|\s)#.*$", "", self.text)
            else:
                self._code = self.text
        return self._code

    def line_of(self, position):
        return self.text.count("\n", 0, position) + 1

    def string_literals(self):
        """(line, text) of each string; strings that stand side by side are one, as the compiler joins them."""
        if self.suffix == ".py":
            return [(token.start[0], token.string) for token in _python_tokens(self.text)
                    if token.type == tokenize.STRING]
        joined = []
        end = None
        for match in CPP_TOKEN.finditer(self.text):
            literal = match.group("raw") if match.group("raw") is not None else match.group("text")
            if literal is None:
                continue
            if end is not None and not self.text[end:match.start()].strip():
                joined[-1] = (joined[-1][0], joined[-1][1] + literal)
            else:
                joined.append((self.line_of(match.start()), literal))
            end = match.end()
        return joined


class Tree:
    """All text files below `root` that belong to the project: what git knows or would add."""

    def __init__(self, root):
        self.root = pathlib.Path(root)
        self.files = []
        for path in sorted(_paths(self.root)):
            full = self.root / path
            if not full.is_file() or full.is_symlink():
                continue
            content = full.read_bytes()
            if b"\0" in content:
                continue
            if full.suffix in TEXT_SUFFIXES or content.startswith(b"#!"):
                self.files.append(File(path, content.decode("utf-8", errors="replace")))

    def exists(self, path):
        return (self.root / path).exists()


def _paths(root):
    command = ["git", "-C", str(root), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    if listed.returncode == 0 and listed.stdout:
        return [path for path in listed.stdout.decode().split("\0") if path]
    # An unpacked archive, or the small trees of tidy_test.py.
    return [path.relative_to(root).as_posix() for path in root.rglob("*")
            if not any(part == ".git" or part.startswith("build") for part in path.relative_to(root).parts)]


def _blank(text):
    return re.sub(r"[^\n]", " ", text)


def _python_tokens(text):
    try:
        return list(tokenize.generate_tokens(io.StringIO(text).readline))
    except (tokenize.TokenError, IndentationError, SyntaxError):
        return []


def _python_code(text):
    lines = text.splitlines(keepends=True)
    for token in _python_tokens(text):
        if token.type not in (tokenize.STRING, tokenize.COMMENT):
            continue
        (first, begin), (last, end) = token.start, token.end
        for row in range(first, last + 1):
            line = lines[row - 1]
            left = begin if row == first else 0
            right = end if row == last else len(line)
            lines[row - 1] = line[:left] + _blank(line[left:right]) + line[right:]
    return "".join(lines)
