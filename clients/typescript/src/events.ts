/** Server-sent events of a response. */

export interface ServerEvent {
  event: string;
  data: string;
}

/** Yield the events of a response; an event that is cut off at the end is not one. */
export async function* readEvents(response: Response): AsyncGenerator<ServerEvent> {
  if (!response.body) return;
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  let text = "";
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      text += decoder.decode(value, { stream: true });
      const blocks = text.split("\n\n");
      text = blocks.pop() ?? "";
      for (const block of blocks) {
        const found = parse(block);
        if (found) yield found;
      }
    }
  } finally {
    await reader.cancel();
  }
}

function parse(block: string): ServerEvent | null {
  const lines = block.split("\n");
  const data = lines.filter((line) => line.startsWith("data:"));
  if (data.length === 0) return null;
  const name = lines.find((line) => line.startsWith("event:"));
  return {
    event: name?.slice("event:".length).trim() ?? "message",
    data: data.map((line) => line.slice("data:".length).replace(/^ /, "")).join("\n"),
  };
}
