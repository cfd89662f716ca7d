"""Links and paths in backticks lead somewhere, in every Markdown file of the repository and in llms.txt.

A page of the book may link only what is below docs/, because mdBook copies nothing else into the book. It links other
files of the repository by their address on GitHub.
"""

import itertools
import os
import re
from pathlib import Path

import doc_pages
from oracle import REPOSITORY, repository_files

DOCS = REPOSITORY / "docs"
OURS = re.compile(r"https://github\.com/rooflens/rooflens/(blob|tree)/main/([^#?]*)(?:#(.*))?$")
LINK = re.compile(r"\]\(<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\)")
ENTRY = re.compile(r"^\s*(?:- )?\[[^\]]+\]\(([^)]*)\)", re.M)
ID = re.compile(r'<[a-z]+ [^>]*\bid="([^"]+)"')


def pages() -> list[Path]:
    return [REPOSITORY / file for file in repository_files() if file.suffix == ".md" or file.name == "llms.txt"]


def links(text: str) -> list[tuple[int, str]]:
    """The targets of links and images outside code, with their lines."""
    found = []
    for number, line in doc_pages.split(text)[1]:
        plain = re.sub(r"`[^`]*`", "`code`", line)
        found += [(number, target) for target in LINK.findall(plain)]
    return found


def anchors(text: str) -> set[str]:
    """What `#…` may name on a page: its headings, as GitHub and mdBook name them, and ids in HTML."""
    found: set[str] = set()
    for _, line in doc_pages.split(text)[1]:
        found.update(ID.findall(line))
        if heading := re.match(r"#{1,6} +(.+?)\s*#*$", line):
            name = slug(heading[1])
            count = 0
            while (numbered := f"{name}-{count}" if count else name) in found:
                count += 1
            found.add(numbered)
    return found


def slug(heading: str) -> str:
    """`The server's side` becomes `the-servers-side`."""
    shown = re.sub(r"<[^>]*>", "", re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)).strip()
    return re.sub(r"\s", "-", re.sub(r"[^\w\s-]", "", shown.lower()))


def link_problem(page: Path, target: str) -> str | None:
    if ours := OURS.match(target):
        kind, path, anchor = ours.groups()
        file = REPOSITORY / path
        if not (file.is_dir() if kind == "tree" else file.is_file()):
            return f"{target}: there is no {'folder' if kind == 'tree' else 'file'} {path}"
    elif re.match(r"[a-z]+:", target):
        return None
    else:
        path, _, anchor = target.partition("#")
        file = Path(os.path.normpath(page.parent / path)) if path else page
        if not file.exists():
            return f"{target} does not exist"
        if page.is_relative_to(DOCS) and not file.is_relative_to(DOCS):
            return f"{target} is not part of the book: link https://github.com/rooflens/rooflens/blob/main/…"
    if anchor and file.suffix == ".md" and anchor not in anchors(file.read_text()):
        return f"{target}: {file.relative_to(REPOSITORY)} has no heading for #{anchor}"
    return None


def path_problems(text: str, tops: set[str]) -> list[tuple[int, str]]:
    """Paths in backticks that do not exist. A path ends at its first pattern, and begins with one of
    the folders `tops`."""
    blocks, prose = doc_pages.split(text)
    # Files that the page asks the reader to write.
    made = [word.removeprefix("file=") for block in blocks for word in block.attributes if word.startswith("file=")]
    found = []
    for number, line in prose:
        for span in doc_pages.spans(line):
            top, slash, _ = span.partition("/")
            if not slash or re.search(r"\s", span) or top not in tops:
                continue
            path = "/".join(itertools.takewhile(lambda part: not re.search("[*<{…]", part), span.split("/")))
            if not (REPOSITORY / path).exists() and not any(f"{file}/".startswith(f"{path}/") for file in made):
                found.append((number, f"{path} does not exist"))
    return found


def listing_problems(docs: Path) -> list[str]:
    """Pages that the table of contents or the list of pages leaves out, or has twice."""
    chapters = [target for target in ENTRY.findall((docs / "SUMMARY.md").read_text()) if target]
    listed = {target.partition("#")[0] for _, target in links((docs / "README.md").read_text())}
    broken = []
    for page in sorted(docs.rglob("*.md")):
        name = page.relative_to(docs).as_posix()
        if name == "SUMMARY.md":
            continue
        if chapters.count(name) != 1:
            broken.append(f"docs/SUMMARY.md lists {name} {chapters.count(name)} times, not once")
        if name != "README.md" and name not in listed:
            broken.append(f"docs/README.md does not list {name}")
    return broken


def problems() -> list[str]:
    """Every dead link, and every page that is not listed."""
    broken = [f"{page.relative_to(REPOSITORY)}:{line}: {problem}" for page in pages()
              for line, target in links(page.read_text()) if (problem := link_problem(page, target))]
    tops = {file.parts[0] for file in repository_files() if len(file.parts) > 1}
    broken += [f"{page.relative_to(REPOSITORY)}:{line}: {problem}" for page in pages()
               for line, problem in path_problems(page.read_text(), tops)]
    return broken + listing_problems(DOCS)
