"""Rules that a text alone can break: sizes, words left over, tests that do not count, waiting by the clock."""

import ast
import re

MOST_LINES = 500
MOST_FUNCTION_LINES = 70
MOST_COLUMNS = 120

# Written so that this file does not contain the words itself.
LEFT_OVER = re.compile(r"\b(?:TO[D]O|FIX[M]E|XX[X]|HA[C]K)\b")
OFF_IN_CODE = re.compile(
    r"doctest::(?:skip|may_fail|should_fail|expected_failures|no_breaks)\b|\bDISABLED_|^\s*#\s*if\s+0\b"
    r"|@unittest\.(?:skip\w*|expectedFailure)\b|\bself\.skipTest\b|@pytest\.mark\.(?:skip\w*|xfail)\b", re.MULTILINE)
OFF_IN_CMAKE = re.compile(r"\b(?:DISABLED|WILL_FAIL)\s+(?:TRUE|ON|1)\b")
SLEEP = re.compile(
    r"\b(?:sleep_for|sleep_until|usleep|nanosleep)\b|(?:\btime\.|(?<![\w.]))sleep\s*\(|^\s*sleep\s+[\d$]")
SLEEP_REASON = "tidy: waits for"
TEST_NAME = re.compile(r'\bTEST_CASE\s*\(\s*((?:"(?:[^"\\\n]|\\.)*"\s*)+)')


def check(tree):
    for file in tree.files:
        yield from sizes(file)
        yield from leftovers(file)
        if file.is_cpp:
            yield from split_names(file)
        if file.is_cpp:
            yield from long_functions(file, cpp_functions(file.code))
        elif file.suffix == ".py":
            yield from long_functions(file, python_functions(file.text))
        if file.path.startswith(("tests/", "samples/")):
            yield from sleeps(file)


def is_source(file):
    return file.is_cpp or file.is_cmake or file.is_shell or file.suffix in {".py", ".sql"}


def sizes(file):
    if not is_source(file):
        return
    if len(file.lines) > MOST_LINES:
        yield f"{file.path}:{len(file.lines)}: size: more than {MOST_LINES} lines; it is two things"
    for number, line in enumerate(file.lines, 1):
        if len(line) > MOST_COLUMNS:
            yield f"{file.path}:{number}: size: {len(line)} columns, more than {MOST_COLUMNS}"


def leftovers(file):
    for number, line in enumerate(file.lines, 1):
        match = LEFT_OVER.search(line)
        if match:
            yield f"{file.path}:{number}: left over: {match.group()}"
    if not is_source(file):
        return
    pattern = OFF_IN_CMAKE if file.is_cmake else OFF_IN_CODE
    for match in pattern.finditer(file.code):
        line = file.line_of(match.start())
        yield f"{file.path}:{line}: disabled: {match.group().strip()}; a test that is off is no test"


def split_names(file):
    """A list of CMake ends an entry there: ctest would run a test of half the name, which does not exist."""
    for match in TEST_NAME.finditer(file.text):
        if ";" in match.group(1):
            yield f"{file.path}:{file.line_of(match.start())}: name: a ';' in a test's name; ctest would run nothing"


def sleeps(file):
    """A test waits for what it waits for; where only polling is possible the reason stands on the line or above it."""
    if not (file.is_cpp or file.is_shell or file.suffix == ".py"):
        return
    for number, line in enumerate(file.code.splitlines(), 1):
        if SLEEP.search(line) and not any(SLEEP_REASON in file.lines[at - 1] for at in (number, number - 1) if at):
            yield f"{file.path}:{number}: sleep: wait for a signal, or say '{SLEEP_REASON} ...' with the reason"


def long_functions(file, functions):
    for first, last in functions:
        if last - first + 1 > MOST_FUNCTION_LINES:
            yield f"{file.path}:{first}: size: a function of {last - first + 1} lines, more than {MOST_FUNCTION_LINES}"


def python_functions(text):
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node.lineno, node.end_lineno


def cpp_functions(code):
    """(first line, last line) of each function body, by braces: what stands before an opening brace says what it opens.

    Lambdas and blocks inside a function belong to it; namespaces and classes are looked into.
    """
    code = re.sub(r"(?m)^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", lambda match: re.sub(r"[^\n]", " ", match.group()), code)
    containers = []  # one entry an open brace: the line where a function begins, else None
    head_begin = 0
    for match in re.finditer(r"[{};]", code):
        if match.group() == ";":
            head_begin = head_begin if inside_function(containers) else match.end()
        elif match.group() == "{":
            head = code[head_begin:match.start()]
            opens = None
            if not inside_function(containers) and opens_function(head):
                opens = code.count("\n", 0, head_begin + len(head) - len(head.lstrip())) + 1
            containers.append(opens)
            head_begin = match.end()
        elif containers:
            began = containers.pop()
            if began is not None:
                yield began, code.count("\n", 0, match.start()) + 1
            head_begin = match.end()


def inside_function(containers):
    return any(entry is not None for entry in containers)


def opens_function(head):
    if "(" not in head or re.search(r"\b(?:namespace|enum)\b", head):
        return False
    # `struct Guard : Base(x) {` does not exist; a function may return or take a struct.
    before_parenthesis = head.split("(", 1)[0]
    return not re.search(r"\b(?:class|struct|union)\s+\w+\s*(?::[^:]|$)", before_parenthesis)
