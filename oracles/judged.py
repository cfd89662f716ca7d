"""How an oracle reports: a line per check, and below it what is wrong."""

import traceback

MOST_SHOWN = 10


class Judge:
    """Counts checks and prints their lines as they come."""

    def __init__(self, name: str):
        self.name = name
        self.checks = self.failed = 0

    def check(self, what: str, wrong, *remarks) -> bool:
        """`wrong` is what a check found to be wrong: a list, or a generator that is run here. A remark may be a function
        that is called afterwards."""
        try:
            found = list(wrong)
        except Exception:
            found = traceback.format_exc().strip().splitlines()[-MOST_SHOWN:]
        self.checks += 1
        self.failed += bool(found)
        print(f"{'WRONG' if found else 'ok':8}{what}" + "".join(f" · {said(remark)}" for remark in remarks), flush=True)
        for line in found[:MOST_SHOWN]:
            print(f"        {line}", flush=True)
        if len(found) > MOST_SHOWN:
            print(f"        and {len(found) - MOST_SHOWN} more", flush=True)
        return not found

    def finish(self) -> int:
        """The summary, and the exit code."""
        print(f"{self.name}: {self.checks - self.failed} of {self.checks} checks passed")
        return 1 if self.failed or not self.checks else 0


def said(remark) -> str:
    try:
        return remark() if callable(remark) else remark
    except KeyError:
        return "not measured"
