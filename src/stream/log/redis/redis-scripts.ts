import { offsetOf } from '../../../contract/offset.ts';
import { redisScript } from '../../../redis/redis-script.ts';
import { SEQUENCER_LEAD_MS } from '../append-queue.ts';
import { REDIS_FORMAT } from './redis-replies.ts';

/** Chunks of one page, and chunks that one call trims. Other scripts wait meanwhile. */
const PAGE_CHUNKS_MAX = 512;
const TRIM_CHUNKS_MAX = 500;
/** The offsets of one millisecond. */
const OFFSETS_PER_MS = offsetOf(1);

/**
 * Each script is one atomic step. KEYS 1 is the head, a hash. KEYS 2 is a stream with one entry for each
 * chunk. The id of an entry is `<ms>-<sequence>` of the chunk's last message. So the first chunk at or after
 * an offset is one look-up, and a trim by id removes whole chunks. The entry names a second key with the
 * messages, because Lua copies all data that passes through a script. Milliseconds and sequences are separate
 * numbers, because Lua's numbers have 53 bits and offsets have 64.
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

/**
 * Clocks of processes may differ by this much. A new epoch skips offsets that a process with a fast clock may
 * have assigned.
 */
const CLOCKS_APART_MS = SEQUENCER_LEAD_MS;

/**
 * ARGV 1 to 5: the epoch, generation, and the ms, sequence and ordinal of the end as the caller knows them.
 * ARGV 6: the id of a new epoch. ARGV 7: the caller's clock in ms. A new epoch begins
 * - if Redis lacks messages that the caller has seen, because the log or its end was lost or has other
 *   messages;
 * - if a replica was promoted since the last use, because nobody knows what it had not received;
 * - if Redis was restarted since the last use, unless the caller knew the log before and finds everything
 *   that it has seen. The first caller that notices begins the epoch. The others then find an epoch that they
 *   do not know. New offsets follow all offsets that the caller has seen or that others may have.
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

-- Returns the id of the server process, the id of its data history, and whether it was promoted from a replica; nil if INFO is not allowed.
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
      trimmedMs = known.ms, trimmedSequence = known.sequence, format = ${REDIS_FORMAT},
      server = here and here.id, history = here and here.history,
    }
    writeHead(head)
    return head
  end
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
`;

/**
 * ARGV 8, 9: a position. Returns the head, the last chunk before the position and the first chunk at or after
 * it.
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
 * Adds a chunk whose messages have just been stored, and assigns its offsets: the caller's clock, or one past
 * the last offset if that is later. A full sequence of 20 bits continues in the next millisecond.
 * KEYS 3: the last answer to this sender, so that a chunk can be sent again if its answer was lost. KEYS 4:
 * the messages.
 * ARGV 8: sender. 9: number of the chunk. 10: ms for which the answer is kept. 11: messages. 12: bytes. 13:
 * channel for news.
 * ARGV 14, 15: for an announcement, the offset up to which its author has read. Nothing is stored if there is
 * an announcement at or after it.
 * Returns the head, and the first offset and first ordinal if the chunk was stored.
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
head.ms, head.sequence = ms + math.floor(last / ${OFFSETS_PER_MS}), last % ${OFFSETS_PER_MS}
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
 * Reads chunks one after another. ARGV 1: first id. 2: last id. 3: wanted messages. 4: maximum bytes beyond
 * the first chunk.
 * Returns the head, or nothing if the log does not exist, and the entries.
 */
export const pageScript = redisScript(`${positions}
local head = readLogHead()
if not head then return { false, {} } end
local messagesWanted, bytesMax = tonumber(ARGV[3]), tonumber(ARGV[4])
local page, messages, bytes = {}, 0, 0
for _, entry in ipairs(redis.call('XRANGE', chunksKey, ARGV[1], ARGV[2], 'COUNT', ${PAGE_CHUNKS_MAX})) do
  local span = spanOf(entry)
  bytes = bytes + span.bytes
  if #page > 0 and (bytes > bytesMax or messages >= messagesWanted) then break end
  page[#page + 1] = entry
  messages = messages + span.count
end
return { answer(head), page }
`);

/**
 * Removes chunks before the position in ARGV 1 and 2. It deletes messages first, because a Redis
 * with full memory accepts other writes of a script only after a delete.
 * Returns the head, or nothing if the log does not exist, and the number of removed chunks.
 */
export const trimScript = redisScript(`${positions}
local head = readLogHead()
if not head then return { false, 0 } end
local from = idOf(tonumber(ARGV[1]), tonumber(ARGV[2]))
local old = redis.call('XRANGE', chunksKey, '-', '(' .. from, 'COUNT', ${TRIM_CHUNKS_MAX})
if #old == 0 then return { answer(head), 0 } end
for _, entry in ipairs(old) do redis.call('UNLINK', spanOf(entry).key) end
redis.call('XTRIM', chunksKey, 'MAXLEN', redis.call('XLEN', chunksKey) - #old)
local ms, sequence = string.match(old[#old][1], '(%d+)-(%d+)')
redis.call('HSET', headKey, 'trimmedMs', ms, 'trimmedSequence', sequence)
head.trimmedMs, head.trimmedSequence = tonumber(ms), tonumber(sequence)
return { answer(head), #old }
`);
