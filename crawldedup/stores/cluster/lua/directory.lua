-- The directory of a partition: of the URLs that belong to it by their keys, the home of the page.
--
--   <e>:d:<b>       sorted set: one bucket, cut like those of the URL table; member = 5 bytes of URL key .. home .. turn
--
-- An entry may be wrong: its page may be gone, or never have been kept. Who reads one asks at that home.
--
-- Where pages are forgotten, entries are so by turns: a turn is over after a quarter of a time to live, or of as many entries
-- as there may be pages. An entry is of the turn in which it was asked for last. Who notes one frees those near it that are
-- older than the four turns before this one.

-- Return the bucket of a URL, the entries there from the URL's place on, and its own.
local function entries_at(url_key)
  local bucket, head = bucket_key('d', url_key), sub(url_key, 1, 5)
  local entries = call('ZRANGEBYLEX', bucket, '[' .. head, '+', 'LIMIT', '0', '16')
  return bucket, entries, entries[1] and sub(entries[1], 1, 5) == head and entries[1]
end

-- Note the home of a URL, a byte, unless one was noted before; that, too, if it is `forced`. Return the home noted before or '',
-- or an error. `packed` has now or 0, time to live, limit of pages, 1 if forced, URL key, home, and entries that were noted in
-- vain: they are released. A full server writes nothing.
local function claim(packed)
  local now, ttl, max_pages, forced = struct.unpack('>I4I4I4B', packed)
  local url_key, home = sub(packed, 14, 21), sub(packed, 22, 22)
  local head = call('HMGET', META, 'turn', 'entries', 'turned')
  local turn, count, turned = tonumber(head[1]) or 0, tonumber(head[2]) or 0, tonumber(head[3]) or 0
  if ttl > 0 and now == 0 then now = tonumber(call('TIME')[1]) end
  if ttl > 0 and now - turned > ttl / 4 or max_pages > 0 and count >= max(max_pages / 4, 16) then
    turn = (turn + 1) % 256
    redis.pcall('HSET', META, 'turn', turn, 'entries', 0, 'turned', now)
  end
  local change = 0
  for i = 23, #packed, 9 do
    local bucket, _, vain = entries_at(sub(packed, i, i + 7))
    if vain and sub(vain, 6, 6) == sub(packed, i + 8, i + 8) then change = change - call('ZREM', bucket, vain) end
  end
  local bucket, entries, noted = entries_at(url_key)
  local former = noted and sub(noted, 6, 6) or ''
  local entry = sub(url_key, 1, 5) .. (noted and forced == 0 and former or home) .. char(turn)
  if entry ~= noted then
    local written = redis.pcall('ZADD', bucket, '0', entry)
    if type(written) == 'table' then return string.find(written.err, 'OOM') and former or written end
    change = change + written
    for i = 1, #entries do
      if entries[i] == noted or (turn - byte(entries[i], 7)) % 256 > 4 then call('ZREM', bucket, entries[i]) end
    end
  end
  if change ~= 0 then redis.pcall('HINCRBY', META, 'entries', change) end
  return former
end
