"""The check of the documentation itself, on pages and help texts that are wrong on purpose.

    python3 -m unittest discover -s oracles
"""

import unittest

import check_docs
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
        known = Known()
        self.assertEqual(check_docs.command_problems(["kernels", "top", "x", "-k", "3"], known), [])
        self.assertEqual(check_docs.command_problems(["kernles", "top"], known), ["there is no command 'kernles'"])
        self.assertEqual(check_docs.command_problems(["kernels", "topp", "x"], known),
                         ["kernels has no command 'topp'"])
        self.assertEqual(check_docs.command_problems(["kernels", "top", "--fromat", "json"], known),
                         ["kernels top has no option --fromat"])
        self.assertEqual(check_docs.command_problems(["kernels", "top", "--format", "xml"], known),
                         ["--format of kernels top is none of 'xml': text, json"])
        self.assertEqual(check_docs.command_problems(["kernels", "top", "x", "--", "python", "--tp"], known), [])

    def test_parity_091_a_wrong_setting_is_found(self):
        project = object.__new__(check_docs.Project)
        project.keys = check_docs.keys_of({"runtime": {"python": "x"}, "seed": 0})
        project.groups = {"profiling": {"none", "full"}}
        self.assertIsNone(project.problem("runtime.python=/path"))
        self.assertIsNone(project.problem("+seed=3"))
        self.assertIsNone(project.problem("profiling=full"))
        self.assertEqual(project.problem("runtime.pyhton=x"), "there is no setting runtime.pyhton")
        self.assertEqual(project.problem("profiling=ful"), "profiling has no option ful")

    def test_parity_140_messages_come_from_the_sources(self):
        sources = check_docs.source_text()
        self.assertIn("no stage is on: there is nothing to run", sources)
        self.assertNotIn("no stage is off: there is nothing to run", sources)


if __name__ == "__main__":
    unittest.main()
