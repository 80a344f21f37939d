/** Typed client of the veridical HTTP service. `schema.ts` is generated from its OpenAPI. */

import createFetchClient, { type Client, type Middleware } from "openapi-fetch";

import { readEvents } from "./events.js";
import type { components, paths } from "./schema.js";

export type { components, paths } from "./schema.js";

type Answer<Path extends keyof paths> = paths[Path] extends {
  post: { responses: { 200: { content: { "application/json": infer Body } } } };
}
  ? Body
  : never;

export type CheckRequest = components["schemas"]["CheckIn"];
export type Report = Answer<"/v1/check">;
export type ClaimVerdict = Report["claims"][number];

export interface ClientOptions {
  /** Address of the service, such as `http://127.0.0.1:8642`. */
  baseUrl: string;
  /** Key of `veridical keys new`; a service on this machine may have none. */
  key?: string;
  /** Replacement of the global `fetch`. */
  fetch?: (request: Request) => Promise<Response>;
}

/** Error answer of the service: a problem document (RFC 9457). */
export class VeridicalError extends Error {
  override readonly name = "VeridicalError";

  constructor(
    readonly status: number,
    detail: string,
    /** Advice, empty if there is none. */
    readonly hint: string,
    /** Id of the request in the logs of the service. */
    readonly requestId: string | null,
    /** Seconds to wait before the next try; null if the service names none. */
    readonly retryAfter: number | null,
    /** Fields of the request that are wrong, such as `body.sources`. */
    readonly fields: readonly string[],
  ) {
    super(detail);
  }
}

/** Return a client whose calls are typed by path and method; an error answer throws. */
export function createClient(options: ClientOptions): Client<paths> {
  const client = createFetchClient<paths>({
    baseUrl: options.baseUrl,
    ...(options.fetch ? { fetch: options.fetch } : {}),
  });
  client.use(authorization(options.key), errors);
  return client;
}

/** Events of a streamed check; the last one is the report. */
export type CheckEvent =
  | { event: "progress"; data: { done: number; total: number } }
  | { event: "claim"; data: ClaimVerdict }
  | { event: "report"; data: Report };

/** Check an answer, and yield each verdict as soon as it is final; an error event throws. */
export async function* checkStream(
  client: Client<paths>,
  body: CheckRequest,
  signal?: AbortSignal,
): AsyncGenerator<CheckEvent> {
  const { response } = await client.POST("/v1/check/stream", {
    body,
    parseAs: "stream",
    ...(signal ? { signal } : {}),
  });
  for await (const found of readEvents(response)) {
    const data: unknown = JSON.parse(found.data);
    if (found.event === "error") throw problem(data, response);
    yield { event: found.event, data } as CheckEvent;
  }
}

function authorization(key: string | undefined): Middleware {
  return {
    onRequest({ request }) {
      if (key !== undefined) request.headers.set("authorization", `Bearer ${key}`);
      return request;
    },
  };
}

const errors: Middleware = {
  async onResponse({ response }) {
    if (response.ok) return;
    throw problem(await response.clone().json().catch(() => null), response);
  },
};

interface Problem {
  status?: number;
  detail?: string;
  hint?: string;
  errors?: { place?: string[] }[];
  error?: { message?: string };
}

function problem(body: unknown, response: Response): VeridicalError {
  const found = (body ?? {}) as Problem;
  const wait = Number(response.headers.get("retry-after") ?? Number.NaN);
  return new VeridicalError(
    found.status ?? response.status,
    found.detail ?? found.error?.message ?? `the service answered ${response.status}`,
    found.hint ?? "",
    response.headers.get("x-request-id"),
    Number.isNaN(wait) ? null : wait,
    (found.errors ?? []).map(({ place }) => (place ?? []).join(".")),
  );
}
