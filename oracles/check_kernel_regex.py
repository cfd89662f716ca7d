"""Which launches a regular expression for kernels selects, three ways.

Python's `re.search` on the expression as it was given, Nsight Compute with the filter that `rooflens kernels profile
--dry-run` plans, and Rooflens' own matching (`kernels top --kernel`) over a table of the same names. Nsight Compute
filters what it imports: the launches of a report of the corpus are copied under other names.
"""

import csv
import io
import random
import re
import shlex
import subprocess
from pathlib import Path

from oracle import main, needs, option, run

NAMES = [
    "std::enable_if<!T7, void>::type internal::gemvx::kernel<int, __nv_bfloat16, (bool)0, (int)7, (bool)0>(T13)",
    "std::enable_if<!T7, void>::type internal::gemvx::kernel<int, __nv_bfloat16, (bool)0, (int)6, (bool)0>(T13)",
    "void at::native::<unnamed>::CatArrayBatchedCopy<at::native::<unnamed>::OpaqueType<(unsigned int)2>>(char *)",
    "void at::native::elementwise_kernel<(int)4, at::native::MulFunctor<float>, std::array<char *, 3>>(int, T2)",
    "void at::native::unrolled_kernel<copy(at::TensorIteratorBase &)::[lambda() (instance 3)]>(int)",
    "void flash::flash_fwd_splitkv_kernel<Flash_fwd_kernel_traits<(int)128>>(flash::Flash_fwd_params)",
    "void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_256x128_32x3_tn_align8>(T1::Params)",
    "ampere_sgemm_128x64_nn",
    "gemm",
    "GEMM_64x64",
    "triton_poi_fused_add_0",
    "a|b",
    "x$y^z",
    "{braces}",
    "back\\slash",
    "tab-and.dot",
]
GIVEN = [
    "gemm", "^gemm|sgemm_", "^(gemm|ampere)", "^gemm$", "gemm|^void flash::", "(?i)gemm", "(?i)^[^G]", "::", ":",
    r"\<unnamed\>", r"a\|b", "a|b", r"x\$y\^z", "[|$]", r"\d{3}x\d+", r"^(?!.*(elementwise|gemv)).*$", r"\bkernel\b",
    r"[^a-z_0-9]", r"^[\w ]+$", r"^[^:]+$", "[0-;]x", "[:]", "(?:flash|cutlass)::.*(?:traits|gemm)", "nothing at all",
    r".*internal::gemvx::kernel<.*\(int\)7.*>", r"\{braces\}", r"\\", "[]|]", r"tab\-and\.", "[-.]", "a|", "(|gemm)$",
    "(?:ge){1}m{2}", "m{2,}", "m{1,2}_", "x+?y??", r"\A(?:a|g)", r"(?:nn|b)\Z", "kernel(?=<)", r"\x3a", "(ab|cd)*$", "_.+_",
]
PIECES = [
    "gemm", "::", "void ", "at::", "<", ">", r"\(int\)", r"\d", r"\w+", ".*", ".", "^", "$", "[a-f]", "[^:<]", "kernel",
    "(?=.)", r"\b", "_", "x", "128", r"\ ", "[(|]", r"\&", "T",
]


def made(generator: random.Random) -> str:
    """An expression of pieces, groups, alternatives and repetitions; not all of them are accepted."""
    def part(depth: int) -> str:
        text = ""
        for _ in range(generator.randint(1, 4)):
            piece = generator.choice(PIECES)
            if depth < 2 and generator.random() < 0.25:
                piece = generator.choice(["(", "(?:", "(?!", "(?="]) + part(depth + 1) + ")"
            if generator.random() < 0.15:
                piece += generator.choice(["*", "+", "?", "{1,2}", "+?"])
            text += piece
        return text + ("|" + part(depth) if generator.random() < 0.2 else "")
    return part(0)


def varint(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes(out + bytes([value]))


def fields(message: bytes):
    """Number, wire type and bytes of each field of a message."""
    at = 0

    def number():
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value
    while at < len(message):
        key = number()
        begin = at
        if key & 7 == 0:
            number()
        elif key & 7 == 2:
            length = number()
            begin = at
            at += length
        else:
            at += {1: 8, 5: 4}[key & 7]
        yield key >> 3, key & 7, message[begin:at]


def encoded(number: int, kind: int, content: bytes) -> bytes:
    return varint(number << 3 | kind) + (varint(len(content)) if kind == 2 else b"") + content


def number_of(content: bytes) -> int:
    return sum((byte & 127) << 7 * at for at, byte in enumerate(content))


def replaced(message: bytes, contents: dict[int, bytes]) -> bytes:
    return b"".join(encoded(number, kind, contents.get(number, content)) for number, kind, content in fields(message))


def report(original: Path, names: list[str]) -> bytes:
    """The blocks of a report without its launches, and its last launch once for each name."""
    data = original.read_bytes()
    messages, at = [], 4
    while at < len(data):
        length = int.from_bytes(data[at:at + 4], "little")
        messages.append(data[at + 4:at + 4 + length])
        at += 4 + length
    parts, header, launch, at = [messages[0]], b"", b"", 1
    while at < len(messages):
        counts = {number: number_of(content) for number, kind, content in fields(messages[at]) if kind == 0}
        end = at + 1 + counts.get(1, 0) + counts.get(2, 0)
        if counts.get(2, 0):
            header, launch = messages[at], messages[end - 1]
        else:
            parts += messages[at:end]
        at = end
    for name in names:
        # Names are in the fields 5 to 7 of a launch; field 5 of a header is the size of what follows.
        named = replaced(launch, dict.fromkeys((5, 6, 7), name.encode()))
        size = varint(4 + len(named))
        parts += [replaced(header, {1: varint(0), 2: varint(1), 5: size}), named]
    return data[:4] + b"".join(len(part).to_bytes(4, "little") + part for part in parts)


def by_ncu(ncu: Path, file: Path, kernel_id: str) -> list[str]:
    # Names are shown simplified unless told otherwise; the filter sees them whole either way.
    base = [ncu, "--import", file, "--csv", "--page", "raw", "--kernel-name-base", "demangled", "--rename-kernels", "0"]
    # Numbers count all launches of an import together, so that they are left out: every launch of a name.
    told = subprocess.run([*base, "--kernel-id", kernel_id], capture_output=True, text=True)
    if "==ERROR==" in told.stdout + told.stderr:
        raise SystemExit(f"ncu refuses {kernel_id}: {told.stdout}{told.stderr}")
    rows = list(csv.reader(io.StringIO(told.stdout)))
    if not rows:
        return []
    at = rows[0].index("Kernel Name")
    return [row[at] for row in rows[2:]]


def planned(binary: Path, regex: str):
    """The filter that is planned; None where the expression is refused."""
    told = run(binary, "kernels", "profile", "--kernel=" + regex, "--dry-run", "--ncu", "/nowhere", "--", "true")
    if told.code == 2:
        return None
    words = shlex.split(told.stdout.decode().splitlines()[-1])
    value = words[words.index("--kernel-id") + 1]
    assert value.count(":") == 4, value
    return value.removesuffix(":1") + ":"


def by_rooflens(binary: Path, table: Path, regex: str) -> list[str]:
    told = run(binary, "kernels", "top", table, "--kernel=" + regex, "--k", len(NAMES), "--format", "json")
    return [row["name"] for row in told.report()["kernels"]]


def check_all(judge, args, folder: Path) -> None:
    generator = random.Random(7)
    accepted = refused = 0
    file, table = folder / "made.ncu-rep", folder / "made.csv"
    file.write_bytes(report(args.corpus / "ncu/ESMM__profile_small.ncu-rep", NAMES))
    shown = by_ncu(args.ncu, file, "::regex:.:")
    judge.check("the made report has these names", [] if shown == NAMES else shown)
    with table.open("w", newline="") as out:
        rows = csv.writer(out)
        rows.writerow("Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Name".split(","))
        rows.writerows([[1, 1000 - at, 1, 1, 1, 1, 1, 0, name] for at, name in enumerate(NAMES)])
    for regex in GIVEN + [made(generator) for _ in range(args.made)]:
        plan = planned(args.rooflens, regex)
        if plan is None:
            refused += 1
            if regex in GIVEN:
                judge.check(regex, ["refused"])
            continue
        accepted += 1
        python = [name for name in NAMES if re.search(regex, name)]
        found = {"ncu": by_ncu(args.ncu, file, plan), "rooflens": by_rooflens(args.rooflens, table, regex)}
        differ = [f"{who}: {names}, Python: {python}" for who, names in found.items() if sorted(names) != sorted(python)]
        if differ:
            judge.check(f"{regex} planned as {plan}", differ)
    judge.check("expressions", [] if accepted else ["none is accepted"], f"{accepted} accepted", f"{refused} refused")


if __name__ == "__main__":
    main(check_all, needs("--ncu"), option("--made", type=int, default=60, metavar="N"))
