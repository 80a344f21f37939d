"""Code, commands and queries in variants, with what is true of each."""

# ruff: noqa: E501 -- a template is one line, a list of words one paragraph

from programmatic.variants import Subject, Variant

V = Variant
CODE: tuple[Subject, ...] = (
    (
        V(
            "def {f}({x}):\n    try:\n        return {g}({x})\n    except {E}:\n        raise|try:\n    {g}({x})\nexcept {E} as error:\n    log.error(error)\n    raise",
            "{E} is raised again|{E} is not swallowed|the {E} reaches the caller|a caller still sees {E}|{E} from {g} propagates",
        ),
        V(
            "def {f}({x}):\n    try:\n        return {g}({x})\n    except {E}:\n        pass|try:\n    {g}({x})\nexcept {E}:\n    pass  # ignore",
            "{E} is silently ignored|{E} is swallowed|the caller does not notice {E}|nothing is done about {E}~|{E} is suppressed",
        ),
        V(
            'def {f}({x}):\n    try:\n        return {g}({x})\n    except {E} as exc:\n        raise AppError("{x}") from exc',
            "{E} is turned into an AppError|callers get an AppError in place of {E}|AppError is raised when {g} fails with {E}|{E} is wrapped|{E} is converted before it leaves",
        ),
    ),
    (
        V(
            "def {f}({x}, retries={n}):\n    return {g}({x}, retries)|def {f}({x}, *, retries: int = {n}) -> None:\n    {g}({x})",
            "retries is {n} by default|the default number of retries is {n}|{f} retries {n} times unless told otherwise|without an argument, retries equals {n}|`retries` defaults to {n}",
        ),
        V(
            "def {f}({x}, retries={m}):\n    return {g}({x}, retries)|def {f}({x}, *, retries: int = {m}) -> None:\n    {g}({x})",
            "retries is {m} by default|the default number of retries is {m}|{f} retries {m} times unless told otherwise|`retries` defaults to {m}|without an argument, retries equals {m}",
        ),
        V(
            "def {f}({x}, retries):\n    return {g}({x}, retries)",
            "retries has no default|{f} must be given retries|the argument retries is required|there is no default for retries~|callers have to pass retries",
        ),
    ),
    (
        V(
            "def {f}():\n    return {n}|def {f}() -> int:\n    value = {n}\n    return value",
            "{f} returns {n}|the result of {f} is {n}|calling {f} gives {n}|{f} evaluates to {n}|{n} is what {f} returns",
        ),
        V(
            "def {f}():\n    return {m}|def {f}() -> int:\n    value = {m}\n    return value",
            "{f} returns {m}|the result of {f} is {m}|calling {f} gives {m}|{f} evaluates to {m}|{m} is what {f} returns",
        ),
        V(
            "def {f}():\n    print({n})|def {f}() -> None:\n    total = {n}\n    print(total)",
            "{f} prints {n}~|{f} returns None|{f} returns nothing|{f} has no return value|{f} writes {n} to the output",
        ),
    ),
    (
        V(
            "def {f}(items):\n    return sorted(items)|def {f}(items):\n    return sorted(items, key=lambda i: i.{v})",
            "{f} sorts in ascending order|the smallest item comes first in the result of {f}|{f} puts low values first|{f} sorts from low to high|the order of {f} is ascending",
        ),
        V(
            "def {f}(items):\n    return sorted(items, reverse=True)|def {f}(items):\n    return sorted(items, key=lambda i: i.{v}, reverse=True)",
            "{f} sorts in descending order|the largest item comes first in the result of {f}|{f} puts high values first|{f} sorts from high to low|the order of {f} is descending",
        ),
        V(
            "def {f}(items):\n    return list(items)",
            "{f} keeps the order of the items|{f} does not sort|the items come back in the order they were given|{f} leaves the order alone|there is no sorting in {f}",
        ),
    ),
    (
        V(
            "if {v} > {n}:\n    {f}()\nelse:\n    {g}()",
            "{f} runs when {v} is above {n}~|{g} runs when {v} is {n}~|{g} is called if {v} is not greater than {n}~|a {v} larger than {n} leads to {f}~",
        ),
        V(
            "if {v} < {n}:\n    {f}()\nelse:\n    {g}()",
            "{f} runs when {v} is below {n}|{f} is called if {v} is less than {n}|a {v} smaller than {n} leads to {f}|a {v} larger than {n} leads to {g}~",
        ),
        V(
            "if {v} > {n}:\n    {g}()\nelse:\n    {f}()",
            "{g} runs when {v} is above {n}~|{f} runs when {v} is {n}~|{f} is called if {v} is not greater than {n}~|a {v} larger than {n} leads to {g}~",
        ),
    ),
    (
        V(
            "for attempt in range({n}):\n    if {f}():\n        break|attempts = 0\nwhile attempts < {n} and not {f}():\n    attempts += 1",
            "{f} is tried at most {n} times|there are up to {n} attempts|the loop gives up after {n} attempts|no more than {n} calls of {f} are made",
        ),
        V(
            "for attempt in range({m}):\n    if {f}():\n        break|attempts = 0\nwhile attempts < {m} and not {f}():\n    attempts += 1",
            "{f} is tried at most {m} times|there are up to {m} attempts|the loop gives up after {m} attempts|no more than {m} calls of {f} are made",
        ),
        V(
            "while not {f}():\n    time.sleep({n})|while True:\n    if {f}():\n        break\n    time.sleep({n})",
            "{f} is tried until it succeeds|the number of attempts is not limited|the loop never gives up|there is a pause of {n} seconds between the attempts~",
        ),
    ),
    (
        V(
            "async def {f}({x}):\n    await {g}({x})\n    await {h}({x})",
            "{h} starts after {g} has finished|{g} and {h} run one after the other|{g} is awaited before {h}|the two calls are sequential",
        ),
        V(
            "async def {f}({x}):\n    await asyncio.gather({g}({x}), {h}({x}))",
            "{g} and {h} run concurrently|the two calls run at the same time|{h} does not wait for {g}|the two calls overlap",
        ),
        V(
            "async def {f}({x}):\n    await {h}({x})\n    await {g}({x})",
            "{g} starts after {h} has finished|{h} is awaited before {g}|{h} comes first, then {g}",
        ),
    ),
    (
        V(
            "def {f}({x}):\n    if {x} is None:\n        return []\n    return {g}({x})",
            "{f} returns an empty list for None|None gives an empty list|no error is raised for a missing {x}~",
        ),
        V(
            'def {f}({x}):\n    if {x} is None:\n        raise {E}("{x}")\n    return {g}({x})',
            "{f} raises {E} for None|passing None to {f} is an error|None makes {f} fail with {E}|{f} rejects None",
        ),
        V(
            "def {f}({x}):\n    if {x} is None:\n        {x} = {h}()\n    return {g}({x})",
            "{h} supplies the {x} when it is None|{f} falls back to {h}|None is replaced by the result of {h}|{h} is called if there is no {x}",
        ),
    ),
    (
        V(
            "test_{f} PASSED\ntest_{g} FAILED\ntest_{h} PASSED\n=== 1 failed, 2 passed ===|PASS test_{f}\nFAIL test_{g}\nPASS test_{h}",
            "test_{g} failed|only test_{g} failed|test_{f} passed|one test failed|two tests passed",
        ),
        V(
            "test_{f} FAILED\ntest_{g} PASSED\ntest_{h} FAILED\n=== 2 failed, 1 passed ===|FAIL test_{f}\nPASS test_{g}\nFAIL test_{h}",
            "test_{f} failed|only test_{g} passed|test_{g} passed|two tests failed|one test passed",
        ),
    ),
    (
        V(
            "{f}.py::{g} PASSED\n{n} passed in 1.{m}s|Ran {n} tests\n\nOK",
            "all {n} tests passed|no test failed|the test run succeeded|{n} tests passed and none failed",
        ),
        V(
            "{f}.py::{g} FAILED\n1 failed, {n} passed in 1.{m}s|Ran {n} tests\n\nFAILED (failures=1)",
            "one test failed|not every test passed|the test run did not succeed|there was a failing test",
        ),
    ),
    (
        V(
            'Traceback (most recent call last):\n  File "{x}.py", line {n}, in {f}\n    {g}()\n  File "{y}.py", line {m}, in {g}\n    {h}()\n{E}: {v}',
            "the error was raised in {y}.py|the error was raised on line {m}|{E} was raised in {g}|{f} called {g}|the deepest frame is in {y}.py",
        ),
        V(
            'Traceback (most recent call last):\n  File "{y}.py", line {m}, in {g}\n    {f}()\n  File "{x}.py", line {n}, in {f}\n    {h}()\n{E}: {v}',
            "the error was raised in {x}.py|the error was raised on line {n}|{E} was raised in {f}|{g} called {f}|the deepest frame is in {x}.py",
        ),
    ),
    (
        V(
            "SELECT {v} FROM {y} ORDER BY {v} DESC LIMIT {n};",
            "the query returns at most {n} rows|the highest {v} comes first~|the rows are sorted in descending order~|no more than {n} rows come back",
        ),
        V(
            "SELECT {v} FROM {y} ORDER BY {v} ASC LIMIT {m};",
            "the query returns at most {m} rows|the lowest {v} comes first|the rows are sorted in ascending order",
        ),
        V(
            "SELECT {v} FROM {y} ORDER BY {v} DESC;",
            "the query has no limit on the rows|all {y} are returned~|the number of rows is not limited~",
        ),
    ),
    (
        V(
            "SELECT * FROM {y} a LEFT JOIN {x} b ON a.id = b.{v};",
            "{y} without a {x} are kept|the join keeps every row of {y}|it is an outer join",
        ),
        V(
            "SELECT * FROM {y} a JOIN {x} b ON a.id = b.{v};|SELECT * FROM {y} a INNER JOIN {x} b ON a.id = b.{v};",
            "{y} without a {x} are dropped|only rows with a match are returned|it is an inner join",
        ),
    ),
    (
        V(
            "DELETE FROM {y} WHERE {v} < {n};",
            "only {y} with a {v} below {n} are deleted|{y} with a {v} of {n} or more stay~|some {y} may survive the statement~",
        ),
        V(
            "DELETE FROM {y};|TRUNCATE TABLE {y};",
            "all {y} are deleted|the table {y} is emptied|every row of {y} goes",
        ),
        V(
            "UPDATE {y} SET deleted_at = now() WHERE {v} < {n};",
            "the {y} are only marked as deleted|no row of {y} is removed|the statement is a soft delete",
        ),
    ),
    (
        V(
            "CREATE TABLE {y} (id INT PRIMARY KEY, {v} TEXT NOT NULL);",
            "{v} is required~|{v} cannot be null~|every row must have a {v}~",
        ),
        V(
            "CREATE TABLE {y} (id INT PRIMARY KEY, {v} TEXT);",
            "{v} may be null|{v} is optional|a row may lack a {v}",
        ),
        V(
            "CREATE TABLE {y} (id INT PRIMARY KEY, {v} TEXT UNIQUE NOT NULL);",
            "no two rows may have the same {v}|{v} is unique|duplicates of {v} are rejected",
        ),
    ),
    (
        V(
            "set -e\n{f} {x}\n{g} {y}|{f} {x} && {g} {y}",
            "{g} is not run if {f} fails|the script stops when {f} fails|a failure of {f} prevents {g}",
        ),
        V(
            "{f} {x} || true\n{g} {y}|{f} {x}; {g} {y}",
            "{g} is run even if {f} fails|a failure of {f} is ignored|{g} runs in any case",
        ),
        V(
            "{f} {x} || {g} {y}",
            "{g} is run only if {f} fails|{g} is the fallback for {f}|if {f} succeeds, {g} is not run",
        ),
    ),
    (
        V(
            'HTTP/1.1 200 OK\nContent-Type: application/json\n\n{{"{v}": {n}}}|GET /{y} -> 200 ({n} ms)',
            "the request succeeded|the status code is 200|the response is OK",
        ),
        V(
            'HTTP/1.1 404 Not Found\nContent-Type: application/json\n\n{{"error": "no such {x}"}}|GET /{y} -> 404 ({n} ms)',
            "the request failed with 404|the resource was not found|the status code is 404|it is a client error",
        ),
        V(
            "HTTP/1.1 503 Service Unavailable\nRetry-After: {n}|GET /{y} -> 503 ({n} ms)",
            "the service was unavailable|the status code is 503|it is a server error|the failure is on the server's side",
        ),
        V(
            "HTTP/1.1 301 Moved Permanently\nLocation: /{x}|GET /{y} -> 301 ({n} ms)",
            "the request was redirected|the status code is 301|the redirect is permanent",
        ),
    ),
    (
        V(
            "commit {n}a{m}f\nAuthor: {p}\nReviewed-by: {q}\n\n    Fix {f}",
            "{p} wrote the commit|the author of the commit is {p}|{q} reviewed the commit|{p}'s change was reviewed by {q}",
        ),
        V(
            "commit {n}a{m}f\nAuthor: {q}\nReviewed-by: {p}\n\n    Fix {f}",
            "{q} wrote the commit|the author of the commit is {q}|{p} reviewed the commit|{q}'s change was reviewed by {p}",
        ),
    ),
    (
        V(
            "-    {v} = {n}\n+    {v} = {m}|diff: `{v}` {n} -> {m}",
            "{v} was changed from {n} to {m}|the new value of {v} is {m}|{v} used to be {n}|after the change {v} is {m}",
        ),
        V(
            "-    {v} = {m}\n+    {v} = {n}|diff: `{v}` {m} -> {n}",
            "{v} was changed from {m} to {n}|the new value of {v} is {n}|{v} used to be {m}|after the change {v} is {n}",
        ),
    ),
    (
        V(
            "const {x} = new Map();\n{x}.set('{v}', {n});\n{x}.set('{f}', {m});",
            "the map has two entries|{v} is mapped to {n}|{f} is mapped to {m}",
        ),
        V(
            "const {x} = new Map();\n{x}.set('{v}', {m});\n{x}.set('{f}', {n});\n{x}.set('{g}', {k});",
            "the map has three entries|{v} is mapped to {m}|{f} is mapped to {n}",
        ),
    ),
    (
        V(
            'func {f}({x} int) (int, error) {{\n\tif {x} < 0 {{\n\t\treturn 0, errors.New("{v}")\n\t}}\n\treturn {x} * {n}, nil\n}}',
            "{f} returns an error for negative input~|a negative {x} is an error|{f} multiplies by {n}",
        ),
        V(
            "func {f}({x} int) (int, error) {{\n\tif {x} < 0 {{\n\t\t{x} = 0\n\t}}\n\treturn {x} * {m}, nil\n}}",
            "{f} treats negative input as zero|a negative {x} is not an error|{f} multiplies by {m}|{f} never returns an error",
        ),
    ),
    (
        V(
            "class {N}:\n    def __init__(self, {v}={n}):\n        self._{v} = {v}\n\n    @property\n    def {v}(self):\n        return self._{v}",
            "{v} is read-only|{v} has no setter|{v} of a {N} is {n} by default",
        ),
        V(
            "class {N}:\n    def __init__(self, {v}={m}):\n        self.{v} = {v}",
            "{v} can be assigned|{v} is a plain attribute|{v} of a {N} is {m} by default",
        ),
    ),
    (
        V(
            "with open(path) as file:\n    {f}(file)",
            "the file is closed when the block ends~|the file is opened for reading|the file is closed even if {f} fails~",
        ),
        V(
            "file = open(path)\n{f}(file)",
            "the file is never closed|nothing closes the file|the file stays open",
        ),
        V(
            'with open(path, "w") as file:\n    {f}(file)',
            "the file is opened for writing|what was in the file is overwritten|old content of the file is lost",
        ),
        V(
            'with open(path, "a") as file:\n    {f}(file)',
            "the file is opened for appending|new text goes to the end of the file|old content of the file is kept",
        ),
    ),
    (
        V(
            "@lru_cache(maxsize={n})\ndef {f}({x}):\n    return {g}({x})",
            "results of {f} are cached|a second call with the same {x} does not call {g}|the cache of {f} holds up to {n} results",
        ),
        V(
            "def {f}({x}):\n    return {g}({x})  # never cached",
            "results of {f} are not cached|every call of {f} calls {g}|{f} has no cache",
        ),
    ),
    (
        V(
            '@app.get("/{y}")\ndef {f}(user = Depends(current_user)):\n    return {g}(user)',
            "/{y} needs a logged-in user|{f} handles GET requests|the route depends on the current user",
        ),
        V(
            '@app.post("/{y}")\ndef {f}():\n    return {g}()',
            "/{y} needs no logged-in user|{f} handles POST requests|anyone may call /{y}",
        ),
    ),
    (
        V(
            "$ ls -l {x}.sh\n-rwxr-xr-x 1 root root {n}{m} {x}.sh",
            "{x}.sh is executable|everyone may run {x}.sh|the owner of {x}.sh is root",
        ),
        V(
            "$ ls -l {x}.sh\n-rw-r--r-- 1 deploy deploy {n}{m} {x}.sh",
            "{x}.sh is not executable|nobody may run {x}.sh directly|the owner of {x}.sh is deploy",
        ),
    ),
    (
        V(
            "0 {n} * * * /opt/{f}.sh",
            "{f}.sh runs once a day|{f}.sh runs every day|the job is daily",
        ),
        V(
            "*/{n} * * * * /opt/{f}.sh",
            "{f}.sh runs every {n} minutes|{f}.sh runs many times a day|the job repeats every {n} minutes",
        ),
        V(
            "0 6 * * 1 /opt/{f}.sh",
            "{f}.sh runs once a week|{f}.sh runs on Mondays|the job is weekly",
        ),
    ),
)
