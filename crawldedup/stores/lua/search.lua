-- Looking for near duplicates.

-- What `crawldedup.stores.redis_wire.question` packs into ARGV[2] to ARGV[7].
local function read_question()
  local question = {keys = ARGV[3], body = ARGV[4], probes = ARGV[5], costs = ARGV[6], key_costs = ARGV[7]}
  local now, ttl, signature_bytes
  now, ttl, question.refresh, question.exact_only, question.limit, question.max_candidates, question.max_keys,
    question.key_limit, signature_bytes = struct.unpack('>I4I4BBI4I4I4I4I2', ARGV[2])
  question.now = now > 0 and now or tonumber(call('TIME')[1])
  question.oldest = ttl > 0 and question.now - ttl or 0
  question.digest = sub(question.body, 9, 12)
  question.url_key = sub(question.body, 13, 20)
  question.signature = sub(question.body, 21, 20 + signature_bytes)
  return question
end

local UNSIGNED = {[0] = 'u1', 'u2', 'u4', 'u8', 'u16', 'u32'}

-- Whether the filter's bits for a range, 2^width of them, name a part of it that is wanted: the bits of the mask stand for
-- the eight parts of the range.
local function wanted(bits, width, mask)
  if mask == 255 then return true end
  local parts = 2 ^ min(width, 3)
  local bits_each, mask_each = 2 ^ (2 ^ width / parts), 2 ^ (8 / parts)
  for _ = 1, parts do
    if bits % bits_each > 0 and mask % mask_each > 0 then return true end
    bits, mask = floor(bits / bits_each), floor(mask / mask_each)
  end
  return false
end

-- The numbers of the probes that are worth a look, as the filter tells, in their order. A probe is 8 bytes: table, 5
-- bytes of the lowest key, number of leading bits that its keys share, mask.
local function promising(probes)
  local count = #probes / 8
  local shallow, deep = meta.depth, meta.depth + 1
  local cut_below = meta.split * 2 ^ (40 - shallow)
  local bits_shallow, bits_deep = filtered_bits(shallow), filtered_bits(deep)
  local part_shallow, part_deep = 2 ^ (40 - bits_shallow), 2 ^ (40 - bits_deep)
  local look, requests = {}, {}
  for i = 1, count do
    local number, a, b, c, d, e, prefix = byte(probes, i * 8 - 7, i * 8 - 1)
    local value = (((a * 256 + b) * 256 + c) * 256 + d) * 256 + e
    local depth, bits, part, name = shallow, bits_shallow, part_shallow, number * 2
    if value < cut_below then depth, bits, part, name = deep, bits_deep, part_deep, name + 1 end
    local width = bits - prefix
    if width > 5 or prefix < depth then
      look[i] = true
    else
      local request = requests[name]
      if not request then
        request = {arguments = {'BITFIELD_RO', DATA .. 'f' .. number .. ':' .. depth}, size = 2, places = {}, count = 0,
          bits = bits}
        requests[name] = request
      end
      local arguments, size = request.arguments, request.size
      arguments[size + 1] = 'GET'
      arguments[size + 2] = width > 0 and UNSIGNED[width] or 'u1'
      -- As text: the server would write a number as a fraction first, which is slow.
      arguments[size + 3] = format('%d', value / part)
      request.size = size + 3
      request.count = request.count + 1
      request.places[request.count] = i
    end
  end
  for _, request in pairs(requests) do
    local arguments, places = request.arguments, request.places
    for first = 0, request.count - 1, 1000 do
      local found
      if request.count <= 1000 then
        found = call(unpack(arguments))
      else
        found = call(arguments[1], arguments[2], unpack(arguments, 3 + 3 * first, min(2 + 3 * (first + 1000), #arguments)))
      end
      for i = 1, #found do
        if found[i] > 0 then
          local place = places[first + i]
          local prefix, mask = byte(probes, place * 8 - 1, place * 8)
          look[place] = wanted(found[i], max(request.bits - prefix, 0), mask)
        end
      end
    end
  end
  local numbers = {}
  for i = 1, count do
    if look[i] then numbers[#numbers + 1] = i end
  end
  return numbers
end

-- The key that a probe looks for: the page's own, with the probe's bits flipped.
local function middle_of(own, low, high)
  local bytes = {}
  for i = 1, 5 do
    local a, b = byte(low, i), byte(high, i)
    bytes[i] = char(bit.bor(a, bit.band(byte(own, i), bit.bxor(a, b))))
  end
  return concat(bytes)
end

-- The members of a range of a table; of many, the last `limit` below the key that is looked for and the first `limit` from
-- there on. `prefix` is the number of leading bits that the range's keys share.
local function members_near(number, own, low, prefix, limit)
  local a, b, c, d, e = byte(low, 1, 5)
  local value = ((a * 256 + b) * 256 + c) * 256 + d
  local highest = value * 256 + e + 2 ^ (40 - prefix) - 1
  local leading_bits = floor(highest / 256)
  local upper, lower = floor(leading_bits / 65536), leading_bits % 65536
  local high = char(floor(upper / 256), upper % 256, floor(lower / 256), lower % 256, highest % 256)
  local members
  if prefix > meta.depth then
    members = call('ZRANGEBYLEX', format('%st%d:%d', DATA, number, (bucket_of(value))), '[' .. low,
      '[' .. high .. '\255\255\255\255', 'LIMIT', 0, limit)
  else
    members = members_between('t' .. number, low, high, limit)
  end
  if #members < limit then return members end
  local middle = middle_of(own, low, high)
  local key = bucket_key('t' .. number, middle)
  local below = call('ZREVRANGEBYLEX', key, '(' .. middle, '[' .. low, 'LIMIT', 0, limit)
  local near = {}
  for i = #below, 1, -1 do near[#near + 1] = below[i] end
  local above = call('ZRANGEBYLEX', key, '[' .. middle, '[' .. high .. '\255\255\255\255', 'LIMIT', 0, limit)
  for i = 1, #above do near[#near + 1] = above[i] end
  return near
end

-- What the differences of a member's key from the page's own cost, by the key rule; nil above its limit. The rule
-- comes as a cost for every value of every four bits of a table's keys: the first 34 bits count.
local function key_cost(question, number, member)
  local costs, place = question.key_costs, number * 144 + 1
  local own = number * 8
  local sum = 0
  for i = 5, 1, -1 do
    local differing = bit.bxor(byte(question.keys, own + i), byte(member, i))
    if differing > 0 then
      local low, from = differing % 16, place + (i - 1) * 32
      sum = sum + byte(costs, from + (differing - low) / 16)
      if i < 5 then sum = sum + byte(costs, from + 16 + low) end
      if sum > question.key_limit then return nil end
    end
  end
  return sum
end

-- The pages whose keys lie in the ranges of the probes and pass the key rule, best ranges first, by page what the rule
-- says of them, and by page the number of the probe that found it.
local function pages_in_ranges(question)
  local probes, max_keys = question.probes, question.max_keys
  local limit = max(1, floor(max_keys / 8))
  local by_rule = #question.key_costs > 0
  local pages, costs, finders, keys_read = {}, {}, {}, 0
  local numbers = promising(probes)
  for i = 1, #numbers do
    local first = numbers[i] * 8 - 7
    local number = byte(probes, first)
    local members = members_near(number, sub(question.keys, number * 8 + 1, number * 8 + 5),
      sub(probes, first + 1, first + 5), byte(probes, first + 6), limit)
    for j = 1, min(#members, max_keys - keys_read) do
      local cost = by_rule and key_cost(question, number, members[j]) or not by_rule and 0
      if cost then
        local page = page_of(members[j])
        if not costs[page] then
          pages[#pages + 1] = page
          costs[page] = cost
          finders[page] = numbers[i]
        elseif cost < costs[page] then
          costs[page] = cost
        end
      end
    end
    keys_read = keys_read + #members
    if keys_read >= max_keys then break end
  end
  return pages, costs, finders
end

-- The `most` pages of the lowest costs; among equals the ones found first.
local function cheapest(pages, costs, most)
  local by_cost, highest_cost = {}, 0
  for i = 1, #pages do
    local cost = costs[pages[i]]
    by_cost[cost] = by_cost[cost] or {}
    by_cost[cost][#by_cost[cost] + 1] = pages[i]
    if cost > highest_cost then highest_cost = cost end
  end
  local best = {}
  for cost = 0, highest_cost do
    local equals = by_cost[cost] or {}
    for i = 1, #equals do
      best[#best + 1] = equals[i]
      if #best == most then return best end
    end
  end
  return best
end

local function pages_to_compare(question)
  local pages, costs = pages_in_ranges(question)
  if #pages > question.max_candidates then return cheapest(pages, costs, question.max_candidates) end
  return pages
end

-- Sum of the costs of the bits (or whole bytes, if there is one cost a byte) in which two signatures differ, or nil once
-- it is above the limit. `first` is where the other's begins.
local function cost_of(own, other, first, costs, limit)
  local sum = 0
  local by_byte = #costs == #own
  for i = 1, #own do
    local differing = bit.bxor(byte(own, i), byte(other, first + i - 1))
    if differing > 0 then
      if by_byte then
        sum = sum + byte(costs, i)
      else
        local place = i * 8
        repeat
          local odd = differing % 2
          if odd == 1 then sum = sum + byte(costs, place) end
          differing = (differing - odd) / 2
          place = place - 1
        until differing == 0
      end
      if sum > limit then return nil end
    end
  end
  return sum
end

-- What the question's rule says of a record: a cost, or nil if it does not accept it.
local function judge(question, record)
  if question.exact_only == 1 and digest_of(record) ~= question.digest then return nil end
  return cost_of(question.signature, record, HEAD + 1, question.costs, question.limit)
end

local function nearest_first(accepted)
  table.sort(accepted, function(a, b)
    if a[1] == b[1] then return a[2] < b[2] end
    return a[1] < b[1]
  end)
  return accepted
end

-- Accepted pages of the probes: a list of {cost, page, record}, nearest first; how many were compared; and
-- {page, record} of some that have expired.
local function search(question)
  local pages = pages_to_compare(question)
  local accepted, expired, compared = {}, {}, 0
  for i = 1, #pages do
    local record = read_record(pages[i])
    if record and age_mark(record, question.refresh) < question.oldest then
      if #expired < 8 then expired[#expired + 1] = {pages[i], record} end
    elseif record then
      compared = compared + 1
      local cost = judge(question, record)
      if cost then accepted[#accepted + 1] = {cost, pages[i], record} end
    end
  end
  return nearest_first(accepted), compared, expired
end
