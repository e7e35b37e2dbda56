"""A gRPC service in a thread, and channels to it: messages are bytes, so that no .proto compiler is needed.

Methods of /test.Echo: Unary (says the message back), Collect (client streams; the number of messages), Count (server
streams; as many messages as asked for), Chat (says each message back), Fail (a status with details), Wait (until it is
cancelled; `cancelled` counts that).
"""

import asyncio
import contextlib

import grpc

from loop_server import LoopServer

SERVICE = "test.Echo"


class Echo(grpc.GenericRpcHandler):
    def __init__(self):
        self.calls = 0
        self.chatting = 0
        self.chatting_max = 0
        self.cancelled = 0
        self.metadata = {}

    def service(self, details):
        self.metadata = dict(details.invocation_metadata)
        method = details.method.rsplit("/", 1)[1]
        makers = {"Unary": grpc.unary_unary_rpc_method_handler, "Fail": grpc.unary_unary_rpc_method_handler,
                  "Wait": grpc.unary_unary_rpc_method_handler, "Collect": grpc.stream_unary_rpc_method_handler,
                  "Count": grpc.unary_stream_rpc_method_handler, "Chat": grpc.stream_stream_rpc_method_handler}
        return makers[method](getattr(self, method.lower())) if method in makers else None

    async def unary(self, message, _):
        self.calls += 1
        return message

    async def fail(self, message, context):
        self.calls += 1
        await context.abort(grpc.StatusCode.FAILED_PRECONDITION, message.decode())

    async def wait(self, _, context):
        self.calls += 1
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            self.cancelled += 1
            raise

    async def collect(self, messages, _):
        count = 0
        async for _message in messages:
            count += 1
        return str(count).encode()

    async def count(self, message, _):
        for number in range(int(message)):
            yield str(number).encode()

    async def chat(self, messages, _):
        self.chatting += 1
        self.chatting_max = max(self.chatting_max, self.chatting)
        async for message in messages:
            yield message
        self.chatting -= 1


class Server(LoopServer):
    def __init__(self):
        self.echo, self.port = Echo(), None

    @contextlib.asynccontextmanager
    async def serving(self):
        server = grpc.aio.server(options=[("grpc.so_reuseport", 0)])
        server.add_generic_rpc_handlers((self.echo,))
        self.port = server.add_insecure_port("127.0.0.1:0")
        await server.start()
        yield
        await server.stop(None)


def channel(port, certificate=None, aio=False):
    """Over TLS if a certificate to trust is given. Channels do not share connections."""
    kind = grpc.aio if aio else grpc
    options = [("grpc.use_local_subchannel_pool", 1), ("grpc.enable_retries", 0)]
    if certificate is None:
        return kind.insecure_channel(f"localhost:{port}", options=options)
    with open(certificate, "rb") as file:
        return kind.secure_channel(f"localhost:{port}", grpc.ssl_channel_credentials(file.read()), options=options)


def method(of_channel, kind, name):
    """kind: unary_unary, stream_unary, unary_stream, stream_stream."""
    return getattr(of_channel, kind)(f"/{SERVICE}/{name}")
