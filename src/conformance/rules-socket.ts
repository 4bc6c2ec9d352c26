import { randomBytes } from 'node:crypto';
import { socketEvents } from '../contract/socket-events.ts';
import { must } from './breach.ts';
import { itemMember } from './cbor-item.ts';
import type { Probe } from './probe.ts';
import { contractSections, type Rule } from './rule.ts';
import { shorten } from './server-answer.ts';
import {
  type ConnectHandshake,
  handshakeOf,
  type Payload,
  request,
  withClient,
  withConnection,
} from './socket-client.ts';

const OFFSET_MAX = '18446744073709551615';

/** Rules on connecting and subscribing over socket.io. */
export const socketRules: readonly Rule[] = [
  {
    id: 'socket.auth',
    says: 'A client connects with auth: { token, workgroupId }',
    source: contractSections.sockets,
    needs: ['socket'],
    check: (probe) => mustConnect(probe, handshakeOf(probe)),
  },
  {
    id: 'socket.query',
    says: 'A client connects with the query parameters token and orgName',
    source: contractSections.sockets,
    needs: ['socket'],
    check: (probe) =>
      mustConnect(probe, { query: { token: probe.target.token, orgName: probe.target.workgroup } }),
  },
  {
    id: 'socket.header',
    says: 'A client connects with an Authorization header',
    source: contractSections.sockets,
    needs: ['socket'],
    check: (probe) =>
      mustConnect(probe, {
        extraHeaders: { authorization: `Bearer ${probe.target.token}` },
        query: { orgName: probe.target.workgroup },
      }),
  },
  {
    id: 'socket.refused',
    says: 'A refused connection is connect_error whose data is the error map',
    source: contractSections.sockets,
    needs: ['socket'],
    async check(probe) {
      const { token, workgroup: workgroupId } = probe.target;
      const nobody = `nobody-${randomBytes(4).toString('hex')}`;
      for (const [auth, code] of [
        [{ workgroupId }, 'AuthenticationRequired'],
        [{ token: 'no-token', workgroupId }, 'InvalidToken'],
        [{ token, workgroupId: nobody }, 'WorkgroupForbidden'],
      ] as const)
        await withConnection(probe, { auth }, async (connection) => {
          must(connection.kind === 'refused', () => `connected, instead of ${code}`);
          const { data, sent } = connection;
          const { error, message, status, retryable } = (data ?? {}) as Payload;
          must(error === code, () => `${shorten(data)} instead of ${code}`, sent);
          const isMap =
            typeof message === 'string' && typeof status === 'number' && typeof retryable === 'boolean';
          must(isMap, () => `no error map: ${shorten(data)}`, sent);
        });
    },
  },
  {
    id: 'socket.answer',
    says: 'A subscription is answered with { requestId, nextOffset, epoch }, as stream:latest:rpc and as an acknowledgement',
    source: contractSections.sockets,
    needs: ['socket'],
    check: (probe) =>
      withClient(probe, async (client) => {
        const { item } = await probe.read('limit=1');
        const epoch = itemMember(item, 'epoch');
        const payload = request({ table: probe.table });
        const acknowledged = await client.ask(socketEvents.subscribe, payload);
        const answered = await client.until(socketEvents.answer, () => client.answers[0]);
        for (const answer of [acknowledged, answered]) {
          must(answer.requestId === payload.requestId, () => `requestId in ${shorten(answer)}`, client.sent);
          must(
            /^\d+$/.test(String(answer.nextOffset)),
            () => `nextOffset in ${shorten(answer)}`,
            client.sent,
          );
          must(
            epoch?.type === 'text' && answer.epoch === epoch.value,
            () => `epoch in ${shorten(answer)}`,
            client.sent,
          );
        }
      }),
  },
  {
    id: 'socket.request-id',
    says: 'A subscription without a requestId that is a UUID is rejected as InvalidRequest',
    source: contractSections.sockets,
    needs: ['socket'],
    async check(probe) {
      for (const payload of [{}, { requestId: 'one' }, { requestId: 7 }])
        await mustRefuse(probe, { table: probe.table, ...payload }, 'InvalidRequest');
    },
  },
  {
    id: 'socket.duplicate',
    says: 'A requestId that is already active on the connection is DuplicateRequest',
    source: contractSections.sockets,
    needs: ['socket'],
    check: (probe) =>
      withClient(probe, async (client) => {
        const payload = request({ table: probe.quietTable });
        await client.ask(socketEvents.subscribe, payload);
        const { error } = await client.ask(socketEvents.subscribe, payload);
        must(error === 'DuplicateRequest', () => `error ${shorten(error)}`, client.sent);
      }),
  },
  {
    id: 'socket.invalid',
    says: 'Invalid offsets and timestamps are InvalidOffset and InvalidTimestamp, as over REST',
    source: contractSections.sockets,
    needs: ['socket'],
    async check(probe) {
      for (const offset of ['-1', '', '1,2', 'abc'])
        await mustRefuse(probe, request({ table: probe.table, offset }), 'InvalidOffset');
      await mustRefuse(probe, request({ table: probe.table, timestamp: 'noon' }), 'InvalidTimestamp');
    },
  },
  {
    id: 'socket.ahead',
    says: 'An offset past the tail is OffsetAhead with nextOffset and epoch',
    source: contractSections.sockets,
    needs: ['socket'],
    async check(probe) {
      const payload = request({ table: probe.table, offset: OFFSET_MAX });
      const answer = await mustRefuse(probe, payload, 'OffsetAhead');
      must(
        answer.nextOffset !== undefined && typeof answer.epoch === 'string',
        () => `no nextOffset or epoch in ${shorten(answer)}`,
      );
    },
  },
  {
    id: 'socket.audit',
    says: 'audit_logs and - are InsufficientScope without org:audit',
    source: contractSections.sockets,
    needs: ['socket', 'restricted-token'],
    async check(probe) {
      for (const table of ['audit_logs', '-'])
        await mustRefuse(probe, request({ table }), 'InsufficientScope', probe.target.restrictedToken);
    },
  },
];

async function mustConnect(probe: Probe, handshake: ConnectHandshake): Promise<void> {
  await withConnection(probe, handshake, async (connection) => {
    must(
      connection.kind === 'connected',
      () => `refused: ${shorten(connection.kind === 'refused' && connection.data)}`,
      connection.kind === 'refused' ? connection.sent : undefined,
    );
  });
}

/** Subscribes and expects an error. Returns its map. */
async function mustRefuse(probe: Probe, payload: Payload, code: string, token?: string): Promise<Payload> {
  let answer: Payload = {};
  await withClient(
    probe,
    async (client) => {
      client.emit(socketEvents.subscribe, payload);
      answer = await client.until(`the answer ${code}`, () => client.answers[0]);
      must(answer.error === code, () => `${shorten(answer)} instead of ${code}`, client.sent);
    },
    token,
  );
  return answer;
}
