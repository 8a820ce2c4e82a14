-- The directory of a partition: of the URLs that belong to it by their keys, the home of the page.
--
--   <e>:d<turn>:<b>   hash: one bucket; field = the last 5 bytes of a URL key, value = the home, a byte
--
-- An entry may be wrong: its page may be gone, or never have been kept. Who reads one asks at that home.
--
-- Buckets are never cut. There is one for the first 64 entries, then there are 8 for the next ones up to 512, and so on.
-- Where pages are forgotten, entries are so by turns: a turn is over after a time to live, or after as many entries as there
-- may be pages. Only those of this turn and the one before are read; who is asked for one writes it into this turn.

local BUCKET_ENTRIES = 64
local turn, entries, entries_before, turned
do
  local found = call('HMGET', META, 'turn', 'entries', 'entries_before', 'turned')
  turn, entries = tonumber(found[1]) or 0, tonumber(found[2]) or 0
  entries_before, turned = tonumber(found[3]) or 0, tonumber(found[4])
end

-- Return how many buckets share new entries when there are so many.
local function buckets_for(count)
  local buckets = 1
  while count >= buckets * BUCKET_ENTRIES do buckets = buckets * 8 end
  return buckets
end

local function entry_key(of, buckets, url_key)
  return format('%sd%d:%d', DATA, of, buckets + floor(leading(url_key) / 2 ^ 32 * buckets))
end

-- Return the home that is noted for a URL, the bucket that holds it, and its turn.
local function entry_of(url_key)
  local field = sub(url_key, 4, 8)
  for of = turn, max(0, turn - 1), -1 do
    local buckets, most = 1, 8 * buckets_for(of == turn and entries or entries_before)
    while buckets <= most do
      local key = entry_key(of, buckets, url_key)
      local home = call('HGET', key, field)
      if home then return home, key, of end
      buckets = buckets * 8
    end
  end
end

-- Begin another turn if it is time. Nothing of the turn before the last is read any more: it is freed bit by bit.
local function take_turns(now, ttl, max_pages)
  if ttl > 0 and now - (turned or now) > ttl or max_pages > 0 and entries >= max(max_pages, BUCKET_ENTRIES) then
    turn, entries, entries_before, turned = turn + 1, 0, entries, nil
  end
  if not turned then
    turned = now
    redis.pcall('HSET', META, 'turn', turn, 'entries', entries, 'entries_before', entries_before, 'turned', turned)
  end
  if turn > 1 then call('UNLINK', format('%sd%d:%d', DATA, turn - 2, entries)) end
end

-- Return the home that was noted for a URL, a byte, or ''. Note another if there was none, or whatever there was if it is
-- `forced`. `released` are URL keys, each with the home that was noted for it in vain. A full server writes nothing.
local function claim(packed)
  local now, ttl, max_pages, forced = struct.unpack('>I4I4I4B', packed)
  local url_key, home, released = sub(packed, 14, 21), sub(packed, 22, 22), sub(packed, 23)
  if now == 0 then now = tonumber(call('TIME')[1]) end
  take_turns(now, ttl, max_pages)
  for i = 1, #released, 9 do
    local noted, key = entry_of(sub(released, i, i + 7))
    if noted == sub(released, i + 8, i + 8) then
      call('HDEL', key, sub(released, i + 3, i + 7))
      entries = max(0, entries - 1)
    end
  end
  local former, key, of = entry_of(url_key)
  local is_current = of == turn
  if forced == 1 or not is_current then
    local place = is_current and key or entry_key(turn, buckets_for(entries), url_key)
    local written = redis.pcall('HSET', place, sub(url_key, 4, 8), forced == 0 and former or home)
    if type(written) == 'table' and not string.find(written.err, 'OOM') then error(written.err) end
    if written == 1 then entries = entries + 1 end
    if ttl > 0 then call('EXPIRE', place, 3 * ttl) end
  end
  redis.pcall('HSET', META, 'entries', entries)
  return former or ''
end
