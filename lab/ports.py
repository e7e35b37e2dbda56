"""The contestants' ports. They have their own namespace, so the numbers can be fixed."""

WEB, HTTP2, GRPC, ADMIN = 8080, 8081, 8082, 9901
LIMIT = 20  # requests and tunnels at a time for one pod, in scenes with a queue
LEAKY_ADDRESS = "127.0.0.9"  # of the client that forgets to close
