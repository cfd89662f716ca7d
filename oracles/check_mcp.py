"""`rooflens mcp` as the official client sees it, and under hostile calls.

The SDK of the protocol calls every tool: answers are those of the command line and of the Parquet tables. Then come
paths that lead out of the root, pipes and devices, huge numbers, wrong types and odd words (mcp_attacks.py): each is
answered within seconds and shortly, nothing from outside is in an answer, and the server answers the next call. Below
the protocol (mcp_wire.py): lines that are not JSON, cancellation, end of input.
"""

import asyncio
import json
import os
import re
import time
from pathlib import Path

import pyarrow.parquet
from mcp import ClientSession, MCPError, StdioServerParameters, stdio_client

from mcp_attacks import SECRET, Attack, Files, attacks
from mcp_wire import below_the_protocol
from oracle import Judge, main, option, run, said

# Characters of an answer, with what to ask next.
MOST = 24_000 + 500
ANSWER_S = 60
# A server that hangs this often is not asked any further.
MOST_HANGS = 5
# What a server may never say.
BROKEN = ("panicked", "bug in rooflens", "out of memory", SECRET.lower())
MEMORY = 6_000_000_000
# A good call for every tool.
CALLS = {
    "analyze": {"paths": ["decode-eager.json"], "model": "config.json"},
    "advise": {"paths": ["two_ranks"]},
    "compare": {"base": "decode-eager.json", "others": ["decode-graphs.json"]},
    "cost": {"configs": ["config.json"], "hardware": ["h100"], "context": "4k"},
    "explain": {"name": "kernels.dur_ns"},
    "list_tables": {"paths": ["run"]},
    "read_table": {"paths": ["run"], "table": "kernels", "columns": ["ts_ns", "dur_ns"], "largest": "dur_ns"},
}
# The same on the command line, in the width and with the rows of the server's answers.
COMMANDS = {
    "analyze": ["analyze", "decode-eager.json", "--model", "config.json", "--limit", "12"],
    "advise": ["advise", "two_ranks"],
    "compare": ["compare", "decode-eager.json", "decode-graphs.json", "--limit", "12"],
    "cost": ["cost", "config.json", "--hardware", "h100", "--context", "4k"],
}


async def with_sdk(judge: Judge, args, files: Files) -> None:
    server = StdioServerParameters(
        command="prlimit", args=[f"--as={MEMORY}", str(args.rooflens), "mcp", "--root", str(files.root)],
        env={**os.environ, "HF_HUB_CACHE": str(files.cache)},
    )
    async with stdio_client(server) as (read, write), ClientSession(read, write) as session:
        hello = await session.initialize()
        tools = (await session.list_tools()).tools
        judge.check("handshake", described(hello, tools, files, args.rooflens), hello.protocol_version)
        for tool, given in CALLS.items():
            failed, text = await called(session, tool, given)
            judge.check(f"{tool} as on the command line", same(tool, failed, text, args.rooflens, files),
                        f"{len(text)} characters")
        await attacked(judge, session, files, args.every)


def described(hello, tools, files, binary):
    if hello.server_info.name != "rooflens" or str(files.root) not in hello.instructions:
        yield f"{hello.server_info} {hello.instructions}"
    named = re.search(r"Its tools \(([^)]*)\)", run(binary, "mcp", "--help").stdout.decode().replace("\n", " "))
    if {tool.name for tool in tools} != set(re.split(r",\s+", named[1])) or set(CALLS) != {tool.name for tool in tools}:
        yield f"tools {sorted(tool.name for tool in tools)}, and the help names {named[1]}"
    for tool in tools:
        if not tool.annotations.read_only_hint or not tool.description:
            yield f"{tool.name} does not say that it only reads, or has no description"
        for name, about in tool.input_schema["properties"].items():
            if not about.get("description"):
                yield f"{tool.name}: {name} has no description"


async def called(session, tool, given) -> tuple[bool, str]:
    try:
        async with asyncio.timeout(ANSWER_S):
            answer = await session.call_tool(tool, given)
    except MCPError as error:
        return True, error.message
    return bool(answer.is_error), "".join(part.text for part in answer.content)


def same(tool, failed, text, binary, files):
    if failed:
        yield text
    elif tool in COMMANDS:
        env = {**os.environ, "COLUMNS": "110", "HF_HUB_CACHE": str(files.cache)}
        printed = said(binary, *COMMANDS[tool], cwd=files.root, env=env)
        answer, _, following = text.rpartition("\n\nNext: ")
        if answer.rstrip() != printed.rstrip() or not following:
            pairs = zip(answer.splitlines(), printed.splitlines())
            yield next((f"{a!r}, and the command line has {b!r}" for a, b in pairs if a != b), f"ends in {text[-200:]!r}")
    elif tool == "explain":
        for meaning in json.loads(run(binary, "explain", "kernels.dur_ns", "--format", "json").stdout)["meanings"]:
            unit = f"in {meaning['unit']}" if meaning.get("unit") else ""
            for words in (meaning["name"], meaning["kind"], meaning["about"], meaning.get("detail", ""), unit):
                if words not in text:
                    yield f"{words!r} is not in {text!r}"
    elif tool == "list_tables":
        stored = {file.stem: pyarrow.parquet.read_table(file) for file in (files.root / "run/tables").iterdir()}
        want = [f"{name} | {table.num_rows} | {', '.join(table.column_names)}" for name, table in sorted(stored.items())]
        if text.split("\n\nNext:")[0].splitlines() != ["table | rows | columns", *want]:
            yield text
    else:
        table = pyarrow.parquet.read_table(files.root / "run/tables/kernels.parquet", columns=["ts_ns", "dur_ns"])
        rows = sorted(table.to_pylist(), key=lambda row: -row["dur_ns"])[:20]
        want = ["ts_ns | dur_ns", *(f"{row['ts_ns']} | {row['dur_ns']}" for row in rows)]
        if text.split("\n\nNext:")[0].splitlines() != want or f"{table.num_rows} rows in all" not in text:
            yield text


async def attacked(judge: Judge, session, files: Files, every: int) -> None:
    wrong, slowest, longest, hangs = [], (0.0, ""), 0, 0
    planned = attacks(files)[::every]
    healthy = await called(session, "explain", CALLS["explain"])
    for attack in planned:
        begun = time.monotonic()
        try:
            failed, text = await called(session, attack.tool, attack.arguments)
        except TimeoutError:
            wrong.append(f"{attack}: no answer within {ANSWER_S} s")
            hangs += 1
            if hangs == MOST_HANGS:
                wrong.append("the other calls were left out")
                break
            continue
        slowest, longest = max(slowest, (time.monotonic() - begun, str(attack))), max(longest, len(text))
        wrong += [f"{attack}: {why}" for why in harm(attack, failed, text)]
        if await called(session, "explain", CALLS["explain"]) != healthy:
            wrong.append(f"{attack}: the server is not well after it")
    judge.check(f"{len(planned)} hostile calls", wrong, f"longest answer {longest} characters",
                f"slowest {slowest[0]:.1f} s: {slowest[1]}")


def harm(attack: Attack, failed: bool, text: str):
    if attack.refused and not failed:
        yield f"answered with {text[:100]!r}"
    if len(text) > MOST:
        yield f"an answer of {len(text)} characters"
    for word in BROKEN:
        # A word that was asked for may be repeated.
        if word in text.lower() and word not in str(attack.arguments).lower():
            yield f"says {word!r}: {text[:200]!r}"
    if any(letter < " " and letter not in "\n\t" for letter in text):
        yield f"control characters in {text[:100]!r}"


def check_all(judge, args, folder: Path) -> None:
    files = Files(folder, args.rooflens)
    asyncio.run(with_sdk(judge, args, files))
    below_the_protocol(judge, args, folder, MOST)


if __name__ == "__main__":
    main(check_all, option("--every", type=int, default=1, metavar="N", help="make one of N hostile calls"))
