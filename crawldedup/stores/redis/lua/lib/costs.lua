-- Compare signatures.

-- Return the sum of the costs of the bits (or whole bytes, if there is one cost a byte) in which two signatures differ, or
-- nil above the limit. The other signature begins at `first`. The own one and the costs are lists of bytes: a look into a list
-- takes a fraction of the time of `byte`.
local function cost_of(own, other, first, costs, limit)
  local sum = 0
  local by_byte = #costs == #own
  for i = 1, #own do
    local differing = bit.bxor(own[i], byte(other, first + i - 1))
    if differing > 0 then
      if by_byte then
        sum = sum + costs[i]
      else
        local place = i * 8
        repeat
          local odd = differing % 2
          if odd == 1 then sum = sum + costs[place] end
          differing = (differing - odd) / 2
          place = place - 1
        until differing == 0
      end
      if sum > limit then return nil end
    end
  end
  return sum
end

-- Return true if a revisit has other text than a record. `rule` has a limit (4 bytes) and the costs of bits up to which the text
-- of a page that was delivered counts as unchanged; or it is ''.
local function has_new_text(record, digest, signature, rule, abandoned)
  if digest_of(record) == digest then return false end
  if rule == '' or abandoned then return true end
  return not cost_of({byte(signature, 1, -1)}, record, HEAD + 1, {byte(rule, 5, -1)}, number_at(rule, 1))
end
