"""Where the contestants listen. The namespace is their own, so that numbers can be fixed."""

WEB, HTTP2, GRPC, ADMIN = 8080, 8081, 8082, 9901
