-- Add and remove pages.

local function write_record(page, record)
  call('LSET', list_of(page), page % RECORDS_A_LIST, record)
end

-- Write a counter. A full server refuses, which is not an error: it still answers what it knows.
local function note_record(page, record)
  redis.pcall('LSET', list_of(page), page % RECORDS_A_LIST, record)
end

-- Return the number of the next page.
local function next_page()
  if call('LLEN', list_of(meta.next)) == meta.next % RECORDS_A_LIST then return meta.next end
  -- Keys were evicted or deleted: go on with a list that is certainly empty.
  local page = (floor(meta.next / RECORDS_A_LIST) + 1) * RECORDS_A_LIST
  call('UNLINK', list_of(page))
  return page
end

-- File a page under its key (5 bytes or more) in a permuted table. Return 1, or 0 if it was filed there before.
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

-- Add a page. Its record comes last: if another program holds one of the keys, the page is not added.
local function add(keys, record)
  local page, url_key = next_page(), url_key_of(record)
  file_all(keys, page)
  call('ZADD', bucket_key('u', url_key), '0', member_of(url_key, page))
  call('RPUSH', list_of(page), record)
  meta.pages, meta.next = meta.pages + 1, page + 1
  return page
end

-- Return the filter of a bucket that holds members first .. last, in their order: 2^FILTER_BITS bits, or fewer in the deepest
-- buckets, as a string.
local function filter_of(members, first, last, depth)
  local bits = filtered_bits(depth)
  local span, count = 2 ^ (40 - bits), 2 ^ (bits - depth)
  local bytes, latest = {}, -1
  for i = 0, count / 8 - 1 do bytes[i] = 0 end
  for i = first, last do
    local a, b, c, d, e = byte(members[i], 1, 5)
    local part = floor(((((a * 256 + b) * 256 + c) * 256 + d) * 256 + e) / span) % count
    if part > latest then
      local place = floor(part / 8)
      bytes[place] = bytes[place] + 2 ^ (7 - part % 8)
      latest = part
    end
  end
  return char(unpack(bytes, 0))
end

-- Cut the next bucket of a table in two, without removing it.
local function cut(table_name, filter_name)
  local stem, depth = DATA .. table_name .. ':', meta.depth + 1
  local members = call('ZRANGE', stem .. (2 ^ meta.depth + meta.split), '0', '-1')
  local middle = (2 * meta.split + 1) * 2 ^ (32 - depth)
  local below = 0
  while members[below + 1] and leading(members[below + 1]) < middle do below = below + 1 end
  for side = 0, 1 do
    local number = 2 * meta.split + side
    local first, last = side * below + 1, side == 0 and below or #members
    -- Last members first, because the server searches for a member's place from the first one on.
    local arguments, size = {}, 0
    for i = last, first, -1 do
      arguments[size + 1], arguments[size + 2] = '0', members[i]
      size = size + 2
      if size == 1000 or i == first then
        call('ZADD', stem .. (2 ^ depth + number), unpack(arguments, 1, size))
        size = 0
      end
    end
    if filter_name and first <= last then
      local bytes = filter_of(members, first, last, depth)
      call('SETRANGE', DATA .. filter_name .. ':' .. depth, number * #bytes, bytes)
    end
  end
end

-- Cut the next bucket of every table. Nothing is removed before everything is in its new place.
local function cut_next(tables)
  for number = 0, tables - 1 do cut('t' .. number, 'f' .. number) end
  cut('u')
  cut('d')
  local depth, split = meta.depth, meta.split + 1
  if split == 2 ^ depth then depth, split = depth + 1, 0 end
  call('HSET', META, 'depth', depth, 'split', split)
  local old = ':' .. (2 ^ meta.depth + meta.split)
  for number = 0, tables - 1 do
    call('UNLINK', DATA .. 't' .. number .. old)
    if split == 0 then call('UNLINK', DATA .. 'f' .. number .. ':' .. meta.depth) end
  end
  call('UNLINK', DATA .. 'u' .. old, DATA .. 'd' .. old)
  meta.depth, meta.split = depth, split
end

-- Cut as many buckets as the number of pages asks for, at most `most`. Tables are numbered from 0. If it fails, because the
-- server is full or another program holds a key, buckets are larger for a while.
local function grow(tables, most)
  for _ = 1, most do
    if meta.pages <= BUCKET_PAGES * (2 ^ meta.depth + meta.split) or meta.depth >= MAX_DEPTH then return end
    if not pcall(cut_next, tables) then return end
  end
end

-- Return the key of a page in a table: the bits of its record at the places in the table's order (two bytes a bit; 0 is a
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

-- Compute the keys of a page in the permuted tables. They are too long to be kept for this rare need.
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
  keep_text(page, '')
  call('HINCRBY', META, 'pages', -1)
  meta.pages = meta.pages - 1
end
