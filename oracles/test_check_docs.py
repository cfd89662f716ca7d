"""The check of the documentation itself, on pages and help texts that are wrong on purpose."""

import tempfile
import unittest
from pathlib import Path

import check_docs
import doc_links
import doc_pages

HELP = """Do things

Usage: rooflens kernels [OPTIONS] <COMMAND>

Commands:
  analyze  Show what limits
           launches
  top      List kernels

Options:
  -h, --help  Print help
  -k, --k <N>
          Number of rows

Output:
      --format <FORMAT>    Output format [default: text] [possible values: text,
                           json]
      --config-dir <DIR>   Folder [alias: --config-path]
"""

PAGE = """# A page

Use `rooflens kernels top RUN`, then `ls`.

```sh
FOO=1 rooflens kernels top a.csv \\
  --format json > out.json && rooflens kernels analyze b | head
echo rooflens
```

```console
$ rooflens kernels top
Kernels
$ rooflens kernels wrong
error: there is no such thing
```

| a | b |
| --- | --- |
| `x \\| y` | 2 |
"""


class Known(check_docs.Help):
    def __init__(self):
        super().__init__("no binary")
        self.texts = {(): HELP.replace("analyze", "kernels"), ("kernels",): HELP, ("kernels", "top"): HELP.split(
            "Commands:")[0] + HELP[HELP.index("Options:"):], ("kernels", "analyze"): ""}


class Pages(unittest.TestCase):
    def test_commands_of_blocks_and_backticks(self):
        found = [words for _, words in doc_pages.commands(PAGE)]
        self.assertEqual(found, [["kernels", "top", "a.csv", "--format", "json"], ["kernels", "analyze", "b"],
                                 ["kernels", "top"], ["kernels", "top", "RUN"]])

    def test_tables_know_the_block_above(self):
        table = doc_pages.tables(PAGE)[0]
        self.assertEqual((table.header, [row for _, row in table.rows]), (["a", "b"], [["`x | y`", "2"]]))
        self.assertEqual(table.block.language, "console")


class Options(unittest.TestCase):
    def test_help_is_read(self):
        self.assertEqual(check_docs.listed_commands(HELP), {"analyze", "top"})
        self.assertEqual(check_docs.listed_options(HELP), {
            "-h": [], "--help": [], "-k": [], "--k": [], "--format": ["text", "json"],
            "--config-dir": [], "--config-path": []})

    def test_parity_139_a_wrong_command_is_found(self):
        for line, problems in {
            "kernels top x -k 3": [],
            "kernels top x -- python --tp": [],
            "kernles top": ["there is no command 'kernles'"],
            "kernels topp x": ["kernels has no command 'topp'"],
            "kernels top --fromat json": ["kernels top has no option --fromat"],
            "kernels top --format xml": ["--format of kernels top is none of 'xml': text, json"],
        }.items():
            self.assertEqual(check_docs.command_problems(line.split(), Known()), problems)

    def test_parity_091_a_wrong_setting_is_found(self):
        project = object.__new__(check_docs.Project)
        project.keys = check_docs.keys_of({"runtime": {"python": "x"}, "seed": 0})
        project.groups = {"profiling": {"none", "full"}}
        for override, problem in {
            "runtime.python=/path": None, "+seed=3": None, "profiling=full": None,
            "runtime.pyhton=x": "there is no setting runtime.pyhton", "profiling=ful": "profiling has no option ful",
        }.items():  # fmt: skip
            self.assertEqual(project.problem(override), problem)

    def test_parity_140_messages_come_from_the_sources(self):
        sources = check_docs.source_text()
        self.assertIn("no stage is on: there is nothing to run", sources)
        self.assertNotIn("no stage is off: there is nothing to run", sources)


class Links(unittest.TestCase):
    def test_links_outside_code(self):
        text = "[a](b.md#c), ![d](e.svg) and `[f](g.md)`\n```text\n[h](i.md)\n```\n"
        self.assertEqual(doc_links.links(text), [(1, "b.md#c"), (1, "e.svg")])

    def test_anchors_are_those_of_github_and_mdbook(self):
        text = ("# The server's side\n## `torch.profiler`\n## Two\n## Two\n"
                '## <a id="trace-1"></a>1. vLLM, decode\n```sh\n# no heading\n```\n')
        self.assertEqual(doc_links.anchors(text), {
            "the-servers-side", "torchprofiler", "two", "two-1", "trace-1", "1-vllm-decode"})

    def test_dead_links_are_found(self):
        page, ours = doc_links.DOCS / "tutorial.md", "https://github.com/rooflens/rooflens"
        good = ["python.md", "python.md#cost", "#install", "guides/kernels.md", "https://example.com/none",
                f"{ours}/blob/main/oracles/README.md", f"{ours}/tree/main/oracles", f"{ours}/issues"]
        self.assertEqual([doc_links.link_problem(page, link) for link in good], [None] * len(good))
        for link, problem in {"none.md": "does not exist", "python.md#none": "no heading", "#none": "no heading",
                              "../README.md": "not part of the book", f"{ours}/blob/main/none.py": "no file none.py",
                              f"{ours}/blob/main/oracles": "no file", f"{ours}/tree/main/none": "no folder"}.items():
            self.assertIn(problem, doc_links.link_problem(page, link) or "")
        self.assertIsNone(doc_links.link_problem(doc_links.REPOSITORY / "README.md", "docs/tutorial.md"))

    def test_pages_are_listed_once(self):
        with tempfile.TemporaryDirectory() as name:
            docs = Path(name)
            (docs / "SUMMARY.md").write_text("# Summary\n\n[Start](README.md)\n\n- [A](a.md)\n- [B]()\n  - [A](a.md)\n")
            (docs / "README.md").write_text("[a](a.md)\n")
            (docs / "a.md").write_text("")
            (docs / "b.md").write_text("")
            self.assertEqual(doc_links.listing_problems(docs), [
                "docs/SUMMARY.md lists a.md 2 times, not once", "docs/SUMMARY.md lists b.md 0 times, not once",
                "docs/README.md does not list b.md"])
