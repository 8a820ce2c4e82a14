-- parts: layout, spread_guard, records, home_filing
-- Pages that somebody left unfiled. KEYS: prefix. ARGV: profile, for how many seconds at least.
-- Answers {'pending', pages, number (4 bytes) and record of each..}.

local before = server_seconds() - tonumber(ARGV[2])
local found = call('HGETALL', PENDING)
local answer = {'pending', meta.pages}
for i = 1, #found, 2 do
  if struct.unpack('>d', sub(found[i + 1], 2, 9)) <= before and #answer < 202 then
    local record = read_record(number_at(found[i], 1))
    if record then
      answer[#answer + 1] = found[i] .. record
    else
      end_filing(number_at(found[i], 1))
    end
  end
end
return answer
