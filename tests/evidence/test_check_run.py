"""``check_run`` as a whole: rows, residuals, what is adopted, and texts of no use."""

import json
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pycore.bridge import answer
from pycore.evidence.reading.lines import ANCHORS
from pycore.evidence.reading.phrases import VLLM
from pycore.evidence.reading.sightings import WORDINGS
from pycore.units import GIB
from tests.evidence.asking import R1, check
from tests.evidence.made_logs import messages, run_of
from tests.evidence.rendered import Look, rendered
from tests.runs.records import RunRecord, records

R1_LOG = """\
(APIServer pid=1) INFO 07-01 12:00:00 [utils.py:299]  ▄▄ ▄█ █     █     █ ▀▄▀ █  version 0.26.0
(APIServer pid=1) INFO 07-01 12:00:00 [utils.py:233] non-default args: {'model': \
'meta-llama/Llama-3.3-70B-Instruct', 'tensor_parallel_size': 2, 'max_model_len': 8192}
(Worker_TP0 pid=200) INFO 07-01 12:00:02 [m.py:1] Model loading took 65.74 GiB memory and 30.1 seconds
(Worker_TP1 pid=201) INFO 07-01 12:00:02 [m.py:1] Model loading took 65.74 GiB memory and 30.2 seconds
(Worker_TP0 pid=200) INFO 07-01 12:00:03 [w.py:1] Available KV cache memory: 5.63 GiB
(Worker_TP1 pid=201) INFO 07-01 12:00:03 [w.py:1] Available KV cache memory: 5.69 GiB
(EngineCore pid=100) INFO 07-01 12:00:03 [k.py:1] GPU KV cache size: 36,896 tokens
(EngineCore pid=100) INFO 07-01 12:00:03 [k.py:1] Maximum concurrency for 8,192 tokens per request: 4.50x
(Worker_TP0 pid=200) INFO 07-01 12:00:09 [m.py:1] Graph capturing finished in 20 secs, took 1.25 GiB
"""


def rows(result: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Rows by figure."""
    return {row["figure"]: row for row in result["rows"]}


def test_r1_stands_beside_what_it_printed() -> None:
    """Weights to the last digit; tokens and requests follow from the printed pool exactly."""
    result = check(R1_LOG, **R1)
    found = rows(result)
    weights = found["loaded_weights_bytes_per_rank"]
    assert weights["because"] == "Equal, to the digits printed."
    assert weights["measured"] == round(65.74 * GIB)
    pool = found["available_kv_cache_bytes"]
    assert pool["by_worker"] == {"TP0": round(5.63 * GIB), "TP1": round(5.69 * GIB)}
    assert pool["measured"] == round(5.63 * GIB)
    assert pool["difference"] == pool["measured"] - pool["predicted"]
    for figure in ("kv_cache_size_tokens", "kv_cache_max_concurrency"):
        assert found[figure]["because"] == "Follows from the KV pool above."
    assert result["request"]["max_model_len"] == 8192
    assert result["recognised"]["workers"] == ["TP0", "TP1"]


def test_what_is_adopted_gives_the_printed_pool_again() -> None:
    """The unprinted terms close on what the pool left for them; the what-ifs then move it."""
    result = check(R1_LOG, **R1)
    adopted = {**R1, **result["request"], "measured": result["measured"]}
    sized = json.loads(answer(json.dumps(adopted)))["result"]
    assert sized["available_kv_cache_bytes"] == pytest.approx(5.63 * GIB, abs=0.001 * GIB)
    assert sized["kv_cache_size_tokens"] == pytest.approx(36_896, abs=16)
    assert "available_kv_cache_bytes" not in result["measured"]
    more = json.loads(answer(json.dumps({**adopted, "gpu_memory_utilization": 0.95})))["result"]
    gained = more["available_kv_cache_bytes"] - sized["available_kv_cache_bytes"]
    assert gained == pytest.approx(0.03 * sized["total_bytes"], rel=0.01)


def is_told(record: RunRecord) -> bool:
    """Whether a record's terms and its pool are those of one and the same rank."""
    needed = {"loaded_weights_gib_per_rank", "available_kv_cache_gib", "total_gib"}
    return (
        record.engine == "vllm"
        and record.grade == "A"
        and needed <= set(record.measured)
        and record.measured["available_kv_cache_gib"] > 0
        and record.request.get("pipeline_parallel_size", 1) == 1
        and record.request.get("gpu_memory_utilization") is not None
    )


@pytest.mark.parametrize(
    "record", [record for record in records() if is_told(record)], ids=lambda record: record.id
)
def test_a_public_runs_terms_reproduce_its_pool(record: RunRecord) -> None:
    """Adopted, they give the pool that was printed, to what two decimals leave open."""
    base = {"accelerator": record.accelerator} if record.accelerator else {}
    result = check(rendered(messages(run_of(record)), Look()), **base)
    adopted = {**base, **result["request"], "measured": result["measured"]}
    sized = json.loads(answer(json.dumps(adopted)))
    if not sized["ok"]:
        # A model that is not in the catalogue, or a form that is not read: nothing to size.
        assert result["rows"]
        return
    pool = sized["result"]["available_kv_cache_bytes"]
    if pool is not None:
        expected = record.measured["available_kv_cache_gib"]
        assert pool / GIB == pytest.approx(expected, abs=0.06)


def test_a_model_that_is_not_known_is_not_guessed() -> None:
    """Its figures are there; nothing is held against them."""
    text = R1_LOG.replace("meta-llama/Llama-3.3-70B-Instruct", "someone/else-13b")
    result = check(text, **R1)
    assert {row["predicted"] for row in result["rows"]} == {None}
    assert rows(result)["available_kv_cache_bytes"]["measured"] == round(5.63 * GIB)
    assert "model" not in result["request"]
    assert "model_not_known" in {note["kind"] for note in result["notes"]}
    assert result["measured"]["available_kv_cache_bytes"] == round(5.63 * GIB)


def test_a_text_alone_needs_no_scenario() -> None:
    """Nothing was asked about: the log says enough, or says that it does not."""
    result = check(R1_LOG)
    assert result["request"]["model"] == "llama-3.3-70b-instruct"
    assert rows(result)["loaded_weights_bytes_per_rank"]["predicted"] is None
    assert "nothing_to_hold_it_against" in {note["kind"] for note in result["notes"]}


def test_consumed_memory_is_taken_apart() -> None:
    """From 0.27: consumed less weights stays, the peak less the estimate is the activation's."""
    text = (
        "vLLM API server version 0.31.0\n"
        "Model loading took 15.0 GiB memory and 3.1 seconds\n"
        "Estimated CUDA graph memory: 0.24 GiB total\n"
        "Available KV cache memory: 56.21 GiB\n"
        "Free memory on device (78.84/79.25 GiB) on startup. Desired GPU memory utilization is "
        "(0.92, 72.91 GiB). Actual usage is 15.26 GiB for consumed memory (weights + non-torch), "
        "1.44 GiB for peak activation, and 0.23 GiB for CUDAGraph memory.\n"
    )
    result = check(text, model="llama-3.1-8b-instruct", accelerator="a100-sxm-80gb")
    found = rows(result)
    assert found["non_torch_bytes"]["measured"] == pytest.approx(0.26 * GIB, abs=0.01 * GIB)
    assert found["non_torch_bytes"]["basis"] == "derived"
    assert found["activation_bytes"]["measured"] == pytest.approx(1.20 * GIB, abs=0.01 * GIB)
    assert found["printed_peak_activation_bytes"]["basis"] == "printed"
    assert "budget_does_not_close" not in {item["kind"] for item in result["contradictions"]}


def test_a_pool_is_explained_by_the_terms_before_it() -> None:
    """What each printed term moved it by, and what is left untold."""
    text = R1_LOG.replace("5.63", "3.63").replace("5.69", "3.69").replace("65.74", "67.74")
    pool = rows(check(text, **R1))["available_kv_cache_bytes"]
    assert pool["because"].startswith("Weights took 2.00 GiB more")
    pool = rows(check(R1_LOG.replace("5.63", "5.03"), **R1))["available_kv_cache_bytes"]
    # The V2 runner of 0.26 takes graphs beyond the budget; what 0.33 estimates of them counts.
    assert pool["because"].endswith("activations and non-torch memory, not printed.")
    newest = R1_LOG.replace("5.63", "4.03").replace("0.26.0", "0.33.0")
    pool = rows(check(newest, **R1))["available_kv_cache_bytes"]
    assert pool["because"].endswith("CUDA graphs, not printed.")


def test_every_anchor_of_a_reader_is_an_anchor_of_the_lines() -> None:
    """A line that a reader would take is never passed over for want of an anchor."""
    for inner in {item.anchor for item in VLLM}:
        example = inner + " GiB"
        assert any(anchor in example for anchor in ANCHORS), inner
    assert check("", **R1)["anchors"] == list(ANCHORS)


WORDS = st.sampled_from(
    [
        *ANCHORS,
        *(item.anchor for item in VLLM),
        *(item.anchor for item in WORDINGS),
        *(
            "{",
            "}",
            "(",
            ")",
            "'",
            '"',
            "\\n",
            "\\",
            "\x1b[32m",
            "\n",
            " ",
            ",",
            "=",
            ":",
            "0",
            "1",
        ),
        *("1.5 GiB", "-3.2 GiB", "8,192", "0.92", "(1)", "99999999999999999999", "NaN", "pid=1)"),
        *("(Worker_TP1 pid=2) ", "INFO 07-01 12:00:00 [a.py:1] ", "| ", "GPU0", "NV4", "%"),
    ]
)


@settings(max_examples=200)
@given(st.lists(WORDS | st.text(max_size=12), max_size=60).map("".join))
def test_no_text_is_a_failure(text: str) -> None:
    """Any text at all has an answer, with or without a scenario."""
    for request in ({}, R1):
        found = json.loads(answer(json.dumps({"ask": "check_run", "text": text, **request})))
        assert found["ok"], found


def test_cut_and_shuffled_logs_have_answers() -> None:
    """Real lines in any order, cut anywhere."""
    lines = R1_LOG.splitlines()
    chance = random.Random(4)
    for _ in range(40):
        chance.shuffle(lines)
        text = "\n".join(line[: chance.randrange(len(line))] for line in lines)
        assert check(text, **R1)["recognised"]["num_lines"] == len(lines)


@pytest.mark.parametrize(
    "text",
    [
        (
            "To serve at least one request with the model's max seq len (8192), (0 GiB KV cache is "
            "needed, which is larger than the available KV cache memory (0 GiB)."
        ),
        (
            "Free memory on device (0/0 GiB) on startup is less than desired GPU memory "
            "utilization (0.9, 0.0 GiB). Decrease GPU"
        ),
        (
            "Model loading took 65.74 GiB memory\nFree memory on device (78.68/0 GiB) on startup. "
            "Desired GPU memory utilization is (0.9, 71.0 GiB).\nAvailable KV cache memory: 5 GiB"
        ),
    ],
)
def test_sizes_of_nothing_are_read_and_can_be_adopted(text: str) -> None:
    """Whatever a text holds, there is an answer, and what it tells may be asked again."""
    result = check(text, **R1)
    again = json.loads(answer(json.dumps({**R1, **result["adopted"]})))
    assert again["ok"], again


def test_terms_below_nothing_are_adopted_as_nothing() -> None:
    """Sleep mode and other processes give memory back while the engine profiles.

    Source: a public log of a 24 GB GPU with sleep mode; a public log of Gemma 3 1B on vLLM 0.13.
    """
    text = (
        "Free memory on device (21.83/22.06 GiB) on startup. Desired GPU memory utilization is "
        "(0.8, 17.65 GiB). Actual usage is 8.28 GiB for weight, 1.02 GiB for peak activation, "
        "-3.58 GiB for non-torch memory, and 0.68 GiB for CUDAGraph memory.\n"
        "INFO 01-16 14:20:28 [gpu_model_runner.py:4587] Graph capturing finished in 3 secs, "
        "took -0.22 GiB\n"
    )
    result = check(text, model="llama-3.1-8b-instruct", accelerator="a10g")
    assert result["measured"]["non_torch_bytes"] == 0
    assert min(result["measured"].values()) >= 0
