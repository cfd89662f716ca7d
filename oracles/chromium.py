"""Pages in Chromium: the Browser of .ci/page.py, values of expressions, and what axe finds."""

import json
import sys
from pathlib import Path

from rooflens_cli import REPOSITORY

sys.path.insert(0, str(REPOSITORY / ".ci"))
from page import Browser, complaints  # noqa: E402, F401

# Of what axe finds, the impact that keeps people from using a page.
VIOLATIONS = """axe.run({resultTypes: ['violations']}).then((found) => JSON.stringify(found.violations
  .filter((one) => ['serious', 'critical'].includes(one.impact))
  .map((one) => `${one.id}: ${one.nodes.length} times, as ${one.nodes[0].html.slice(0, 120)}`)))"""


def evaluate(browser: Browser, expression: str, **options):
    """The value of an expression of JavaScript, once its promise is kept."""
    answer = browser.call("Runtime.evaluate", expression=expression, awaitPromise=True, **options)
    if "exceptionDetails" in answer:
        raise RuntimeError(json.dumps(answer["exceptionDetails"])[:500])
    return answer["result"].get("value")


def serious(browser, axe: Path) -> list[str]:
    """What axe calls serious or critical; `axe` is its file axe.min.js."""
    evaluate(browser, axe.read_text())
    return json.loads(evaluate(browser, VIOLATIONS))
