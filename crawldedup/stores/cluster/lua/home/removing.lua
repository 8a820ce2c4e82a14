-- All that is removed here, as its finder is told: number (4 bytes) and record.
local removed = {}
local remove_one = remove_page
remove_page = function(page, record)
  removed[#removed + 1] = pack_number(page) .. record
  remove_one(page, record)
  end_filing(page)
end
