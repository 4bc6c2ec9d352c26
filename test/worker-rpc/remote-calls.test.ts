import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { SignJWT } from 'jose';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createAccess } from '../../src/access/access.ts';
import { readKeys } from '../../src/access/keys.ts';
import { openProcessTokens, PROCESS_TOKEN_MS, type ProcessCall } from '../../src/access/process-token.ts';
import { InputError, StaleOwnerError, TerminalError, TransientError } from '../../src/lib/errors.ts';
import { systemClock } from '../../src/lib/time.ts';
import type { Pipeline } from '../../src/pipeline/pipeline.ts';
import { createRemoteControl } from '../../src/worker-rpc/remote-control.ts';
import { ARGUMENTS_HEADER } from '../../src/worker-rpc/remote-wire.ts';
import { until } from '../support/until.ts';
import { HERE, setUpMachines, writeKeys } from './remote-support.ts';

const timeout = 240_000;
const answering =
  (answer: unknown): Pipeline['run'] =>
  async () =>
    answer as never;
const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');

/** Sends a call as another program would. */
async function post(
  port: number,
  path: string,
  token: string,
  body: string,
  headers: Record<string, string | number> = {},
) {
  const asked = request({
    host: '127.0.0.1',
    port,
    path,
    method: 'POST',
    headers: { Authorization: `Bearer ${token}`, [ARGUMENTS_HEADER]: Buffer.byteLength(body), ...headers },
  });
  asked.on('error', () => undefined);
  asked.end(body);
  const [response] = await once(asked, 'response');
  let text = '';
  for await (const chunk of response) text += chunk;
  const { error, result } = JSON.parse(text) as { error?: { code: string }; result?: unknown };
  return { status: response.statusCode as number, code: error?.code, result };
}

describe('a call without a valid token is refused:', () => {
  async function setUp() {
    const machines = await setUpMachines();
    let ran = 0;
    const { address, dataDir } = await machines.startOwner(async () => ++ran as never);
    const body = '{}';
    const call: ProcessCall = {
      receiver: address.workerId,
      workgroupId: 'acme',
      operation: 'status',
      argumentsSha256: sha256(body),
    };
    return { ...machines, address, dataDir, body, call, ran: () => ran };
  }

  test('no token, a token of a user, a token of another key, of another issuer, or an old one', {
    timeout,
  }, async () => {
    const { folder, keyFile, tokens, address, body, call, ran } = await setUp();
    const issuer = 'wattline';
    const access = await createAccess({
      dataDir: folder,
      jwksFile: keyFile,
      issuer,
      clock: systemClock,
    });
    const user = await access.issue({
      subject: 'me',
      scopes: { acme: { permissions: ['data:write'] } },
      lifetimeMs: 60_000,
    });
    const other = await openProcessTokens({ keyFile: await writeKeys(folder), issuer, clock: systemClock });
    const foreign = await openProcessTokens({ keyFile, issuer: 'another', clock: systemClock });
    const { signing } = await readKeys(keyFile);
    /** A token of the key of users, with a call that would be valid. */
    const ofUserKey = (audience: string, typ: string) =>
      new SignJWT({ call })
        .setProtectedHeader({ alg: 'EdDSA', typ, kid: signing!.keyId! })
        .setIssuer(issuer)
        .setAudience(audience)
        .setJti('1')
        .setExpirationTime('1m')
        .sign(signing!.key);
    const [audience, typ] = ['wattline:process', 'wattline-process+jwt'];
    const early = { now: () => Date.now() - PROCESS_TOKEN_MS - 2_000 };
    const late = await openProcessTokens({ keyFile, issuer, clock: early });
    const refused = [
      '',
      user.token,
      await other.sign(call),
      await foreign.sign(call),
      await ofUserKey('somebody', typ),
      await ofUserKey(audience, 'JWT'),
    ];
    for (const token of refused)
      expect(await post(address.port, '/acme/status', token, body)).toMatchObject({
        status: 401,
        code: 'CallRefused',
      });
    expect(await post(address.port, '/acme/status', await late.sign(call), body)).toMatchObject({
      status: 401,
      code: 'CallExpired',
    });
    expect(ran()).toBe(0);
    // Audience and type are the only fault of the two tokens above.
    expect(await post(address.port, '/acme/status', await ofUserKey(audience, typ), body)).toMatchObject({
      status: 200,
    });
    await expect(access.authenticate(await tokens.sign(call))).rejects.toMatchObject({
      code: 'InvalidToken',
    });
    expect(await post(address.port, '/acme/status', await tokens.sign(call), body)).toMatchObject({
      status: 200,
      result: 2,
    });
  });

  test('a token of another workgroup, operation, worker or arguments, and one that was used before', {
    timeout,
  }, async () => {
    const { tokens, address, body, call, ran } = await setUp();
    const send = async (changed: Partial<ProcessCall>) =>
      post(address.port, '/acme/status', await tokens.sign({ ...call, ...changed }), body);
    const refused = { status: 401, code: 'CallRefused' };
    expect(await send({ workgroupId: 'globex' })).toMatchObject(refused);
    expect(await send({ operation: 'retry' })).toMatchObject(refused);
    expect(await send({ receiver: 'another' })).toMatchObject({ status: 421, code: 'NotHere' });
    expect(await send({ argumentsSha256: sha256('{"args":1}') })).toMatchObject({ code: 'DamagedCall' });
    expect(ran()).toBe(0);
    const token = await tokens.sign(call);
    expect(await post(address.port, '/acme/status', token, body)).toMatchObject({ status: 200 });
    expect(await post(address.port, '/acme/status', token, body)).toMatchObject(refused);
    expect(ran()).toBe(1);
  });

  test('a path of the caller is not opened, and a changed file is not stored', { timeout }, async () => {
    const { tokens, address, dataDir, call, ran } = await setUp();
    const body = JSON.stringify({ args: { path: '/etc/passwd', name: 'x', actor: 'x', again: false } });
    const upload = { ...call, operation: 'upload', argumentsSha256: sha256(body) };
    expect(await post(address.port, '/acme/upload', await tokens.sign(upload), body)).toMatchObject({
      code: 'InvalidArguments',
    });
    const file = { bytes: 4, sha256: sha256('rows') };
    for (const sent of ['ROWS', 'row', 'rows and more'])
      expect(
        await post(address.port, '/acme/upload', await tokens.sign({ ...upload, file }), body + sent, {
          [ARGUMENTS_HEADER]: Buffer.byteLength(body),
        }),
      ).toMatchObject({ code: 'DamagedCall' });
    expect(readdirSync(join(dataDir, 'uploads'))).toEqual([]);
    expect(ran()).toBe(0);
  });

  test('the caller says what to do if the machines have different keys', { timeout }, async () => {
    const { folder, directory } = await setUp();
    const keyFile = await writeKeys(folder);
    const tokens = await openProcessTokens({ keyFile, issuer: 'wattline', clock: systemClock });
    const control = createRemoteControl({ directory, tokens, machine: HERE });
    expect(await control.ask('acme', 'status', undefined)).toMatchObject({
      kind: 'failed',
      error: { code: 'CallRefused', message: expect.stringContaining('access.jwksFile') },
    });
  });

  test('Redis has no secret', { timeout }, async () => {
    const { admin, address } = await setUp();
    const stored = await admin.get(`wattline:address:${address.workerId}`);
    expect(Object.keys(JSON.parse(stored!)).toSorted()).toEqual(['host', 'machine', 'port', 'workerId']);
  });
});

test('a file of several megabytes arrives as it was, and is deleted before the answer', {
  tags: ['slow'],
  timeout,
}, async () => {
  const { startOwner, control, folder } = await setUpMachines();
  const path = join(folder, 'large.json');
  writeFileSync(path, Buffer.alloc(5_000_000, 'rows of a meter '));
  const { dataDir } = await startOwner((async (_workgroupId, _operation, args) => {
    const received = (args as { path: string }).path;
    expect(received).not.toBe(path);
    return { isSame: readFileSync(received).equals(readFileSync(path)) };
  }) as Pipeline['run']);
  const upload = { path, name: 'large', actor: 'test', again: false };
  expect(await control.ask('acme', 'upload', upload)).toEqual({ kind: 'answer', answer: { isSame: true } });
  expect(readdirSync(join(dataDir, 'uploads'))).toEqual([]);
});

test.each([
  ['transient', new TransientError('DiskFull', 'no room', { details: { bytes: 5n } }), TransientError],
  ['terminal', new TerminalError('NoSuchDay', 'no such day'), TerminalError],
  ['input', new InputError('may.csv', [{ path: 'line 2', message: 'is odd' }]), InputError],
])('an error that is %s there is %s here', { timeout }, async (_, error, type) => {
  const { startOwner, control } = await setUpMachines();
  await startOwner(() => Promise.reject(error));
  const outcome = await control.ask('acme', 'status', undefined);
  if (outcome.kind !== 'failed') throw new Error(outcome.kind);
  expect(outcome.error).toBeInstanceOf(type);
  expect(outcome.error).toMatchObject({ code: error.code, message: error.message });
});

test('an owner that finds that it has lost the workgroup did nothing, so the next owner is asked', {
  tags: ['slow'],
  timeout,
}, async () => {
  const { startOwner, control } = await setUpMachines();
  const first = await startOwner(async () => {
    await first.leases.release('acme', 'awake');
    await startOwner(answering({ series: 3 }));
    throw new StaleOwnerError('acme', 1n, 2n);
  });
  expect(await control.ask('acme', 'retry', {})).toEqual({ kind: 'answer', answer: { series: 3 } });
});

describe('a worker that receives a call and does not answer', () => {
  /** The first owner never answers, and loses the workgroup to a second one. */
  async function loseOwner() {
    const machines = await setUpMachines();
    const begun = Promise.withResolvers<void>();
    const first = await machines.startOwner(() => {
      begun.resolve();
      return new Promise<never>(() => undefined);
    });
    let ran = 0;
    const move = async () => {
      await begun.promise;
      await first.leases.release('acme', 'awake');
      await machines.startOwner(async () => ++ran as never);
    };
    return { ...machines, move, ran: () => ran };
  }

  test('is replaced by the next owner if the call only reads', { tags: ['slow'], timeout }, async () => {
    const { control, move, ran } = await loseOwner();
    const asked = control.ask('acme', 'status', undefined);
    await move();
    expect(await asked).toEqual({ kind: 'answer', answer: 1 });
    expect(ran()).toBe(1);
  });

  test('may have done it, so a call that changes something is not sent again', {
    tags: ['slow'],
    timeout,
  }, async () => {
    const { control, move, ran } = await loseOwner();
    const asked = control.ask('acme', 'retry', {});
    await move();
    expect(await asked).toMatchObject({
      kind: 'failed',
      error: { code: 'NoAnswer', retryable: true, message: expect.stringContaining('not known') },
    });
    expect(ran()).toBe(0);
  });
});

test('a time-out, an abort and a caller that has left end the wait', {
  tags: ['slow'],
  timeout,
}, async () => {
  const { startOwner, control } = await setUpMachines();
  let ran = 0;
  await startOwner(() => {
    ran++;
    return new Promise<never>(() => undefined);
  });
  expect(await control.ask('acme', 'status', undefined, { withinMs: 200 })).toMatchObject({
    kind: 'failed',
    error: { code: 'NoAnswer', message: expect.stringContaining('0.2 s') },
  });
  // On a busy machine the first call may end before it is answered.
  const before = ran;
  const asker = new AbortController();
  const asked = control.ask('acme', 'status', undefined, { signal: asker.signal });
  await until('it is being answered', () => ran > before);
  asker.abort(new Error('enough'));
  await expect(asked).rejects.toThrow('enough');
});

test('without a worker nobody is asked, and a dead address is named', {
  tags: ['slow'],
  timeout,
}, async () => {
  const { control, directory, tokens, admin } = await setUpMachines();
  expect(await control.ask('acme', 'status', undefined)).toEqual({ kind: 'not-running' });
  expect(await control.reaches('acme')).toBe(false);
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  await admin.set('wattline:lease:acme', 'dead', 'PX', 60_000);
  const impatient = createRemoteControl({ directory, tokens, machine: HERE, takeoverMs: 500 });
  expect(await impatient.ask('acme', 'status', undefined)).toMatchObject({
    kind: 'failed',
    error: { code: 'NoAnswer', message: expect.stringContaining('not in Redis yet') },
  });
  const address = { workerId: 'dead', host: '127.0.0.1', port, machine: HERE };
  await admin.set('wattline:address:dead', JSON.stringify(address), 'PX', 60_000);
  expect(await impatient.ask('acme', 'status', undefined)).toMatchObject({
    kind: 'failed',
    error: { code: 'NoAnswer', message: expect.stringContaining(`127.0.0.1:${port}`) },
  });
});

test('a worker that accepts connections and is stopped has not begun the call', {
  tags: ['slow'],
  timeout,
}, async () => {
  const { startOwner, control, admin } = await setUpMachines();
  const silent = createServer(() => undefined).listen(0, '127.0.0.1');
  onTestFinished(() => void silent.close());
  await once(silent, 'listening');
  const { port } = silent.address() as { port: number };
  const address = { workerId: 'stopped', host: '127.0.0.1', port, machine: HERE };
  await admin.set('wattline:lease:acme', 'stopped', 'PX', 1_000);
  await admin.set('wattline:address:stopped', JSON.stringify(address), 'PX', 60_000);
  const asked = control.ask('acme', 'retry', {});
  await until('its lease has ended', async () => (await admin.exists('wattline:lease:acme')) === 0);
  await startOwner(answering({ series: 3 }));
  expect(await asked).toEqual({ kind: 'answer', answer: { series: 3 } });
});
