"""Where the contestants listen. The namespace is their own, so that numbers can be fixed."""

WEB, HTTP2, GRPC, ADMIN = 8080, 8081, 8082, 9901
LEAKY_ADDRESS = "127.0.0.9"  # of the client that forgets to close
