"""Responses compressed on their way, where the route asks for it and the client takes it."""

import subprocess
import zlib

import pytest

import awkward
from http1 import response
from router import configuration

TEXT = b"the quick brown fox jumps over the lazy dog\n" * 2000


def page(request):
    if request.target == "/small":
        return response(b"short", Content_Type="text/plain")
    if request.target == "/coded":
        return response(TEXT, Content_Type="text/plain", Content_Encoding="identity-ish")
    if request.target == "/picture":
        return response(TEXT, Content_Type="image/png")
    if request.target == "/fixed":
        return response(TEXT, Content_Type="text/plain", Cache_Control="public, no-transform")
    return response(TEXT, Content_Type="text/plain; charset=utf-8", ETag='"abc"', Accept_Ranges="bytes")


@pytest.fixture
def compressing(router, backend):
    settings = configuration(backend(awkward.answering(page)).port)
    settings["routes"][0]["compression"] = {}
    return router(settings)


@pytest.mark.parametrize("coding,tool", [("gzip", ["gzip", "-dc"]), ("br", ["brotli", "-dc"]), ("zstd", ["zstd", "-dc"])])
def test_each_coding_gives_the_same_text(compressing, coding, tool):
    answer = compressing.get(Accept_Encoding=coding)
    assert answer.get("Content-Encoding") == coding and answer.get("Vary") == "Accept-Encoding"
    assert answer.get("ETag") == 'W/"abc"' and answer.get("Accept-Ranges") is None and answer.get("Content-Length") is None
    assert len(answer.body) < len(TEXT) / 10
    assert subprocess.run(tool, input=answer.body, capture_output=True, check=True).stdout == TEXT


def test_the_first_of_the_route_that_the_client_takes(compressing):
    assert compressing.get(Accept_Encoding="gzip, br, zstd").get("Content-Encoding") == "zstd"
    assert compressing.get(Accept_Encoding="gzip, zstd;q=0, br").get("Content-Encoding") == "br"


@pytest.mark.parametrize("target,fields", [("/", {}), ("/", {"Accept_Encoding": "identity"}), ("/small", {"Accept_Encoding": "gzip"}),
                                           ("/coded", {"Accept_Encoding": "gzip"}), ("/picture", {"Accept_Encoding": "gzip"}),
                                           ("/fixed", {"Accept_Encoding": "gzip"})])
def test_what_is_left_as_it_was(compressing, target, fields):
    answer = compressing.get(target, **fields)
    assert answer.get("Content-Encoding") in (None, "identity-ish")
    assert answer.get("Content-Length") == str(len(answer.body))


def test_over_http2(compressing):
    done = subprocess.run(["curl", "-s", "--http2-prior-knowledge", "--compressed", f"http://127.0.0.1:{compressing.port()}/"],
                          capture_output=True, check=True, timeout=60)
    assert done.stdout == TEXT


def test_events_do_not_wait_for_each_other(router, backend):
    def serve(stream, backend):
        stream.read_request()
        stream.send(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n")
        stream.send(b"6\r\nfirst\n\r\n")
        backend.released.wait(60)
        stream.send(b"7\r\nsecond\n\r\n0\r\n\r\n")

    service = backend(serve)
    settings = configuration(service.port)
    settings["routes"][0]["compression"] = {"codings": ["gzip"]}
    one = router(settings)
    with one.dial() as client:
        client.send(b"GET / HTTP/1.1\r\nHost: a\r\nAccept-Encoding: gzip\r\n\r\n")
        head = client.read_until(b"\r\n\r\n")
        assert b"Content-Encoding: gzip" in head
        inflater = zlib.decompressobj(31)
        text = b""
        while text != b"first\n":
            size = int(client.read_until(b"\r\n"), 16)
            text += inflater.decompress(client.read(size))
            client.read(2)
        service.released.set()
        while size := int(client.read_until(b"\r\n"), 16):
            text += inflater.decompress(client.read(size))
            client.read(2)
        assert text == b"first\nsecond\n"


@pytest.mark.parametrize("types,coded", [(["text/*"], True), (["TEXT/*"], True), (["*/*"], True), (["image/*", "text/*"], True),
                                         (["image/*"], False), (["tex/*"], False), (["text/html"], False)])
def test_a_range_of_types_is_all_of_them(router, backend, types, coded):
    settings = configuration(backend(awkward.answering(page)).port)
    settings["routes"][0]["compression"] = {"types": types}
    one = router(settings)
    assert (one.get(Accept_Encoding="gzip").get("Content-Encoding") == "gzip") == coded
