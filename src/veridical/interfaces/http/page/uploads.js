// Files as sources: texts are read here, other documents by the service.

import { readDocument } from "./service.js";

const DOCUMENTS = /\.(pdf|docx|x?html?)$/i;
const UNREADABLE = /\.(doc|odt|rtf|pptx?|xlsx?|epub|png|jpe?g|gif|zip)$/i;

/** Return the sources of a file, `[{id, text, name}]`; a string says why there are none. */
export async function sourcesOf(file) {
  if (UNREADABLE.test(file.name)) return `${file.name} is of a kind that cannot be read: save it as PDF, DOCX or text.`;
  if (DOCUMENTS.test(file.name)) {
    const { sources } = await readDocument(file.name, new Uint8Array(await file.arrayBuffer()));
    return sources.map(({ text }) => ({ id: file.name, text, name: file.name }));
  }
  const text = await file.text();
  if (text.includes("\0")) return `${file.name} is not a text.`;
  if (!text.trim()) return `${file.name} is empty.`;
  return [{ id: file.name, text, name: file.name }];
}
