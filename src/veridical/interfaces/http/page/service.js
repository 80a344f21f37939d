// The service behind the page: a check as a stream of events, marks of what was right, and
// reports in other formats.

const KEY = "veridical.key";

export class Problem extends Error {
  /** What a request failed of; `status` is 0 if nothing answered. */
  constructor(status, { title, detail, hint, request_id: request } = {}, retryAfter = null) {
    super([title, detail, hint].filter(Boolean).map(sentence).join(" ") || said(status));
    this.status = status;
    this.request = request ?? null;
    this.retryAfter = retryAfter;
  }
}

const sentence = (text) => (/[.!?]$/.test(text) ? text : `${text}.`);

function said(status) {
  if (status === 0) return "The service cannot be reached.";
  if (status === 401) return "The service asks for a key.";
  if (status === 404) return "The service does not offer that.";
  if (status === 413) return "That is more than the service takes at once.";
  return `The service answered ${status}.`;
}

/** Whether people can sign in here: `{login, signed_in}`. */
export const session = () =>
  fetch("page/session").then((reply) => reply.json()).catch(() => ({ login: false }));

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
  let done = false;
  for await (const [event, data] of events(response.body)) {
    if (event === "error") throw new Problem(data.status ?? 500, data);
    done ||= event === "report";
    yield [event, data];
  }
  if (!done)
    throw new Problem(0, { title: "The connection ended before the check was done" });
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

export async function storedReport(id) {
  return (await ask(`v1/reports/${encodeURIComponent(id)}`)).json();
}

/** Return the report of a check in another format, as text. */
export async function converted({ question, answer, sources, report }, format) {
  const texts = { ...(question ? { question } : {}), ...(answer ? { answer } : {}) };
  const body = { report, ...texts, ...(sources.length ? { sources } : {}) };
  const path = `v1/reports?format=${encodeURIComponent(format)}`;
  return (await ask(path, { body, accept: "*/*" })).text();
}

export async function sendMark(report, claim, right) {
  await ask("v1/feedback", { body: { report, claim_id: claim, right } });
}
