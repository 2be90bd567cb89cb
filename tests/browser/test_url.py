"""The scenario is in the address: links, back and forward."""

from collections.abc import Callable

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.browser.page_parts import (
    control,
    expect_figure,
    expect_search,
    figure,
    open_page,
    put,
)

SCENARIOS = [
    "?tensor_parallel_size=4",
    "?model=qwen3-32b&accelerator=h100-sxm-80gb&kv_cache_dtype=fp8",
    "?max_model_len=&concurrency=16&gpu_memory_utilization=0.95&enforce_eager=true",
    "?num_key_value_heads=16&measured.total_bytes=85000000000",
    "?accelerator_total_bytes=100000000000&engine_version=0.19.0",
]
SHOWN = (
    "weights_bytes_per_rank",
    "available_kv_cache_bytes",
    "longest_request_tokens",
    "max_concurrency_for_workload",
    "verdict",
)


def shown(page: Page) -> list[str | None]:
    """Return what a page shows once its answer is its own."""
    expect(page.locator(".notice")).to_have_text("")
    return [figure(page, name).get_attribute("value") for name in SHOWN]


@pytest.mark.parametrize("search", SCENARIOS)
def test_a_link_opened_elsewhere_shows_the_same(
    new_context: Callable[..., BrowserContext], base_url: str, search: str
) -> None:
    """In another profile, without the history that led there; and it stays as it is."""
    here = new_context(base_url=base_url).new_page()
    open_page(here, search)
    seen = shown(here)
    assert None not in seen
    expect_search(here, search)
    there = new_context(base_url=base_url).new_page()
    open_page(there, here.url)
    assert seen == shown(there)


def test_typing_the_scenario_gives_the_link_that_shows_it(
    new_context: Callable[..., BrowserContext], base_url: str
) -> None:
    """What was set by hand and what was opened are the same thing."""
    typed = new_context(base_url=base_url).new_page()
    open_page(typed)
    put(typed, "tensor_parallel_size", "4")
    put(typed, "concurrency", "64")
    control(typed, "kv_cache_dtype").select_option("fp8")
    expect_search(typed, "?tensor_parallel_size=4&concurrency=64&kv_cache_dtype=fp8")
    expect_figure(typed, "kv_cache_bytes_per_token_per_rank", 40 * 1024)
    opened = new_context(base_url=base_url).new_page()
    open_page(opened, typed.url)
    assert shown(typed) == shown(opened)


def test_back_and_forward_go_through_the_scenarios(ready_page: Page) -> None:
    """Each finished change is one step, and its controls come along."""
    put(ready_page, "tensor_parallel_size", "4")
    put(ready_page, "tensor_parallel_size", "8")
    expect_figure(ready_page, "num_accelerators", 8)
    ready_page.go_back()
    expect_figure(ready_page, "num_accelerators", 4)
    expect(control(ready_page, "tensor_parallel_size")).to_have_value("4")
    ready_page.go_back()
    expect_figure(ready_page, "num_accelerators", 2)
    ready_page.go_forward()
    ready_page.go_forward()
    expect_figure(ready_page, "num_accelerators", 8)
    expect_search(ready_page, "?tensor_parallel_size=8")


def test_what_is_typed_letter_by_letter_is_one_step(ready_page: Page) -> None:
    """Nobody wants to go back through 1, 16 and 163."""
    field = control(ready_page, "max_model_len")
    field.click()
    field.press("Control+a")
    field.press_sequentially("16384", delay=120)
    field.press("Tab")
    expect_search(ready_page, "?max_model_len=16384")
    ready_page.go_back()
    expect_search(ready_page, "")
    expect(field).to_have_value("32768")


def test_a_change_that_is_taken_back_leaves_no_trace(ready_page: Page) -> None:
    """The first scenario is the bare address."""
    put(ready_page, "tensor_parallel_size", "4")
    expect_search(ready_page, "?tensor_parallel_size=4")
    put(ready_page, "tensor_parallel_size", "2")
    expect_search(ready_page, "")


def test_nonsense_in_a_link_is_shown_and_said(page: Page) -> None:
    """A value for a choice that does not exist stays to be seen in its control."""
    open_page(page, "?kv_cache_dtype=fp99")
    expect(control(page, "kv_cache_dtype")).to_have_value("fp99")
    expect(page.locator("#failure")).to_contain_text("kv_cache_dtype")
    expect(page.locator(".notice")).not_to_have_text("")


def test_what_others_hang_on_a_link_is_passed_over(page: Page) -> None:
    """A newsletter's mark is no part of the scenario."""
    open_page(page, "?utm_source=letter&tensor_parallel_size=4")
    expect_figure(page, "num_accelerators", 4)
    expect(page.locator("#failure")).to_have_text("")
