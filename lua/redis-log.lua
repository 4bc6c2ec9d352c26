-- The log of one workgroup in Redis. Each function of `calls` is one atomic step.
-- ARGV 1: the name of the function. ARGV 2: its values, as JSON. They are in `given`.
-- KEYS 1 is the head, a hash. KEYS 2 is a stream with one entry for each chunk. The id of an entry is
-- `<ms>-<sequence>` of the chunk's last message. So the first chunk at or after an offset is one look-up, and
-- a trim by id removes whole chunks. The entry names a second key with the messages, because Lua copies all
-- data that passes through a script. Milliseconds and sequences are separate numbers, because Lua's numbers
-- have 53 bits and offsets have 64.

local headKey, chunksKey = KEYS[1], KEYS[2]
local given = cjson.decode(ARGV[2])
local calls = {}

local function textOf(number)
  return string.format('%.0f', number)
end

local function idOf(ms, sequence)
  return textOf(ms) .. '-' .. textOf(sequence)
end

local function isLater(ms, sequence, otherMs, otherSequence)
  return ms > otherMs or (ms == otherMs and sequence > otherSequence)
end

local function spanOf(entry)
  local fields = entry[2]
  return { count = tonumber(fields[2]), ordinal = tonumber(fields[4]), bytes = tonumber(fields[6]), key = fields[8] }
end

local function readHead()
  local head = redis.call('HMGET', headKey, 'epoch', 'generation', 'ms', 'sequence', 'ordinal',
    'trimmedMs', 'trimmedSequence', 'format', 'server', 'history')
  if not head[1] or redis.call('EXISTS', chunksKey) == 0 then return nil end
  return {
    epoch = head[1],
    generation = tonumber(head[2]),
    ms = tonumber(head[3]),
    sequence = tonumber(head[4]),
    ordinal = tonumber(head[5]),
    trimmedMs = tonumber(head[6]),
    trimmedSequence = tonumber(head[7]),
    format = tonumber(head[8]),
    server = head[9],
    history = head[10],
  }
end

local function writeHead(head)
  redis.call('HSET', headKey, 'epoch', head.epoch, 'generation', head.generation,
    'ms', textOf(head.ms), 'sequence', head.sequence, 'ordinal', textOf(head.ordinal),
    'trimmedMs', textOf(head.trimmedMs), 'trimmedSequence', head.trimmedSequence, 'format', head.format)
  if head.server then redis.call('HSET', headKey, 'server', head.server, 'history', head.history) end
end

local function answer(head)
  return {
    head.epoch,
    head.generation,
    idOf(head.ms, head.sequence),
    idOf(head.trimmedMs, head.trimmedSequence),
    textOf(head.ordinal),
    head.format,
  }
end

-- A new epoch begins
-- - if Redis lacks messages that the caller has seen, because the log or its end was lost or has other
--   messages;
-- - if a replica was promoted since the last use, because nobody knows what it had not received;
-- - if Redis was restarted since the last use, unless the caller knew the log before and finds everything
--   that it has seen.
-- The first caller that notices begins the epoch. The others then find an epoch that they do not know. New
-- offsets follow all offsets that the caller has seen or that others may have.
-- `given.known` is the end of the log as the caller knows it. `given.newEpoch` is the id that a new epoch
-- gets, and `given.newEpochMs` is the earliest time of its offsets.

-- Returns the id of the server process, the id of its data history, and whether it was promoted from a
-- replica; nil if INFO is not allowed. It asks each time, because the caller does not notice a promotion
-- behind one address. Both INFO together take about 12 microseconds.
local function serverHere()
  local process, replication = redis.pcall('INFO', 'server'), redis.pcall('INFO', 'replication')
  if type(process) ~= 'string' or type(replication) ~= 'string' then return nil end
  local id, history = string.match(process, 'run_id:(%w+)'), string.match(replication, 'master_replid:(%w+)')
  local before = string.match(replication, 'master_replid2:(%w+)')
  if not id or not history or not before then return nil end
  return { id = id, history = history, isPromoted = string.find(before, '[^0]') ~= nil }
end

local function isAnotherHistory(head)
  local known = given.known
  if known.generation == 0 then return false end
  if head.generation < known.generation then return true end
  if head.epoch ~= known.epoch then return false end
  if not isLater(head.ms, head.sequence, known.ms, known.sequence) then return head.ordinal ~= known.ordinal end
  if isLater(head.trimmedMs, head.trimmedSequence, known.ms, known.sequence) then return false end
  local after = known.ms < 0 and '-' or '(' .. idOf(known.ms, known.sequence)
  local following = redis.call('XRANGE', chunksKey, after, '+', 'COUNT', 1)[1]
  return not following or spanOf(following).ordinal ~= known.ordinal
end

local function isAnotherServer(head, here)
  if not here or not head.server then return false end
  if here.id == head.server then return here.isPromoted and here.history ~= head.history end
  return here.isPromoted or given.known.epoch ~= head.epoch
end

local function beginEpoch(head)
  local known = given.known
  head.epoch = given.newEpoch
  head.generation = math.max(head.generation, known.generation) + 1
  if isLater(known.ms, known.sequence, head.ms, head.sequence) then
    head.ms, head.sequence = known.ms, known.sequence
  end
  if given.newEpochMs > head.ms then head.ms, head.sequence = given.newEpochMs, 0 end
end

local function createLog(here)
  redis.call('DEL', headKey, chunksKey)
  redis.call('XADD', chunksKey, '0-1', '', '')
  redis.call('XTRIM', chunksKey, 'MAXLEN', 0)
  local known = given.known
  local head = {
    epoch = given.newEpoch,
    generation = known.generation + 1,
    ms = known.ms,
    sequence = known.sequence,
    ordinal = known.ordinal,
    trimmedMs = known.ms,
    trimmedSequence = known.sequence,
    format = given.format,
    server = here and here.id,
    history = here and here.history,
  }
  writeHead(head)
  return head
end

local function currentHead()
  local head, here = readHead(), serverHere()
  if not head then return createLog(here) end
  local isOther = isAnotherHistory(head) or isAnotherServer(head, here)
  if isOther or here and (here.id ~= head.server or here.history ~= head.history) then
    if isOther then beginEpoch(head) end
    if here then head.server, head.history = here.id, here.history end
    -- A Redis with full memory accepts further writes only after the first write of a script.
    redis.call('HDEL', headKey, '')
    writeHead(head)
  end
  return head
end

-- Returns the head, the last chunk before a position and the first chunk at or after it.
function calls.look()
  local head = currentHead()
  local ms, sequence = given.position.ms, given.position.sequence
  local from = idOf(ms, sequence)
  local before = (ms > 0 or sequence > 0) and redis.call('XREVRANGE', chunksKey, '(' .. from, '-', 'COUNT', 1)[1]
  local at = redis.call('XRANGE', chunksKey, from, '+', 'COUNT', 1)[1]
  return { answer(head), before or false, at or false }
end

-- Adds a chunk whose messages have just been stored, and assigns its offsets: the caller's clock, or one past
-- the last offset if that is later. A full sequence continues in the next millisecond.
-- KEYS 3: the last answer to this sender, so that a chunk can be sent again if its answer was lost. KEYS 4:
-- the messages.
-- `readTo` is set for an announcement only: the offset up to which its author has read. Nothing is stored if
-- there is an announcement at or after it.
-- Returns the head, and the first offset and first ordinal if the chunk was stored.
function calls.append()
  local senderKey, messagesKey = KEYS[3], KEYS[4]
  local sent = redis.call('HMGET', senderKey, 'number', 'first', 'ordinal')
  local head = currentHead()
  if tonumber(sent[1]) == given.chunkNumber then return { answer(head), sent[2], sent[3] } end

  local readTo = given.readTo
  if readTo then
    local said = redis.call('HMGET', headKey, 'saidMs', 'saidSequence')
    if said[1] and not isLater(readTo.ms, readTo.sequence, tonumber(said[1]), tonumber(said[2])) then
      redis.call('DEL', messagesKey)
      return { answer(head), false }
    end
  end

  local before = idOf(head.ms, head.sequence) .. ' ' .. textOf(head.ordinal)
  local ms, sequence = given.nowMs, 0
  if ms <= head.ms then
    ms, sequence = head.ms, head.sequence + 1
  end
  local first, ordinal = idOf(ms, sequence), textOf(head.ordinal)
  local last = sequence + given.count - 1
  head.ms, head.sequence = ms + math.floor(last / given.offsetsPerMs), last % given.offsetsPerMs
  head.ordinal = head.ordinal + given.count

  local id = idOf(head.ms, head.sequence)
  redis.call('XADD', chunksKey, id, 'count', given.count, 'ordinal', ordinal, 'bytes', given.bytes, 'key', messagesKey)
  redis.call('HSET', headKey, 'ms', textOf(head.ms), 'sequence', head.sequence, 'ordinal', textOf(head.ordinal))
  if readTo then redis.call('HSET', headKey, 'saidMs', textOf(head.ms), 'saidSequence', head.sequence) end
  redis.call('HSET', senderKey, 'number', given.chunkNumber, 'first', first, 'ordinal', ordinal)
  redis.call('PEXPIRE', senderKey, given.answerKeptMs)
  local news = { given.sender, head.epoch, before, id, textOf(head.ordinal) }
  redis.call('PUBLISH', given.newsChannel, table.concat(news, ' '))
  return { answer(head), first, ordinal }
end

-- Reads chunks one after another, up to `bytesMax` bytes. The first chunk can be larger.
-- Returns the head, or nothing if the log does not exist, and the entries.
function calls.page()
  local head = readHead()
  if not head then return { false, {} } end
  local page, messages, bytes = {}, 0, 0
  for _, entry in ipairs(redis.call('XRANGE', chunksKey, given.firstId, given.lastId, 'COUNT', given.chunksMax)) do
    local span = spanOf(entry)
    bytes = bytes + span.bytes
    if #page > 0 and (bytes > given.bytesMax or messages >= given.messagesWanted) then break end
    page[#page + 1] = entry
    messages = messages + span.count
  end
  return { answer(head), page }
end

-- Removes chunks before a position. It deletes messages first, because a Redis with full memory accepts other
-- writes of a script only after a delete.
-- Returns the head, or nothing if the log does not exist, and the number of removed chunks.
function calls.trim()
  local head = readHead()
  if not head then return { false, 0 } end
  local old = redis.call('XRANGE', chunksKey, '-', '(' .. given.beforeId, 'COUNT', given.chunksMax)
  if #old == 0 then return { answer(head), 0 } end
  for _, entry in ipairs(old) do redis.call('UNLINK', spanOf(entry).key) end
  redis.call('XTRIM', chunksKey, 'MAXLEN', redis.call('XLEN', chunksKey) - #old)
  local ms, sequence = string.match(old[#old][1], '(%d+)-(%d+)')
  redis.call('HSET', headKey, 'trimmedMs', ms, 'trimmedSequence', sequence)
  head.trimmedMs, head.trimmedSequence = tonumber(ms), tonumber(sequence)
  return { answer(head), #old }
end

return calls[ARGV[1]]()
