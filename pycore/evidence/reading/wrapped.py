"""Sentences that a terminal or a writer broke over several lines.

A sentence that opens on a line and does not close on it goes on below, until it closes or
something else begins. A terminal breaks anywhere, at its own width; a writer between words.
Source: reports of vLLM 0.11 to 0.26 as users pasted them (SergiioB/intel-arc-pro-b70-inference-
cookbook issue 4, kaito-project/kaito issue 2132, llm-d/llm-d issue 787).
"""

from typing import Final

LONGEST: Final = 6
NARROWEST_TERMINAL: Final = 79
# What opens a sentence with numbers in it, and what of it comes after all of them.
SENTENCES: Final = (
    ("max seq len (", ("when initializing",)),
    ("To serve at least one request", ("when initializing",)),
    ("occurred when warming", ("dummy requests",)),
    ("Free memory on device", ("Decrease GPU", "Desired GPU memory")),
    ("out of memory. Tried to", ("allocated by PyTorch", "in total by PyTorch")),
)
OTHERS: Final = (" pid=", "Traceback", "rror: ", "INFO ", "WARNING ", "ERROR ", "DEBUG ", "  File ")
# Parts of those sentences that a broken line may hold alone; lines are found by them.
ANCHORS: Final = ("model length is", "dummy requests")


def end_of_sentence(text: str, start: int, end: int) -> int:
    """Where a sentence ends that opens between ``start`` and ``end``."""
    for opening, closings in SENTENCES:
        if text.find(opening, start, end) < 0:
            continue
        for _ in range(LONGEST):
            if end >= len(text) or any(text.find(it, start, end) >= 0 for it in closings):
                break
            next_end = text.find("\n", end + 1)
            next_end = len(text) if next_end < 0 else next_end
            line = text[end + 1 : next_end]
            if not line.strip() or any(other in line for other in OTHERS):
                break
            end = next_end
    return end


def open_from(text: str, end: int) -> int:
    """Where the first sentence begins that may go on behind ``end``; ``end`` if there is none."""
    starts = [end]
    while len(starts) <= LONGEST + 1 and starts[-1] > 0:
        starts.append(text.rfind("\n", 0, starts[-1] - 1) + 1)
    for start, stop in zip(reversed(starts[1:]), reversed(starts[:-1]), strict=True):
        if opens(text, start, stop) and end_of_sentence(text[:end], start, stop - 1) >= end - 1:
            return start
    return end


def opens(text: str, start: int, end: int) -> bool:
    """Whether a sentence opens there and does not close."""
    return any(
        text.find(opening, start, end) >= 0
        and not any(text.find(it, start, end) >= 0 for it in closings)
        for opening, closings in SENTENCES
    )


def rejoined(text: str) -> str:
    """A broken sentence in one line: as a terminal broke it, else with a space between."""
    pieces = text.split("\n")
    if len(pieces) == 1:
        return text
    *full, last = (len(piece) for piece in pieces)
    hard = len(set(full)) == 1 and max(NARROWEST_TERMINAL, last) <= full[0]
    joint = "" if hard else " "
    return joint.join(piece if hard else piece.strip() for piece in pieces)
