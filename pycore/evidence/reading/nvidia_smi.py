"""nvidia-smi's table, its -q and -L forms, and its CSV queries.

What it calls total is the memory on the board, which is more than CUDA offers a program: only the
name, what is used and how busy a GPU is are taken from it.
Source: nvidia-smi of drivers 470 to 595, as public logs quote it.
"""

import re
from typing import Final

from pycore.evidence.reading.readings import Accelerators, Findings
from pycore.evidence.reading.segments import Segment

NAME_ROW: Final = re.compile(
    r"^\| {1,6}(\d{1,3}) {1,6}(\S.{1,60}?) {2,60}(?:On|Off|N/A|\|)? {0,40}\|? {0,20}[0-9A-Fa-f]{8}:"
)
MEMORY_ROW: Final = re.compile(
    r"(\d{1,8})MiB {0,10}/ {0,10}(\d{1,8})MiB {0,10}\|(?: {1,20}(\d{1,3})%)?"
)
LISTED: Final = re.compile(r"^GPU (\d{1,3}): (\S.{1,80}?)(?: \(UUID:|$)")
PRODUCT: Final = re.compile(r"^Product Name {1,60}: (\S.{1,80})$")
FRAME_BUFFER: Final = re.compile(r"^(Total|Used) {1,60}: (\d{1,8}) MiB$")
BUSY: Final = re.compile(r"^Gpu {1,60}: (\d{1,3}) %$")
CSV: Final = re.compile(
    r"^(?:(\d{1,3}), )?((?:NVIDIA|Tesla|Quadro|GeForce)[^,]{1,60}), (\d{1,8}) MiB"
    r"(?:, (\d{1,8}) MiB)?(?:, (\d{1,3}) %)?"
)


def read_nvidia_smi(segment: Segment, findings: Findings) -> bool:
    """Take one line of nvidia-smi; whether it was one."""
    text = segment.text
    if text.startswith("|"):
        read = read_row(segment, findings)
    elif text.startswith(("GPU ", "Product", "Total", "Used", "Gpu ")):
        read = read_query(segment, findings)
    elif "MiB" in text:
        read = read_csv(segment, findings)
    else:
        return False
    findings.kinds["nvidia-smi"] += read
    return read


def gpu(findings: Findings, index: int, name: str = "", line: int = 0) -> Accelerators:
    """One GPU's entry; its name is noted for the whole text too."""
    findings.current_accelerator = index
    found = findings.accelerators.setdefault(index, Accelerators())
    if name:
        found.name = name
        findings.accelerator_names.setdefault(name, line)
    return found


def read_row(segment: Segment, findings: Findings) -> bool:
    """Take a row of the table: a GPU's name, or the memory and load of the one before."""
    named = NAME_ROW.search(segment.text)
    if named:
        gpu(findings, int(named[1]), named[2].strip(), segment.number)
        return True
    memory = MEMORY_ROW.search(segment.text)
    if not memory or findings.current_accelerator < 0:
        return False
    found = gpu(findings, findings.current_accelerator)
    found.used_mib, found.total_mib = int(memory[1]), int(memory[2])
    if memory[3]:
        found.utilization = int(memory[3])
    return True


def read_query(segment: Segment, findings: Findings) -> bool:
    """Take a line of -L or -q."""
    text = segment.text
    listed = LISTED.search(text)
    if listed:
        gpu(findings, int(listed[1]), listed[2], segment.number)
        return True
    product = PRODUCT.search(text)
    if product:
        gpu(findings, findings.current_accelerator + 1, product[1], segment.number)
        return True
    found = findings.accelerators.get(findings.current_accelerator)
    memory, busy = FRAME_BUFFER.search(text), BUSY.search(text)
    if found is None or not (memory or busy):
        return False
    if busy and found.utilization is None:
        found.utilization = int(busy[1])
    # The frame buffer comes first; BAR1 and others have the same two words.
    if memory and memory[1] == "Total" and found.total_mib is None:
        found.total_mib = int(memory[2])
    if memory and memory[1] == "Used" and found.used_mib is None:
        found.used_mib = int(memory[2])
    return True


def read_csv(segment: Segment, findings: Findings) -> bool:
    """Take a line of a CSV query for name, total, used and load, in that order."""
    match = CSV.search(segment.text)
    if not match:
        return False
    index = int(match[1]) if match[1] else findings.current_accelerator + 1
    found = gpu(findings, index, match[2].strip(), segment.number)
    found.total_mib = int(match[3])
    found.used_mib = int(match[4]) if match[4] else None
    found.utilization = int(match[5]) if match[5] else None
    return True
