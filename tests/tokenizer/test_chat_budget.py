"""Chat templates that take too much time or memory are refused after little of both.

All are rendered in one process, which measures the processor time and the memory of each.
"""

import json
import re
import subprocess
import sys
from typing import Any

import pytest
from chat_templates import FAMILIES
from systems import needs
from test_chat import TALK, chat, tok

import toksmith
from toksmith.errors import FormatError

MOST_S = 10.0  # ten times the measured time
MOST_MB = 700

DOUBLED = "{% set ns = namespace(x=START) %}{% for i in range(60) %}{% set ns.x = STEP %}{% endfor %}{{ END }}"


def doubling(start: str, step: str, end: str = "ns.x | length") -> str:
    """A template that doubles a value sixty times."""
    return DOUBLED.replace("START", start).replace("STEP", step).replace("END", end)


BIG = "{% set big = 'x' * 4000000 %}"
LONG = "{% set ls = [1] * 1000000 %}"
REFUSED = {
    "a number of 5,001 digits": "{{ 10**5000 }}",
    "a number of 5,001 digits that is never written": "{% set x = 10**5000 %}",
    "a power of powers": "{{ 9**9**9**9**9 }}",
    "a literal of 5,000 digits": "{{ " + "9" * 5000 + " }}",
    "products": doubling("7", "ns.x * ns.x"),
    "a text, by ~": doubling("'ab'", "ns.x ~ ns.x"),
    "a text, by +": doubling("'ab'", "ns.x + ns.x"),
    "a message, by ~": doubling("messages[0].content", "ns.x ~ 'a' ~ ns.x"),
    "a text, by *": doubling("'ab'", "ns.x * 2"),
    "a text, by replace": doubling("'a'", "ns.x | replace('a', 'aa')"),
    "a text, by the method replace": doubling("'a'", "ns.x.replace('a', 'aa')"),
    "a text, by join": doubling("'a'", "[ns.x, ns.x] | join"),
    "a text, by the method join": doubling("'a'", "ns.x.join([ns.x, ns.x, ns.x])"),
    "a text, by format": doubling("'a'", "'%s%s' | format(ns.x, ns.x)"),
    "a text, by the method format": doubling("'a'", "'{0}{0}'.format(ns.x)"),
    "a text, by %": doubling("'a'", "'%s%s' % (ns.x, ns.x)"),
    "a text, by a macro": "{% macro m(n) %}{% if n %}{{ m(n - 1) }}{{ m(n - 1) }}{% else %}a{% endif %}{% endmacro %}{{ m(40) }}",
    "a safe text": doubling("'a' | safe", "ns.x ~ ns.x"),
    "a list, by +": doubling("[1]", "ns.x + ns.x"),
    "a list, by *": doubling("[1]", "ns.x * 2"),
    "a list of itself, written": doubling("[1]", "[ns.x, ns.x]", "ns.x"),
    "a list of itself, as JSON": doubling("[1]", "[ns.x, ns.x]", "ns.x | tojson"),
    "a list of itself, compared": doubling("[1]", "[ns.x, ns.x]", "ns.x == [[1]]"),
    "a tuple of itself as a key": doubling("(1,)", "(ns.x, ns.x)", "{ns.x: 1}"),
    "a dictionary of itself": doubling("{1: 1}", "{1: ns.x, 2: ns.x}", "ns.x | pprint"),
    "loops in loops": "{% for a in range(9999) %}{% for a in range(9999) %}{% for a in range(9999) %}{% endfor %}{% endfor %}{% endfor %}",
    "a loop that filters": "{% for a in range(99999) %}{% for b in range(99999) if b < 0 %}{% endfor %}{% endfor %}",
    "a loop over a filter": "{% for a in range(99999) %}{{ range(99999) | map('string') | list | length }}{% endfor %}",
    "a recursive loop": "{% for a in [1] recursive %}{{ loop(range(9999)) }}{% endfor %}",
    "a loop over characters": BIG + "{% for c in big %}{% endfor %}",
    "a large range": "{{ range(10**9) | length }}",
    "a width of a filter": "{{ 'a' | center(10**9) }}",
    "a width of a method": "{{ 'a'.ljust(10**9) }}",
    "a width of zeros": "{{ 'a'.zfill(10**9) }}",
    "a width of %": "{{ '%999999999d' % 1 }}",
    "a width of the filter format": "{{ '%999999999d' | format(1) }}",
    "a width of the method format": "{{ '{:>999999999}'.format(1) }}",
    "a width in an argument of %": "{{ '%*d' % (10**9, 1) }}",
    "a width in an argument of format": "{{ '{:{}}'.format(1, 10**9) }}",
    "a precision": "{{ '%.999999999f' % 1 }}",
    "tabs": "{{ ('\t' * 1000).expandtabs(10**7) }}",
    "translate": "{{ ('a' * 1000000).translate({97: 'b' * 1000000}) }}",
    "an indent of JSON": "{{ [1, 2] | tojson(indent=10**9) }}",
    "separators of JSON": BIG + LONG + "{{ ls | tojson(separators=(big, ':')) }}",
    "an indent of lines": "{{ ('a\n' * 1000) | indent(10**8) }}",
    "an indent by a text": BIG + "{{ ('a\n' * 1000) | indent(big) }}",
    "wordwrap": BIG + "{{ ('a ' * 10000) | wordwrap(1, wrapstring=big) }}",
    "batch": "{{ [1] | batch(10**9, 'x') | list }}",
    "slice": "{{ [1] | slice(10**9) | list }}",
    "round": "{{ 1.5 | round(10**9, 'ceil') }}",
    "join between many": BIG + LONG + "{{ ls | join(big) }}",
    "a safe text between many": BIG + LONG + "{{ (big | safe).join(ls | map('string')) }}",
    "replace by a long text": BIG + "{{ big | replace('x', big) }}",
    "replace of nothing": BIG + "{{ big | replace('', big) }}",
    "replace in a safe text": BIG + "{{ (big | safe).replace('x', big) }}",
    "the same field of a long text": BIG + "{{ ('{0}' * 10000).format(big) }}",
    "the same name of a long text": BIG + "{{ ('%(a)s' * 10000) % {'a': big} }}",
    "one text many times in a list": BIG + LONG + "{{ [big] * 1000000 }}",
    "sums of lists": "{% set l = [[1] * 2000] * 2000 %}{{ l | sum(start=[]) | length }}",
    "slices of a list": LONG + "{% for a in range(99999) %}{% set x = ls[1:] %}{% endfor %}",
    "slices of a text": BIG + "{% for a in range(99999) %}{% set x = big[1:] %}{% endfor %}",
    "searches": BIG + "{% for a in range(99999) %}{% if 'y' in big %}{% endif %}{% endfor %}",
    "searches by a method": BIG + "{% for a in range(99999) %}{% set x = big.find('y') %}{% endfor %}",
    "searches by a test": BIG + "{% for a in range(99999) %}{% if 'y' is in big %}{% endif %}{% endfor %}",
    "comparisons": BIG + "{% set other = 'x' * 4000000 %}{% for a in range(99999) %}{% if big == other %}{% endif %}{% endfor %}",
    "sorting": LONG + "{% for a in range(99999) %}{% set x = ls | sort %}{% endfor %}",
    "copies of a dictionary": LONG + "{% set d = dict.fromkeys(range(99999)) %}{% for a in range(99999) %}{% set x = d.copy() %}{% endfor %}",
    "blocks in blocks": "{% block a %}{% for i in range(9999) %}{% for i in range(9999) %}.{% endfor %}{% endfor %}{% endblock %}{{ self.a() }}",
    "a list of empty lists": "{{ [[]] * 10**9 }}",
    "a template of a million characters": "{{ 1 }}" * 200_000,
}  # fmt: skip

# What a template can hold in a long conversation, whose work alone would allow gigabytes.
HELD = "{% set big = 'x' * 400000 %}{% set ns = namespace(l=[]) %}{% for i in range(99999) %}{% for j in range(99999) %}STEP{% endfor %}{% endfor %}"
HOLDING = {
    "a text": doubling("'ab'", "ns.x ~ ns.x"),
    "a text of four bytes a character": doubling("'👍'", "ns.x ~ ns.x"),
    "a list": doubling("[1]", "ns.x + ns.x"),
    "a list, by *": doubling("[1]", "ns.x * 2"),
    "a sum of texts": doubling("'ab'", "ns.x + ns.x"),
    "a joined text": doubling("'a'", "[ns.x, ns.x] | join"),
    "a formatted text": doubling("'a'", "'%s%s' % (ns.x, ns.x)"),
    "a message": doubling("messages[0].content", "ns.x ~ 'a' ~ ns.x"),
} | {
    f"many of {what}": HELD.replace("STEP", "{% set ns.l = [ns.l, " + what + "] %}")
    for what in (
        *("big ~ j", "big[1:]", "big.swapcase()", "big.encode()", "big.title()", "big | upper", "big.center(400001)", "[]", "{}", "j ~ 'x'"),
        *("range(9999) | list", "'x ' | list", "big | reverse", "namespace(a=1)", "dict(a=1)", "{'a': 1}.copy()", "2 ** 2000 + j"),
        *("messages[1:]", "messages | list", "messages + [1]", "messages | map(attribute='role') | list", "(big ~ j) | tojson", "messages | batch(2) | list"),
        *("big.split('y')", "'%s' | format(big)", "big | indent", "big | string", "'{}'.format(big)", "big.replace('y', 'z')", "cycler(1, 2)"),
    )
}  # fmt: skip
MOST_BYTES = 6  # of a unit

CHILD = """
import json, sys, time
import toksmith
from toksmith._tokenizer.chat import budget

count = int(sys.argv[1])
budget.FREE >>= 1 if count == 1 else 3  # half of the time, and the same refusals
budget.ROOMY, budget.ROOM_FOR_EACH = budget.ROOMY >> 6, 1
messages = [{"role": "user", "content": "a"}] * count

tok = toksmith.train("low lower", merges=2, pattern=None)
tok.chat([{"role": "user", "content": "a"}], template="{{ messages[0].content }}")

def peak_mb():
    for line in open("/proc/self/status"):
        if line.startswith("VmHWM"):
            return int(line.split()[1]) / 1024

for name, template in json.load(sys.stdin).items():
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")
    before, start = peak_mb(), time.process_time()
    try:
        said = repr(tok.chat(messages, template=template))
        kind = "nothing"
    except Exception as error:
        kind, said = type(error).__name__, str(error)
    print(json.dumps([name, kind, said[:300], time.process_time() - start, peak_mb() - before]), flush=True)
"""


def run_templates(templates: dict[str, str], count: int) -> list[Any]:
    """For each template with this number of messages: the error, and the time and memory that it takes."""
    command = [sys.executable, "-c", CHILD, str(count)]
    child = subprocess.run(
        command, input=json.dumps(templates), capture_output=True, text=True, timeout=600, check=True
    )
    rows = [json.loads(line) for line in child.stdout.splitlines()]
    assert [name for name, *_ in rows] == [*templates]
    return rows


@pytest.mark.slow
@needs("proc")
def test_the_room_of_a_long_conversation_bounds_the_memory() -> None:
    for row in run_templates(HOLDING, 2_000):
        _, kind, said, _, mb = row
        units = re.search(r"makes more than ([\d,]+) units of text and lists", said)
        assert kind == "FormatError" and units, row
        assert mb * (1 << 20) < MOST_BYTES * int(units[1].replace(",", "")), row


@pytest.mark.slow
@needs("proc")
def test_expensive_templates_are_refused() -> None:
    """Each by a FormatError that names the template."""
    for row in run_templates(REFUSED, 1):
        _, kind, said, seconds, mb = row
        assert (kind, said.startswith("the chat template")) == ("FormatError", True), row
        assert seconds < MOST_S and mb < MOST_MB, row


def test_an_error_of_the_budget_gives_the_limit() -> None:
    with pytest.raises(FormatError, match=r"units of work, the limit for this conversation.*does less"):
        tok("chatml").chat(TALK, template=REFUSED["loops in loops"])
    with pytest.raises(FormatError, match="an integer of more than 4,096 bits"):
        tok("chatml").chat(TALK, template=REFUSED["a power of powers"])


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("talk", ["many messages", "a long message", "many lines"])
def test_long_conversations_are_within_the_budget(family: str, talk: str) -> None:
    """The budget grows with the conversation."""
    contents = {"many messages": ["low"] * 1500, "a long message": ["low " * 500_000], "many lines": ["a\n" * 100_000]}[
        talk
    ]
    roles = ("user", "assistant")
    found = chat(family, [{"role": roles[number % 2], "content": content} for number, content in enumerate(contents)])
    assert len(found) >= len(contents)


@pytest.mark.parametrize(
    "template",
    [
        "{{ messages[0].content | replace('\n', ' ') }}",
        "{% for m in messages %}{% for n in messages %}{{ n.role }}{% endfor %}{% endfor %}",
        "{{ messages | tojson(indent=4) }}",
        "{% for m in messages %}{{ m.content.split('x') | map('trim') | select | join(' ') }}{% endfor %}",
        "{{ 'a' | center(80) }}{{ '%-20s|%5.2f' | format('a', 1.5) }}{{ '{:>20}'.format('a') }}",
        "{% set ns = namespace(all=[]) %}{% for m in messages %}{% set ns.all = ns.all + [m] %}{% endfor %}{{ ns.all | length }}",
        "{{ messages[-1].content[:1000] }}{{ messages | selectattr('role', 'equalto', 'user') | list | length }}",
    ],
)
def test_usual_work_is_within_the_budget(template: str) -> None:
    talk: list[dict[str, Any]] = [{"role": "user", "content": "a x\n" * 400}] * 50
    assert tok("chatml").chat(talk, template=template).text


@pytest.mark.slow
def test_threads_have_separate_budgets() -> None:
    """One conversation does not pay for another, and a refused one leaves no state."""
    from concurrent.futures import ThreadPoolExecutor

    def call(number: int) -> str:
        template = REFUSED["loops in loops"] if number % 2 else FAMILIES["chatml"][0]
        try:
            return tok("chatml").chat(TALK, template=template).text
        except toksmith.errors.FormatError:
            return "refused"

    with ThreadPoolExecutor(4) as pool:
        found = [*pool.map(call, range(8))]
    assert found == [chat("chatml", TALK).text, "refused"] * 4
