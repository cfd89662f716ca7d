"""Calls that an agent was talked into: each must be answered quickly, shortly, and with nothing from outside."""

from dataclasses import dataclass

from mcp_files import Files

# Tools that read traces, with the argument that takes paths.
READERS = {"analyze": {}, "advise": {}, "list_tables": {}, "read_table": {"table": "kernel_dim"}}


@dataclass
class Attack:
    tool: str
    arguments: dict
    # Whether it must be an error. Otherwise it must only be harmless.
    refused: bool = True

    def __str__(self) -> str:
        shown = str(self.arguments)
        return f"{self.tool} {shown[:90]}{'…' if len(shown) > 90 else ''}"


def attacks(files: Files) -> list[Attack]:
    return [*paths(files), *models(files), *numbers(), *words(), *types()]


def reading(path: str, refused: bool = True) -> list[Attack]:
    found = [Attack(tool, {"paths": [path], **more}, refused) for tool, more in READERS.items()]
    return [*found, Attack("compare", {"base": path, "others": ["decode.json"]}, refused),
            Attack("compare", {"base": "decode.json", "others": [path]}, refused)]


def paths(files: Files) -> list[Attack]:
    outside = files.outside / "secret.json"
    deep = "/".join([".."] * 40)
    found = []
    for path in [str(outside), "../outside/secret.json", "two_ranks/../../outside/secret.json", "link.json",
                 "linked/secret.json", "linked", "linked/run", "job", "job/rank-0.json", "run_tables", "run_table",
                 "/proc/self/environ", "/proc/self/cmdline", "/dev/zero", "/dev/stdin", f"{deep}/etc/passwd", "-",
                 "pipe.json", "pipes", "pipes/rank-0.json", "socket.json", "zero.json", "decode.json\0", "\0", " ", "~",
                 "a" * 5_000, "a/" * 50_000 + "b", "file:///etc/passwd", "http://127.0.0.1:1/trace.json",
                 "s3://bucket/trace.json", "*.json", "$(cat /etc/passwd)", "decode.json;id"]:
        found += reading(path)
    # A run whose findings or report lead outside may be analysed from its own tables.
    # The whole root has links that lead outside: to refuse it or to leave them out are both right.
    for path in ("run_findings", "run_report", "", "."):
        found += reading(path, refused=False)
    found.append(Attack("analyze", {"paths": []}))
    found.append(Attack("analyze", {"paths": ["decode.json"] * 5_000}, refused=False))
    found.append(Attack("analyze", {"paths": ["decode.json", str(outside)]}))
    found.append(Attack("compare", {"base": "decode.json", "others": []}, refused=False))
    return found


def models(files: Files) -> list[Attack]:
    """Configs outside, and names of the hub that are paths."""
    found = []
    for model in [str(files.outside / "config.json"), str(files.outside), "../outside/config.json", "model", "wordy",
                  "model/config.json", "linked/config.json", "pipe.json", "piped_model", "zero.json", "..", ".", "/", "-",
                  "org/..",
                  "../../org/tiny", "org/tiny/../../../outside", "org/tiny@../../../../outside", "org/tiny@/etc",
                  "org/tiny@refs/../../..", "models--org--tiny", "org--tiny", "org/absent", "/proc/self/environ",
                  "org/tiny\0", "a" * 10_000]:
        # The root has a config of its own.
        refused = model != "."
        found.append(Attack("cost", {"configs": [model], "hardware": ["h100"]}, refused))
        found.append(Attack("analyze", {"paths": ["decode.json"], "model": model}, refused))
        found.append(Attack("advise", {"paths": ["decode.json"], "model": model}, refused))
    return found


def numbers() -> list[Attack]:
    table = {"paths": ["decode-eager.json"], "table": "kernels"}
    found = [Attack("read_table", {**table, "limit": limit}) for limit in (10**9, 201, -1, 2**64, 1.5, "200", True)]
    found += [Attack("read_table", {**table, "offset": offset}) for offset in (-1, 2**64, 0.5)]
    found.append(Attack("read_table", {**table, "limit": 200}, refused=False))
    found.append(Attack("read_table", {**table, "offset": 2**63, "limit": 0}, refused=False))
    found.append(Attack("read_table", {**table, "columns": ["dur_ns"] * 20_000, "limit": 200}, refused=False))
    for key, text in [("batch", "1..1000000000000"), ("batch", "0..1000000000000:+1"), ("prefill", "9" * 30),
                      ("context", "-1"), ("batch", "1..0"), ("batch", "1..9:+0"), ("batch", "1..9:x1"),
                      ("tp", "0"), ("pp", "1..1000000:+1"), ("batch", "1," * 100_000), ("tpot", "nan"), ("ttft", "-1s"),
                      ("tpot", "1e999s"), ("dtype", "fp0"), ("hardware", ["../../etc/passwd"]),
                      ("hardware", ["h100"] * 99_999),
                      ("set", ["num_hidden_layers=99999999999999999999"]), ("set", ["hidden_size=-1"]),
                      ("set", ["__proto__=1"]), ("set", ["="]), ("set", ["num_hidden_layers=" + "[" * 10_000])]:
        found.append(Attack("cost", {"configs": ["config.json"], key: text}, refused=False))
    wide = {"batch": "1..1000:+1", "prefill": "1..1000:+1"}
    found.append(Attack("cost", {"configs": ["config.json"], "hardware": ["h100"], **wide}, refused=False))
    found.append(Attack("cost", {"configs": []}))
    found.append(Attack("cost", {"configs": ["config.json"] * 3}))
    for key in ("tp", "batch", "context"):
        for number in (0, 2**64 - 1, -1, 2**70):
            known = {"paths": ["decode-eager.json"], "model": "config.json", "hardware": "h100", key: number}
            found.append(Attack("analyze", known, refused=False))
    return found


def words() -> list[Attack]:
    """Text that means something elsewhere: to a shell, to SQL, to an expression."""
    found = []
    for text in ["'; DROP TABLE kernels; --", "kernels' OR '1'='1", "(a+)+$", "(" * 5_000, ".*", "../tables/kernels",
                 "kernels.parquet", "/etc/passwd", "\0", "", "\x1b[2J", "\u202e", "x" * 1_000_000]:
        table = {"paths": ["decode-eager.json"]}
        found.append(Attack("read_table", {**table, "table": text}))
        found.append(Attack("read_table", {**table, "table": "kernels", "columns": [text]}))
        found.append(Attack("read_table", {**table, "table": "kernels", "largest": text}))
        found.append(Attack("explain", {"name": text}))
        found.append(Attack("analyze", {**table, "hardware": text, "model": "config.json"}))
    return found


def types() -> list[Attack]:
    wrong = [None, 5, {}, [5], [None], [["decode.json"]], True]
    found = [Attack("analyze", {"paths": value}) for value in wrong]
    found += [Attack("explain", {"name": value}) for value in (None, 5, [], {})]
    found += [Attack("cost", {"configs": ["config.json"], "hardware": 5}), Attack("compare", {"base": []})]
    return [*found, *(Attack(tool, {}) for tool in ("analyze", "advise", "compare", "cost", "explain", "list_tables"))]
