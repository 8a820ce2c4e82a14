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

local function page_with_url(url_key)
  local head = sub(url_key, 1, 5)
  local members = members_between('u', head, head, -1)
  for i = 1, #members do
    local page = page_of(members[i])
    local record = read_record(page)
    if record and sub(record, 33, 40) == url_key then return page, record end
  end
end

-- Sum of the costs of the bits in which the record's signature differs, or nil once above the limit.
local function cost_of(record, signature, costs, limit)
  local sum = 0
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

-- Accepted records of the probes: a list of {cost, page, record}. A probe is 11 bytes: table, low, high.
local function search(probes, signature, costs, limit, digest, max_candidates, oldest)
  local accepted, seen, candidates = {}, {}, 0
  local costs_read, signature_read
  for first = 1, #probes, 11 do
    local members = members_between('t' .. byte(probes, first), sub(probes, first + 1, first + 5),
      sub(probes, first + 6, first + 10), max_candidates)
    for i = 1, #members do
      local page = page_of(members[i])
      local record = not seen[page] and read_record(page)
      seen[page] = true
      if record and seen_at(record) >= oldest then
        candidates = candidates + 1
        costs_read = costs_read or bytes_of(costs)
        signature_read = signature_read or {byte(signature, 1, #signature)}
        local cost = cost_of(record, signature_read, costs_read, limit)
        if cost and (digest == '' or sub(record, 25, 32) == digest) then
          accepted[#accepted + 1] = {cost, page, record}
        end
        if candidates == max_candidates then break end
      end
    end
    if candidates == max_candidates then break end
  end
  table.sort(accepted, function(a, b)
    if a[1] == b[1] then return a[2] < b[2] end
    return a[1] < b[1]
  end)
  return accepted, candidates
end

-- The key of a fingerprint in a table, from the table's order of bits (one byte a bit).
local function permute(search_bits, order)
  local bits = {}
  for i = 1, 8 do
    local value = byte(search_bits, i)
    for j = 8, 1, -1 do
      bits[(i - 1) * 8 + j] = value % 2
      value = floor(value / 2)
    end
  end
  local key = {}
  for i = 1, 8 do
    local value = 0
    for j = 1, 8 do value = value * 2 + bits[byte(order, (i - 1) * 8 + j) + 1] end
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
  local search_bits = sub(record, 17, 24)
  for number = 0, #order / 64 - 1 do
    local key = permute(search_bits, sub(order, number * 64 + 1, number * 64 + 64))
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
