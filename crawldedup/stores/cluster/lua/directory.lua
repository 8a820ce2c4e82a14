-- The directory of a partition: of the URLs that belong to it by their keys, the home of the page.
--
--   <e>:d<turn>:<b>   hash: one bucket; field = the last 5 bytes of a URL key, value = the home, a byte
--
-- An entry may be wrong: its page may be gone, or never have been kept. Who reads one asks at that home.
--
-- Buckets are never cut. There is one for the first 64 entries, then there are 8 for the next ones up to 512, and so on.
-- Where pages are forgotten, entries are so by turns: a turn is over after a time to live, or after as many entries as there
-- may be pages. Only those of this turn and the one before are read; who is asked for one writes it into this turn.

local META, BUCKET_ENTRIES = KEYS[1] .. 'm', 64
local call, sub = redis.call, string.sub

local function bucket_key(stem, buckets, url_key)
  local a, b, c, d = string.byte(url_key, 1, 4)
  return string.format('%s%d', stem, buckets + math.floor((((a * 256 + b) * 256 + c) * 256 + d) / 2 ^ 32 * buckets))
end

-- Return the home that a turn's buckets have for a URL and the bucket; or nil and the bucket for another entry.
local function look_up(stem, entries, url_key)
  local buckets, field, key = 1, sub(url_key, 4, 8), nil
  local last = false
  repeat
    key = bucket_key(stem, buckets, url_key)
    local home = call('HGET', key, field)
    if home then return home, key end
    last = entries < buckets * BUCKET_ENTRIES
    if not last then buckets = buckets * 8 end
  until last
  return nil, key
end

-- Note the home of a URL, a byte, unless one was noted before; that, too, if it is `forced`. Return {'claimed', pages, home
-- noted before or ''}, or what is wrong with the index. `packed` has now or 0, time to live, limit of pages, 1 if forced,
-- URL key, home, and entries that were noted in vain: they are released. A full server writes nothing.
local function claim(profile, packed)
  local now, ttl, max_pages, forced = struct.unpack('>I4I4I4B', packed)
  local url_key, home = sub(packed, 14, 21), sub(packed, 22, 22)
  local head = call('HMGET', META, 'profile', 'pages', 'epoch', 'turn', 'entries', 'entries_before', 'turned')
  if not head[1] then return {'lost'} end
  if head[1] ~= profile then return {'profile', head[1]} end
  local stem, turn, entries = KEYS[1] .. head[3] .. ':d', tonumber(head[4]) or 0, tonumber(head[5]) or 0
  local before, turned = tonumber(head[6]) or 0, tonumber(head[7])
  if ttl > 0 and now == 0 then now = tonumber(call('TIME')[1]) end
  if ttl > 0 and now - (turned or 0) > ttl or max_pages > 0 and entries >= math.max(max_pages, BUCKET_ENTRIES) then
    turn, before, entries = turn + 1, entries, 0
    redis.pcall('HSET', META, 'turn', turn, 'entries', 0, 'entries_before', before, 'turned', now)
  end
  local current, earlier = stem .. turn .. ':', stem .. turn - 1 .. ':'
  local change = 0
  for i = 23, #packed, 9 do
    local noted, key = look_up(current, entries, sub(packed, i, i + 7))
    if noted == sub(packed, i + 8, i + 8) then change = change - call('HDEL', key, sub(packed, i + 3, i + 7)) end
  end
  local former, key = look_up(current, entries, url_key)
  local is_noted = former and forced == 0
  if not former and before > 0 then former = look_up(earlier, before, url_key) end
  if not is_noted then
    local written = redis.pcall('HSET', key, sub(url_key, 4, 8), former and forced == 0 and former or home)
    if type(written) ~= 'table' then
      change = change + written
      if ttl > 0 then call('EXPIRE', key, 3 * ttl) end
      -- Nothing of the turn before the last is read any more: it is freed bit by bit.
      if turn > 1 then call('UNLINK', stem .. turn - 2 .. ':' .. entries) end
    elseif not string.find(written.err, 'OOM') then
      return written
    end
  end
  if change ~= 0 then redis.pcall('HINCRBY', META, 'entries', change) end
  return {'claimed', tonumber(head[2]) or 0, former or ''}
end
