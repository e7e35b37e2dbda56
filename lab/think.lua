-- Clients that think for up to 1.5 s between requests; every fifth request is a POST. Prints its sums as JSON.
local threads = 0

function setup(thread)
  threads = threads + 1
  thread:set("seed", threads)
end

function init()
  math.randomseed(os.time() * 1000 + seed)
  get = wrk.format("GET", "/")
  post = wrk.format("POST", "/", nil, string.rep("x", 300))
end

function delay()
  return math.random(0, 1500)
end

function request()
  return math.random(5) == 1 and post or get
end

function done(summary)
  local errors = summary.errors
  io.write(string.format('\n{"requests": %d, "connect": %d, "read": %d, "write": %d, "status": %d, "timeout": %d}\n', summary.requests,
    errors.connect, errors.read, errors.write, errors.status, errors.timeout))
end
