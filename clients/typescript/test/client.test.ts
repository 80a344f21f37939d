/** The client against a running service; its address and key are in the environment. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { checkStream, createClient, VeridicalError } from "../src/index.js";

const baseUrl = process.env["VERIDICAL_URL"] ?? "";
const key = process.env["VERIDICAL_KEY"] ?? "";
const client = createClient({ baseUrl, key });
const body = {
  answer: "The bridge opened in 1998 [S1]. It has six lanes [S1].",
  sources: { S1: "The bridge was opened to traffic in 1998. It carries eight lanes." },
};

test("a check returns a typed report", async () => {
  const { data, response } = await client.POST("/v1/check", { body });
  assert.equal(data?.schema, "veridical.report/1");
  assert.deepEqual(
    data.claims.map((claim) => claim.status),
    ["supported", "contradicted"],
  );
  assert.equal(response.headers.get("x-veridical-outcome"), data.summary.outcome);
});

test("a streamed check yields its claims, and then the report", async () => {
  const events = [];
  for await (const found of checkStream(client, body)) events.push(found);
  const last = events.at(-1);
  assert.equal(last?.event, "report");
  assert.equal(events.filter(({ event }) => event === "claim").length, last.data.claims.length);
});

test("a stream that is left ends", async () => {
  for await (const _ of checkStream(client, body)) break;
});

test("a stored report is read again by its id", async () => {
  const { response } = await client.POST("/v1/check", { body });
  const id = response.headers.get("x-veridical-report") ?? "";
  const { data } = await client.GET("/v1/reports/{report_id}", {
    params: { path: { report_id: id }, query: { format: "text" } },
    parseAs: "text",
  });
  assert.match(String(data), /six lanes/);
});

test("a wrong key is an error that says what to do", async () => {
  const stranger = createClient({ baseUrl, key: "nobody's key" });
  await assert.rejects(
    stranger.POST("/v1/check", { body }),
    (error: unknown) =>
      error instanceof VeridicalError && error.status === 401 && error.hint !== "" && error.requestId !== null,
  );
});

test("a wrong field is an error that names it", async () => {
  const wrong = { ...body, sources: 3 } as unknown as typeof body;
  await assert.rejects(
    client.POST("/v1/check", { body: wrong }),
    (error: unknown) =>
      error instanceof VeridicalError && error.fields.some((field) => field.startsWith("body.sources")),
  );
});
