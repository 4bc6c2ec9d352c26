import type { FastifyRequest } from 'fastify';

/**
 * What the guard of a route found out about a request, for its handler. `getDecorator` of Fastify does not
 * throw if the guard did not run.
 */
interface PerRequest<Value> {
  set(request: FastifyRequest, value: Value): void;
  /** @throws Error if the guard did not run, which is a mistake in the code */
  get(request: FastifyRequest): Value;
}

export function perRequest<Value>(): PerRequest<Value> {
  const values = new WeakMap<FastifyRequest, { value: Value }>();
  return {
    set: (request, value) => void values.set(request, { value }),
    get(request) {
      const found = values.get(request);
      if (found === undefined) throw new Error(`the route ${request.routeOptions.url} ran before its guard`);
      return found.value;
    },
  };
}
