import { errorCode, errorMessage, TerminalError, TransientError } from '../lib/errors.ts';

/** A refusal of an S3 server: the status, and code and region from its XML if it sent one. */
export interface S3Refusal {
  status: number;
  text: string;
}

/** The request: for messages and for the needed permission. */
export type S3Action = 'create' | 'put' | 'get' | 'list' | 'delete';

const permissions: Readonly<Record<S3Action, string>> = {
  create: 's3:PutObject',
  put: 's3:PutObject',
  get: 's3:GetObject, and s3:ListBucket to see that a key is free',
  list: 's3:ListBucket',
  delete: 's3:DeleteObject',
};

/** The code of an answer in XML, such as `NoSuchBucket`. */
export function s3Code(text: string): string | undefined {
  return /<Code>(\w{1,64})<\/Code>/.exec(text)?.[1];
}

/** An error for a code of S3, which says what is wrong and what to do. */
export function s3Failure(address: string, action: S3Action, { status, text }: S3Refusal): Error {
  const code = s3Code(text);
  const answerText = code === undefined ? `HTTP ${status}` : `HTTP ${status}, ${code}`;
  const details = { store: address, action, status, ...(code !== undefined && { code }) };
  const terminal = (name: string, advice: string) =>
    new TerminalError(name, `${address}: ${action} was refused (${answerText}); ${advice}`, { details });
  const region = /<Region>([\w-]{1,64})<\/Region>/.exec(text)?.[1];
  switch (code) {
    case 'InvalidAccessKeyId':
      return terminal(
        'StorageKeysWrong',
        'the store does not know this accessKeyId: check it and the endpoint',
      );
    case 'SignatureDoesNotMatch':
      return terminal('StorageKeysWrong', 'the secretAccessKey is wrong, or it is of another accessKeyId');
    case 'InvalidToken':
    case 'ExpiredToken':
    case 'TokenRefreshRequired':
      return terminal('StorageKeysWrong', 'the sessionToken is wrong or has expired: make a new one');
    case 'NoSuchBucket':
      return terminal(
        'StorageBucketMissing',
        'the bucket does not exist: create it, or check its name and the endpoint',
      );
    case 'PermanentRedirect':
    case 'AuthorizationHeaderMalformed':
    case 'IllegalLocationConstraintException':
      return terminal(
        'StorageRegionWrong',
        region === undefined
          ? 'the bucket is in another region: check region and endpoint'
          : `the bucket is in another region: set region to ${region}, and check the endpoint`,
      );
    case 'RequestTimeTooSkewed':
    case 'RequestExpired':
      return terminal(
        'StorageClockSkewed',
        'the clock of this machine is wrong, or that of the store: set the clock, for example with NTP',
      );
    case 'NotImplemented':
      return terminal(
        'StorageUnsuitable',
        'the store cannot do this: use a store with S3 and If-None-Match on PUT',
      );
    case 'BadDigest':
    case 'XAmzContentSHA256Mismatch':
      return terminal(
        'ObjectDamaged',
        'the bytes changed on the way or on the disk: check the file, then try again',
      );
    case 'EntityTooLarge':
      return terminal('ObjectTooLarge', 'the store takes no object of this size');
  }
  if (status === 401 || status === 403)
    return terminal('StorageForbidden', `the key has no permission: it needs ${permissions[action]}`);
  if (status >= 300 && status < 400)
    return terminal('StorageRegionWrong', 'the bucket has another address: check region and endpoint');
  if (status === 409 || status === 429 || status === 408 || status >= 500)
    return new TransientError(
      'StorageBusy',
      `${address}: ${action} failed (${answerText}); the same may succeed later`,
      {
        details,
      },
    );
  return terminal('StorageRefused', 'check endpoint, bucket and prefix; the log of the store may say more');
}

/** The error of a request without a complete answer. The store may have carried out the request. */
export function unreachable(address: string, endpoint: string, error: unknown): TransientError {
  const cause =
    error instanceof Error && error.cause !== undefined && !errorCode(error) ? error.cause : error;
  const why = errorCode(cause) ?? errorMessage(cause);
  return new TransientError(
    'StorageUnreachable',
    `${address}: ${new URL(endpoint).host} does not answer (${why}); ${adviceOn(why)}`,
    { cause: error, details: { store: address, why } },
  );
}

function adviceOn(why: string): string {
  if (/CERT|SELF_SIGNED|ERR_TLS|SSL/.test(why))
    return 'its certificate is not trusted: set NODE_EXTRA_CA_CERTS to the file of its authority';
  if (/ENOTFOUND|EAI_AGAIN/.test(why)) return 'its name is not known: check the endpoint';
  return 'check the endpoint and the network';
}
