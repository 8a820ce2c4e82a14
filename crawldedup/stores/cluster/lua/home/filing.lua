-- The home of some pages of an index that is spread over a cluster: their records and their URLs. Their keys are
-- elsewhere (see spread_reading.lua), so who removes a page here must be told, to take its keys out there.
--
-- Beside the keys of layout.lua, of which there are no tables here:
--   <e>:p   hash: pages that are not filed everywhere yet; by number (4 bytes) what they wait for, when it began (8 bytes
--           of the server's time), the token of the check that does it (8 bytes), and the pages that went ahead (4 bytes
--           each): their check must look again before this one is confirmed
--
-- A page that is being admitted is undecided: nobody counts as its copy before it is filed everywhere, for until then it
-- may turn out a copy itself. If its crawler is held up for so long that it may be dead, it counts as decided.

local PENDING = DATA .. 'p'
local MOST_PAGES = 2 ^ 28  -- a page's number in the tables has 4 bits more, those of its home
local UNDECIDED_SECONDS = 3
local ADMITTED, CHANGED, LOADED = 'a', 'c', 'l'

local function server_seconds()
  return tonumber(call('TIME')[1])
end

local function pack_number(page)
  return struct.pack('>I4', page)
end

local function expect_filing(page, reason, token)
  call('HSET', PENDING, pack_number(page), reason .. struct.pack('>d', server_seconds()) .. token)
end

-- What a page waits for, since when, whose token it has, and who went ahead; nil if it is filed everywhere.
local function filing_of(page)
  local found = call('HGET', PENDING, pack_number(page))
  if found then
    local since = struct.unpack('>d', sub(found, 2, 9))
    return sub(found, 1, 1), since, sub(found, 10, 17), sub(found, 18)
  end
end

-- Whether some other check than that of `token` is about to decide on a page.
local function is_undecided(page, token)
  local reason, since, owner = filing_of(page)
  return reason and owner ~= token and server_seconds() - since < UNDECIDED_SECONDS
end

-- A page is decided, one way or the other.
local function end_filing(page)
  call('HDEL', PENDING, pack_number(page))
end
