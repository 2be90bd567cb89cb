"""What the page may load and run."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Error, Page

RUN_TEXT = """
() => new Promise((resolve) => {
  // Not at once: what a debugger evaluates is free of the policy, what it leaves behind is not.
  setTimeout(() => {
    try {
      resolve(Function("return 'ran'")());
    } catch (error) {
      resolve(error.name);
    }
  });
})
"""
ALLOWED_HOSTS = {"huggingface.co", "hf.co"}
OWN_CODE = ("static/**/*.js", "sw.js")


def policy_of(site: Path) -> dict[str, str]:
    """Read the page's content security policy."""
    html = (site / "index.html").read_text("utf-8")
    match = re.search(r'http-equiv="Content-Security-Policy" content="([^"]+)"', html)
    assert match is not None
    return dict(part.strip().split(" ", 1) for part in match[1].split(";"))


def test_the_policy_allows_only_what_the_site_ships(site: Path) -> None:
    """WebAssembly may be compiled; text may not be run, and nothing comes from elsewhere."""
    policy = policy_of(site)
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == "'self' 'wasm-unsafe-eval'"
    assert re.fullmatch(r"'self'( 'sha256-[\w+/=]{44}')+", policy["style-src"])
    assert policy["worker-src"] == "'self'"
    assert "unsafe-inline" not in str(policy)
    hosts = {word for word in policy["connect-src"].split() if word != "'self'"}
    assert hosts == {"https://huggingface.co", "https://*.hf.co"}


def test_the_policy_comes_before_anything_that_loads(site: Path) -> None:
    """A <meta> policy binds only what stands after it."""
    html = (site / "index.html").read_text("utf-8")
    policy = html.index("Content-Security-Policy")
    assert policy < min(html.index(word) for word in ("<link", "<script", "<body"))


def test_text_cannot_be_run_as_code(complaining_page: Page) -> None:
    """The policy is in force in a real browser, not only written down."""
    complaining_page.goto("./")
    assert complaining_page.evaluate(RUN_TEXT) == "EvalError"


def test_a_script_from_elsewhere_is_refused(complaining_page: Page) -> None:
    """The request fails before it reaches the network."""
    asked: list[str] = []
    complaining_page.on("requestfinished", lambda request: asked.append(request.url))
    complaining_page.goto("./")
    with pytest.raises(Error, match="Failed to fetch"):
        complaining_page.evaluate("() => import('http://127.0.0.2:1/x.js')")
    assert "http://127.0.0.2:1/x.js" not in asked


def test_prepared_markup_holds_no_style_or_handler_attribute(site: Path) -> None:
    """The policy would drop them: what they say would silently not happen."""
    html = (site / "index.html").read_text("utf-8")
    markup = re.sub(r"<script\b.*?</script>", "", html, flags=re.DOTALL)
    assert re.findall(r"<[^>]*\s(?:style|on\w+)\s*=[^>]*>", markup) == []


@pytest.mark.parametrize("word", ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write"])
def test_own_code_never_writes_markup_from_text(site: Path, word: str) -> None:
    """Data becomes text nodes, never markup."""
    for pattern in OWN_CODE:
        for path in site.glob(pattern):
            assert word not in path.read_text("utf-8"), path.name


def test_own_code_names_no_other_host(site: Path) -> None:
    """The one button that leaves the page goes to the hub, and nothing else does."""
    for pattern in OWN_CODE:
        for path in site.glob(pattern):
            hosts = re.findall(r"https?://([\w.-]+)", path.read_text("utf-8"))
            named = {host for host in hosts if not host.endswith("w3.org")}
            assert {".".join(host.split(".")[-2:]) for host in named} <= ALLOWED_HOSTS, path.name


def test_loading_and_answering_asks_no_other_origin(ready_page: Page) -> None:
    """From a first visit to the first answer; the fixture holds every request to our origin."""
    assert ready_page.locator("data[data-figure]").first.get_attribute("value")
