-- Adding and removing pages.

local function write_record(page, record)
  call('LSET', list_of(page), page % RECORDS_A_LIST, record)
end

-- Writes what is only counted: a server that is full still answers what it knows.
local function note_record(page, record)
  redis.pcall('LSET', list_of(page), page % RECORDS_A_LIST, record)
end

-- The number that the next page gets.
local function next_page()
  if call('LLEN', list_of(meta.next)) == meta.next % RECORDS_A_LIST then return meta.next end
  -- Keys were lost, by eviction or by a person: go on with a list that is surely empty.
  local page = (floor(meta.next / RECORDS_A_LIST) + 1) * RECORDS_A_LIST
  call('UNLINK', list_of(page))
  return page
end

-- File a page under its key (5 bytes or more) in a permuted table. 1, or 0 if it was filed there before.
local function file(number, key, page)
  local value = leading(key)
  local bucket, depth = bucket_of(value)
  local added = call('ZADD', format('%st%d:%d', DATA, number, bucket), '0', member_of(key, page))
  local part = (value * 256 + byte(key, 5)) / 2 ^ (40 - filtered_bits(depth))
  call('SETBIT', format('%sf%d:%d', DATA, number, depth), format('%d', part), '1')
  return added
end

local function file_all(keys, page)
  for number = 0, #keys / 8 - 1 do file(number, sub(keys, number * 8 + 1, number * 8 + 8), page) end
end

-- Remember a page. Its record comes last: should a key turn out to be none of ours, the page was not added.
local function add(keys, record)
  local page, url_key = next_page(), url_key_of(record)
  file_all(keys, page)
  call('ZADD', bucket_key('u', url_key), 0, member_of(url_key, page))
  call('RPUSH', list_of(page), record)
  meta.pages, meta.next = meta.pages + 1, page + 1
  return page
end

-- The filter of one bucket, 2^FILTER_BITS bits (or what is left of them) as a string.
local function filter_of(members, depth)
  local bits = filtered_bits(depth)
  local parts = {}
  for i = 0, 2 ^ (bits - depth) / 8 - 1 do parts[i] = 0 end
  for i = 1, #members do
    local value = leading(members[i]) * 256 + byte(members[i], 5)
    local part = floor(value / 2 ^ (40 - bits)) % 2 ^ (bits - depth)
    local place, mask = floor(part / 8), 2 ^ (7 - part % 8)
    if floor(parts[place] / mask) % 2 == 0 then parts[place] = parts[place] + mask end
  end
  return char(unpack(parts, 0))
end

-- Cut the next bucket of a table in two, but for removing it.
local function cut(table_name, filter_name)
  local members = call('ZRANGE', DATA .. table_name .. ':' .. (2 ^ meta.depth + meta.split), 0, -1)
  local middle = (2 * meta.split + 1) * 2 ^ (31 - meta.depth)
  local halves = {{}, {}}
  for i = 1, #members do
    local half = halves[leading(members[i]) < middle and 1 or 2]
    half[#half + 1] = members[i]
  end
  for side = 1, 2 do
    local half, arguments = halves[side], {}
    local number = 2 * meta.split + side - 1
    local to = DATA .. table_name .. ':' .. (2 ^ (meta.depth + 1) + number)
    for i = 1, #half do
      arguments[#arguments + 1] = 0
      arguments[#arguments + 1] = half[i]
      if #arguments == 1000 or i == #half then
        call('ZADD', to, unpack(arguments))
        arguments = {}
      end
    end
    if filter_name and #half > 0 then
      local bytes = filter_of(half, meta.depth + 1)
      call('SETRANGE', DATA .. filter_name .. ':' .. (meta.depth + 1), number * #bytes, bytes)
    end
  end
end

-- Cut the next bucket of every table. Nothing is taken away before all is in its new place.
local function cut_next(tables)
  for number = 0, tables - 1 do cut('t' .. number, 'f' .. number) end
  cut('u')
  local depth, split = meta.depth, meta.split + 1
  if split == 2 ^ depth then depth, split = depth + 1, 0 end
  call('HSET', META, 'depth', depth, 'split', split)
  local old = ':' .. (2 ^ meta.depth + meta.split)
  for number = 0, tables - 1 do
    call('UNLINK', DATA .. 't' .. number .. old)
    if split == 0 then call('UNLINK', DATA .. 'f' .. number .. ':' .. meta.depth) end
  end
  call('UNLINK', DATA .. 'u' .. old)
  meta.depth, meta.split = depth, split
end

-- Cut as many buckets as the pages of the index ask for, `most` at most. Tables are numbered from 0. Should it fail, for a
-- key is none of ours or the server is full, buckets are large for a while.
local function grow(tables, most)
  for _ = 1, most do
    if meta.pages <= BUCKET_PAGES * (2 ^ meta.depth + meta.split) or meta.depth >= MAX_DEPTH then return end
    if not pcall(cut_next, tables) then return end
  end
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
    key[i] = char(value)
  end
  return concat(key)
end

-- The keys of a page in the permuted tables, worked out anew, for this is rare and they are long.
local function keys_of(record)
  local order = call('HGET', META, 'order')
  local keys = {}
  for number = 0, #order / 128 - 1 do
    keys[number + 1] = permute(record, sub(order, number * 128 + 1, number * 128 + 128))
  end
  return concat(keys)
end

local function unfile(page, record)
  local keys = keys_of(record)
  for number = 0, #keys / 8 - 1 do
    local key = sub(keys, number * 8 + 1, number * 8 + 8)
    call('ZREM', bucket_key('t' .. number, key), member_of(key, page))
  end
end

local function remove_page(page, record)
  local url_key = url_key_of(record)
  call('ZREM', bucket_key('u', url_key), member_of(url_key, page))
  unfile(page, record)
  write_record(page, '')
  call('HINCRBY', META, 'pages', -1)
  meta.pages = meta.pages - 1
end
