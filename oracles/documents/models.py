"""Documents of `rooflens cost`, and of words: lists, explanations, and what the machine has."""

from pathlib import Path

from documents.asking import FIXTURES, Asking


def check(asking: Asking, corpus: Path, every: int) -> None:
    check_costs(asking, corpus, every)
    check_words(asking)
    check_machine(asking)


def check_costs(asking: Asking, corpus: Path, every: int) -> None:
    configs = sorted((corpus / "configs").glob("*.json"))[::every]
    decode = ["--hardware", "h100", "--context", "4k", "--batch", "2"]
    prefill = ["--prefill", "1k", "--hardware", "mi300x", "--tp", "2"]
    known = [path for path in configs if asking.ask("cost", "cost", path, *decode, may_refuse=True) is not None]
    if every == 1 and len(known) < 50:
        asking.documents.wrong.append(f"only the cost of {len(known)} configs was computed")
    for path in known:
        asking.ask("cost", "cost", path, *prefill, "--operators", may_refuse=True)
        asking.ask("cost-sweep", "cost", path, "--hardware", "h100,mi300x", "--batch", "1,8", "--context", "1k")
    tiny = FIXTURES / "configs/tiny-moe.json"
    asking.ask("cost", "cost", tiny)
    asking.ask("cost", "cost", tiny, *decode, "--tpot", "30ms", "--routing", "power:1.2")
    asking.ask("cost-sweep", "cost", tiny, *decode, "--set", "num_hidden_layers=1,2")
    asking.ask("cost", "cost", tiny, known[0], *decode)
    for words in (["--batch", "1"], ["--batch", "1,8"]):
        run = asking.place()
        name = "cost-sweep" if "1,8" in words else "cost"
        asking.ask(name, "cost", tiny, "--hardware", "h100", "--context", "4k", *words, "-o", run)
        asking.saved(run)


def check_words(asking: Asking) -> None:
    """Every list, and the explanation of each name in it."""
    lists = asking.ask("list", "list")
    for kind in lists["items"]:
        for item in asking.ask("list", "list", kind["name"])["items"]:
            asking.ask("explanation", "explain", item["name"], may_refuse=True)


def check_machine(asking: Asking) -> None:
    asking.ask("doctor", "doctor")
    asking.ask("self-test", "self-test")
    asking.ask("sample", "monitor", "--once")
    asking.stream("monitor", "--interval", "20ms", "--duration", "100ms")
