"""The dashboard in a browser: the matrix of the canary, endpoints, drains, and a token where the address asks for one."""

import pytest

import awkward
from admin_client import Api
from browser import CHROMIUM, MISSING, Browser
from canary_server import CanaryServer
from router import PORTS, configuration

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason=MISSING)
CELLS = """Object.fromEntries([...document.querySelectorAll('.matrix button')].map((one) => [one.dataset.key, one.innerText.replace(/\\s+/, ' ')]))"""


@pytest.fixture
def browser(tmp_path):
    with Browser(tmp_path) as one:
        yield one


def failing(cells):
    return {name: text for name, text in cells.items() if "✕" in text}


def test_the_canary_as_a_matrix_of_replicas_and_legs(router, browser, tmp_path):
    with CanaryServer(tmp_path, POD_NAME="pod-1") as server:
        settings = configuration(server.ports[0], routes=[{"name": "walked", "host": "canary.test", "backend": "service"}])
        settings["canary"] = {"backends": ["service"], "ports": server.ports, "every": "1s", "budget": "1s", "replicas": [{"name": "dead", "host": "127.0.0.9"}]}
        one = router(settings)
        browser.open(f"http://localhost:{one.admin}/")
        browser.wait_for(f"Object.values({CELLS}).filter((text) => text.startsWith('✓')).length === 4")
        browser.wait_for(f"Object.values({CELLS}).filter((text) => text === '✕ connect_refused').length === 4")
        cells = browser.value(CELLS)
        protocols = ("http1_fresh", "http1_reused", "h2", "websocket")
        assert list(cells) == [f"{replica}/plain/{protocol}" for replica in ("self", "dead") for protocol in protocols]
        assert set(failing(cells)) == {f"dead/plain/{protocol}" for protocol in protocols}
        heads = browser.value("[...document.querySelectorAll('.matrix thead th')].map((one) => one.innerText)")
        assert heads == ["replica", "plain", "http1 fresh", "http1 reused", "h2", "websocket"]
        assert browser.value("[...document.querySelectorAll('.matrix tbody th')].map((one) => one.innerText)") == ["self", "dead"]

        browser.value("document.querySelector('[data-key=\"dead/plain/h2\"]').click()")
        told = browser.wait_for("document.querySelector('#leg article')?.innerText")
        assert "nothing listens there" in told and "is the router running" in told
        # The choice outlives what is asked for anew.
        asked = browser.value("document.getElementById('as-of').innerText")
        browser.wait_for(f"document.getElementById('as-of').innerText !== {asked!r}")
        assert browser.value("document.querySelector('#leg h3').innerText") == "dead/plain/h2"
        assert browser.value("document.querySelector('[aria-pressed=true]').dataset.key") == "dead/plain/h2"
        assert not browser.problems


def test_endpoints_and_drains_as_they_change(router, backend, browser):
    one = router(configuration(backend(awkward.named("a")).port))
    browser.open(f"http://localhost:{one.admin}/")
    rows = "[...document.querySelectorAll('#endpoints tbody tr')].map((row) => [...row.cells].slice(0, 4).map((cell) => cell.innerText).join(' '))"
    assert browser.wait_for(rows)[0].endswith("ready")
    assert "not configured" in browser.value("document.getElementById('paths').innerText")
    assert browser.value("document.getElementById('state').innerText").startswith("ready")
    Api(one.admin).drain("service/e0")
    browser.wait_for("document.querySelector('#drains tbody')?.innerText.includes('service/e0')")
    browser.wait_for(f"{rows}[0].endsWith('leaving') || {rows}[0].endsWith('drain')")
    browser.value("const field = document.getElementById('filter'); field.value = 'nobody'; field.dispatchEvent(new Event('input'))")
    assert browser.value("document.getElementById('endpoints').innerText") == "None."
    assert not browser.problems
    one.stop()
    browser.wait_for("document.getElementById('state').innerText.includes('what is shown is from')")


def test_a_token_is_asked_for_where_the_address_wants_one(router, backend, browser, tmp_path):
    token = tmp_path / "token"
    token.write_text("a-secret-of-this-test\n")
    port = PORTS.take()
    router(configuration(backend(awkward.named("a")).port) | {"admin": {"bind": f"0.0.0.0:{port}", "token_file": str(token)}})
    browser.open(f"http://localhost:{port}/")
    browser.wait_for("document.getElementById('sign-in') && !document.getElementById('sign-in').hidden")
    assert browser.value("document.querySelector('#endpoints table')") is None
    browser.value("document.getElementById('token').value = 'a-secret-of-this-test'; document.querySelector('#sign-in button').click()")
    browser.wait_for("document.querySelectorAll('#endpoints tbody tr').length === 1")
    assert browser.value("document.getElementById('sign-in').hidden")
