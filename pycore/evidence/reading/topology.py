"""``nvidia-smi topo -m``: how each pair of GPUs is joined.

NV# is that many NVLinks; PIX and PXB go through PCIe switches, PHB through the CPU's bridge, NODE
and SYS through its own fabric.
Source: nvidia-smi's own legend.
"""

import re
from typing import Final

from pycore.evidence.reading.readings import Findings
from pycore.evidence.reading.segments import Segment

GPU: Final = re.compile(r"GPU(\d{1,3})")
LINK: Final = re.compile(r"X|NV\d{1,2}|PIX|PXB|PHB|NODE|SYS|SOC|PSB")


def read_topology(segment: Segment, findings: Findings) -> bool:
    """Take one row of the matrix; whether it was one."""
    if not segment.text.startswith("GPU"):
        return False
    first, *rest = segment.text.split()
    row = GPU.fullmatch(first)
    if row is None or not rest or not LINK.fullmatch(rest[0]):
        return False
    for column, link in enumerate(rest):
        if not LINK.fullmatch(link):
            break
        if link != "X":
            pair = (min(int(row[1]), column), max(int(row[1]), column))
            findings.links[pair] = link
    findings.kinds["topology"] += 1
    return True
