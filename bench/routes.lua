-- Another route with each request, over all of them: wrk ... -- ROUTES
local requests, count, at = {}, 0, 0

function init(arguments)
  local routes = tonumber(arguments[1])
  count = math.min(routes, 10000)
  for i = 0, count - 1 do
    local number = math.floor(i * routes / count)
    requests[i] = wrk.format("GET", "/service/" .. number .. "/x", {["Host"] = "h" .. number % 1000 .. ".test"})
  end
end

function request()
  at = (at + 7919) % count  -- a prime: neighbours in the table do not follow each other
  return requests[at]
end
