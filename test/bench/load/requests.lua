-- wrk: sends the prebuilt requests of a file in turn (format: requests.ts).
-- wrk -s requests.lua http://host:port -- <file>
local requests, at = {}, 0

function init(args)
  local file = assert(io.open(args[1], "rb"))
  local all = file:read("*a")
  file:close()
  local from = 1
  while from <= #all do
    local colon = all:find(":", from, true)
    local length = tonumber(all:sub(from, colon - 1))
    requests[#requests + 1] = all:sub(colon + 1, colon + length)
    from = colon + length + 1
  end
end

function request()
  at = at % #requests + 1
  return requests[at]
end

-- Times in microseconds.
function done(summary, latency)
  local e = summary.errors
  io.write(string.format('RESULT {"completed":%d,"failed":%d,"micros":%d,"p50":%d,"p99":%d}\n',
    summary.requests - e.status, e.status + e.connect + e.read + e.write + e.timeout,
    summary.duration, latency:percentile(50), latency:percentile(99)))
end
