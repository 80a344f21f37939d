// The service behind the page: checks as streams of events, kept reports, documents, feedback.

const KEY = "veridical.key";

export class Problem extends Error {
  /** What a request failed of; `status` is 0 if nothing answered. */
  constructor(status, { title, detail, hint, request_id: request } = {}, retryAfter = null) {
    super(title ?? `The service answered ${status}`);
    this.status = status;
    this.detail = detail ?? "";
    this.hint = hint ?? "";
    this.request = request ?? null;
    this.retryAfter = retryAfter;
  }
}

/** Whether people can sign in here: `{login, signed_in}`. */
export const session = () =>
  fetch("page/session").then((reply) => reply.json()).catch(() => ({ login: false }));

/** Forget the sign-in of this browser, and all that this page keeps of it. */
export async function signOut() {
  const reply = await fetch("page/logout", { method: "POST" }).catch(() => ({ status: 0 }));
  if (!reply.ok) throw new Problem(reply.status);
  sessionStorage.clear();
}

export const key = () => sessionStorage.getItem(KEY);
export const keepKey = (value) =>
  value ? sessionStorage.setItem(KEY, value) : sessionStorage.removeItem(KEY);

async function ask(path, { body = null, accept = "application/json", signal = null } = {}) {
  const headers = { accept };
  if (body) headers["content-type"] = "application/json";
  if (key()) headers.authorization = `Bearer ${key()}`;
  // Without a key, the cookie of a sign-in is what the service is asked with.
  const credentials = key() ? "omit" : "same-origin";
  const options = { method: body ? "POST" : "GET", headers, signal, credentials };
  if (body) options.body = JSON.stringify(body);
  const response = await fetch(path, options).catch((error) => {
    if (error.name === "AbortError") throw error;
    throw new Problem(0);
  });
  if (response.ok) return response;
  const wait = Number.parseFloat(response.headers.get("retry-after"));
  const problem = await response.json().catch(() => ({}));
  throw new Problem(response.status, problem, Number.isFinite(wait) ? wait : null);
}

/** Yield `[event, data]` as they come in; a stream that just ends is a Problem. */
export async function* check(request, signal) {
  const options = { body: request, accept: "text/event-stream", signal };
  const response = await ask("v1/check/stream", options);
  yield ["id", response.headers.get("x-veridical-report")];
  let done = false;
  for await (const [event, data] of events(response.body)) {
    if (event === "error") throw new Problem(data.status ?? 500, data);
    done ||= event === "report";
    yield [event, data];
  }
  if (!done)
    throw new Problem(0, { detail: "The connection ended before the check was done." });
}

/** Parse server-sent events (HTML Standard, 9.2): fields up to a blank line, lines end in LF or CR LF. */
export async function* events(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      const blocks = (rest + value).replaceAll("\r\n", "\n").split("\n\n");
      rest = blocks.pop();
      for (const block of blocks) {
        const found = event(block);
        if (found) yield found;
      }
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

function event(block) {
  let name = "message";
  const data = [];
  for (const line of block.split("\n")) {
    const [, field, value] = /^([^:]*)(?:: ?(.*))?$/s.exec(line);
    if (field === "event") name = value ?? "";
    if (field === "data") data.push(value ?? "");
  }
  return data.length ? [name, JSON.parse(data.join("\n"))] : null;
}

/** Return a kept report with its texts and marks. */
export async function storedCheck(id) {
  return (await ask(`v1/reports/${encodeURIComponent(id)}/check`)).json();
}

/** Return the kept reports that have these words: `{total, reports}`. */
export async function keptReports(words) {
  return (await ask(`v1/reports?q=${encodeURIComponent(words)}`)).json();
}

/** Return the texts of a document: `{sources: [{id, text, name}], remarks}`. */
export async function readDocument(name, bytes) {
  let binary = "";
  for (let at = 0; at < bytes.length; at += 32_768)
    binary += String.fromCharCode(...bytes.subarray(at, at + 32_768));
  return (await ask("v1/documents", { body: { name, data: btoa(binary) } })).json();
}

/** Return the report of a check in another format, as text. */
export async function converted({ question, answer, sources, report }, format) {
  const texts = { ...(question ? { question } : {}), ...(answer ? { answer } : {}) };
  const body = { report, ...texts, ...(sources.length ? { sources } : {}) };
  const path = `v1/reports?format=${encodeURIComponent(format)}`;
  return (await ask(path, { body, accept: "*/*" })).text();
}

/** Store the mark on a verdict, `{right, actual, comment}`; null removes it. */
export async function sendMark(report, claim, mark) {
  const said = Object.entries(mark ?? { right: null }).filter(([name, value]) => name === "right" || value);
  await ask("v1/feedback", { body: { report, claim_id: claim, ...Object.fromEntries(said) } });
}
