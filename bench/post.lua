wrk.method = "POST"
wrk.body = string.rep("0123456789abcdef", 1024)
wrk.headers["Content-Type"] = "application/octet-stream"
