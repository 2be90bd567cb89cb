"""What is claimed of accelerators."""

from typing import Any

import pytest

from pycore.data import rows
from pycore.errors import InvalidRequest
from pycore.hardware.accelerators import find
from pycore.units import GIB

ROWS: tuple[dict[str, Any], ...] = rows("accelerators")
KNOWN = [row for row in ROWS if row["total_bytes"]]
UNKNOWN = [row for row in ROWS if not row["total_bytes"]]


def _id(row: dict[str, Any]) -> str:
    """The row's id, to name its test."""
    return str(row["id"])


@pytest.mark.parametrize("row", KNOWN, ids=_id)
def test_memory_is_what_the_driver_reports_not_what_the_box_says(row: dict[str, Any]) -> None:
    """No total is a whole number of decimal gigabytes, nor of GiB."""
    assert row["total_bytes"] % 10**9 != 0
    assert row["total_bytes"] % GIB != 0


@pytest.mark.parametrize("row", KNOWN, ids=_id)
def test_memory_is_within_a_sixth_below_the_advertised_binary_size(row: dict[str, Any]) -> None:
    """Vendors mean GiB or less, ECC and the driver take at most a seventh: a slipped unit shows."""
    advertised = row["advertised_memory_gb"] * GIB

    assert 5 / 6 * advertised < row["total_bytes"] < advertised


@pytest.mark.parametrize("row", KNOWN, ids=_id)
def test_the_range_holds_the_total(row: dict[str, Any]) -> None:
    """A range is of what was seen, so the figure lies in it; an assumed one always has a range."""
    low, high = row.get("total_range_bytes", (row["total_bytes"], row["total_bytes"]))

    assert low <= row["total_bytes"] <= high
    assert row["total_basis"] in {"measured", "assumed"}
    assert row["total_basis"] == "measured" or (low < high and row["note"])


@pytest.mark.parametrize("row", KNOWN, ids=_id)
def test_multiprocessors_are_counted_and_say_by_whom(row: dict[str, Any]) -> None:
    """From the 10 of a quarter of an A16 to the 304 of an MI300X."""
    assert 10 <= row["multiprocessors"] <= 304
    assert "multiprocessors: " in row["source"]


@pytest.mark.parametrize(
    ("accelerator", "multiprocessors"),
    [("h100-sxm-80gb", 132), ("h100-pcie-80gb", 114), ("h20-96gb", 78), ("l4", 58), ("a10g", 80)],
)
def test_multiprocessors_differ_within_a_generation(accelerator: str, multiprocessors: int) -> None:
    """A compute capability does not tell them.

    Source: torch.cuda.get_device_properties of an H20 and an A10G; NVIDIA's data sheets.
    """
    assert multiprocessors == find(accelerator).multiprocessors


def test_one_memory_for_both_is_that_of_systems_on_a_chip() -> None:
    """A Grace Hopper's GPU still has its own."""
    sharing = {row["id"] for row in KNOWN if row["shares_host_memory"]}
    assert sharing == {"dgx-spark-gb10", "jetson-thor"}


def test_the_engine_knows_two_names_whatever_their_memory() -> None:
    """Every A100, and the GB10.

    Source: vLLM 0.33.0, engine/arg_utils.py, get_batch_defaults.
    """
    named = {row["id"] for row in KNOWN if row["small_batch_by_name"]}
    expected = {row["id"] for row in KNOWN if row["name"].startswith(("A100", "GB10"))}
    assert named == expected
    assert len(named) == 5


@pytest.mark.parametrize("row", UNKNOWN, ids=_id)
def test_an_accelerator_without_engine_figures_says_why(row: dict[str, Any]) -> None:
    """It is listed, and refused with its reason: never sized from the advertised memory."""
    with pytest.raises(InvalidRequest) as caught:
        find(row["id"])

    assert caught.value.reason == "engine_figures_unknown"
    assert row["unknown_reason"] in caught.value.message
    assert row["total_basis"] is None


@pytest.mark.parametrize("row", ROWS, ids=_id)
def test_speeds_are_of_the_right_order(row: dict[str, Any]) -> None:
    """A GB/s taken for bytes per second, or a TFLOPS for FLOPS, would be off by 10⁹."""
    bandwidth = row["memory_bandwidth_bytes_per_second"]
    link = row["link_bytes_per_second_each_way"]

    assert bandwidth is None or 10**11 < bandwidth < 10**13
    assert link is None or 10**10 < link < 10**13
    assert all(10**13 < flops < 10**17 for flops in row["dense_flops_per_second"].values())


def test_narrower_types_are_no_slower() -> None:
    """fp8 and fp4 exist to be faster: a swapped pair of columns would show here."""
    for row in ROWS:
        flops = row["dense_flops_per_second"]
        order = [flops[dtype] for dtype in ("fp16", "fp8", "fp4") if dtype in flops]
        assert order == sorted(order), row["id"]


@pytest.mark.parametrize(
    ("accelerator", "gib"),
    [
        ("a100-pcie-80gb", 79.25),
        ("h100-sxm-80gb", 79.19),
        ("h200-sxm-141gb", 139.80),
        ("b200-sxm", 178.36),
        ("mi300x", 191.98),
        ("l40s", 44.39),
    ],
)
def test_totals_engines_print(accelerator: str, gib: float) -> None:
    """The GiB that vLLM's start-up lines show on these GPUs.

    Source: public start-up records of vLLM 0.8 to 0.29.
    """
    assert gib == round(find(accelerator).total_bytes / GIB, 2)
