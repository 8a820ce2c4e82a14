-- parts: layout, spread_guard, records
-- Take keys of pages out. KEYS: prefix. ARGV: profile, entries as they are filed. Answers {'unfiled'}.

local entries, taken = ARGV[2], 0
for place = 1, #entries, 13 do
  local number, key, page = byte(entries, place), sub(entries, place + 1, place + 8), number_at(entries, place + 9)
  taken = taken + call('ZREM', bucket_key('t' .. number, key), member_of(key, page))
end
if taken > 0 then call('HINCRBY', META, 'pages', -taken) end
return {'unfiled'}
