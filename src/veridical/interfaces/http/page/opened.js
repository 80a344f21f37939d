// What can be opened: reports and checks in files; and the check of this tab, kept while it is open.

const STORED = "veridical.check";
export const SCHEMA = "veridical.page/1";

/** Return `{id, question, answer, sources, report, marks}` of a JSON document; null if it is none of ours. */
export function opened(document) {
  if (document === null || typeof document !== "object" || Array.isArray(document)) return null;
  if (isReport(document)) return { id: null, question: null, answer: null, sources: [], report: document, marks: {} };
  const report = isReport(document.report) ? document.report : null;
  const hasTexts = typeof document.answer === "string" && document.sources;
  if (!report && !hasTexts) return null;
  return {
    id: typeof document.id === "string" ? document.id : null,
    question: typeof document.question === "string" ? document.question : null,
    answer: hasTexts ? document.answer : null,
    sources: hasTexts ? asSources(document.sources) : [],
    report,
    marks: document.marks ?? {},
  };
}

const isReport = (value) =>
  value?.schema === "veridical.report/1" && Array.isArray(value.claims) && Boolean(value.summary);

function asSources(sources) {
  const listed = Array.isArray(sources)
    ? sources.map((each, index) => (typeof each === "string" ? [`${index + 1}`, each] : [each?.id, each?.text, each?.name]))
    : Object.entries(sources);
  return listed
    .filter(([id, text]) => typeof id === "string" && typeof text === "string")
    .map(([id, text, name]) => ({ id, text, ...(typeof name === "string" ? { name } : {}) }));
}

/** Whether the texts are those that a report is about: its quotes stand where it says they do. */
export function fits(report, answer, sources) {
  if (!answer) return false;
  return report.claims.every(
    (claim) =>
      claim.span.end <= answer.length &&
      claim.evidence.every(({ source, start, end, text }) => sources.get(source)?.raw(start, end) === text),
  );
}

export const withTexts = ({ id, question, answer, sources, report, marks }) => ({
  schema: SCHEMA,
  ...(id ? { id } : {}),
  question,
  answer,
  sources,
  report,
  marks,
});

/** Keep the check for a reload of this tab; if it is too large for that, it is not kept. */
export function keep(check) {
  try {
    sessionStorage.setItem(STORED, JSON.stringify(withTexts(check)));
  } catch {
    sessionStorage.removeItem(STORED);
  }
}

export function kept() {
  try {
    return opened(JSON.parse(sessionStorage.getItem(STORED)));
  } catch {
    return null;
  }
}
