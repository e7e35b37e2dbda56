"""What `evidence` switches off does not happen, beside active checks either."""

import time

from router import wait_until
from test_slow import Asking, endpoint, of, services, warm_up  # noqa: F401  (services is a fixture)

CHECKS = {"http": "/healthz", "every": "200ms", "timeout": "200ms", "fall": 2, "rise": 1}


def hang_with_requests(one, minds, count=6):
    """The first endpoint answers neither these requests, some of which it has got, nor its checks: those later, because none would
    come to one that is down."""
    for mind in minds:
        mind.checks_hang = False
    warm_up(one, minds)
    minds[0].answers.clear()
    asking = Asking(one)
    wait_until(lambda: asking.one("GET", "/fast/1") or ("GET", "/fast/1") in minds[0].seen, what="a request at the endpoint that hangs")
    for _ in range(count):
        asking.one("GET", "/fast/1")
    minds[0].checks_hang = True
    return asking


def test_requests_leave_an_endpoint_that_answers_no_check(router, services):  # noqa: F811
    minds, _ = services
    one = router(of(services, health=CHECKS))
    asking = hang_with_requests(one, minds)
    wait_until(lambda: endpoint(one, 0)["silence"] == "confirmed", what="the confirmation")
    assert {status for _, _, status in asking.wait()} == {200}
    wait_until(lambda: endpoint(one, 0)["counters"]["moved"] > 0, what="the count of those that left")


def test_requests_wait_for_their_own_time_outs_where_silence_is_switched_off(router, services):  # noqa: F811
    minds, _ = services
    one = router(of(services, health=CHECKS, evidence={"silence": "off"}))
    asking = hang_with_requests(one, minds)
    wait_until(lambda: endpoint(one, 0)["health"] == "down", what="the verdict of the checks")
    time.sleep(1)  # long enough for a router that moves them; a slow one passes all the same
    counters = endpoint(one, 0)["counters"]
    assert (counters["moved"], counters["trials"]) == (0, 0)
    assert len(asking.results) < len(asking.threads), "those at the endpoint that hangs"
    minds[0].answers.set()
    assert {status for _, _, status in asking.wait()} == {200}
