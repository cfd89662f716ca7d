"""What the comparisons of two grammars share: texts to try, and the process that gives our answers."""
import json
import subprocess


def damaged(rng, text, inserts):
    """A text with one to three mistakes in it."""
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        at = rng.randint(0, len(text))
        action = rng.random()
        if action < 0.5:
            text = text[:at] + rng.choice(inserts) + text[at:]
        elif action < 0.8:
            text = text[:at] + text[at + rng.randint(1, 3):]
        else:
            end = min(len(text), at + rng.randint(1, 6))
            text = text[:end] + text[at:end] + text[end:]
    return text


def every_character(places):
    """Each character of Latin-1, and a few beyond, in each place where it may matter."""
    for c in [chr(i) for i in range(256)] + list("\u0130\u0660\u2003\u3000\ufeff\U0001d7d3"):
        for place in places:
            yield place.format(c, c)


def drawn(rng, count, places, make, inserts):
    """So many texts: every character in every place, then made ones, a third of them damaged."""
    texts = list(every_character(places))
    while len(texts) < count:
        text = make()
        texts.append(text if len(texts) % 3 else damaged(rng, text, inserts))
    return texts


def answers(binary, questions):
    """What our program says to each question, a JSON line each."""
    feed = "".join(json.dumps(question) + "\n" for question in questions)
    ran = subprocess.run([binary], input=feed, capture_output=True, encoding="utf-8", check=True)
    lines = [json.loads(line) for line in ran.stdout.split("\n")[:-1]]
    assert len(lines) == len(questions), (len(lines), len(questions))
    return lines


def typed(value):
    """A value with its types, as the views write it."""
    if value is None:
        return ["null"]
    if isinstance(value, bool):
        return ["bool", value]
    if isinstance(value, int):
        return ["int", str(value)]
    if isinstance(value, float):
        return ["float", repr(value)]
    if isinstance(value, str):
        return ["str", str(value)]
    if isinstance(value, (list, tuple)):
        return ["list", [typed(item) for item in value]]
    return ["map", [[typed(key), typed(item)] for key, item in value.items()]]
