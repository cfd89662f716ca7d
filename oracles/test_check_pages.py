"""The check of the pages' commands itself, on blocks that are wrong on purpose."""

import tempfile
import unittest
from pathlib import Path

import check_pages
import doc_pages

PAGE = """# A page

<!-- not run: needs a GPU -->
```sh
nvidia-smi
```

A comment further up does not count:

<!-- not run: needs a server -->

```sh
mkdir made && cd made
pwd   # where
```

<!-- output: pwd -->
```text
…/made
```

<!-- needs: moon -->
```sh
false
```
"""
WORKFLOW = {"jobs": {"a": {"steps": [{"uses": "x"}, {"run": "rooflens run\nrooflens compare a b"}]}},
            "job": {"script": ["rooflens doctor", "cd x"], "tags": ["gpu"]}}


class Blocks(unittest.TestCase):
    def setUp(self):
        self.work = tempfile.TemporaryDirectory()
        self.addCleanup(self.work.cleanup)
        folder, home = Path(self.work.name) / "folder", Path(self.work.name) / "home"
        folder.mkdir(), home.mkdir()
        self.shell, self.tally = check_pages.Shell(folder, check_pages.SYSTEM, home), check_pages.Tally()

    def check(self, page: str, **have) -> list[str]:
        return check_pages.check_blocks(doc_pages.split(page)[0], self.shell, have, self.tally)

    def test_a_comment_belongs_to_the_block_below_it(self):
        comments = [block.comment for block in doc_pages.split(PAGE)[0]]
        self.assertEqual(comments, ["not run: needs a GPU", "", "output: pwd", "needs: moon"])

    def test_blocks_run_in_order_unless_they_say_why_not(self):
        self.assertEqual(self.check(PAGE, moon=False), [])
        self.assertEqual((self.tally.run, self.tally.not_run, self.tally.lacking), (2, 2, {"moon"}))
        self.assertEqual(self.shell.folder.name, "made")

    def test_a_failing_command_is_found(self):
        self.assertEqual(self.check(PAGE, moon=True), ["24: false: ended with 1: "])
        self.assertEqual(self.check("```sh\necho no >&2; exit 3\ntrue\n```"),
                         ["2: echo no >&2; exit 3: ended with 3: no"])

    def test_an_unknown_need_and_an_output_of_nothing_are_found(self):
        self.assertIn("this check knows sun", self.check(PAGE, sun=True)[0])
        self.assertIn("which was not run", self.check("<!-- output: pwd -->\n```text\n…\n```")[0])


class Copies(unittest.TestCase):
    def test_blocks_write_and_change_files(self):
        page = "- x\n\n  ```diff file=a\n   mod x;\n  +mod y;\n   mod z;\n  ```\n  ```rust file=b\n  fn f() {\n    }\n\n  ```\n"
        files = {Path("a"): (b"mod x;\nmod z;\nend\n", True)}
        diff, new = doc_pages.split(page)[0]
        self.assertIsNone(check_pages.apply(diff, files) or check_pages.apply(new, files))
        self.assertEqual(files, {Path("a"): (b"mod x;\nmod y;\nmod z;\nend\n", True),
                                 Path("b"): (b"fn f() {\n  }\n\n", False)})
        self.assertIn("exactly once", check_pages.apply(diff, files))


class Outputs(unittest.TestCase):
    def test_dots_stand_for_text_and_lines(self):
        shown = "ok  …  ms  GPU\n…\nlast"
        for page, printed, is_same in (
            (shown, "ok 12  ms  GPU  \n\na\nb\nlast\n", True), (shown, "ok  1  ms  GPU\nlast", True),
            (shown, "ok  1  ms  CPU\nlast", False), (shown, "ok  1  ms  GPU\nlast\nmore", False),
            ("a [x…y]", "a [x…y]", True), ("a.c", "abc", False),
        ):  # fmt: skip
            self.assertEqual(doc_pages.is_as_shown(page, printed), is_same, printed)

    def test_commands_of_workflows(self):
        self.assertEqual(check_pages.scripts(WORKFLOW),
                         ["rooflens run\nrooflens compare a b", "rooflens doctor", "cd x"])


class Files(unittest.TestCase):
    def test_named_files_are_made(self):
        with tempfile.TemporaryDirectory() as folder:
            check_pages.place_files("rooflens analyze trace.json.gz; rooflens analyze inspector/", Path(folder), Path("none"))
            found = sorted(str(file.relative_to(folder)) for file in Path(folder).rglob("*") if file.is_file())
        self.assertEqual(found, ["inspector/inspector.jsonl", "trace.json", "trace.json.gz"])
