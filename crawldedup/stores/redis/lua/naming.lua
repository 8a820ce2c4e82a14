-- Stands in front of a script that met a key of another type when it is run again to learn which: see redis_naming.py. Nothing
-- is written this time: instead of what would be, something is read that wants a key of the same type.

local server = redis
local read_instead = {
  HDEL = {'HGET', ''},
  HINCRBY = {'HGET', ''},
  HSET = {'HGET', ''},
  LSET = {'LLEN'},
  RPUSH = {'LLEN'},
  SETBIT = {'BITFIELD_RO', 'GET', 'u1', '0'},
  SETRANGE = {'BITFIELD_RO', 'GET', 'u1', '0'},
  UNLINK = {'EXISTS'},
  ZADD = {'ZCARD'},
  ZREM = {'ZCARD'},
}

local function named(...)
  local command, key = ...
  local reading, answer = read_instead[command], 0
  if reading then
    local told = server.pcall(reading[1], key, unpack(reading, 2))
    if type(told) == 'table' and told.err then answer = told end
  else
    answer = server.pcall(...)
  end
  if type(answer) == 'table' and answer.err and string.find(answer.err, 'WRONGTYPE') then
    return server.error_reply('WRONGTYPE at ' .. key)
  end
  return answer
end

local function named_or_raised(...)
  local answer = named(...)
  if type(answer) == 'table' and answer.err then error(answer.err, 0) end
  return answer
end

local redis = setmetatable({call = named_or_raised, pcall = named}, {__index = server})
