"""Logs of starts that ran out of memory: what is said of them holds however they reach a reader."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pycore.evidence.reading.feed import Feed, read_text
from pycore.evidence.reading.readings import Sighting
from tests.evidence.asking import R1, check
from tests.evidence.made_logs import Message, Run, messages, worker_name
from tests.evidence.rendered import Look, rendered
from tests.evidence.test_made_logs import LOOKS, runs

# The frames of a part of the start, outermost first, and the part.
TRACES = {
    "loading": ("init_device", "load_model", "initialize_model", "make_layers"),
    "profiling": ("determine_available_memory", "profile_run", "_dummy_run", "forward"),
    "laying out": ("initialize_from_config", "initialize_kv_cache", "_allocate_kv_cache_tensors"),
    "capturing": ("compile_or_warm_up_model", "capture_model", "_capture_cudagraphs"),
    "warming up": ("compile_or_warm_up_model", "kernel_warmup", "autotune"),
    "serving": ("worker_busy_loop", "execute_model", "forward"),
}
OUT = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate {}.00 MiB. GPU {} has a total "
    "capacity of 79.11 GiB of which 140.75 MiB is free. Including non-PyTorch memory, this process "
    "has 78.96 GiB memory in use. Of the allocated memory 77.21 GiB is allocated by PyTorch, and "
    "275.38 MiB is reserved by PyTorch but unallocated."
)
STAGES = st.sampled_from(sorted(TRACES))


def failed(run: Run, stage: str) -> list[Message]:
    """A start whose ranks all run out of memory in one part of it."""
    found = messages(run)
    for index, place in enumerate(run.places):
        process = worker_name(run, place) or "EngineCore"
        text = ["Traceback (most recent call last):"]
        text += [f'  File "gpu_worker.py", line {at}, in {f}' for at, f in enumerate(TRACES[stage])]
        text += [OUT.format(700 + index, index)]
        found += [Message(process, "core.py:708", line, "ERROR") for line in text]
    return found


def ran_out(text: str) -> list[Sighting]:
    """The failed allocations of a text."""
    return [error for error in read_text(text).errors if error.kind == "out_of_memory"]


@settings(max_examples=40)
@given(runs(), LOOKS, STAGES)
def test_all_ranks_that_ran_out_are_one_error_of_one_part(run: Run, look: Look, stage: str) -> None:
    """Whatever was interleaved, coloured or prefixed."""
    (error,) = ran_out(rendered(failed(run, stage), look))
    assert error.stage == stage


@settings(max_examples=40)
@given(runs(), LOOKS, STAGES, st.data())
def test_a_cut_log_claims_no_other_part(
    run: Run, look: Look, stage: str, data: st.DataObject
) -> None:
    """Cut at its end a log has no error, or the same; cut at its beginning, the same or none."""
    text = rendered(failed(run, stage), look)
    assert {error.stage for error in ran_out(text[: data.draw(st.integers(0, len(text)))])} <= {
        stage
    }
    last = text.rfind("Traceback (most")
    tail = text[data.draw(st.integers(0, last)) :]
    assert stage in {error.stage for error in ran_out(tail)}


@settings(max_examples=20)
@given(runs(), LOOKS, STAGES, st.integers(1, 3000))
def test_a_failed_log_in_pieces_is_the_log(run: Run, look: Look, stage: str, size: int) -> None:
    """Wherever a piece ends: in a colour, in a traceback, in a number."""
    text = rendered(failed(run, stage), look)
    feed = Feed()
    for start in range(0, len(text), size):
        feed.feed(text[start : start + size])
    assert feed.close() == read_text(text)


@pytest.mark.parametrize("stage", sorted(TRACES))
def test_what_cures_it_never_takes_more_of_the_gpu(stage: str) -> None:
    """Whenever memory ran out, no cure raises the utilisation or the load."""
    run = Run("0.26.0", "meta-llama/Llama-3.3-70B-Instruct", {"tensor_parallel_size": 2}, {})
    text = rendered(failed(run, stage), Look())
    (error,) = check(text, **{**R1, "max_model_len": 8192})["errors"]
    for remedy in error["remedies"]:
        assert remedy["changes"].get("gpu_memory_utilization", 0) < 0.92
        assert "kv_cache_dtype" not in remedy["changes"]
