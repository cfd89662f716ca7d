"""What axe finds on a page that is open in Chromium."""

import json
from pathlib import Path

# Of what axe finds, the impact that keeps people from using a page.
VIOLATIONS = """axe.run({resultTypes: ['violations']}).then((found) => JSON.stringify(found.violations
  .filter((one) => ['serious', 'critical'].includes(one.impact))
  .map((one) => `${one.id}: ${one.nodes.length} times, as ${one.nodes[0].html.slice(0, 120)}`)))"""


def serious(browser, axe: Path) -> list[str]:
    """What axe calls serious or critical; `axe` is its file axe.min.js."""
    browser.call("Runtime.evaluate", expression=axe.read_text())
    answer = browser.call("Runtime.evaluate", expression=VIOLATIONS, awaitPromise=True)
    return json.loads(answer["result"]["value"])
