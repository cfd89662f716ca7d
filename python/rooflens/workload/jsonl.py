"""Prompts of JSONL files: a JSON object per line, the prompt in one of its fields."""

import gzip
import json
import zlib
from pathlib import Path
from typing import Any, Dict, Iterator, List, Tuple, Union

from rooflens.workload.errors import WorkloadError

Message = Dict[str, str]


def prompts(path: Path, name: str, field: str) -> Iterator[Tuple[str, Union[str, List[Message]]]]:
    """Each line's name, `file:line`, with its prompt: a text, or the messages of a chat."""
    for number, line in enumerate(lines(path), start=1):
        if not line.strip():
            continue
        place = f"{name}:{number}"
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise WorkloadError(f"{place} is not JSON: {error}", "each line of a JSONL file is a JSON object")
        yield place, prompt(record, field, place)


def lines(path: Path) -> List[bytes]:
    try:
        data = path.read_bytes()
        # Split at \n alone: a JSON string may hold other characters that Python takes for line ends.
        return (gzip.decompress(data) if path.name.endswith(".gz") else data).split(b"\n")
    except (OSError, EOFError, zlib.error) as error:
        raise WorkloadError(f"cannot read {path}: {error}", "rooflens assets verify")


def prompt(record: Any, field: str, place: str) -> Union[str, List[Message]]:
    value = at(record, field, place)
    if isinstance(value, list):
        return [message(item, field, place) for item in value] or empty(field, place)
    if not isinstance(value, str):
        raise WorkloadError(
            f"{place}: {field} is {kind(value)}, not a string or a list of chat messages", "set dataset.field=…"
        )
    return text(value, field, place) or empty(field, place)


def text(value: str, field: str, place: str) -> str:
    """JSON can write half of a surrogate pair, which no tokenizer takes."""
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        raise WorkloadError(f"{place}: {field} has half of a surrogate pair", "remove the line")
    return value


def at(record: Any, field: str, place: str) -> Any:
    """The value of a field. A dot leads into an object, unless the whole name is a field itself."""
    if isinstance(record, dict) and field in record:
        return record[field]
    value = record
    for part in field.split("."):
        if not isinstance(value, dict) or part not in value:
            has = ", ".join(sorted(map(str, value))) if isinstance(value, dict) else kind(value)
            raise WorkloadError(f"{place} has no field {field!r}", f"set dataset.field=…; it has: {has}")
        value = value[part]
    return value


def message(item: Any, field: str, place: str) -> Message:
    """A chat message in the form of OpenAI's API; its content is a text or a list of text parts."""
    if isinstance(item, dict) and isinstance(item.get("role"), str):
        content = item.get("content")
        if isinstance(content, list) and all(is_text_part(part) for part in content):
            content = "".join(part["text"] for part in content)
        if isinstance(content, str):
            return {"role": item["role"], "content": text(content, field, place)}
    raise WorkloadError(
        f"{place}: {field} has an item that is not a text chat message",
        'a message is {"role": "user", "content": "…"}',
    )


def is_text_part(part: Any) -> bool:
    return isinstance(part, dict) and part.get("type") == "text" and isinstance(part.get("text"), str)


def empty(field: str, place: str) -> Any:
    raise WorkloadError(f"{place}: {field} is empty", "remove the line")


def kind(value: Any) -> str:
    names = {dict: "an object", list: "a list", str: "a text", bool: "true or false", type(None): "null"}
    return names.get(type(value), "a number")
