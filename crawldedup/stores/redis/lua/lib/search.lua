-- Search for near duplicates.

-- Unpack ARGV[2] to ARGV[8], which are the fields of `Question` in protocol.py. The last one has the highest costs at which
-- pages are counted, at which the nearest other page is reported, at which siblings are reported, and at which certain views
-- are copies, followed by the limits by the number of pages that are counted.
local function read_question()
  local now, ttl, refresh, exact_only, max_candidates, max_keys, key_limit, signature_bytes =
    struct.unpack('>I4I4BBI4I4I4I2', ARGV[2])
  if now == 0 then now = now_from() end
  local proved_views = {}
  for at = 25, #ARGV[2], 3 do proved_views[sub(ARGV[2], at, at + 2)] = true end
  local body, costs, limits = ARGV[4], ARGV[8], {}
  for at = 17, #costs, 4 do limits[#limits + 1] = number_at(costs, at) end
  signature_end = HEAD + signature_bytes
  local signature, marks = sub(body, 21, 20 + signature_bytes), marks_before(body, 21 + signature_bytes)
  return {
    now = now, oldest = ttl > 0 and now - ttl or 0, refresh = refresh, exact_only = exact_only,
    max_candidates = max_candidates, max_keys = max_keys, key_limit = key_limit, keys = ARGV[3], body = body,
    digest = sub(body, 9, 12), url_key = sub(body, 13, 20), signature = signature, own = {byte(signature, 1, -1)},
    marks = marks, shown = unpack_marks(marks), proved_views = proved_views,
    probes = ARGV[5], costs = {byte(ARGV[6], 1, -1)}, key_costs = ARGV[7],
    reach = number_at(costs, 1), far = number_at(costs, 5), limit = number_at(costs, 9), of_views = number_at(costs, 13),
    limits = limits,
  }
end

-- Return the sum of the costs of the bits in which two signatures differ, or nil if it is above the limit. The other
-- signature begins at `first`. The own one and the costs are lists of bytes, because reading a list is much faster than
-- calling `byte`.
local function cost_of(own, other, first, costs, limit)
  local sum = 0
  for i = 1, #own do
    local differing = bit.bxor(own[i], byte(other, first + i - 1))
    if differing > 0 then
      local place = i * 8
      repeat
        local odd = differing % 2
        if odd == 1 then sum = sum + costs[place] end
        differing, place = (differing - odd) / 2, place - 1
      until differing == 0
      if sum > limit then return nil end
    end
  end
  return sum
end

local UNSIGNED = {[0] = 'u1', 'u2', 'u4', 'u8', 'u16', 'u32'}

-- Return the numbers of the probes that the filter does not rule out, in their order. A probe has 8 bytes: the table, 5
-- bytes of the lowest key, the number of leading bits that its keys share, and 0.
local function filter_probes(probes)
  local count = #probes / 8
  local shallow, deep = meta.depth, meta.depth + 1
  local cut_below = meta.split * 2 ^ (40 - shallow)
  local bits_shallow, bits_deep = filtered_bits(shallow), filtered_bits(deep)
  local part_shallow, part_deep = 2 ^ (40 - bits_shallow), 2 ^ (40 - bits_deep)
  local requests, by_filter, of_probe = {}, {}, {}
  for i = 1, count do
    local number, a, b, c, d, e, prefix = byte(probes, i * 8 - 7, i * 8 - 1)
    local value = (((a * 256 + b) * 256 + c) * 256 + d) * 256 + e
    local depth, bits, part, filter = shallow, bits_shallow, part_shallow, number * 2
    if value < cut_below then depth, bits, part, filter = deep, bits_deep, part_deep, filter + 1 end
    local width = bits - prefix
    if width > 5 or prefix < depth then
      of_probe[i] = false
    else
      local request = by_filter[filter]
      if not request or request.size > 3000 then
        request = {arguments = {'BITFIELD_RO', format('%sf%d:%d', DATA, number, depth)}, size = 2, taken = 0}
        by_filter[filter] = request
        requests[#requests + 1] = request
      end
      local arguments, size = request.arguments, request.size
      arguments[size + 1] = 'GET'
      arguments[size + 2] = width > 0 and UNSIGNED[width] or 'u1'
      -- As text: the server would format a number as a fraction first, which is slow.
      arguments[size + 3] = format('%d', value / part)
      request.size = size + 3
      of_probe[i] = request
    end
  end
  for i = 1, #requests do requests[i].found = call(unpack(requests[i].arguments)) end
  local numbers = {}
  for i = 1, count do
    local request = of_probe[i]
    local look = not request
    if request then
      request.taken = request.taken + 1
      look = request.found[request.taken] > 0
    end
    if look then numbers[#numbers + 1] = i end
  end
  return numbers
end

local function reverse(list)
  for i = 1, #list / 2 do list[i], list[#list + 1 - i] = list[#list + 1 - i], list[i] end
  return list
end

-- Return the members of a range of a table. If it is crowded, return only the last `limit` below the probed key and the
-- first `limit` from that key on. `prefix` is the number of leading bits that the keys of the range share.
local function read_range(number, own, low, prefix, limit)
  local a, b, c, d, e = byte(low, 1, 5)
  local value = ((a * 256 + b) * 256 + c) * 256 + d
  local high, members = struct.pack('>I5', value * 256 + e + 2 ^ (40 - prefix) - 1), nil
  if prefix > meta.depth then
    local bucket, _, width = bucket_of(value)
    local key, first, last = format('%st%d:%d', DATA, number, bucket), '[' .. low, '[' .. high .. '\255\255\255\255'
    if value % width * 2 < width then
      members = call('ZRANGEBYLEX', key, first, last, 'LIMIT', '0', limit)
    else
      -- The server reads a packed bucket from the end at which the range begins.
      members = reverse(call('ZREVRANGEBYLEX', key, last, first, 'LIMIT', '0', limit))
    end
  else
    members = members_between('t' .. number, low, high, limit)
  end
  if #members < tonumber(limit) then return members end
  local bytes = {}
  for i = 1, 5 do
    local lowest, highest = byte(low, i), byte(high, i)
    bytes[i] = char(bit.bor(lowest, bit.band(byte(own, i), bit.bxor(lowest, highest))))
  end
  local middle = concat(bytes)
  local key = bucket_key('t' .. number, middle)
  local near = reverse(call('ZREVRANGEBYLEX', key, '(' .. middle, '[' .. low, 'LIMIT', 0, limit))
  local above = call('ZRANGEBYLEX', key, '[' .. middle, '[' .. high .. '\255\255\255\255', 'LIMIT', 0, limit)
  for i = 1, #above do near[#near + 1] = above[i] end
  return near
end

-- Return the cost of a member's key by the prefilter, or nil if it is above the limit. The prefilter has a cost for each
-- value of every four bits of a key. Only the first 34 bits of a key count.
local function key_cost(question, number, member)
  local costs, place, own, sum = question.key_costs, number * 144 + 1, number * 8, 0
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

-- Return the `most` pages with the lowest costs. Among pages with equal costs, those that were found first count.
local function cheapest(pages, costs, most)
  local by_cost, best, cost = {}, {}, 0
  for i = 1, #pages do
    local equals = by_cost[costs[pages[i]]] or {}
    equals[#equals + 1], by_cost[costs[pages[i]]] = pages[i], equals
  end
  while #best < most do
    local equals = by_cost[cost] or {}
    for i = 1, min(#equals, most - #best) do best[#best + 1] = equals[i] end
    cost = cost + 1
  end
  return best
end

-- Return the pages to compare: those whose keys lie in the probed ranges and pass the prefilter. The best ranges come
-- first, or the lowest costs if there are too many pages.
local function candidate_pages(question)
  local probes, max_keys = question.probes, question.max_keys
  local limit = format('%d', max(1, max_keys / 8))
  local by_rule = #question.key_costs > 0
  local pages, costs, keys_read = {}, {}, 0
  local numbers = filter_probes(probes)
  for i = 1, #numbers do
    local first = numbers[i] * 8 - 7
    local number = byte(probes, first)
    local members = read_range(number, sub(question.keys, number * 8 + 1, number * 8 + 5),
      sub(probes, first + 1, first + 5), byte(probes, first + 6), limit)
    for j = 1, min(#members, max_keys - keys_read) do
      local cost = by_rule and key_cost(question, number, members[j]) or not by_rule and 0
      if cost then
        local page = page_of(members[j])
        if not costs[page] then
          pages[#pages + 1] = page
          costs[page] = cost
        elseif cost < costs[page] then
          costs[page] = cost
        end
      end
    end
    keys_read = keys_read + #members
    if keys_read >= max_keys then break end
  end
  if #pages > question.max_candidates then pages = cheapest(pages, costs, question.max_candidates) end
  return pages
end

-- Add the pages that were filed last under an exact key of the question.
local function add_exact(question, pages)
  local is_known, keys = {}, sought_keys(sub(question.body, 1, 5), question.digest, question.shown)
  question.text_key = keys[1]
  for i = 1, #pages do is_known[pages[i]] = true end
  for i = 1, #keys do
    local key = keys[i]
    local members = key and call('ZREVRANGEBYLEX', bucket_key(EXACT_TABLES[i], key), '[' .. key .. '\255\255\255\255', '[' .. key,
      'LIMIT', '0', MOST_PER_KEY) or {}
    for j = 1, #members do
      local page = page_of(members[j])
      if not is_known[page] then pages[#pages + 1], is_known[page] = page, true end
    end
  end
  return pages
end

local function is_nearer(a, b)
  if a[1] == b[1] then return a[2] < b[2] end
  return a[1] < b[1]
end

-- Return the cost of a record, or nil if it is above `most`. The cost is 0 for a record with the same text, for one that
-- took the place of a page with this text, and for a certain view that is similar enough.
local function cost_of_record(question, record, most)
  if digest_of(record) == question.digest then return 0 end
  local shown, marks = question.shown, question.shown and marks_of(record)
  if shown and has_former(shown, marks, question.text_key) then return 0 end
  local is_view = shown and are_certain_views(shown, marks, question.proved_views)
  if is_view and cost_of(question.own, record, HEAD + 1, question.costs, question.of_views) then return 0 end
  return question.exact_only == 0 and cost_of(question.own, record, HEAD + 1, question.costs, most) or nil
end

-- Return the pages that the question accepts, as a list of {cost, page, record}, nearest first; how many were compared;
-- {page, record} of some that have expired; the nearest other page, which may be farther away if no more than FEW were
-- compared; and siblings, as a list of {cost, page, record, conflict}, nearest first.
local function search(question)
  local pages = add_exact(question, candidate_pages(question))
  local found, expired, compared, rejected, siblings, most = {}, {}, 0, nil, {}, question.far
  for i = 1, #pages do
    local record = read_record(pages[i])
    if record and age_mark(record, question.refresh) < question.oldest then
      if #expired < 8 then expired[#expired + 1] = {pages[i], record} end
    elseif record then
      compared = compared + 1
      if compared > FEW then rejected, most = nil, question.reach end
      local cost = cost_of_record(question, record, most)
      if cost and (cost <= question.reach or cost < most or not rejected or pages[i] < rejected[2]) then
        -- Farther away, siblings are reported like other pages.
        local is_near = question.shown and cost <= question.reach
        local kind = is_near and conflict(question.shown, unpack_marks(marks_of(record))) or 0
        if kind > 0 then
          if cost <= question.limit then siblings[#siblings + 1] = {cost, pages[i], record, kind} end
        elseif cost <= question.reach then
          found[#found + 1] = {cost, pages[i], record}
        else
          rejected, most = {cost, pages[i], record}, cost
        end
      end
    end
  end
  table.sort(found, is_nearer)
  table.sort(siblings, is_nearer)
  -- See `crawldedup.search.decision.Crowd`. The last limit also holds for larger crowds.
  local limits, crowd = question.limits, 0
  for i = 1, min(#found, #limits) do
    if found[i][1] * limits[1] <= found[1][1] * question.reach then crowd = crowd + 1 end
  end
  local limit = limits[max(crowd, 1)]
  while #found > 0 and found[#found][1] > limit do rejected = table.remove(found) end
  return found, compared, expired, rejected, siblings
end
