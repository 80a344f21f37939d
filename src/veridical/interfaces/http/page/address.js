// Addresses: `?report=ID#c3` is a claim of a kept report, `?example#c2` one of the example, and the
// page alone is the form.

const base = location.pathname;

/** Return `{report, example, claim}` of the current address. */
export function place() {
  const query = new URLSearchParams(location.search);
  return { report: query.get("report"), example: query.has("example"), claim: claim() };
}

function claim() {
  try {
    return decodeURIComponent(location.hash.slice(1)) || null;
  } catch {
    return null;
  }
}

const of = (id) => (id === "example" ? `${base}?example` : id ? `${base}?report=${encodeURIComponent(id)}` : base);

/** Go to the address of a check, or of the form if there is none; Back leads to where one was. */
export function goTo(id) {
  const address = of(id);
  if (address !== location.pathname + location.search) history.pushState(null, "", address);
}
