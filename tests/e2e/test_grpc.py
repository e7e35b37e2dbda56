"""gRPC through the router, with the published library on both sides."""

import asyncio
import os

import pytest

os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")  # routers are started by fork while channels are open
import grpc  # noqa: E402

import grpc_service  # noqa: E402
import http2  # noqa: E402
from grpc_service import method  # noqa: E402
from http1 import PATIENCE  # noqa: E402
from router import PORTS, backend as backend_of, configuration, endpoint, wait_until  # noqa: E402

CHANNELS, STREAMS = 10, 100  # a connection may have 128 streams


@pytest.fixture
def server():
    with grpc_service.Server() as one:
        yield one


@pytest.fixture(params=["h2c", "tls"])
def tls(request):
    return request.param == "tls"


@pytest.fixture
def through(router, certificates, tls, server):
    """(router, how to open a channel to it): over TLS or h2c, with an h2c backend."""
    settings = configuration(backends=[backend_of(server.port, protocol="h2c")])
    certificate = None
    if tls:
        pair = certificates("localhost", "ecdsa", "localhost")
        certificate = pair["cert"]
        settings["listeners"][0].update(protocol="https", certificates=[pair])
    one = router(settings)
    return one, lambda **options: grpc_service.channel(one.port(), certificate, **options)


def test_all_four_kinds_of_calls(through, server):
    one, channel = through
    with channel() as open_channel:
        assert method(open_channel, "unary_unary", "Unary")(b"hello", timeout=PATIENCE) == b"hello"
        assert method(open_channel, "stream_unary", "Collect")(iter([b"x"] * 1000), timeout=PATIENCE) == b"1000"
        assert list(method(open_channel, "unary_stream", "Count")(b"1000", timeout=PATIENCE)) == [str(n).encode() for n in range(1000)]
        messages = [os.urandom(size) for size in (0, 1, 1000, 100_000, 1_000_000)]
        assert list(method(open_channel, "stream_stream", "Chat")(iter(messages), timeout=PATIENCE)) == messages
    line = one.logged(target="/test.Echo/Unary")
    assert (line["protocol"], line["method"], line["status"], line["cause"]) == ("HTTP/2", "POST", 200, "completed")


def test_messages_pass_one_by_one(through):
    """A conversation: nothing may be held back for company."""
    _, channel = through
    with channel() as open_channel:
        said, heard = [], []

        def talk():
            for number in range(50):
                said.append(number)
                yield str(number).encode()
                wait_until(lambda: len(heard) > number)

        for message in method(open_channel, "stream_stream", "Chat")(talk(), timeout=PATIENCE):
            heard.append(int(message))
        assert said == heard == list(range(50))


def test_metadata_reaches_the_service(through, server):
    _, channel = through
    with channel() as open_channel:
        call = method(open_channel, "unary_unary", "Unary")
        call(b"x", timeout=PATIENCE, metadata=[("x-text", "words"), ("x-binary-bin", bytes(range(256)))])
    assert server.echo.metadata["x-text"] == "words"
    assert server.echo.metadata["x-binary-bin"] == bytes(range(256))


def test_a_status_in_the_trailers_arrives_with_its_words(through):
    """The service says nothing but a status: HEADERS with END_STREAM, or nothing but trailers."""
    _, channel = through
    with channel() as open_channel:
        for kind, name in (("unary_unary", "Fail"), ("unary_unary", "NoSuchMethod")):
            with pytest.raises(grpc.RpcError) as error:
                method(open_channel, kind, name)(b"no, because of \xc3\xa4", timeout=PATIENCE)
            expected = {"Fail": (grpc.StatusCode.FAILED_PRECONDITION, "no, because of \u00e4"),
                        "NoSuchMethod": (grpc.StatusCode.UNIMPLEMENTED, "Method not found!")}[name]
            assert (error.value.code(), error.value.details()) == expected


def test_a_deadline_cancels_the_call_at_the_service(through, server):
    one, channel = through
    with channel() as open_channel:
        def cancelled():
            with pytest.raises(grpc.RpcError) as error:
                method(open_channel, "unary_unary", "Wait")(b"", timeout=0.3)
            assert error.value.code() == grpc.StatusCode.DEADLINE_EXCEEDED
            return server.echo.cancelled > 0

        wait_until(cancelled, what="a call that has come to the service in time, and was cancelled there")
    wait_until(lambda: one.metric("ebbgate_exchanges") == 0)


def test_a_cancelled_call_is_cancelled_at_the_service(through, server):
    _, channel = through
    with channel() as open_channel:
        call = method(open_channel, "unary_unary", "Wait").future(b"", timeout=PATIENCE)
        wait_until(lambda: server.echo.calls == 1)
        call.cancel()
        wait_until(lambda: server.echo.cancelled == 1)


def test_1000_streams_at_once(through, server):
    """Each open at the same time as all others, each with its own conversation."""
    _, channel = through

    async def converse(call, number, all_open):
        for turn in range(3):
            message = f"{number}.{turn}".encode()
            await call.write(message)
            assert await call.read() == message
            if turn == 0:
                await all_open()
        await call.done_writing()
        assert await call.read() == grpc.aio.EOF
        assert await call.code() == grpc.StatusCode.OK

    async def run():
        opened, everybody = 0, asyncio.Event()

        async def all_open():
            nonlocal opened
            opened += 1
            if opened == CHANNELS * STREAMS:
                everybody.set()
            await asyncio.wait_for(everybody.wait(), 60)

        channels = [channel(aio=True) for _ in range(CHANNELS)]
        calls = [method(one, "stream_stream", "Chat")(timeout=90) for one in channels for _ in range(STREAMS)]
        await asyncio.gather(*(converse(call, number, all_open) for number, call in enumerate(calls)))
        for one in channels:
            await one.close()

    asyncio.run(run())
    assert server.echo.chatting_max == CHANNELS * STREAMS


@pytest.mark.parametrize("name,code", [("no-endpoint", grpc.StatusCode.UNAVAILABLE), ("refused", grpc.StatusCode.UNAVAILABLE),
                                       ("no-route", grpc.StatusCode.UNIMPLEMENTED)])
def test_errors_of_the_router_are_statuses(router, name, code):
    settings = configuration(backends=[{"name": "no-endpoint", "protocol": "h2c", "endpoints": [endpoint(PORTS.take(), state="drain")],
                                        "queue": {"limit": 0}},
                                       backend_of(PORTS.take(), name="refused", protocol="h2c", queue={"limit": 0})])
    settings["routes"] = [{"name": "only", "path": "/test.Echo" if name != "no-route" else "/other",
                           "backend": "no-endpoint" if name == "no-route" else name}]
    one = router(settings)
    with grpc_service.channel(one.port()) as channel, pytest.raises(grpc.RpcError) as error:
        method(channel, "unary_unary", "Unary")(b"x", timeout=PATIENCE)
    assert error.value.code() == code
    assert error.value.details()


def test_errors_of_the_router_are_written_as_grpc_writes_them(router):
    """Not only what a client makes of a 503: the status is in the head, which is all there is (trailers-only)."""
    one = router(configuration(backends=[backend_of(PORTS.take(), protocol="h2c", queue={"limit": 0})]))
    with http2.dial(one.port()) as client:
        answer = client.get("POST", "/test.Echo/Unary", fields=[("content-type", "application/grpc"), ("te", "trailers")], body=b"")
    assert (answer.status, answer.get("content-type"), bytes(answer.body)) == (200, "application/grpc", b"")
    assert answer.get("grpc-status") == str(grpc.StatusCode.UNAVAILABLE.value[0])
    assert answer.get("grpc-message")
