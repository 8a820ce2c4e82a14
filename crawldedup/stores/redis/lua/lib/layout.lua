-- The keys of one index, all with one prefix (KEYS[1] .. suffix) and in one hash slot:
--   m               hash: profile, key, order, epoch, pages, next, depth, split, crawlers, oldest, sweep
--   c               sorted set: crawlers at work; score = end of the lease
--   w               hash: the process that holds each crawler's lease
--   n               hash: pages that are not delivered yet; field = URL key, value = the crawler's number
--   notes           hash: short texts about the index, by their names
--   b:<batch>       string, for some seconds: the place of the last page of a batch that was counted as a copy
--   <e>:t<n>:<b>    sorted set: one bucket of permuted table n; member = 5 bytes of key .. 4 bytes of page number
--   <e>:f<n>:<d>    string: the filter of table n for buckets of depth d; a bit for each part that holds a key
--   <e>:u:<b>       sorted set: one bucket of the URL table, members alike
--   <e>:k<n>:<b>    sorted set: one bucket of a table of exact keys, members alike; n is 0 for digests, 1 for names, 2 for addresses,
--                   3 for former texts
--   <e>:r:<n>       list: records of the pages 512 n .. 512 n + 511; an empty one is a removed page
--   <e>:x:<page>    string: the text of a page, compressed, if texts are kept
--   <e>:a:<b>       hash: one bucket of the anchors of paragraphs; field = 5 bytes, value = pages, 5 bytes each
--   <e>:ah          hash: buckets of anchors, and the total of anchors of all pages that were ever added
--   <e>:ap:<page>   string: when a page with anchors was added, 4 bytes; the length of its URL, 4 bytes; URL; anchors
--   <e>:aq          list: pages in the order of adding, each .. 4 bytes of time .. 6 bytes of the total before it
-- e is the epoch: if an index is cleared, or created again after its head was lost, it uses other keys. The leading bits of
-- a key determine its bucket: the first `split` of the 2^depth buckets are split by one more bit (linear hashing). Bucket b
-- of depth d is named 2^d + b. Filters rule out empty ranges. A bit may be left over from a removed page.

local PREFIX = KEYS[1]
local META = PREFIX .. 'm'
local BUCKET_PAGES = 48   -- mean members per bucket; they vary from half to twice that, below the packed limit
local MAX_DEPTH = 28
local FILTER_BITS = 9     -- a bucket has 2^9 parts
local RECORDS_A_LIST = 512
local LEASE_SECONDS = 120
local FEW = 16            -- compared pages: see `FEW` in stores/contract.py
local MOST_PER_KEY = '16' -- pages to compare for an exact key: see `MOST_PER_KEY` in marks/exact_keys.py
local EXACT_TABLES = {'k0', 'k1', 'k2', 'k3'}
local HEAD = 36           -- bytes of a record before the signature: see records.lua
local signature_end = HEAD -- of every record; scripts that look behind the signature set it
local byte, sub, floor, char, concat = string.byte, string.sub, math.floor, string.char, table.concat
local call, min, max, format = redis.call, math.min, math.max, string.format

-- Another program may have written into the head, so its figures must not determine the length of a loop: a table of this
-- depth takes at least this many pages that were added at some time.
local meta, is_sound = {}, true
do
  local names = {'pages', 'next', 'depth', 'split', 'crawlers',
    'oldest', -- no page before this one is left
    'sweep'}  -- the page at which the search for expired ones goes on
  local found = call('HMGET', META, 'profile', 'epoch', unpack(names))
  meta.profile, meta.epoch = found[1], tonumber(found[2])
  for i = 1, #names do
    local value = tonumber(found[i + 2] or 0)
    -- Pages that other crawlers removed may have been counted twice.
    local is_number = value and value >= (i == 1 and -4294967295 or 0) and value < 4294967295 and value % 1 == 0
    meta[names[i]] = is_number and value or 0
    is_sound = is_sound and is_number
  end
  is_sound = is_sound and meta.depth <= MAX_DEPTH and meta.split < 2 ^ meta.depth
    and BUCKET_PAGES * (2 ^ meta.depth + meta.split - 1) <= 2 * meta.next + 4096
  if not meta.profile then
    -- If a head was cleared, or lost while crawlers were running, it only has the epoch and `crawlers`.
    is_sound = #call('HGETALL', META) == (found[2] and 2 or 0) + (found[7] and 2 or 0)
  end
end
-- Without arguments, the index is being cleared, which has to work in any state.
if not is_sound and (ARGV[1] or not meta.profile) then return redis.error_reply('FOREIGN hash at ' .. META) end
local DATA = PREFIX .. (meta.epoch or 0) .. ':'

local function number_at(bytes, first)
  local a, b, c, d = byte(bytes, first, first + 3)
  return ((a * 256 + b) * 256 + c) * 256 + d
end

local function leading(key) return number_at(key, 1) end

-- Return the bucket that holds the 32 leading bits `value`: its name, its depth, how many values it spans.
local function bucket_of(value)
  local depth = meta.depth
  local width = 2 ^ (32 - depth)
  local number = floor(value / width)
  if number < meta.split then
    depth, width = depth + 1, width / 2
    number = floor(value / width)
  end
  return 2 ^ depth + number, depth, width
end

local function bucket_key(table_name, key) return format('%s%s:%d', DATA, table_name, (bucket_of(leading(key)))) end

-- Return how many bits of a key the filter of this depth distinguishes. A string of the server has at most 2^32 bits.
local function filtered_bits(depth) return depth + max(0, min(FILTER_BITS, 32 - depth)) end

local function page_of(member) return number_at(member, 6) end

local function member_of(key, page) return sub(key, 1, 5) .. struct.pack('>I4', page) end

-- Return the members of a table between two 5-byte keys, both included. A range lies within one bucket, unless the index
-- has grown a lot since the client last learned its size.
local function members_between(table_name, low, high, limit)
  local stem, last = DATA .. table_name .. ':', '[' .. high .. '\255\255\255\255'
  local first = '[' .. low
  local value, final, members = leading(low), leading(high), {}
  while value <= final and #members < tonumber(limit) do
    local number, _, width = bucket_of(value)
    local found = call('ZRANGEBYLEX', stem .. number, first, last, 'LIMIT', '0', limit)
    for i = 1, #found do members[#members + 1] = found[i] end
    value = (floor(value / width) + 1) * width
  end
  return members
end

local function now_from(argument) return tonumber(argument) or tonumber(call('TIME')[1]) end
