-- Layout of one index, all keys behind one prefix (KEYS[1] .. suffix), all in one hash slot:
--
--   m            hash: profile, order, pages, next, depth, split, crawlers, first
--   c            sorted set: crawlers at work, score = when the lease ends
--   w            hash: the process of each crawler
--   t<n>:<b>     sorted set: one bucket of permuted table n; member = 5 bytes of key .. 4 bytes of page number
--   u:<b>        sorted set: one bucket of the URL table, members alike
--   r:<n>        list: records of the pages 64 n .. 64 n + 63
--
-- A table is cut into buckets by the leading bits of the key, so that each stays a small packed list in the
-- server. The cut is linear hashing over prefixes: the first `split` of the 2^depth buckets are already cut one
-- bit deeper. Each page that is added may cut one more bucket in every table: the index grows page by page and
-- never stops to reorganise. Bucket b of depth d is named 2^d + b.

local PREFIX = KEYS[1]
local META = PREFIX .. 'm'
local BUCKET_PAGES = 40   -- mean members a bucket; it varies from half to twice that, below the packed limit
local RECORDS_A_LIST = 64
local HEAD = 40           -- bytes of a record before the signature: see RECORD
local RECORD = '>I4I4I4I4c8c8c8'  -- added, seen, copies, crawler, search, digest, url key; then signature, url
local byte, sub, floor = string.byte, string.sub, math.floor

local meta = {}
do
  local found = redis.call('HMGET', META, 'profile', 'pages', 'next', 'depth', 'split', 'crawlers', 'first')
  meta.profile = found[1]
  meta.pages = tonumber(found[2]) or 0
  meta.next = tonumber(found[3]) or 0
  meta.depth = tonumber(found[4]) or 0
  meta.split = tonumber(found[5]) or 0
  meta.crawlers = tonumber(found[6]) or 0
  meta.first = tonumber(found[7]) or 0
end

-- The number of the bucket that holds the 32 leading bits `value`, and how many values it spans.
local function bucket_of(value)
  local width = 2 ^ (32 - meta.depth)
  local number = floor(value / width)
  if number < meta.split then
    width = width / 2
    return 2 ^ (meta.depth + 1) + floor(value / width), width
  end
  return 2 ^ meta.depth + number, width
end

local function leading(key)
  local a, b, c, d = byte(key, 1, 4)
  return ((a * 256 + b) * 256 + c) * 256 + d
end

local function bucket_key(table_name, key)
  return PREFIX .. table_name .. ':' .. (bucket_of(leading(key)))
end

-- The members of a table between two 5-byte keys, both included. A probe's range lies within one bucket, unless
-- the index grew a lot since the client last heard of its size.
local function members_between(table_name, low, high, limit)
  local stem, last = PREFIX .. table_name .. ':', high .. '\255\255\255\255'
  local number, width = bucket_of(leading(low))
  local members = redis.call('ZRANGEBYLEX', stem .. number, '[' .. low, '[' .. last, 'LIMIT', 0, limit)
  local value, final = (floor(leading(low) / width) + 1) * width, leading(high)
  while value <= final do
    number, width = bucket_of(value)
    local more = redis.call('ZRANGEBYLEX', stem .. number, '[' .. low, '[' .. last, 'LIMIT', 0, limit)
    for i = 1, #more do members[#members + 1] = more[i] end
    value = value + width
  end
  return members
end

local function page_of(member)
  local a, b, c, d = byte(member, 6, 9)
  return ((a * 256 + b) * 256 + c) * 256 + d
end

local function list_of(page)
  return PREFIX .. 'r:' .. floor(page / RECORDS_A_LIST)
end

local function read_record(page)
  local record = redis.call('LINDEX', list_of(page), page % RECORDS_A_LIST)
  if record and #record > HEAD then return record end
  return nil
end

local function number_at(record, first)
  local a, b, c, d = byte(record, first, first + 3)
  return ((a * 256 + b) * 256 + c) * 256 + d
end

local function seen_at(record) return number_at(record, 5) end
local function crawler_of(record) return number_at(record, 13) end

local function write_record(page, record)
  redis.call('LSET', list_of(page), page % RECORDS_A_LIST, record)
end

-- Stores the record of a new page; the page's number.
local function append_record(record)
  local page = meta.next
  if redis.call('RPUSH', list_of(page), record) ~= page % RECORDS_A_LIST + 1 then
    -- Keys were lost, by eviction or by a clear while we are at work: go on with a list that is surely empty.
    redis.call('RPOP', list_of(page))
    page = (floor(page / RECORDS_A_LIST) + 1) * RECORDS_A_LIST
    redis.call('UNLINK', list_of(page))
    redis.call('RPUSH', list_of(page), record)
  end
  return page
end

-- Writes what is only counted: a server that is full still answers what it knows.
local function note_record(page, record)
  redis.pcall('LSET', list_of(page), page % RECORDS_A_LIST, record)
end

local function page_with_url(url_key)
  local head = sub(url_key, 1, 5)
  local members = members_between('u', head, head, -1)
  for i = 1, #members do
    local page = page_of(members[i])
    local record = read_record(page)
    if record and sub(record, 33, 40) == url_key then return page, record end
  end
end

-- Sum of the costs of the bits (or whole bytes, if there is one cost a byte) in which the record's signature differs,
-- or nil once above the limit.
local function cost_of(record, signature, costs, limit)
  local sum = 0
  if #costs == #signature then
    for i = 1, #signature do
      if signature[i] ~= byte(record, HEAD + i) then
        sum = sum + costs[i]
        if sum > limit then return nil end
      end
    end
    return sum
  end
  for i = 1, #signature do
    local differing = bit.bxor(signature[i], byte(record, HEAD + i))
    if differing ~= 0 then
      local place = i * 8
      repeat
        if differing % 2 == 1 then
          sum = sum + costs[place]
          if sum > limit then return nil end
        end
        differing = floor(differing / 2)
        place = place - 1
      until differing == 0
    end
  end
  return sum
end

local function bytes_of(text)
  local numbers = {}
  for first = 1, #text, 256 do
    local chunk = {byte(text, first, first + 255)}
    for i = 1, #chunk do numbers[first + i - 1] = chunk[i] end
  end
  return numbers
end

-- The sum of the rank costs of the leading 34 bits in which a member's key differs from the page's own. What a byte
-- costs is worked out once a value.
local function ranker(keys, rank_costs)
  local tables = #keys / 8
  local width = #rank_costs / tables
  local known = {}
  return function(found)
    local first = found[1] * 8
    local sum = 0
    for i = 1, 5 do
      local differing = bit.bxor(byte(keys, first + i), byte(found[2], i))
      if differing ~= 0 then
        local name = (found[1] * 5 + i) * 256 + differing
        local cost = known[name]
        if not cost then
          cost = 0
          for j = 1, 8 do
            local place = (i - 1) * 8 + j
            if place <= width and floor(differing / 2 ^ (8 - j)) % 2 == 1 then
              cost = cost + byte(rank_costs, found[1] * width + place)
            end
          end
          known[name] = cost
        end
        sum = sum + cost
      end
    end
    return sum
  end
end

-- The `wanted` best of the found {table, member, page}, by rank; among equals the ones found first.
local function nearest(found, wanted, rank)
  local by_cost, highest = {}, 0
  for i = 1, #found do
    local cost = rank(found[i])
    by_cost[cost] = by_cost[cost] or {}
    by_cost[cost][#by_cost[cost] + 1] = found[i]
    if cost > highest then highest = cost end
  end
  local best = {}
  for cost = 0, highest do
    local equals = by_cost[cost] or {}
    for i = 1, #equals do
      best[#best + 1] = equals[i]
      if #best == wanted then return best end
    end
  end
  return best
end

-- The key that a probe looks for: the page's own, with the probe's bits flipped.
local function middle_of(own, low, high)
  local bytes = {}
  for i = 1, 5 do
    local a, b = byte(low, i), byte(high, i)
    bytes[i] = string.char(bit.bor(a, bit.band(byte(own, i), bit.bxor(a, b))))
  end
  return table.concat(bytes)
end

-- The members of a probe's range; of many, the last `limit` below the key that is looked for and the first `limit`
-- from there on.
local function members_near(number, own, low, high, limit)
  local name = 't' .. number
  local members = members_between(name, low, high, limit)
  if #members < limit then return members end
  local middle = middle_of(own, low, high)
  local key = bucket_key(name, middle)
  local below = redis.call('ZREVRANGEBYLEX', key, '(' .. middle, '[' .. low, 'LIMIT', 0, limit)
  local near = {}
  for i = #below, 1, -1 do near[#near + 1] = below[i] end
  local above = redis.call('ZRANGEBYLEX', key, '[' .. middle, '[' .. high .. '\255\255\255\255', 'LIMIT', 0, limit)
  for i = 1, #above do near[#near + 1] = above[i] end
  return near
end

-- The keys in the ranges of the probes, one {table, member, page} a page, best ranges first. A probe is 11 bytes:
-- table, low, high.
local function read_ranges(probes, keys, max_keys)
  local found, seen, keys_read = {}, {}, 0
  local limit = math.max(1, floor(max_keys / 8))
  for first = 1, #probes, 11 do
    local number = byte(probes, first)
    local members = members_near(number, sub(keys, number * 8 + 1, number * 8 + 5), sub(probes, first + 1, first + 5),
      sub(probes, first + 6, first + 10), limit)
    for i = 1, math.min(#members, max_keys - keys_read) do
      local page = page_of(members[i])
      if not seen[page] then
        seen[page] = true
        found[#found + 1] = {number, members[i], page}
      end
    end
    keys_read = keys_read + #members
    if keys_read >= max_keys then break end
  end
  return found
end

-- What `RedisStore._question` sends, from ARGV[first] on, of a page with these keys.
local function read_question(keys, first)
  return {
    keys = keys, signature = ARGV[first], probes = ARGV[first + 1], costs = ARGV[first + 2],
    limit = tonumber(ARGV[first + 3]), digest = ARGV[first + 4], max_candidates = tonumber(ARGV[first + 5]),
    max_keys = tonumber(ARGV[first + 6]), rank_costs = ARGV[first + 7],
  }
end

-- Accepted records of the probes: a list of {cost, page, record}, nearest first; and how many were compared.
local function search(query, oldest)
  local found = read_ranges(query.probes, query.keys, query.max_keys)
  if #found > query.max_candidates then
    found = nearest(found, query.max_candidates, ranker(query.keys, query.rank_costs))
  end
  local accepted, candidates = {}, 0
  local costs, signature
  for i = 1, #found do
    local page = found[i][3]
    local record = read_record(page)
    if record and seen_at(record) >= oldest then
      candidates = candidates + 1
      costs = costs or bytes_of(query.costs)
      signature = signature or bytes_of(query.signature)
      local cost = cost_of(record, signature, costs, query.limit)
      if cost and (query.digest == '' or sub(record, 25, 32) == query.digest) then
        accepted[#accepted + 1] = {cost, page, record}
      end
    end
  end
  table.sort(accepted, function(a, b)
    if a[1] == b[1] then return a[2] < b[2] end
    return a[1] < b[1]
  end)
  return accepted, candidates
end

-- The key of a page in a table: the bits of its record at the places of the table's order (two bytes a bit; 0 is a
-- bit that the order lacks).
local function permute(record, order)
  local key = {}
  for i = 1, 8 do
    local value = 0
    for j = 1, 8 do
      local high, low = byte(order, (i - 1) * 16 + j * 2 - 1, (i - 1) * 16 + j * 2)
      local place = high * 256 + low
      value = value * 2
      if place > 0 then
        value = value + floor(byte(record, floor(place / 8) + 1) / 2 ^ (7 - place % 8)) % 2
      end
    end
    key[i] = string.char(value)
  end
  return table.concat(key)
end

local function member_of(key, page)
  return sub(key, 1, 5) .. struct.pack('>I4', page)
end

-- Take a page out of the permuted tables; its keys are worked out anew, for this is rare and they are long.
local function unfile(page, record)
  local order = redis.call('HGET', META, 'order')
  for number = 0, #order / 128 - 1 do
    local key = permute(record, sub(order, number * 128 + 1, number * 128 + 128))
    redis.call('ZREM', bucket_key('t' .. number, key), member_of(key, page))
  end
end

local function remove_page(page, record)
  local url_key = sub(record, 33, 40)
  redis.call('ZREM', bucket_key('u', url_key), member_of(url_key, page))
  unfile(page, record)
  write_record(page, '')
  redis.call('HINCRBY', META, 'pages', -1)
  meta.pages = meta.pages - 1
end
