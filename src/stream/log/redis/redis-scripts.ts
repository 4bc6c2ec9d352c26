import { limits } from '../../../contract/wire-limits.ts';
import { redisScript } from './redis-connection.ts';

/**
 * Each script is one step for everybody. KEYS 1 and 2 of all: the head, a hash, and the chunks, a stream. An entry of it
 * has the id `<ms>-<sequence>` of its last message, so that the first chunk at or after an offset is one look-up and trimming
 * by an id removes whole chunks; the messages are the value of a key of their own, which the entry names, because what
 * goes through a script is copied twice and leaves its memory to Lua.
 * Milliseconds and sequences are kept apart throughout: Lua's numbers have 53 bits and offsets 64.
 */
const positions = `
local headKey, chunksKey = KEYS[1], KEYS[2]

local function idOf(ms, sequence)
  return string.format('%.0f-%.0f', ms, sequence)
end
local function isLater(ms, sequence, otherMs, otherSequence)
  return ms > otherMs or (ms == otherMs and sequence > otherSequence)
end
local function spanOf(entry)
  local fields = entry[2]
  return { count = tonumber(fields[2]), ordinal = tonumber(fields[4]), bytes = tonumber(fields[6]), key = fields[8] }
end

local function readLogHead()
  local head = redis.call('HMGET', headKey, 'epoch', 'generation', 'ms', 'sequence', 'ordinal', 'trimmedMs', 'trimmedSequence', 'format', 'server', 'history')
  if not head[1] or redis.call('EXISTS', chunksKey) == 0 then return nil end
  return {
    epoch = head[1], generation = tonumber(head[2]), ms = tonumber(head[3]), sequence = tonumber(head[4]),
    ordinal = tonumber(head[5]), trimmedMs = tonumber(head[6]), trimmedSequence = tonumber(head[7]), format = tonumber(head[8]),
    server = head[9], history = head[10],
  }
end
local function answer(head)
  return {
    head.epoch, head.generation, idOf(head.ms, head.sequence), idOf(head.trimmedMs, head.trimmedSequence),
    string.format('%.0f', head.ordinal), head.format,
  }
end
`;

/** How far the clocks of those whose messages are gone may have been ahead of the caller's: their offsets are not given again. */
const CLOCKS_APART_MS = limits.sequencerLeadMsWarn;

/**
 * ARGV 1 to 7: what the caller knows of the log (epoch, generation, ms, sequence and ordinal of its tail), the id of
 * a new epoch, should one have to begin, and the caller's clock, ms. One begins
 * - where Redis has not got what the caller has seen: the log is gone (FLUSHALL), its tail is gone, or it went on differently;
 * - where a replica has been promoted since the log was last used: nobody can tell what it had not received;
 * - where Redis has been started anew since then, unless the caller has been running meanwhile and finds all it has seen.
 * Whoever notices first begins the epoch; all others find that it is another one than theirs. Offsets go on after all that the
 * caller has seen, and after all that others can have.
 */
const history = `${positions}
local known = {
  epoch = ARGV[1], generation = tonumber(ARGV[2]), ms = tonumber(ARGV[3]), sequence = tonumber(ARGV[4]), ordinal = tonumber(ARGV[5]),
}

local function writeHead(head)
  redis.call('HSET', headKey, 'epoch', head.epoch, 'generation', head.generation,
    'ms', string.format('%.0f', head.ms), 'sequence', head.sequence, 'ordinal', string.format('%.0f', head.ordinal),
    'trimmedMs', string.format('%.0f', head.trimmedMs), 'trimmedSequence', head.trimmedSequence, 'format', head.format)
  if head.server then redis.call('HSET', headKey, 'server', head.server, 'history', head.history) end
end

-- Names the process of the server, the history of its data, and whether it took that over from a master; nothing where it may not say.
local function serverHere()
  local process, replication = redis.pcall('INFO', 'server'), redis.pcall('INFO', 'replication')
  if type(process) ~= 'string' or type(replication) ~= 'string' then return nil end
  local id, history = string.match(process, 'run_id:(%w+)'), string.match(replication, 'master_replid:(%w+)')
  local before = string.match(replication, 'master_replid2:(%w+)')
  if not id or not history or not before then return nil end
  return { id = id, history = history, isPromoted = string.find(before, '[^0]') ~= nil }
end

local function isAnotherHistory(head)
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
  return here.isPromoted or known.epoch ~= head.epoch
end

local function beginEpoch(head)
  head.epoch = ARGV[6]
  head.generation = math.max(head.generation, known.generation) + 1
  if isLater(known.ms, known.sequence, head.ms, head.sequence) then
    head.ms, head.sequence = known.ms, known.sequence
  end
  local ms = tonumber(ARGV[7]) + ${CLOCKS_APART_MS}
  if ms > head.ms then head.ms, head.sequence = ms, 0 end
end

local function currentHead()
  local head, here = readLogHead(), serverHere()
  if not head then
    redis.call('DEL', headKey, chunksKey)
    redis.call('XADD', chunksKey, '0-1', '', '')
    redis.call('XTRIM', chunksKey, 'MAXLEN', 0)
    head = {
      epoch = ARGV[6], generation = known.generation + 1, ms = known.ms, sequence = known.sequence, ordinal = known.ordinal,
      trimmedMs = known.ms, trimmedSequence = known.sequence, format = 1,
      server = here and here.id, history = here and here.history,
    }
    writeHead(head)
    return head
  end
  local isOther = isAnotherHistory(head) or isAnotherServer(head, here)
  if isOther or here and (here.id ~= head.server or here.history ~= head.history) then
    if isOther then beginEpoch(head) end
    if here then head.server, head.history = here.id, here.history end
    -- A Redis whose memory is full takes other writes only once a script has begun to write.
    redis.call('HDEL', headKey, '')
    writeHead(head)
  end
  return head
end
`;

/**
 * ARGV 8, 9: a position. Answers with the head, the last chunk that lies whole before it and the first that does not.
 */
export const lookScript = redisScript(`${history}
local head = currentHead()
local ms, sequence = tonumber(ARGV[8]), tonumber(ARGV[9])
local from = idOf(ms, sequence)
local before = (ms > 0 or sequence > 0) and redis.call('XREVRANGE', chunksKey, '(' .. from, '-', 'COUNT', 1)[1]
local at = redis.call('XRANGE', chunksKey, from, '+', 'COUNT', 1)[1]
return { answer(head), before or false, at or false }
`);

/**
 * Puts a chunk, whose messages have just been stored, after all others and gives it its offsets: the caller's clock, or one
 * past the last where that is later; the sequence has 20 bits and carries. KEYS 3: what this sender was answered last, so
 * that a chunk whose answer got lost can be sent again; KEYS 4: the messages. ARGV 8: sender, 9: number of the chunk,
 * 10: how long that answer is kept, ms, 11: messages, 12: bytes, 13: channel for news,
 * 14, 15: of an announcement, up to where its author has read: nothing is stored where there has been one at or after that.
 * Answers with the head, and the first offset and the first ordinal where it was stored.
 */
export const appendScript = redisScript(`${history}
local senderKey = KEYS[3]
local sent = redis.call('HMGET', senderKey, 'number', 'first', 'ordinal')
local head = currentHead()
if sent[1] == ARGV[9] then return { answer(head), sent[2], sent[3] } end

local seenMs, seenSequence = tonumber(ARGV[14]), tonumber(ARGV[15])
if seenMs then
  local said = redis.call('HMGET', headKey, 'saidMs', 'saidSequence')
  if said[1] and not isLater(seenMs, seenSequence, tonumber(said[1]), tonumber(said[2])) then
    redis.call('DEL', KEYS[4])
    return { answer(head), false }
  end
end

local count = tonumber(ARGV[11])
local before = idOf(head.ms, head.sequence) .. ' ' .. string.format('%.0f', head.ordinal)
local ms, sequence = tonumber(ARGV[7]), 0
if ms <= head.ms then
  ms, sequence = head.ms, head.sequence + 1
end
local first, ordinal = idOf(ms, sequence), string.format('%.0f', head.ordinal)
local last = sequence + count - 1
head.ms, head.sequence = ms + math.floor(last / 1048576), last % 1048576
head.ordinal = head.ordinal + count

local id = idOf(head.ms, head.sequence)
redis.call('XADD', chunksKey, id, 'count', count, 'ordinal', ordinal, 'bytes', ARGV[12], 'key', KEYS[4])
redis.call('HSET', headKey, 'ms', string.format('%.0f', head.ms), 'sequence', head.sequence, 'ordinal', string.format('%.0f', head.ordinal))
if seenMs then redis.call('HSET', headKey, 'saidMs', string.format('%.0f', head.ms), 'saidSequence', head.sequence) end
redis.call('HSET', senderKey, 'number', ARGV[9], 'first', first, 'ordinal', ordinal)
redis.call('PEXPIRE', senderKey, ARGV[10])
redis.call('PUBLISH', ARGV[13], table.concat({ ARGV[8], head.epoch, before, id, string.format('%.0f', head.ordinal) }, ' '))
return { answer(head), first, ordinal }
`);

/**
 * Finds chunks one after another. ARGV 1: id from, 2: id to, 3: messages wanted, 4: bytes at most beyond the first chunk.
 * Answers with the head, or nothing where there is none, and the entries.
 */
export const pageScript = redisScript(`${positions}
local head = readLogHead()
if not head then return { false, {} } end
local messagesWanted, bytesMax = tonumber(ARGV[3]), tonumber(ARGV[4])
local page, messages, bytes = {}, 0, 0
for _, entry in ipairs(redis.call('XRANGE', chunksKey, ARGV[1], ARGV[2], 'COUNT', 512)) do
  local span = spanOf(entry)
  bytes = bytes + span.bytes
  if #page > 0 and (bytes > bytesMax or messages >= messagesWanted) then break end
  page[#page + 1] = entry
  messages = messages + span.count
end
return { answer(head), page }
`);

/**
 * Removes up to 500 of the chunks that lie whole before a position, ARGV 1, 2. Messages go first: a Redis whose memory is
 * full takes a script's other writes only once it has begun to write.
 * Answers with the head, or nothing where there is none, and how many it removed.
 */
export const trimScript = redisScript(`${positions}
local head = readLogHead()
if not head then return { false, 0 } end
local from = idOf(tonumber(ARGV[1]), tonumber(ARGV[2]))
local old = redis.call('XRANGE', chunksKey, '-', '(' .. from, 'COUNT', 500)
if #old == 0 then return { answer(head), 0 } end
for _, entry in ipairs(old) do redis.call('UNLINK', spanOf(entry).key) end
redis.call('XTRIM', chunksKey, 'MAXLEN', redis.call('XLEN', chunksKey) - #old)
local ms, sequence = string.match(old[#old][1], '(%d+)-(%d+)')
redis.call('HSET', headKey, 'trimmedMs', ms, 'trimmedSequence', sequence)
head.trimmedMs, head.trimmedSequence = tonumber(ms), tonumber(sequence)
return { answer(head), #old }
`);
