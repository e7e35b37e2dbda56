-- Clients that come back all together, a moment after the servers' idle limit of one second; every fifth request is a POST.
-- Prints its sums as JSON.
local ffi = require("ffi")
ffi.cdef "typedef struct { long seconds, nanoseconds; } ebb_time; int clock_gettime(int clock, ebb_time* now);"
local PERIOD, SPREAD = 1030, 80 -- milliseconds

function init()
  math.randomseed(os.time())
  now = ffi.new("ebb_time")
  get = wrk.format("GET", "/")
  post = wrk.format("POST", "/", nil, string.rep("x", 300))
end

function delay()
  ffi.C.clock_gettime(1, now)
  local milliseconds = tonumber(now.seconds) * 1000 + tonumber(now.nanoseconds) / 1000000
  return math.floor(PERIOD - milliseconds % PERIOD + math.random(0, SPREAD))
end

function request()
  return math.random(5) == 1 and post or get
end

function done(summary)
  local errors = summary.errors
  io.write(string.format('\n{"requests": %d, "connect": %d, "read": %d, "write": %d, "status": %d, "timeout": %d}\n', summary.requests,
    errors.connect, errors.read, errors.write, errors.status, errors.timeout))
end
