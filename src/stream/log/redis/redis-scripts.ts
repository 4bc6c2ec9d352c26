import { offsetOf } from '../../../contract/offset.ts';
import { type RedisScript, type RedisValue, redisScript } from '../../../redis/redis-script.ts';
import { SEQUENCER_LEAD_MS } from '../append-queue.ts';
import { REDIS_FORMAT } from './redis-replies.ts';

/** Chunks of one page, and chunks that one call trims. Other scripts wait meanwhile. */
const PAGE_CHUNKS_MAX = 512;
const TRIM_CHUNKS_MAX = 500;
/** The offsets of one millisecond. */
const OFFSETS_PER_MS = offsetOf(1);

/** A script whose ARGV have names, which are local variables of the script. */
export interface NamedScript<Name extends string> extends RedisScript {
  names: readonly Name[];
}

function namedScript<const Name extends string>(names: readonly Name[], lua: string): NamedScript<Name> {
  return { ...redisScript(`local ${names.join(', ')} = unpack(ARGV)\n${lua}`), names };
}

/** Puts the values of a script into the order of its ARGV. */
export function argumentsOf<Name extends string>(
  script: NamedScript<Name>,
  values: Readonly<Record<Name, RedisValue>>,
): RedisValue[] {
  return script.names.map((name) => values[name]);
}

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

/** The end of the log as the caller knows it, the id that a new epoch would get, and the caller's clock. */
const HISTORY_NAMES = [
  'knownEpoch',
  'knownGeneration',
  'knownMs',
  'knownSequence',
  'knownOrdinal',
  'newEpoch',
  'nowMs',
] as const;

export type HistoryName = (typeof HISTORY_NAMES)[number];

/**
 * A new epoch begins
 * - if Redis lacks messages that the caller has seen, because the log or its end was lost or has other
 *   messages;
 * - if a replica was promoted since the last use, because nobody knows what it had not received;
 * - if Redis was restarted since the last use, unless the caller knew the log before and finds everything
 *   that it has seen.
 *
 * The first caller that notices begins the epoch. The others then find an epoch that they do not know. New
 * offsets follow all offsets that the caller has seen or that others may have.
 */
const history = `${positions}
local known = {
  epoch = knownEpoch, generation = tonumber(knownGeneration),
  ms = tonumber(knownMs), sequence = tonumber(knownSequence), ordinal = tonumber(knownOrdinal),
}

local function writeHead(head)
  redis.call('HSET', headKey, 'epoch', head.epoch, 'generation', head.generation,
    'ms', string.format('%.0f', head.ms), 'sequence', head.sequence, 'ordinal', string.format('%.0f', head.ordinal),
    'trimmedMs', string.format('%.0f', head.trimmedMs), 'trimmedSequence', head.trimmedSequence, 'format', head.format)
  if head.server then redis.call('HSET', headKey, 'server', head.server, 'history', head.history) end
end

-- Returns the id of the server process, the id of its data history, and whether it was promoted from a replica; nil if INFO is not allowed.
-- It asks each time, because the caller does not notice a promotion behind one address. Both INFO together take about 12 microseconds.
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
  head.epoch = newEpoch
  head.generation = math.max(head.generation, known.generation) + 1
  if isLater(known.ms, known.sequence, head.ms, head.sequence) then
    head.ms, head.sequence = known.ms, known.sequence
  end
  local ms = tonumber(nowMs) + ${CLOCKS_APART_MS}
  if ms > head.ms then head.ms, head.sequence = ms, 0 end
end

local function currentHead()
  local head, here = readLogHead(), serverHere()
  if not head then
    redis.call('DEL', headKey, chunksKey)
    redis.call('XADD', chunksKey, '0-1', '', '')
    redis.call('XTRIM', chunksKey, 'MAXLEN', 0)
    head = {
      epoch = newEpoch, generation = known.generation + 1, ms = known.ms, sequence = known.sequence, ordinal = known.ordinal,
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

/** Returns the head, the last chunk before a position and the first chunk at or after it. */
export const lookScript = namedScript(
  [...HISTORY_NAMES, 'positionMs', 'positionSequence'],
  `${history}
local head = currentHead()
local ms, sequence = tonumber(positionMs), tonumber(positionSequence)
local from = idOf(ms, sequence)
local before = (ms > 0 or sequence > 0) and redis.call('XREVRANGE', chunksKey, '(' .. from, '-', 'COUNT', 1)[1]
local at = redis.call('XRANGE', chunksKey, from, '+', 'COUNT', 1)[1]
return { answer(head), before or false, at or false }
`,
);

/**
 * Adds a chunk whose messages have just been stored, and assigns its offsets: the caller's clock, or one past
 * the last offset if that is later. A full sequence of 20 bits continues in the next millisecond.
 * KEYS 3: the last answer to this sender, so that a chunk can be sent again if its answer was lost. KEYS 4:
 * the messages.
 * `readToMs` and `readToSequence` are empty, except for an announcement. They are then the offset up to which
 * its author has read. Nothing is stored if there is an announcement at or after it.
 * Returns the head, and the first offset and first ordinal if the chunk was stored.
 */
export const appendScript = namedScript(
  [
    ...HISTORY_NAMES,
    'sender',
    'chunkNumber',
    'answerKeptMs',
    'messages',
    'bytes',
    'newsChannel',
    'readToMs',
    'readToSequence',
  ],
  `${history}
local senderKey = KEYS[3]
local sent = redis.call('HMGET', senderKey, 'number', 'first', 'ordinal')
local head = currentHead()
if sent[1] == chunkNumber then return { answer(head), sent[2], sent[3] } end

local isAnnouncement = readToMs ~= ''
if isAnnouncement then
  local said = redis.call('HMGET', headKey, 'saidMs', 'saidSequence')
  if said[1] and not isLater(tonumber(readToMs), tonumber(readToSequence), tonumber(said[1]), tonumber(said[2])) then
    redis.call('DEL', KEYS[4])
    return { answer(head), false }
  end
end

local count = tonumber(messages)
local before = idOf(head.ms, head.sequence) .. ' ' .. string.format('%.0f', head.ordinal)
local ms, sequence = tonumber(nowMs), 0
if ms <= head.ms then
  ms, sequence = head.ms, head.sequence + 1
end
local first, ordinal = idOf(ms, sequence), string.format('%.0f', head.ordinal)
local last = sequence + count - 1
head.ms, head.sequence = ms + math.floor(last / ${OFFSETS_PER_MS}), last % ${OFFSETS_PER_MS}
head.ordinal = head.ordinal + count

local id = idOf(head.ms, head.sequence)
redis.call('XADD', chunksKey, id, 'count', count, 'ordinal', ordinal, 'bytes', bytes, 'key', KEYS[4])
redis.call('HSET', headKey, 'ms', string.format('%.0f', head.ms), 'sequence', head.sequence, 'ordinal', string.format('%.0f', head.ordinal))
if isAnnouncement then redis.call('HSET', headKey, 'saidMs', string.format('%.0f', head.ms), 'saidSequence', head.sequence) end
redis.call('HSET', senderKey, 'number', chunkNumber, 'first', first, 'ordinal', ordinal)
redis.call('PEXPIRE', senderKey, answerKeptMs)
redis.call('PUBLISH', newsChannel, table.concat({ sender, head.epoch, before, id, string.format('%.0f', head.ordinal) }, ' '))
return { answer(head), first, ordinal }
`,
);

/**
 * Reads chunks one after another. `bytesMax` is the maximum beyond the first chunk.
 * Returns the head, or nothing if the log does not exist, and the entries.
 */
export const pageScript = namedScript(
  ['firstId', 'lastId', 'messagesWanted', 'bytesMax'],
  `${positions}
local head = readLogHead()
if not head then return { false, {} } end
local page, messages, bytes = {}, 0, 0
for _, entry in ipairs(redis.call('XRANGE', chunksKey, firstId, lastId, 'COUNT', ${PAGE_CHUNKS_MAX})) do
  local span = spanOf(entry)
  bytes = bytes + span.bytes
  if #page > 0 and (bytes > tonumber(bytesMax) or messages >= tonumber(messagesWanted)) then break end
  page[#page + 1] = entry
  messages = messages + span.count
end
return { answer(head), page }
`,
);

/**
 * Removes chunks before a position. It deletes messages first, because a Redis with full memory accepts other
 * writes of a script only after a delete.
 * Returns the head, or nothing if the log does not exist, and the number of removed chunks.
 */
export const trimScript = namedScript(
  ['beforeMs', 'beforeSequence'],
  `${positions}
local head = readLogHead()
if not head then return { false, 0 } end
local from = idOf(tonumber(beforeMs), tonumber(beforeSequence))
local old = redis.call('XRANGE', chunksKey, '-', '(' .. from, 'COUNT', ${TRIM_CHUNKS_MAX})
if #old == 0 then return { answer(head), 0 } end
for _, entry in ipairs(old) do redis.call('UNLINK', spanOf(entry).key) end
redis.call('XTRIM', chunksKey, 'MAXLEN', redis.call('XLEN', chunksKey) - #old)
local ms, sequence = string.match(old[#old][1], '(%d+)-(%d+)')
redis.call('HSET', headKey, 'trimmedMs', ms, 'trimmedSequence', sequence)
head.trimmedMs, head.trimmedSequence = tonumber(ms), tonumber(sequence)
return { answer(head), #old }
`,
);
