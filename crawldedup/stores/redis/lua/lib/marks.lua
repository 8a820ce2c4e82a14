-- The marks of pages, and the rule that tells siblings from copies. `crawldedup/marks/packing.py` describes the bytes of
-- marks; `relation.py`, `learning.py` and `exact_keys.py` next to it decide as these functions do.
-- They are inside a function. `script_text` in scripts.py says why.

local unpack_marks, shown_conflict, conflict, have_new_comments, are_certain_views, has_former, learned, succeeding, exact_keys,
  sought_keys = (function()

local band, bxor = bit.band, bit.bxor
local NOTHING = '\0\0\0\0\0' -- the hash of what a page does not have
local NONE, NUMBERS, NAME, PICTURE, PLAYER, DATUM, LISTING, TEXT, LINKS, REST = 0, 1, 2, 3, 4, 5, 6, 7, 8, 9

local function short_at(bytes, first) return sub(bytes, first, first + 2) end
local function name_at(bytes, first) return sub(bytes, first, first + 3) end

-- Return the XOR of the bytes of two texts with the same length.
local function mixed(one, other)
  local bytes = {}
  for i = 1, #one do bytes[i] = char(bxor(byte(one, i), byte(other, i))) end
  return concat(bytes)
end

-- Return where the parts of a page's marks begin, or nil if there are no marks. The parts are read when they are needed.
local function unpack_marks(bytes)
  if bytes == '' then return nil end
  local flags, names_and_pictures, players_and_data = byte(bytes, 1, 3)
  local page, at = {bytes = bytes, is_listing = band(flags, 2) > 0}, 4
  if band(flags, 4) > 0 then page.text, at = at, at + 3 end
  if band(flags, 8) > 0 then page.links, at = at, at + 9 end
  if band(flags, 16) > 0 then page.numbers, at = at, at + 3 end
  if band(flags, 32) > 0 then page.comments, at = at, at + 4 + 3 * byte(bytes, at + 3) end
  if band(flags, 128) > 0 then page.rest, at = at, at + 3 end
  page.names = at
  page.pictures = page.names + 5 * floor(names_and_pictures / 16)
  page.players = page.pictures + 4 * (names_and_pictures % 16)
  page.data = page.players + 3 * floor(players_and_data / 16)
  page.ending = page.data + 5 * (players_and_data % 16)
  page.has_lead = flags % 2 == 1 and page.players > page.pictures
  page.has_address = page.ending <= #bytes
  return page
end

-- Return the numbers in the address of a page that has one.
local function address_of(page)
  if page.address then return page.address end
  local bytes, at = page.bytes, page.ending
  local flags = byte(bytes, at)
  local address = {
    site = short_at(bytes, at + 1), path = sub(bytes, at + 4, at + 8), folder = short_at(bytes, at + 9),
    names = '', parameters = NOTHING, views = '',
  }
  at = at + 12
  if flags % 2 == 1 then
    address.names, address.parameters, at = sub(bytes, at, at + 1), sub(bytes, at + 2, at + 6), at + 7
  end
  if band(flags, 2) > 0 then address.views, at = short_at(bytes, at), at + 3 end
  address.is_certain = address.views == '' or band(flags, 8) > 0
  address.own = mixed(address.path, address.parameters)
  address.canonical = sub(address.own, 3)
  if band(flags, 4) > 0 then address.canonical, at = short_at(bytes, at), at + 3 end
  address.former = band(flags, 16) > 0 and sub(bytes, at, at + 4)
  page.address = address
  return address
end

-- Return true if both pages have a part of three bytes, and it differs.
local function differ(first, at, second, its) return at and its and short_at(first.bytes, at) ~= short_at(second.bytes, its) end

-- Return the names of a page by their roles, with nil for those that it lacks.
local function called(page)
  if page.called then return page.called end
  local names = {
    headlines = {}, parts = {}, is_part = {}, aliases = {}, with_number = {}, single = {}, is_name = {},
  }
  for at = page.names, page.pictures - 1, 5 do
    local roles, value = byte(page.bytes, at), name_at(page.bytes, at + 1)
    names.is_name[value] = true
    if band(roles, 1) > 0 then
      names.headline, names.headlines[#names.headlines + 1] = names.headline or value, value
    end
    if band(roles, 2) > 0 then names.first_heading = value end
    if band(roles, 4) > 0 then names.social = value end
    if band(roles, 8) > 0 then names.parts[#names.parts + 1], names.is_part[value] = value, true end
    if band(roles, 16) > 0 then names.first_part = value end
    if band(roles, 40) > 0 then names.aliases[value] = true end
    if band(roles, 64) > 0 then names.with_number[value] = true end
    if band(roles, 128) > 0 then names.single[value] = true end
  end
  names.heading = names.headline or names.first_heading
  names.best = names.heading or names.social
  page.called = names
  return names
end

-- Return true if two names differ in more than a label in front of one of them.
local function are_other(name, names, other, others)
  return name ~= other and not others.aliases[name] and not names.aliases[other]
end

-- Return true if two lists are equal.
local function are_equal(list, other)
  if #list ~= #other then return false end
  for i = 1, #list do
    if list[i] ~= other[i] then return false end
  end
  return true
end

-- Return true if two pages have a headline in common.
local function share_a_headline(names, others)
  for i = 1, #names.headlines do
    for k = 1, #others.headlines do
      if names.headlines[i] == others.headlines[k] then return true end
    end
  end
  return false
end

-- Return true if a page has a headline that is none of another page's names.
local function has_own_headline(names, others)
  for i = 1, #names.headlines do
    local headline, is_shared = names.headlines[i], false
    for k = 1, #others.headlines do is_shared = is_shared or others.headlines[k] == headline end
    if not is_shared and not others.aliases[headline] then return true end
  end
  return false
end

-- Return the first part of a title that another page's title lacks.
local function first_own_part(names, others)
  for i = 1, #names.parts do
    if not others.is_part[names.parts[i]] then return names.parts[i] end
  end
end

-- Return true if two pages have different names.
local function have_other_names(page, other)
  if page.names == page.pictures or other.names == other.pictures then return false end
  local first, second = called(page), called(other)
  -- The heading of one view may be the whole title of the other.
  if first.best and second.best and first.best ~= second.best
    and second.aliases[first.best] and first.aliases[second.best] then return false end
  if first.headline and second.headline then return has_own_headline(first, second) and has_own_headline(second, first) end
  if first.social and second.social and first.social ~= second.social then
    return are_other(first.social, first, second.social, second)
  end
  local rest, its_rest = first_own_part(first, second), first_own_part(second, first)
  if not rest and not its_rest and first.first_heading and second.first_heading then
    -- The title is the name of the site, or the pages have none.
    return are_other(first.first_heading, first, second.first_heading, second)
  end
  if not rest or not its_rest then return false end
  if first.heading and first.heading == second.heading and not first.single[first.heading] then
    -- The heading is the same, and the title adds something to it, such as a number or a category.
    return rest == first.first_part and its_rest == second.first_part
      and (first.with_number[rest] or second.with_number[its_rest]) == true
  end
  return are_other(rest, first, its_rest, second)
end

-- Return true if two pages have the same name.
local function have_same_name(page, other)
  local first, second = called(page), called(other)
  if first.best and second.best and first.best ~= second.best
    and second.aliases[first.best] and first.aliases[second.best] then return true end
  if first.headline and second.headline then
    local have_own = has_own_headline(first, second) and has_own_headline(second, first)
    return not have_own and share_a_headline(first, second)
  end
  if #first.parts > 0 or #second.parts > 0 then
    return first.heading == second.heading and are_equal(first.parts, second.parts)
  end
  return first.heading ~= nil and first.heading == second.heading
end

-- Return true if two pages have the same text and links, whatever their names are.
local function say_the_same(page, other)
  if page.is_listing or other.is_listing or not page.text or not other.text then return false end
  local links = page.links and sub(page.bytes, page.links, page.links + 8)
  return short_at(page.bytes, page.text) == short_at(other.bytes, other.text)
    and links == (other.links and sub(other.bytes, other.links, other.links + 8))
end

-- Return roughly how many links two pages do not have in common, from their sketches.
local function differing_links(page, other)
  local ones, odd = {[0] = 0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4}, 0
  for i = 1, 8 do
    local differing = bxor(byte(page.bytes, page.links + i), byte(other.bytes, other.links + i))
    odd = odd + ones[floor(differing / 16)] + ones[differing % 16]
  end
  return -64 / 2 * math.log(1 - 2 * min(odd, 31) / 64)
end

-- Return true if a page has a name that is not among those of a listing.
local function has_own_name(page, listing)
  if page.names == page.pictures or listing.names == listing.pictures then return false end
  local names, its = called(page), called(listing)
  if names.first_heading and its.first_heading and names.first_heading ~= its.first_heading then return true end
  if names.best then return not its.is_name[names.best] end
  for i = 1, #names.parts do
    if not its.is_name[names.parts[i]] then return true end
  end
  return false
end

-- Return true if only one page is a listing, with a few links or more, and the other one also has links, or another name.
local function quotes_the_other(page, other)
  if page.is_listing == other.is_listing then return false end
  if not page.is_listing then page, other = other, page end
  if byte(page.bytes, page.links) < 2 then return false end
  return (other.links and byte(other.bytes, other.links) > 0) or has_own_name(other, page)
end

-- Return true if each page has several links that the other one lacks.
local function have_other_links(page, other)
  if not page.links or not other.links then return false end
  local differing = differing_links(page, other)
  local links, its_links = byte(page.bytes, page.links), byte(other.bytes, other.links)
  if links == 0 or its_links == 0 then return false end
  local larger, smaller = max(links, its_links), min(links, its_links)
  local alone = (differing - (larger - smaller)) / 2
  local shared = (larger + smaller - differing) / 2
  return alone >= 3 - 0.5 and shared < 0.8 * larger
end

-- Return true if two listings lead to different pages.
local function are_other_listings(page, other)
  local links = max(byte(page.bytes, page.links), byte(other.bytes, other.links))
  return differing_links(page, other) > 0.1 * links
end

-- Return true if a hash is among those between two places in the marks of a page.
local function is_among(value, page, first, ending)
  for at = first, ending - 1, #value do
    if sub(page.bytes, at, at + #value - 1) == value then return true end
  end
  return false
end

local function have_other_players(page, other)
  if page.players == page.data or other.players == other.data then return false end
  for at = page.players, page.data - 1, 3 do
    if is_among(short_at(page.bytes, at), other, other.players, other.data) then return false end
  end
  return true
end

-- Return true if both pages declare a value under the same name, and the values differ. If a page declares several values
-- under a name, the last one counts.
local function have_other_data(page, other)
  for its = other.data, other.ending - 1, 5 do
    local name, value = sub(other.bytes, its, its + 1), sub(other.bytes, its + 2, its + 4)
    for at = page.ending - 5, page.data, -5 do
      if sub(page.bytes, at, at + 1) == name then
        if sub(page.bytes, at + 2, at + 4) ~= value then return true end
        break
      end
    end
  end
  return false
end

-- Return true if two pages have several comments each, and hardly any of them in common. On pages of one path, such as the last
-- page of a discussion, the other one may also have only a few.
local function have_other_comments(page, other, has_same_path)
  if not page.comments or not other.comments then return false end
  local sampled, its_sampled = byte(page.bytes, page.comments + 3), byte(other.bytes, other.comments + 3)
  local fewer, shared = min(sampled, its_sampled), 0
  local first, its_first = page.comments + 4, other.comments + 4
  for i = 0, sampled - 1 do
    if is_among(short_at(page.bytes, first + 3 * i), other, its_first, its_first + 3 * its_sampled) then shared = shared + 1 end
  end
  if fewer >= 3 then return shared <= 0.25 * fewer end
  return has_same_path and max(sampled, its_sampled) >= 8 and shared == 0
end

-- Return true if a page has comments that it did not have before.
local function have_new_comments(page, before)
  return page.comments ~= nil
    and (not before.comments or short_at(page.bytes, page.comments) ~= short_at(before.bytes, before.comments))
end

-- Return which marks in the content of two pages conflict, regardless of their addresses.
local function shown_conflict(page, other)
  if page.is_listing and other.is_listing then
    if are_other_listings(page, other) then return LISTING end
    -- The links may be those of a sidebar beside a short text.
    if differ(page, page.text, other, other.text) and have_other_names(page, other) then return NAME end
  elseif have_other_names(page, other) then
    return NAME
  end
  if page.has_lead and other.has_lead
    and not is_among(name_at(page.bytes, page.pictures), other, other.pictures, other.players)
    and not is_among(name_at(other.bytes, other.pictures), page, page.pictures, page.players) then return PICTURE end
  if have_other_players(page, other) then return PLAYER end
  if have_other_data(page, other) then return DATUM end
  return NONE
end

-- Return true if two addresses differ in the value of a parameter, or in the last part of the path.
local function are_of_one_form(address, its)
  if address.path == its.path then return address.parameters ~= its.parameters end
  return address.folder == its.folder and address.names == its.names
end

-- Return what tells two similar pages apart: a number of `Conflict`, 0 for copies. Pages without marks are copies.
local function conflict(page, other)
  if not page or not other then return NONE end
  if differ(page, page.numbers, other, other.numbers) then return NUMBERS end
  if not page.has_address or not other.has_address then return NONE end
  local address, its = address_of(page), address_of(other)
  if address.site ~= its.site then return NONE end
  local is_same_address = address.path == its.path and address.parameters == its.parameters
  if is_same_address and address.views == its.views then return NONE end
  local shown = shown_conflict(page, other)
  if is_same_address then
    -- If the names are the same, pictures and data change with every load, or belong to the mobile page.
    if shown ~= PICTURE and shown ~= DATUM then return shown end
    return have_other_players(page, other) and PLAYER or NONE
  end
  if shown ~= NONE then return shown end
  local has_one_form = are_of_one_form(address, its)
  if has_one_form and have_other_comments(page, other, address.path == its.path) then return TEXT end
  if address.canonical == its.canonical and its.canonical ~= '\0\0\0' then return NONE end
  if page.is_listing ~= other.is_listing and quotes_the_other(page, other) then return LISTING end
  if not has_one_form or (page.is_listing and other.is_listing) then return NONE end
  if differ(page, page.text, other, other.text) then return TEXT end
  if not page.is_listing and not other.is_listing and have_other_links(page, other) then return LINKS end
  return differ(page, page.rest, other, other.rest) and REST or NONE
end

-- Return true if a page and one with these marks are certainly views of the same page, even if only half of their texts is
-- the same. Most records have other paths, which a search in the bytes rules out. `proved` has the views that are proved.
local function are_certain_views(page, marks, proved)
  if not page.has_address then return false end
  local address = address_of(page)
  if not address.is_certain and not proved[address.views] then return false end
  if not string.find(marks, address.path, 1, true) then return false end
  local other = unpack_marks(marks)
  if not other.has_address then return false end
  local its = address_of(other)
  return address.site == its.site and address.path == its.path and address.parameters == its.parameters
    and (its.is_certain or proved[its.views] == true) and (have_same_name(page, other) or say_the_same(page, other))
    and conflict(page, other) == NONE
end

-- Return the marks of a record that a copy was found for. It takes over the marks that it lacks.
local function learned(marks, copy)
  if marks == copy then return marks end
  local page, other = unpack_marks(marks), unpack_marks(copy)
  if not page or not other or not page.has_address or not other.has_address
    or address_of(page).site ~= address_of(other).site then return marks end
  local lacks_names = page.names == page.pictures and other.names < other.pictures
  local lacks_lead = other.has_lead and not page.has_lead
  local lacks_players = page.players == page.data and other.players < other.data
  local lacks_data = page.data == page.ending and other.data < other.ending
  if not (lacks_names or lacks_lead or lacks_players or lacks_data) then return marks end
  local of_names, of_pictures = lacks_names and other or page, lacks_lead and other or page
  local of_players, of_data = lacks_players and other or page, lacks_data and other or page
  local flags = byte(marks, 1)
  return char(
    flags - flags % 2 + (of_pictures.has_lead and 1 or 0),
    (of_names.pictures - of_names.names) / 5 * 16 + (of_pictures.players - of_pictures.pictures) / 4,
    (of_players.data - of_players.players) / 3 * 16 + (of_data.ending - of_data.data) / 5
  ) .. sub(marks, 4, page.names - 1)
    .. sub(of_names.bytes, of_names.names, of_names.pictures - 1)
    .. sub(of_pictures.bytes, of_pictures.pictures, of_pictures.players - 1)
    .. sub(of_players.bytes, of_players.players, of_players.data - 1)
    .. sub(of_data.bytes, of_data.data, of_data.ending - 1)
    .. sub(marks, page.ending)
end

-- Return the marks of a page that, as the better copy, takes the place of a record of its site. The page never has a former
-- text itself. `text` is the text key of the record.
local function succeeding(marks, replaced, text)
  local page, other = unpack_marks(marks), unpack_marks(replaced)
  if not page or not other or not page.has_address or not other.has_address
    or address_of(page).site ~= address_of(other).site then return marks end
  local flags = page.ending
  local heir = sub(marks, 1, flags - 1) .. char(bit.bor(byte(marks, flags), 16)) .. sub(marks, flags + 1) .. text
  return learned(heir, replaced)
end

-- Return true if a record with these marks has taken the place of a page of this site that had the text of this text key.
local function has_former(page, marks, text)
  if not page.has_address or not string.find(marks, text, 1, true) then return false end
  local other = unpack_marks(marks)
  if not other.has_address then return false end
  local its = address_of(other)
  return its.former == text and its.site == address_of(page).site
end

-- Return the hash of the best name of a page, or nil if it has no name.
local function best_name(page)
  local names = page.names
  for i = 1, 4 do
    local role = i == 4 and 16 or 2 ^ (i - 1)
    for at = names, page.pictures - 1, 5 do
      if band(byte(page.bytes, at), role) > 0 then return name_at(page.bytes, at + 1) end
    end
  end
end

-- Return the exact keys of a page, five bytes each: its text; its site, name and lead picture; its address; and its former
-- text. Keys that it does not have are false. `search` has the first five bytes of its search bits.
local function exact_keys(search, digest, page)
  local by_text = mixed(digest .. '\0', search)
  if not page or not page.has_address then return {by_text, false, false, false} end
  local address, name = address_of(page), best_name(page)
  local lead = page.has_lead and name_at(page.bytes, page.pictures)
  local identity = name and lead and mixed(name, lead) or name or lead
  return {by_text, identity and identity .. sub(address.site, 3) or false, address.own, address.former}
end

-- Return the exact keys under which the originals of a page may be filed. The last one is its own text, because it may be
-- the former text of an original.
local function sought_keys(search, digest, page)
  local keys = exact_keys(search, digest, page)
  keys[4] = keys[3] and keys[1]
  return keys
end

return unpack_marks, shown_conflict, conflict, have_new_comments, are_certain_views, has_former, learned, succeeding, exact_keys,
  sought_keys
end)()
